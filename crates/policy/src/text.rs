//! Rules, atoms and values in words, safe to print.

use std::borrow::Cow;
use std::fmt::Write as _;

use toolgate_model::characters::{clear, code_points};

use crate::rule::{Condition, RuleSpec, Values, WordPattern};

/// The longest text of one atom; longer ones keep their head and their tail.
const LONGEST: usize = 160;

/// A text from outside as one printable piece of a line.
///
/// What is invisible or controlling is escaped, so that a path cannot forge a
/// second line of an explanation or hide its own end.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    for (c, is_clear) in clear(text) {
        if is_clear {
            safe.push(c);
        } else {
            safe.extend(c.escape_default());
        }
    }
    let count = safe.chars().count();
    if count > LONGEST {
        let half = LONGEST / 2;
        let head: String = safe.chars().take(half).collect();
        let tail: String = safe.chars().skip(count.saturating_sub(half)).collect();
        safe = format!("{head}…{tail}");
    }
    Cow::Owned(safe)
}

/// The same for a name that stands alone: a backslash in it is no escape, and doubled.
pub(crate) fn named(name: &str) -> Cow<'_, str> {
    if name.contains('\\') {
        return Cow::Owned(shown(&name.replace('\\', "\\\\")).into_owned());
    }
    shown(name)
}

/// The words of a command as one line.
pub(crate) fn words(words: &[String]) -> String {
    let mut line = String::new();
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        if word.is_empty() || word.contains([' ', '"', '\'', '\\']) {
            line.push_str(&quoted(word));
        } else {
            line.push_str(word);
        }
    }
    if words.is_empty() {
        line.push_str("(not known)");
    }
    // A name that looks like another program's is told apart.
    let letters = words.first().and_then(|program| code_points(program));
    let letters = letters.map(|letters| format!(" [{letters}]"));
    format!(
        "{}{}",
        shown(&line),
        letters.as_deref().map(shown).unwrap_or_default()
    )
}

/// A rule in one line: `allow run_command command=["cargo",["test","check"]]`.
pub(crate) fn rule(rule: &RuleSpec) -> String {
    let mut text = format!("{} {}", rule.action, shown(&rule.tool));
    for (key, patterns) in [
        ("reads", &rule.reads),
        ("writes", &rule.writes),
        ("deletes", &rule.deletes),
        ("connects", &rule.connects),
    ] {
        if let Some(patterns) = patterns {
            let _ = write!(text, " {key}={}", list(patterns));
        }
    }
    if let Some(command) = &rule.command {
        let parts: Vec<String> = command.iter().map(word).collect();
        let _ = write!(text, " command=[{}]", parts.join(","));
    }
    if rule.opaque {
        text.push_str(" opaque=true");
    }
    for condition in &rule.when {
        let _ = write!(text, " when {}", self::condition(condition));
    }
    if let Some(origin) = &rule.origin {
        let _ = write!(text, " (from {origin})");
    }
    text
}

pub(crate) fn condition(condition: &Condition) -> String {
    let value = match &condition.value {
        Values::One(value) => quoted(value),
        Values::Any(values) => list(values),
    };
    let param = shown(&condition.param);
    format!("{param} {} {value}", condition.operator.as_str())
}

fn word(pattern: &WordPattern) -> String {
    match pattern {
        WordPattern::One(word) => quoted(word),
        WordPattern::Any(words) => list(words),
    }
}

fn list(values: &[String]) -> String {
    let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
    format!("[{}]", values.join(","))
}

pub(crate) fn quoted(value: &str) -> String {
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", shown(&escaped))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Operator;
    use toolgate_model::Action;

    #[test]
    fn text_from_outside_cannot_forge_lines_or_hide() {
        assert_eq!(shown("src/lib.rs"), "src/lib.rs");
        assert_eq!(shown("é"), "é");
        assert_eq!(shown("a\nb\u{202e}c\u{7f}"), "a\\nb\\u{202e}c\\u{7f}");
        assert_eq!(shown("a\u{34f}b\u{1d173}"), "a\\u{34f}b\\u{1d173}");
        assert_eq!(named("a\\nb\n"), "a\\\\nb\\n");
        let long = format!("{}{}", "a".repeat(400), "END");
        let short = shown(&long);
        assert!(short.ends_with("aEND") && short.contains('…'));
        assert_eq!(short.chars().count(), 161);
        assert_eq!(shown(&"é".repeat(160)), "é".repeat(160));
        assert_eq!(shown(&"a".repeat(160)), "a".repeat(160));
        assert_eq!(shown(&"a".repeat(161)).chars().count(), 161);
    }

    #[test]
    fn commands_are_shown_with_their_blanks_quoted() {
        let line = |parts: &[&str]| words(&parts.iter().map(|&p| p.to_owned()).collect::<Vec<_>>());
        assert_eq!(
            line(&["git", "commit", "-m", "a b"]),
            "git commit -m \"a b\""
        );
        assert_eq!(
            line(&["echo", "", "\"", "x\\"]),
            "echo \"\" \"\\\"\" \"x\\\\\""
        );
        assert_eq!(line(&[]), "(not known)");
        assert_eq!(line(&["ɡit", "status"]), "ɡit status [ɡ (U+0261)]");
        assert_eq!(line(&["git", "größe"]), "git größe");
    }

    #[test]
    fn a_rule_reads_like_its_keys() {
        let mut spec = RuleSpec::new("run_command", Action::Allow);
        spec.command = Some(vec![
            "cargo".into(),
            WordPattern::Any(vec!["test".into(), "check".into()]),
        ]);
        assert_eq!(
            rule(&spec),
            r#"allow run_command command=["cargo",["test","check"]]"#
        );
        let mut spec = RuleSpec::new("*", Action::Deny);
        spec.reads = Some(vec!["a".into()]);
        spec.writes = Some(vec!["b".into(), "c\"".into()]);
        spec.deletes = Some(vec!["d".into()]);
        spec.connects = Some(vec!["e".into()]);
        spec.opaque = true;
        spec.origin = Some("blocked_paths \"a\"".into());
        spec.when = vec![
            Condition {
                param: "path".into(),
                operator: Operator::StartsWith,
                value: "m/".into(),
            },
            Condition {
                param: "n".into(),
                operator: Operator::Equals,
                value: Values::Any(vec!["1".into(), "2".into()]),
            },
        ];
        assert_eq!(
            rule(&spec),
            r#"deny * reads=["a"] writes=["b","c\""] deletes=["d"] connects=["e"] opaque=true when path starts_with "m/" when n equals ["1","2"] (from blocked_paths "a")"#
        );
    }
}
