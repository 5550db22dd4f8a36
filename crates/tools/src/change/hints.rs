//! What is there instead of what was looked for.

use std::collections::HashMap;
use std::ops::Range;

use crate::secrets::Secrets;

/// Lines that are compared one by one; an error message is not worth more.
const LOOKED_AT: usize = 20_000;
/// Bytes of a line that are compared.
const COMPARED: usize = 200;
/// Two lines that have less in common than this do not help anybody.
const ALIKE: f64 = 0.4;
/// Lines that are shown at one place.
const SHOWN: usize = 8;
/// Bytes of a line that are shown.
const WIDEST: usize = 200;

/// The lines of a text, counted from 0, that come closest to the wanted ones.
pub(crate) fn closest(text: &str, wanted: &[&str]) -> Option<Range<usize>> {
    let lines: Vec<&str> = text.lines().collect();
    let start = by_votes(&lines, wanted).or_else(|| by_likeness(&lines, wanted))?;
    Some(start..(start + wanted.len().max(1)).min(lines.len()))
}

/// Every line that is the same but for its blanks says where the whole would start.
fn by_votes(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let mut at: HashMap<&str, Vec<usize>> = HashMap::new();
    for (offset, line) in wanted.iter().enumerate().take(SHOWN * 8) {
        let line = line.trim();
        if line.chars().filter(|c| c.is_alphanumeric()).count() >= 2 {
            at.entry(line).or_default().push(offset);
        }
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (number, line) in lines.iter().enumerate() {
        for offset in at.get(line.trim()).into_iter().flatten() {
            if let Some(start) = number.checked_sub(*offset) {
                *votes.entry(start).or_default() += 1;
            }
        }
    }
    let best = votes
        .into_iter()
        .max_by_key(|(start, count)| (*count, usize::MAX - *start));
    best.map(|(start, _)| start)
}

/// Otherwise the line that has most in common with the longest one.
fn by_likeness(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let longest = wanted
        .iter()
        .enumerate()
        .max_by_key(|(_, line)| line.trim().len());
    let (offset, line) = longest?;
    let wanted = pairs(line);
    if wanted.is_empty() {
        return None;
    }
    let mut best: Option<(f64, usize)> = None;
    for (number, line) in lines.iter().enumerate().take(LOOKED_AT) {
        let alike = likeness(&wanted, &pairs(line));
        if alike >= ALIKE && best.is_none_or(|(most, _)| alike > most) {
            best = Some((alike, number));
        }
    }
    best.map(|(_, number)| number.saturating_sub(offset))
}

/// The neighbouring pairs of bytes of a line, sorted.
fn pairs(line: &str) -> Vec<[u8; 2]> {
    let line = line.trim().as_bytes();
    let line = line.get(..COMPARED).unwrap_or(line);
    let lower = |pair: &[u8; 2]| pair.map(|byte| byte.to_ascii_lowercase());
    let mut pairs: Vec<[u8; 2]> = line.array_windows().map(lower).collect();
    pairs.sort_unstable();
    pairs
}

/// How many of them two lines share: 1 for the same, 0 for nothing in common.
#[allow(clippy::cast_precision_loss)]
fn likeness(left: &[[u8; 2]], right: &[[u8; 2]]) -> f64 {
    let (mut a, mut b) = (left.iter().peekable(), right.iter().peekable());
    let mut shared = 0_usize;
    while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
        match x.cmp(y) {
            std::cmp::Ordering::Less => _ = a.next(),
            std::cmp::Ordering::Greater => _ = b.next(),
            std::cmp::Ordering::Equal => {
                shared += 1;
                (_, _) = (a.next(), b.next());
            }
        }
    }
    let total = left.len() + right.len();
    if total == 0 {
        0.0
    } else {
        2.0 * shared as f64 / total as f64
    }
}

/// Lines of a text with their numbers, as an error shows them.
pub(crate) fn numbered(text: &str, lines: Range<usize>, secrets: &Secrets) -> String {
    let mut out = String::new();
    let mut at = 0;
    let more = lines.len().saturating_sub(SHOWN);
    let shown = lines.start..lines.end - more;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let end = at + line.len();
        if shown.contains(&number) {
            let body = at + line.trim_end_matches(['\n', '\r']).len();
            let line = secrets.masked(text, at, body);
            let cut = line.floor_char_boundary(WIDEST);
            let (head, tail) = line.split_at(cut);
            let dots = if tail.is_empty() { "" } else { "…" };
            out.push_str(&format!("\n{:>6}\t{head}{dots}", number + 1));
        }
        at = end;
    }
    if more > 0 {
        out.push_str(&format!("\n        and {more} more lines"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "fn main() {\n    let x = 1;\n    println!(\"{x}\");\n}\n\nfn other() {\n    let y = 2;\n}\n";

    #[test]
    fn the_closest_lines_are_found_by_what_is_the_same_in_them() {
        for (wanted, found) in [
            (&["fn main() {", "  let x = 1;"][..], Some(0..2)),
            (&["let x = 3;", "println!(\"{x}\");"], Some(1..3)),
            (&["let z = 2;"], Some(6..7)),
            (&["fn othr() {"], Some(5..6)),
            (&["something else entirely"], None),
            (&["", "}"], None),
            (&[], None),
        ] {
            assert_eq!(closest(TEXT, wanted), found, "{wanted:?}");
        }
    }

    #[test]
    fn shown_lines_have_numbers_and_are_bounded() {
        let shown = numbered(TEXT, 1..3, &Secrets::default());
        assert_eq!(
            shown,
            "\n     2\t    let x = 1;\n     3\t    println!(\"{x}\");"
        );
        let long: String = (0..100)
            .map(|n| format!("{n}{}\n", "ä".repeat(300)))
            .collect();
        let shown = numbered(&long, 10..60, &Secrets::default());
        assert!(
            shown.contains("and 42 more lines") && shown.len() < 3_000,
            "{shown}"
        );
    }
}
