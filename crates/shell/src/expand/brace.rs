//! `{a,b}` and `{1..9}`: one word becomes several before anything else is expanded.

use crate::syntax::Part;

/// More words than this are not made of one.
const MAX_WORDS: usize = 2048;
/// Longer sequences are represented by their ends.
const MAX_SEQUENCE: u64 = 1024;
/// Looking for pairs of braces takes time that grows with the square of this.
const MAX_ATOMS: usize = 8192;
/// How many pairs of braces one word may have.
const MAX_PAIRS: usize = 40;

/// A character in which braces mean something, or a part that they do not reach into.
#[derive(Clone)]
enum Atom<'a> {
    Character(char),
    Part(&'a Part),
}

/// What became of a word.
pub(crate) struct Expansion {
    pub(crate) words: Vec<Vec<Part>>,
    /// A long sequence is represented by its ends.
    pub(crate) shortened: bool,
    /// The braces do not match as they look.
    pub(crate) odd: bool,
    /// Not all words are there.
    pub(crate) cut: bool,
}

/// What had to be left out.
#[derive(Default)]
struct Cuts {
    shortened: bool,
    cut: bool,
}

/// Whether a word can have braces to expand at all.
pub(crate) fn has_braces(parts: &[Part]) -> bool {
    parts
        .iter()
        .any(|part| matches!(part, Part::Text(text) if text.contains('{')))
}

/// All words that the braces of one word make.
pub(crate) fn expand(parts: &[Part]) -> Expansion {
    let mut atoms = Vec::new();
    for part in parts {
        match part {
            Part::Text(text) => atoms.extend(text.chars().map(Atom::Character)),
            other => atoms.push(Atom::Part(other)),
        }
    }
    if atoms.len() > MAX_ATOMS {
        return Expansion {
            words: vec![parts.to_vec()],
            shortened: false,
            odd: false,
            cut: true,
        };
    }
    let mut cuts = Cuts::default();
    let words = expand_atoms(&atoms, &mut cuts, 0);
    let words = words.into_iter().map(|word| to_parts(&word)).collect();
    Expansion {
        words,
        shortened: cuts.shortened,
        odd: is_odd(&atoms),
        cut: cuts.cut,
    }
}

fn to_parts(atoms: &[Atom<'_>]) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for atom in atoms {
        match atom {
            Atom::Character(character) => match parts.last_mut() {
                Some(Part::Text(text)) => text.push(*character),
                _ => parts.push(Part::Text(character.to_string())),
            },
            Atom::Part(part) => parts.push((*part).clone()),
        }
    }
    parts
}

fn expand_atoms<'a>(atoms: &[Atom<'a>], cuts: &mut Cuts, depth: usize) -> Vec<Vec<Atom<'a>>> {
    if depth > MAX_PAIRS {
        cuts.cut = true;
        return vec![atoms.to_vec()];
    }
    let mut open = 0;
    while let Some(at) = position_of(atoms, '{', open) {
        if let Some((close, commas)) = matching(atoms, at) {
            let inside = atoms.get(at + 1..close).unwrap_or_default();
            let nested = inside
                .iter()
                .any(|atom| matches!(atom, Atom::Character(',')));
            let choices = if commas.is_empty() && !nested {
                sequence(inside, cuts)
            } else {
                Some(alternatives(atoms, at, close, &commas, cuts, depth))
            };
            if let Some(choices) = choices {
                let before = atoms.get(..at).unwrap_or_default();
                let rest = atoms.get(close + 1..).unwrap_or_default();
                let after = expand_atoms(rest, cuts, depth + 1);
                return product(before, &choices, &after, cuts);
            }
        }
        open = at + 1;
    }
    vec![atoms.to_vec()]
}

fn product<'a>(
    before: &[Atom<'a>],
    choices: &[Vec<Atom<'a>>],
    after: &[Vec<Atom<'a>>],
    cuts: &mut Cuts,
) -> Vec<Vec<Atom<'a>>> {
    let mut words = Vec::new();
    for choice in choices {
        for end in after {
            if words.len() >= MAX_WORDS {
                cuts.cut = true;
                return words;
            }
            let mut word = before.to_vec();
            word.extend_from_slice(choice);
            word.extend_from_slice(end);
            words.push(word);
        }
    }
    words
}

fn position_of(atoms: &[Atom<'_>], wanted: char, from: usize) -> Option<usize> {
    let rest = atoms.get(from..)?;
    rest.iter()
        .position(|atom| matches!(atom, Atom::Character(c) if *c == wanted))
        .map(|at| from + at)
}

/// The closing brace for the one at `open`, and the commas between them. A brace that closes
/// nothing and has neither a comma nor two dots before it is an ordinary character.
fn matching(atoms: &[Atom<'_>], open: usize) -> Option<(usize, Vec<usize>)> {
    let is =
        |at: usize, wanted: char| matches!(atoms.get(at), Some(Atom::Character(c)) if *c == wanted);
    let first_ignored = open == 0 && is(1, '}');
    if first_ignored {
        return None;
    }
    let mut depth = 0usize;
    let mut commas = Vec::new();
    let mut sequence = false;
    for (at, atom) in atoms.iter().enumerate().skip(open + 1) {
        match atom {
            Atom::Character('}') if depth == 0 && (sequence || !commas.is_empty()) => {
                return Some((at, commas));
            }
            Atom::Character('{') => depth += 1,
            Atom::Character('}') => depth = depth.saturating_sub(1),
            Atom::Character(',') if depth == 0 => commas.push(at),
            Atom::Character('.') if depth == 0 && is(at + 1, '.') && !is(at + 2, '}') => {
                sequence = true;
            }
            _ => {}
        }
    }
    None
}

/// Whether a brace closes nothing, or dots and braces are nested, where braces are expanded.
fn is_odd(atoms: &[Atom<'_>]) -> bool {
    let mut open: Vec<bool> = Vec::new();
    let mut separators = false;
    let mut odd = false;
    let mut last = None;
    for atom in atoms {
        let character = match atom {
            Atom::Character(character) => Some(*character),
            Atom::Part(_) => None,
        };
        match character {
            Some('{') => {
                odd |= open.last() == Some(&true);
                open.push(false);
            }
            Some('}') => odd |= open.pop().is_none(),
            Some(',') => separators = true,
            Some('.') if last == Some('.') => {
                separators = true;
                if let Some(dots) = open.last_mut() {
                    *dots = true;
                }
            }
            _ => {}
        }
        last = character;
    }
    odd && separators
}

fn alternatives<'a>(
    atoms: &[Atom<'a>],
    open: usize,
    close: usize,
    commas: &[usize],
    cuts: &mut Cuts,
    depth: usize,
) -> Vec<Vec<Atom<'a>>> {
    let mut choices = Vec::new();
    let mut start = open + 1;
    for end in commas.iter().copied().chain([close]) {
        let piece = atoms.get(start..end).unwrap_or_default();
        choices.extend(expand_atoms(piece, cuts, depth + 1));
        start = end + 1;
    }
    choices
}

fn sequence<'a>(inside: &[Atom<'a>], cuts: &mut Cuts) -> Option<Vec<Vec<Atom<'a>>>> {
    let mut text = String::new();
    for atom in inside {
        match atom {
            Atom::Character(character) => text.push(*character),
            Atom::Part(_) => return None,
        }
    }
    let mut pieces = text.split("..");
    let (first, last) = (pieces.next()?, pieces.next()?);
    let step: i64 = match pieces.next() {
        Some(step) => step.parse().ok()?,
        None => 1,
    };
    if pieces.next().is_some() {
        return None;
    }
    if let (Ok(from), Ok(to)) = (first.parse::<i64>(), last.parse::<i64>()) {
        let padded = |text: &str| text.trim_start_matches('-').starts_with('0') && text.len() > 1;
        if padded(first) || padded(last) {
            // The width of every member depends on the others: the ends say enough.
            cuts.shortened |= from.abs_diff(to) > 1;
            return Some(vec![characters(first), characters(last)]);
        }
        let values = steps(from, to, step, cuts);
        return Some(
            values
                .into_iter()
                .map(|value| characters(&value.to_string()))
                .collect(),
        );
    }
    let (mut first, mut last) = (first.chars(), last.chars());
    let (from, to) = (first.next()?, last.next()?);
    let single = first.next().is_none() && last.next().is_none();
    if !single || !from.is_ascii_alphabetic() || !to.is_ascii_alphabetic() {
        return None;
    }
    // Between the capital and the small letters stand characters that mean something.
    cuts.shortened |= from.is_ascii_uppercase() != to.is_ascii_uppercase();
    let values = steps(
        i64::from(u32::from(from)),
        i64::from(u32::from(to)),
        step,
        cuts,
    );
    Some(
        values
            .into_iter()
            .filter_map(|value| u32::try_from(value).ok().and_then(char::from_u32))
            .map(|character| vec![Atom::Character(character)])
            .collect(),
    )
}

fn steps(from: i64, to: i64, step: i64, cuts: &mut Cuts) -> Vec<i64> {
    let width = step.unsigned_abs().max(1);
    let count = from.abs_diff(to) / width;
    if count > MAX_SEQUENCE {
        cuts.shortened = true;
        return vec![from, to];
    }
    let stride = i64::try_from(width).unwrap_or(i64::MAX);
    let stride = if from <= to { stride } else { -stride };
    (0..=i64::try_from(count).unwrap_or(0))
        .map(|index| from + index * stride)
        .collect()
}

fn characters<'a>(text: &str) -> Vec<Atom<'a>> {
    text.chars().map(Atom::Character).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let expansion = expand(&[Part::Text(text.to_owned())]);
        expansion
            .words
            .into_iter()
            .map(|parts| match parts.as_slice() {
                [Part::Text(text)] => text.clone(),
                [] => String::new(),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn braces_expand_like_in_a_shell() {
        assert_eq!(words("{rm,-rf,/}"), ["rm", "-rf", "/"]);
        assert_eq!(words("a{b,c{d,e}}f"), ["abf", "acdf", "acef"]);
        assert_eq!(words("{1..3}x"), ["1x", "2x", "3x"]);
        assert_eq!(words("{c..a}"), ["c", "b", "a"]);
        assert_eq!(words("{5..1..2}"), ["5", "3", "1"]);
        assert_eq!(words("{}"), ["{}"]);
        assert_eq!(words("{a}"), ["{a}"]);
        assert_eq!(words("{a,b"), ["{a,b"]);
        assert_eq!(words("{x{a,b}"), ["{xa", "{xb"]);
    }

    #[test]
    fn a_flood_of_words_is_cut_and_said() {
        let expansion = expand(&[Part::Text("{a,b}".repeat(20))]);
        assert!(expansion.cut);
        assert!(expand(&[Part::Text("{1..99999999}".to_owned())]).shortened);
    }
}
