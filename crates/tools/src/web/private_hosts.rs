//! Hosts of a person's own network that `web_fetch` may reach all the same.
//!
//! A name that is granted may lead to private addresses; no other name may, even if it
//! leads to a granted address, because whoever owns a name chooses where it leads.

use std::net::IpAddr;
use std::str::FromStr;

use url::Host;

/// What a person wrote that is no host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no host; write `wiki.intern`, `localhost:8080`, `10.1.2.3`, `[::1]:8080` or `10.0.0.0/8`"
)]
pub struct NotAHost(pub String);

/// The hosts that a person granted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrivateHosts {
    grants: Vec<Grant>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Grant {
    who: Who,
    /// Every port if not given.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Who {
    Name(String),
    /// Addresses that share so many leading bits with this one.
    Block(IpAddr, u32),
}

impl PrivateHosts {
    /// Nobody.
    pub const fn none() -> Self {
        Self { grants: Vec::new() }
    }

    /// These hosts, each as `name`, an address or a block of addresses, with or without a port.
    pub fn new<T: AsRef<str>>(hosts: impl IntoIterator<Item = T>) -> Result<Self, NotAHost> {
        let grants = hosts.into_iter().map(|host| {
            let host = host.as_ref().trim();
            grant(host).ok_or_else(|| NotAHost(host.to_owned()))
        });
        Ok(Self {
            grants: grants.collect::<Result<_, _>>()?,
        })
    }

    /// Whether this very host was granted on this port.
    pub(super) fn cover(&self, host: &Host<String>, port: u16) -> bool {
        self.grants.iter().any(|grant| {
            grant.port.is_none_or(|granted| granted == port)
                && match (&grant.who, host) {
                    (Who::Name(granted), Host::Domain(name)) => granted == name,
                    (Who::Block(first, bits), Host::Ipv4(address)) => {
                        shares(*first, IpAddr::V4(*address), *bits)
                    }
                    (Who::Block(first, bits), Host::Ipv6(address)) => {
                        shares(*first, IpAddr::V6(*address), *bits)
                    }
                    (Who::Name(_), _) | (Who::Block(..), Host::Domain(_)) => false,
                }
        })
    }
}

fn grant(text: &str) -> Option<Grant> {
    if let Some((first, bits)) = text.split_once('/') {
        let first = IpAddr::from_str(first.trim_matches(['[', ']'])).ok()?;
        let bits: u32 = bits.parse().ok()?;
        let who = (bits <= width(first)).then_some(Who::Block(first, bits))?;
        return Some(Grant { who, port: None });
    }
    if let Ok(address) = IpAddr::from_str(text) {
        let who = Who::Block(address, width(address));
        return Some(Grant { who, port: None });
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port.parse().ok()?)),
        _ => (text, None),
    };
    // The same reading as that of a URL, so that one host has one name.
    let who = match Host::parse(host).ok()? {
        Host::Domain(name) => Who::Name(name.strip_suffix('.').unwrap_or(&name).to_owned()),
        Host::Ipv4(address) => Who::Block(address.into(), 32),
        Host::Ipv6(address) => Who::Block(address.into(), 128),
    };
    match &who {
        Who::Name(name) if name.is_empty() => None,
        _ => Some(Grant { who, port }),
    }
}

const fn width(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

fn shares(first: IpAddr, address: IpAddr, bits: u32) -> bool {
    match (first, address) {
        (IpAddr::V4(first), IpAddr::V4(address)) => {
            let differ = first.to_bits() ^ address.to_bits();
            differ.checked_shr(32 - bits).unwrap_or(0) == 0
        }
        (IpAddr::V6(first), IpAddr::V6(address)) => {
            let differ = first.to_bits() ^ address.to_bits();
            differ.checked_shr(128 - bits).unwrap_or(0) == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_are_as_wide_as_they_were_written() {
        for (granted, host, port, covered) in [
            ("wiki.intern", "wiki.intern", 80, true),
            ("wiki.intern", "wiki.intern", 8080, true),
            ("Wiki.Intern.", "wiki.intern", 80, true),
            ("wiki.intern:8080", "wiki.intern", 8080, true),
            ("wiki.intern:8080", "wiki.intern", 80, false),
            ("wiki.intern", "a.wiki.intern", 80, false),
            ("wiki.intern", "xwiki.intern", 80, false),
            ("10.1.2.3", "10.1.2.3", 80, true),
            ("10.1.2.3", "10.1.2.4", 80, false),
            ("10.1.2.3:81", "10.1.2.3", 80, false),
            ("10.0.0.0/8", "10.255.0.1", 9, true),
            ("10.0.0.0/8", "11.0.0.1", 9, false),
            ("0.0.0.0/0", "11.0.0.1", 9, true),
            ("0.0.0.0/0", "[::1]", 9, false),
            ("::1", "[::1]", 9, true),
            ("[::1]", "[::1]", 9, true),
            ("[::1]:80", "[::1]", 80, true),
            ("[::1]:80", "[::1]", 81, false),
            ("fd00::/8", "[fd12::1]", 80, true),
            ("fd00::/8", "[fe80::1]", 80, false),
            ("2130706433", "127.0.0.1", 80, true),
            ("bücher.intern", "xn--bcher-kva.intern", 80, true),
        ] {
            let hosts = PrivateHosts::new([granted]).unwrap();
            let host = Host::parse(host).unwrap();
            assert_eq!(hosts.cover(&host, port), covered, "{granted} {host} {port}");
        }
        let localhost = Host::parse("localhost").unwrap();
        assert!(!PrivateHosts::none().cover(&localhost, 80));
        // A granted address is no grant for a name, wherever the name leads.
        let block = PrivateHosts::new(["127.0.0.0/8"]).unwrap();
        assert!(!block.cover(&localhost, 80));
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in [
            "",
            ".",
            "a b",
            "10.0.0.0/33",
            "::/129",
            "x/8",
            "h:port",
            "h:70000",
            "http://h",
        ] {
            let refused = PrivateHosts::new([text]).unwrap_err();
            assert!(refused.to_string().contains("is no host"), "{text}");
        }
    }
}
