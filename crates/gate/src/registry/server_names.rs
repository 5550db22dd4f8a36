//! Names of tools that other servers offer.

use sha2::{Digest, Sha256};

use super::is_tool_name;
use crate::tool::hex;

/// The longest name that every wire takes.
const LONGEST: usize = 64;
/// How much of a digest stands in a name: 80 bits.
const DIGITS: usize = 20;

/// The name under which a tool of another server is registered: `server__tool`, if every wire
/// takes it and no other pair gives it; otherwise what is left of it with a digest of both names
/// at its end.
///
/// The same pair always gives the same name, and different pairs give different names.
///
/// ```
/// # use toolgate_gate::registry::server_tool_name;
/// assert_eq!(server_tool_name("github", "create_issue"), "github__create_issue");
/// assert_eq!(server_tool_name("a.b", "c"), "a_b__c_8c32d5ede2056b656a44");
/// ```
#[must_use]
pub fn server_tool_name(server: &str, tool: &str) -> String {
    let name = format!("{server}__{tool}");
    // The first `__` ends the server's name, so a plain name can be taken apart in one way only.
    let apart = !server.is_empty() && !tool.is_empty();
    let apart = apart && !server.contains("__") && !server.ends_with('_');
    if apart && is_tool_name(&name) && !has_digest(&name) {
        return name;
    }
    let mut hash = Sha256::new();
    hash.update((server.len() as u64).to_le_bytes());
    hash.update(server);
    hash.update(tool);
    let digest = hex(&hash.finalize());
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() || c == '-' => c,
        _ => '_',
    };
    let head = name.chars().map(plain).take(LONGEST - DIGITS - 1);
    let digits = digest.chars().take(DIGITS);
    head.chain(['_']).chain(digits).collect()
}

/// Whether a name ends like one that was made with a digest.
fn has_digest(name: &str) -> bool {
    let is_digit = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    let last = name.rsplit_once('_').map_or("", |(_, last)| last);
    last.len() == DIGITS && last.chars().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_every_wire_takes_stay_readable() {
        for (server, tool) in [
            ("github", "create_issue"),
            ("a", "_b"),
            ("a_b", "c__d"),
            ("a-b", "c-d"),
            ("s", &"t".repeat(61)),
        ] {
            assert_eq!(server_tool_name(server, tool), format!("{server}__{tool}"));
        }
    }

    #[test]
    fn all_others_get_a_digest() {
        let long = "t".repeat(62);
        let taken = server_tool_name("a.b", "c");
        let (server, tool) = taken.split_once("__").unwrap();
        for (server, tool) in [
            ("a.b", "c"),
            ("a", "b.c"),
            ("a", "b/c"),
            ("ü", "c"),
            ("", "c"),
            ("a", ""),
            ("a__b", "c"),
            ("a_", "b"),
            ("s", long.as_str()),
            (server, tool),
        ] {
            let name = server_tool_name(server, tool);
            assert!(has_digest(&name) && is_tool_name(&name), "{name}");
        }
    }
}
