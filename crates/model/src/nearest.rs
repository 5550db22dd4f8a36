//! The nearest known name to one that is not known, for messages that help.

/// So many characters of a name are compared.
const COMPARED: usize = 64;

/// The known name nearest to `name`, if one is near enough to be meant.
///
/// Near enough is an edit distance (with neighbouring letters swapped counting
/// as one) of at most a third of the longer name, and at least one.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .filter(|candidate| *candidate != name)
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(far, candidate)| {
            let longer = name.chars().count().max(candidate.chars().count());
            // No more of a name is compared.
            let longer = longer.min(COMPARED);
            *far <= (longer / 3).max(1)
        })
        .min_by_key(|(far, candidate)| (*far, *candidate))
        .map(|(_, candidate)| candidate)
}

/// Edits (insert, remove, replace, swap of neighbours) between two names, ignoring case and `_`/`-`.
pub fn distance(left: &str, right: &str) -> usize {
    let fold = |text: &str| -> Vec<char> {
        text.chars()
            .flat_map(char::to_lowercase)
            .map(|c| if c == '-' { '_' } else { c })
            .take(COMPARED)
            .collect()
    };
    let (left, right) = (fold(left), fold(right));
    let width = right.len() + 1;
    let mut before: Vec<usize> = vec![0; width];
    let mut last: Vec<usize> = (0..width).collect();
    for (i, &l) in left.iter().enumerate() {
        let mut row = Vec::with_capacity(width);
        row.push(i + 1);
        for (j, &r) in right.iter().enumerate() {
            let at =
                |line: &[usize], index: usize| line.get(index).copied().unwrap_or(usize::MAX / 2);
            let mut best = at(&last, j) + usize::from(l != r);
            best = best.min(at(&last, j + 1) + 1).min(at(&row, j) + 1);
            let swapped =
                i > 0 && j > 0 && left.get(i - 1) == Some(&r) && right.get(j - 1) == Some(&l);
            if swapped {
                best = best.min(at(&before, j - 1) + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_find_their_word_and_strangers_do_not() {
        let known = ["read_file", "write_file", "list_directory", "path"];
        for (typo, meant) in [
            ("raed_file", Some("read_file")),
            ("readfile", Some("read_file")),
            ("read-file", Some("read_file")),
            ("ReadFile", Some("read_file")),
            ("wirte_file", Some("write_file")),
            ("paht", Some("path")),
            ("pat", Some("path")),
            ("xyzzy", None),
            ("", None),
            (&"k".repeat(3000), None),
        ] {
            assert_eq!(nearest(typo, known), meant, "{typo}");
        }
    }

    #[test]
    fn distances() {
        for (left, right, far) in [
            ("", "", 0),
            ("a", "", 1),
            ("", "abc", 3),
            ("ab", "ba", 1),
            ("abc", "axc", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(left, right), far, "{left} {right}");
            assert_eq!(distance(right, left), far, "{right} {left}");
        }
    }
}
