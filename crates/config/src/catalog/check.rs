//! What text has to be, beyond being text.

use toolgate_policy::names_a_tool;

/// A check on text. Each has a rule in words, and a pattern for editors where one says the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// Anything at all.
    Any,
    /// Something has to be there.
    Filled,
    /// The name of a tool, or `*`.
    Tool,
    /// The name of an environment variable.
    Variable,
    /// A name of environment variables with `*` for any part of it.
    Variables,
    /// A path, absolute or from the workspace.
    Path,
    /// A pattern of paths.
    PathPattern,
    /// An address that starts with `http://` or `https://`.
    Url,
    /// Scheme, host and port of a page, and nothing else.
    Origin,
}

impl Check {
    /// What is wrong with the text, if something is.
    pub(crate) fn problem(self, text: &str) -> Option<&'static str> {
        if self == Self::Any {
            return None;
        }
        if text.trim().is_empty() {
            return Some("it is empty");
        }
        if text.contains('\0') {
            return Some("it has a NUL character in it");
        }
        match self {
            Self::Any | Self::Filled => None,
            Self::Tool => (!names_a_tool(text) || text.contains(char::is_whitespace)).then_some(
                "the name of a tool is written out, without blanks; `*` alone means all",
            ),
            Self::Variable => (!is_variable(text, false)).then_some(
                "a variable's name is letters, digits and `_`, and starts with no digit",
            ),
            Self::Variables => (!is_variable(text, true))
                .then_some("it is letters, digits, `_` and `*`, as in `*_TOKEN`"),
            Self::Path | Self::PathPattern => text
                .starts_with('~')
                .then_some("`~` is not expanded; write the whole path"),
            Self::Url => url_problem(text),
            Self::Origin => origin_problem(text),
        }
    }

    /// The same as a regular expression, where there is one.
    pub(crate) const fn pattern(self) -> Option<&'static str> {
        match self {
            Self::Any => None,
            Self::Filled => Some(r"\S"),
            Self::Tool => Some(r"^(\*|[^\s*?]+)$"),
            Self::Variable => Some("^[A-Za-z_][A-Za-z0-9_]*$"),
            Self::Variables => Some("^[A-Za-z_*][A-Za-z0-9_*]*$"),
            Self::Path | Self::PathPattern => Some("^[^~]"),
            Self::Url | Self::Origin => Some("^https?://"),
        }
    }
}

fn is_variable(text: &str, stars: bool) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || (stars && c == '*');
    text.chars().all(fits) && !text.starts_with(|c: char| c.is_ascii_digit())
}

fn url_problem(text: &str) -> Option<&'static str> {
    let Some((_, authority, _)) = url_parts(text) else {
        return Some("it is no address; write `https://host` or `http://host:port`");
    };
    // What stands here is shown by `config show` and in messages.
    authority.contains('@').then_some(
        "a user or password does not belong into an address; use `api_key_env` or `headers`",
    )
}

fn origin_problem(text: &str) -> Option<&'static str> {
    match url_parts(text) {
        Some((_, authority, "")) if !authority.contains(['@', '*']) => None,
        _ => Some(
            "it is no origin; write scheme, host and port only, such as `http://localhost:3000`",
        ),
    }
}

/// Scheme, authority and the rest, if there is a host.
fn url_parts(text: &str) -> Option<(&str, &str, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    if !matches!(scheme, "http" | "https")
        || text.contains(|c: char| c.is_whitespace() || c.is_control())
    {
        return None;
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end)?;
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let bare = host.split(':').next().unwrap_or(host);
    (!bare.is_empty()).then_some((scheme, authority, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_pass_the_checks_that_they_should() {
        for (check, good, bad) in [
            (Check::Filled, &["x", " x "][..], &["", "  ", "a\0b"][..]),
            (
                Check::Tool,
                &["read_file", "*"],
                &["read file", "", "web*", "?eb_fetch", "**"],
            ),
            (
                Check::Variable,
                &["API_KEY", "_x9"],
                &["9X", "A-B", "A=B", "*_KEY", ""],
            ),
            (
                Check::Variables,
                &["*_KEY", "AWS_*", "PATH"],
                &["A=B", "a b", "9*"],
            ),
            (Check::Path, &["/srv", "a/b", "."], &["~/x", "~", ""]),
            (
                Check::Url,
                &[
                    "http://localhost:8080",
                    "https://a.example/v1?x=1",
                    "http://[::1]:3",
                ],
                &[
                    "localhost:8080",
                    "ftp://a",
                    "http://",
                    "https:///x",
                    "http://u:p@a",
                    "http://a b",
                ],
            ),
            (
                Check::Origin,
                &["http://localhost:3000", "https://a.example"],
                &[
                    "https://a.example/",
                    "https://a/x",
                    "*",
                    "https://*.example",
                    "https://u@a",
                ],
            ),
        ] {
            for text in good {
                assert_eq!(check.problem(text), None, "{check:?} {text:?}");
            }
            for text in bad {
                assert!(check.problem(text).is_some(), "{check:?} {text:?}");
            }
        }
    }
}
