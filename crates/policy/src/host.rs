//! Hosts in rules and in facts.

use crate::error::RuleError;

/// `host` or `host:port` of a fact, taken apart once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    /// Lower case, without the dot that ends a full name.
    pub(crate) name: String,
    pub(crate) port: Option<u16>,
}

impl Host {
    pub(crate) fn of(text: &str) -> Self {
        let (name, port) = split(text);
        Self {
            name: fold(name),
            port: port.and_then(|port| port.parse().ok()),
        }
    }
}

/// A host pattern of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostPattern {
    name: Name,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    Exact(String),
    /// The part after the star, with its leading dot.
    Beneath(String),
    Every,
}

impl HostPattern {
    pub(crate) fn parse(text: &str) -> Result<Self, RuleError> {
        let fault = || RuleError::Host {
            pattern: text.to_owned(),
        };
        let (name, port) = split(text);
        let port = match port {
            None => None,
            Some(port) => Some(port.parse().map_err(|_| fault())?),
        };
        let every = name == "*";
        let name = fold(name);
        let name = if every {
            Name::Every
        } else if let Some(rest) = name.strip_prefix('*') {
            if !rest.starts_with('.') || !is_plain(rest.trim_start_matches('.')) {
                return Err(fault());
            }
            Name::Beneath(rest.to_owned())
        } else if is_plain(&name) {
            Name::Exact(name)
        } else {
            return Err(fault());
        };
        Ok(Self { name, port })
    }

    /// The exact name to look it up by, if it has one.
    pub(crate) fn key(&self) -> Option<&str> {
        match &self.name {
            Name::Exact(name) => Some(name),
            Name::Beneath(_) | Name::Every => None,
        }
    }

    /// Whether it fits; a fact without a port is a doubt, which `strict` rules take as a fit.
    pub(crate) fn fits(&self, host: &Host, strict: bool) -> bool {
        let name = match &self.name {
            Name::Every => true,
            Name::Exact(name) => *name == host.name,
            Name::Beneath(end) => host.name.len() > end.len() && host.name.ends_with(end.as_str()),
        };
        name && match (self.port, host.port) {
            (None, _) => true,
            (Some(wanted), Some(port)) => wanted == port,
            (Some(_), None) => strict,
        }
    }

    /// Whether it is about one port only.
    pub(crate) const fn has_port(&self) -> bool {
        self.port.is_some()
    }

    /// Whether everything that `other` fits is fitted by this one too.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let name = match (&self.name, &other.name) {
            (Name::Every, _) => true,
            (Name::Exact(mine), Name::Exact(theirs)) => mine == theirs,
            (Name::Beneath(mine), Name::Exact(theirs)) => {
                theirs.len() > mine.len() && theirs.ends_with(mine.as_str())
            }
            (Name::Beneath(mine), Name::Beneath(theirs)) => theirs.ends_with(mine.as_str()),
            (Name::Exact(_) | Name::Beneath(_), _) => false,
        };
        name && (self.port.is_none() || self.port == other.port)
    }
}

/// Splits a port off; colons of a bare IPv6 address are no port.
fn split(text: &str) -> (&str, Option<&str>) {
    if let Some((address, rest)) = text
        .strip_prefix('[')
        .and_then(|inner| inner.split_once(']'))
    {
        return (address, rest.strip_prefix(':'));
    }
    match text.split_once(':') {
        Some((name, port)) if !port.contains(':') => (name, Some(port)),
        _ => (text, None),
    }
}

fn fold(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// Letters, digits and what else stands in names and addresses; no pattern signs, no URL parts.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_hosts_by_name_and_port() {
        for (pattern, host, allow, deny) in [
            ("docs.rs", "docs.rs", true, true),
            ("docs.rs", "DOCS.rs.", true, true),
            ("docs.rs", "docs.rs:443", true, true),
            ("docs.rs", "evil-docs.rs", false, false),
            ("docs.rs", "a.docs.rs", false, false),
            ("docs.rs:443", "docs.rs:443", true, true),
            ("docs.rs:443", "docs.rs:80", false, false),
            ("docs.rs:443", "docs.rs", false, true),
            ("*.docs.rs", "a.b.docs.rs", true, true),
            ("*.docs.rs", "docs.rs", false, false),
            ("*.docs.rs", ".docs.rs", false, false),
            ("*.docs.rs", "evildocs.rs", false, false),
            ("*", "anything:1", true, true),
            ("*:80", "anything:1", false, false),
            ("::1", "[::1]:80", true, true),
            ("[::1]:80", "[::1]:80", true, true),
            ("[::1]:80", "::1", false, true),
            ("[::1]:80", "[::1]:81", false, false),
        ] {
            let parsed = HostPattern::parse(pattern).unwrap();
            let at = Host::of(host);
            assert_eq!(parsed.fits(&at, false), allow, "allow {pattern} on {host}");
            assert_eq!(parsed.fits(&at, true), deny, "deny {pattern} on {host}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for pattern in [
            "",
            "*docs.rs",
            "*.",
            "a.*",
            "https://docs.rs",
            "docs.rs:http",
            "docs.rs:",
            "a b",
            "*.a.*",
            "docs.rs/x",
        ] {
            assert!(HostPattern::parse(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn a_wider_pattern_covers_a_narrower_one() {
        for (wide, narrow, covers) in [
            ("*", "docs.rs", true),
            ("*", "*.docs.rs", true),
            ("*", "*", true),
            ("*.rs", "docs.rs", true),
            ("*.docs.rs", "*.a.docs.rs", true),
            ("*.docs.rs", "*.docs.rs", true),
            ("*.docs.rs", "docs.rs", false),
            ("*.docs.rs", ".docs.rs", false),
            ("*.docs.rs", "*", false),
            ("docs.rs", "docs.rs", true),
            ("docs.rs", "docs.rs:1", true),
            ("docs.rs:1", "docs.rs", false),
            ("docs.rs:1", "docs.rs:1", true),
            ("docs.rs:1", "docs.rs:2", false),
            ("docs.rs", "*.docs.rs", false),
            ("docs.rs", "other.rs", false),
        ] {
            let (left, right) = (
                HostPattern::parse(wide).unwrap(),
                HostPattern::parse(narrow).unwrap(),
            );
            assert_eq!(left.covers(&right), covers, "{wide} over {narrow}");
        }
        assert_eq!(
            HostPattern::parse("Docs.RS").unwrap().key(),
            Some("docs.rs")
        );
        assert_eq!(HostPattern::parse("*.rs").unwrap().key(), None);
    }
}
