//! The lines of configuration that open a denied or protected path.

use std::fmt::Write;

use toolgate_model::Access;
use toolgate_model::characters::seen;

/// Signs that mean something in the pattern of a rule.
const SIGNS: [char; 8] = ['*', '?', '[', ']', '{', '}', '\\', '~'];

/// A longer path is not written into a message.
const LONGEST: usize = 300;

/// The rule that names this path, as a block to append to a configuration file.
///
/// Nothing for a path that cannot be written there: bytes that are not UTF-8, characters
/// that would not be seen in it, and more than a message takes.
pub(crate) fn rule_that_names(path: &[u8], access: Access) -> Option<String> {
    let path = std::str::from_utf8(path).ok()?;
    if path.is_empty() || path.len() > LONGEST || path.chars().any(|c| seen(c).nth(1).is_some()) {
        return None;
    }
    let mut pattern = String::with_capacity(path.len());
    for c in path.chars() {
        if SIGNS.contains(&c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    let mut quoted = String::with_capacity(pattern.len() + 2);
    for c in pattern.chars() {
        if matches!(c, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    let mut rule = String::new();
    writeln!(rule, "[[tools.rules]]\ntool = \"*\"\naction = \"ask\"").ok()?;
    let key = match access {
        Access::Read => "reads",
        Access::Write | Access::Delete => "writes",
    };
    write!(rule, "{key} = [\"{quoted}\"]").ok()?;
    Some(rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_names_the_path_and_nothing_else() {
        for (path, writes) in [
            (".envrc", r#"writes = [".envrc"]"#),
            ("/opt/x/.envrc", r#"writes = ["/opt/x/.envrc"]"#),
            ("app/[id]/.envrc", r#"writes = ["app/\\[id\\]/.envrc"]"#),
            ("~/\"q\"/.envrc", r#"writes = ["\\~/\"q\"/.envrc"]"#),
        ] {
            let rule = rule_that_names(path.as_bytes(), Access::Write).unwrap();
            let wanted = format!("[[tools.rules]]\ntool = \"*\"\naction = \"ask\"\n{writes}");
            assert_eq!(rule, wanted, "{path}");
        }
        let long = "x".repeat(LONGEST + 1);
        for path in [
            &b""[..],
            long.as_bytes(),
            b"\xff/.envrc",
            b"a\n/.envrc",
            "a\u{200b}".as_bytes(),
        ] {
            assert_eq!(rule_that_names(path, Access::Read), None, "{path:?}");
        }
    }
}
