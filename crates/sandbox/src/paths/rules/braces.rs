//! Braces in patterns: `{a,b}` means two patterns.

use super::patterns::PatternError;

/// Braces multiply; this is the most patterns that one may expand to.
const MOST_ALTERNATIVES: usize = 256;

/// Appends every pattern that a pattern with braces expands to.
pub(crate) fn expand_braces(pattern: &str, into: &mut Vec<String>) -> Result<(), PatternError> {
    let Some((before, inside, after)) = first_braces(pattern)? else {
        if into.len() >= MOST_ALTERNATIVES {
            return Err(PatternError::TooLarge);
        }
        into.push(pattern.to_owned());
        return Ok(());
    };
    for alternative in inside {
        expand_braces(&format!("{before}{alternative}{after}"), into)?;
    }
    Ok(())
}

/// The text before the first brace, its alternatives, and the text after it.
type Braces<'a> = (&'a str, Vec<&'a str>, &'a str);

fn first_braces(pattern: &str) -> Result<Option<Braces<'_>>, PatternError> {
    let mut depth = 0_usize;
    let mut escaped = false;
    let mut cuts = Vec::new();
    for (at, c) in pattern.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '{' => {
                depth += 1;
                if depth == 1 {
                    cuts.push(at);
                }
            }
            ',' if depth == 1 => cuts.push(at),
            '}' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    cuts.push(at);
                    break;
                }
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err(PatternError::UnclosedBrace);
    }
    let (Some(open), Some(close)) = (cuts.first(), cuts.last()) else {
        return Ok(None);
    };
    let inside = cuts
        .windows(2)
        .filter_map(|pair| match pair {
            [from, to] => pattern.get(from + 1..*to),
            _ => None,
        })
        .collect();
    Ok(Some((
        pattern.get(..*open).unwrap_or_default(),
        inside,
        pattern.get(close + 1..).unwrap_or_default(),
    )))
}
