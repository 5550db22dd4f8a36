//! Names and ids in the form a wire accepts.

use std::borrow::Cow;
use std::collections::HashSet;

/// The name of a call that named no tool.
const NAMELESS: &str = "unnamed";
/// The most characters of a tool's name.
const LONGEST: usize = 64;

/// A tool's name. One that a model made up may hold what its own wire refuses,
/// and the history has to be accepted all the same.
pub(super) fn tool_name(name: Option<&str>, plain: bool) -> Cow<'_, str> {
    let name = name.filter(|name| !name.trim().is_empty());
    match name {
        None => Cow::Borrowed(NAMELESS),
        Some(name) if !plain || (name.len() <= LONGEST && name.chars().all(is_plain)) => {
            Cow::Borrowed(name)
        }
        Some(name) => Cow::Owned(name.chars().take(LONGEST).map(plainer).collect()),
    }
}

/// A call's id in its wire's form, of which no other call of the conversation has the same.
pub(super) fn call_id(id: &str, plain: bool, used: &mut HashSet<String>) -> String {
    let mut written: String = if plain {
        id.chars().map(plainer).collect()
    } else {
        id.to_owned()
    };
    if written.is_empty() {
        written.push_str("call");
    }
    if used.contains(&written) {
        let again = (2_u64..).map(|n| format!("{written}_{n}"));
        if let Some(free) = again.into_iter().find(|id| !used.contains(id)) {
            written = free;
        }
    }
    used.insert(written.clone());
    written
}

const fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

const fn plainer(c: char) -> char {
    if is_plain(c) { c } else { '_' }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_get_the_form_the_wire_accepts() {
        let long = "x".repeat(99);
        for (name, plain, written) in [
            (Some("read_file"), true, "read_file"),
            (Some("functions.read:0"), true, "functions_read_0"),
            (Some("functions.read:0"), false, "functions.read:0"),
            (Some(" "), false, "unnamed"),
            (Some("ü"), true, "_"),
            (None, true, "unnamed"),
            (Some(long.as_str()), true, long.get(..64).unwrap()),
        ] {
            assert_eq!(tool_name(name, plain), written);
        }
    }

    #[test]
    fn no_id_is_used_twice() {
        let mut used = HashSet::new();
        let mut written = |id, plain| call_id(id, plain, &mut used);
        assert_eq!(written("a:1", true), "a_1");
        assert_eq!(written("a.1", true), "a_1_2");
        assert_eq!(written("a_1", false), "a_1_3");
        assert_eq!(written("", false), "call");
        assert_eq!(written("", false), "call_2");
        assert_eq!(written("a:1", false), "a:1");
    }
}
