//! What changes in a file, as a user is shown it.

use similar::TextDiff;

/// A comparison of more lines takes long and is not read.
const MOST_LINES: usize = 20_000;

/// The difference between what is there and what is to be there, as a unified diff.
///
/// The name is one line, whatever is in it.
pub(crate) fn shown(name: &str, now: Option<&[u8]>, then: Option<&[u8]>) -> String {
    let name = &toolgate_gate::output::preview_name(name);
    let head = match (now, then) {
        (None, Some(_)) => format!("{name}: comes back\n"),
        (Some(_), None) => format!("{name}: is removed\n"),
        _ => String::new(),
    };
    if now == then {
        return format!("{name}: gets its rights back\n");
    }
    let text = |bytes: Option<&[u8]>| match bytes {
        None => Some(String::new()),
        Some(bytes) if bytes.contains(&0) => None,
        Some(bytes) => std::str::from_utf8(bytes).ok().map(str::to_owned),
    };
    let size = |bytes: Option<&[u8]>| bytes.map_or(0, <[u8]>::len);
    let (Some(old), Some(new)) = (text(now), text(then)) else {
        let (old, new) = (size(now), size(then));
        return format!("{head}{name}: {old} bytes become {new}, not text\n");
    };
    let lines = old.lines().count() + new.lines().count();
    if lines > MOST_LINES {
        return format!("{head}{name}: {lines} lines, too many to compare\n");
    }
    let diff = TextDiff::from_lines(&old, &new);
    let unified = diff.unified_diff().header(name, name).to_string();
    format!("{head}{unified}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_come_go_change_or_are_no_text_are_told_apart() {
        let diff = shown("a", Some(b"one\ntwo\n"), Some(b"one\nTWO\n"));
        assert!(diff.contains("-two\n+TWO\n"), "{diff}");
        assert!(shown("a", None, Some(b"x\n")).starts_with("a: comes back\n"));
        assert!(shown("a", Some(b"x\n"), None).starts_with("a: is removed\n"));
        let binary = shown("a", Some(b"\0"), Some(b"xyz"));
        assert!(binary.contains("1 bytes become 3"), "{binary}");
        assert!(shown("a", Some(b"x"), Some(b"x")).contains("rights"));
    }
}
