//! Whether a change that was shown is the change that will run, on a file that an earlier call
//! of the batch has changed since.
//!
//! A preview is made before anything of the batch runs. It is made again before its call runs,
//! and has to show the same lines in the same place: only their numbers may differ, by as many
//! lines as were added or taken away in front of them.

/// A file as lines, before and after the earlier calls.
pub(crate) struct Lines {
    pub(crate) before: Vec<String>,
    pub(crate) after: Vec<String>,
}

/// The numbers of a hunk.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Hunk {
    old: (usize, usize),
    new: (usize, usize),
}

/// Whether two previews show one change. `changed` are the files that earlier calls changed.
pub(crate) fn is_same_change(shown: &str, now: &str, changed: &[Lines]) -> bool {
    let (mut one, mut other) = (shown.lines(), now.lines());
    loop {
        match (one.next(), other.next()) {
            (None, None) => return true,
            (Some(shown), Some(now)) => match (hunk(shown), hunk(now)) {
                (Some(shown), Some(now)) if is_moved_along(shown, now, changed) => {}
                (None, None) if shown == now => {}
                _ => return false,
            },
            _ => return false,
        }
    }
}

/// Whether a hunk stands where its lines are now. With several files it is not known which one
/// it is about, so it may not have moved.
fn is_moved_along(shown: Hunk, now: Hunk, changed: &[Lines]) -> bool {
    let counts = (shown.old.1, shown.new.1) == (now.old.1, now.new.1);
    let same = shown == now;
    match changed {
        [file] => counts && file.moves(shown.old, now.old.0),
        _ => same,
    }
}

impl Lines {
    /// Whether the lines of the old file, from a first one on, begin at this one now. Only lines
    /// before all changes and after all changes are known to be the same.
    fn moves(&self, (first, count): (usize, usize), now: usize) -> bool {
        let (before, after) = (&self.before, &self.after);
        let same = |(one, other): &(&String, &String)| one == other;
        let head = before.iter().zip(after).take_while(same).count();
        let shorter = before.len().min(after.len()).saturating_sub(head);
        let tail = before.iter().rev().zip(after.iter().rev()).take(shorter);
        let tail = tail.take_while(same).count();
        let start = first.saturating_sub(usize::from(count > 0));
        let is_in_front = start + count <= head && now == first;
        let is_behind =
            start >= before.len().saturating_sub(tail) && now + before.len() == first + after.len();
        is_in_front || is_behind
    }
}

/// Reads `@@ -first,count +first,count @@`.
fn hunk(line: &str) -> Option<Hunk> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let range = |text: &str| -> Option<(usize, usize)> {
        let (first, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((first.parse().ok()?, count.parse().ok()?))
    };
    Some(Hunk {
        old: range(old)?,
        new: range(new)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_change_is_the_same_where_its_lines_are() {
        let before = "a b c d e f g h";
        for (after, shown, now, same) in [
            // Behind the change, and moved along with it.
            (
                "a b X Y d e f g h",
                "@@ -6,2 +6,2 @@\n-f\n+F\n g",
                "@@ -7,2 +7,2 @@\n-f\n+F\n g",
                true,
            ),
            (
                "a b X Y d e f g h",
                "@@ -6,2 +6,2 @@\n-f\n+F\n g",
                "@@ -6,2 +6,2 @@\n-f\n+F\n g",
                false,
            ),
            // In front of it.
            (
                "a b c d X Y Z g h",
                "@@ -1,2 +1,2 @@\n-a\n+A\n b",
                "@@ -1,2 +1,2 @@\n-a\n+A\n b",
                true,
            ),
            // In the middle of what changed, or elsewhere.
            (
                "a X c d e Y g h",
                "@@ -4,1 +4,1 @@\n-d\n+D",
                "@@ -4,1 +4,1 @@\n-d\n+D",
                false,
            ),
            (
                "a b f d e X g h",
                "@@ -6,1 +6,1 @@\n-f\n+F",
                "@@ -3,1 +3,1 @@\n-f\n+F",
                false,
            ),
            // Other lines.
            (
                "a b X d e f g h",
                "@@ -6,1 +6,1 @@\n-f\n+F",
                "@@ -6,1 +6,1 @@\n-f\n+G",
                false,
            ),
            (
                "a b X d e f g h",
                "@@ -6,1 +6,1 @@\n-f\n+F",
                "@@ -6,1 +6,1 @@\n-f\n+F\n-g",
                false,
            ),
            ("a b X d e f g h", "text", "text", true),
            ("a b X d e f g h", "text", "other", false),
        ] {
            let changed = [Lines {
                before: lines(before),
                after: lines(after),
            }];
            assert_eq!(
                is_same_change(shown, now, &changed),
                same,
                "{after}: {shown}"
            );
        }
    }
}
