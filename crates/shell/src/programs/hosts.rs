//! Which host a word names.

/// What an address turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// `host` or `host:port`.
    Name(String),
    /// A file on this machine.
    File(String),
    /// Nothing that can be told from the text.
    Unclear,
}

/// The host of a URL or of a bare address.
pub(crate) fn of(text: &str) -> Host {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest),
        None => (String::new(), text),
    };
    if scheme == "file" {
        let path = rest.strip_prefix("localhost").unwrap_or(rest);
        return Host::File(path.to_owned());
    }
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let authority = rest.get(..end).unwrap_or_default();
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    if is_host(host) {
        Host::Name(host.to_ascii_lowercase())
    } else {
        Host::Unclear
    }
}

/// What `host:path`, `user@host:path`, `host::module` or a URL leads to; nothing for a path here.
pub(crate) fn of_remote_path(text: &str) -> Option<Host> {
    if text.contains("://") {
        return Some(of(text));
    }
    let (before, _) = text.split_once(':')?;
    if before.is_empty() || before.contains('/') {
        return None;
    }
    let host = before.rsplit_once('@').map_or(before, |(_, host)| host);
    Some(if host.starts_with('-') {
        Host::Unclear
    } else {
        Host::Name(host.to_ascii_lowercase())
    })
}

/// A name that starts with a dash would be an option of whatever makes the connection.
fn is_host(host: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]%".contains(&byte);
    !host.is_empty() && !host.starts_with('-') && host.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_in_all_their_forms() {
        let name = |host: &str| Host::Name(host.to_owned());
        assert_eq!(of("https://Example.com/api"), name("example.com"));
        assert_eq!(of("http://user:pw@h:8080?x"), name("h:8080"));
        assert_eq!(of("example.com/x"), name("example.com"));
        assert_eq!(
            of("file:///etc/passwd"),
            Host::File("/etc/passwd".to_owned())
        );
        assert_eq!(of("https://[::1]:80/"), name("[::1]:80"));
        assert_eq!(of("https://a b/"), Host::Unclear);
        assert_eq!(of_remote_path("me@h:/x"), Some(name("h")));
        assert_eq!(of_remote_path("./a:b"), None);
        assert_eq!(of_remote_path("h::mod"), Some(name("h")));
        for option in [
            "ssh://-oProxyCommand=id/x",
            "ssh://-p/x",
            "ssh://me@-oProxyCommand=id/x",
            "-oProxyCommand=id:x",
        ] {
            assert_eq!(of_remote_path(option), Some(Host::Unclear), "{option}");
        }
    }
}
