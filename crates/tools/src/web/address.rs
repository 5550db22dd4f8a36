//! Which addresses a model's request may reach: the public internet, and nothing else.
//!
//! Everything that is not known to be public is forbidden. An IPv6 address that carries
//! an IPv4 address is judged by what it carries, because that is where it leads.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is not reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Forbidden {
    /// This machine, under any of its names.
    Loopback,
    /// No address at all, which Linux takes for this machine.
    Unspecified,
    /// A network of one's own.
    Private,
    /// A network of a carrier's own.
    SharedByCarrier,
    /// The cable itself.
    LinkLocal,
    /// Where clouds hand out credentials.
    Metadata,
    /// Many machines at once.
    Multicast,
    /// Every machine of a network at once.
    Broadcast,
    /// Only for texts such as this one.
    Documentation,
    /// Only for measuring.
    Benchmarking,
    /// An address in an address, which leads past what was checked.
    Tunnel,
    /// Nothing that anybody on the internet has.
    Reserved,
}

impl Forbidden {
    /// Whether a name that a person granted may lead there. Where no web server of
    /// anybody's can be, or where credentials are, the address itself has to be granted.
    pub(crate) const fn may_be_granted_by_name(self) -> bool {
        matches!(
            self,
            Self::Loopback | Self::Private | Self::SharedByCarrier | Self::LinkLocal
        )
    }

    /// What the address is, for a sentence.
    pub const fn said(self) -> &'static str {
        match self {
            Self::Loopback => "this machine itself (loopback)",
            Self::Unspecified => "this machine itself (unspecified)",
            Self::Private => "a private network",
            Self::SharedByCarrier => "a carrier's private network",
            Self::LinkLocal => "link-local",
            Self::Metadata => "a cloud's metadata service",
            Self::Multicast => "multicast",
            Self::Broadcast => "broadcast",
            Self::Documentation => "for documentation only",
            Self::Benchmarking => "for benchmarks only",
            Self::Tunnel => "another address inside a tunnel",
            Self::Reserved => "reserved",
        }
    }
}

/// A block of IPv4 addresses: the first of them, and how many bits they share.
struct Block4(Ipv4Addr, u32, Forbidden);

/// Special addresses stand before the blocks that hold them.
const BLOCKS4: &[Block4] = &[
    // AWS, Azure, GCP and most others; then containers on AWS; Tencent; Alibaba; Oracle; Azure.
    Block4(Ipv4Addr::new(169, 254, 169, 254), 32, Forbidden::Metadata),
    Block4(Ipv4Addr::new(169, 254, 170, 2), 32, Forbidden::Metadata),
    Block4(Ipv4Addr::new(169, 254, 170, 23), 32, Forbidden::Metadata),
    Block4(Ipv4Addr::new(169, 254, 0, 23), 32, Forbidden::Metadata),
    Block4(Ipv4Addr::new(100, 100, 100, 200), 32, Forbidden::Metadata),
    Block4(Ipv4Addr::new(192, 0, 0, 192), 32, Forbidden::Metadata),
    Block4(Ipv4Addr::new(168, 63, 129, 16), 32, Forbidden::Metadata),
    Block4(Ipv4Addr::new(0, 0, 0, 0), 8, Forbidden::Unspecified),
    Block4(Ipv4Addr::new(10, 0, 0, 0), 8, Forbidden::Private),
    Block4(Ipv4Addr::new(100, 64, 0, 0), 10, Forbidden::SharedByCarrier),
    Block4(Ipv4Addr::new(127, 0, 0, 0), 8, Forbidden::Loopback),
    Block4(Ipv4Addr::new(169, 254, 0, 0), 16, Forbidden::LinkLocal),
    Block4(Ipv4Addr::new(172, 16, 0, 0), 12, Forbidden::Private),
    Block4(Ipv4Addr::new(192, 0, 0, 0), 24, Forbidden::Reserved),
    Block4(Ipv4Addr::new(192, 0, 2, 0), 24, Forbidden::Documentation),
    Block4(Ipv4Addr::new(192, 88, 99, 0), 24, Forbidden::Tunnel),
    Block4(Ipv4Addr::new(192, 168, 0, 0), 16, Forbidden::Private),
    Block4(Ipv4Addr::new(198, 18, 0, 0), 15, Forbidden::Benchmarking),
    Block4(Ipv4Addr::new(198, 51, 100, 0), 24, Forbidden::Documentation),
    Block4(Ipv4Addr::new(203, 0, 113, 0), 24, Forbidden::Documentation),
    Block4(Ipv4Addr::new(224, 0, 0, 0), 4, Forbidden::Multicast),
    Block4(Ipv4Addr::new(255, 255, 255, 255), 32, Forbidden::Broadcast),
    Block4(Ipv4Addr::new(240, 0, 0, 0), 4, Forbidden::Reserved),
];

/// A block of IPv6 addresses.
struct Block6(Ipv6Addr, u32, Forbidden);

const fn v6(a: u16, b: u16, c: u16) -> Ipv6Addr {
    Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0)
}

const BLOCKS6: &[Block6] = &[
    Block6(Ipv6Addr::UNSPECIFIED, 128, Forbidden::Unspecified),
    Block6(Ipv6Addr::LOCALHOST, 128, Forbidden::Loopback),
    // AWS, twice; GCP; OpenStack.
    Block6(
        Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
        128,
        Forbidden::Metadata,
    ),
    Block6(
        Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
        128,
        Forbidden::Metadata,
    ),
    Block6(
        Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
        128,
        Forbidden::Metadata,
    ),
    Block6(
        Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe),
        128,
        Forbidden::Metadata,
    ),
    // NAT64 with a prefix of the network's own: what it carries cannot be told.
    Block6(v6(0x64, 0xff9b, 1), 48, Forbidden::Tunnel),
    Block6(v6(0x100, 0, 0), 64, Forbidden::Reserved),
    // Teredo, then the rest of the protocols' own block.
    Block6(v6(0x2001, 0, 0), 32, Forbidden::Tunnel),
    Block6(v6(0x2001, 2, 0), 48, Forbidden::Benchmarking),
    Block6(v6(0x2001, 0, 0), 23, Forbidden::Reserved),
    Block6(v6(0x2001, 0xdb8, 0), 32, Forbidden::Documentation),
    Block6(v6(0x2002, 0, 0), 16, Forbidden::Tunnel),
    Block6(v6(0x3fff, 0, 0), 20, Forbidden::Documentation),
    Block6(v6(0xfc00, 0, 0), 7, Forbidden::Private),
    Block6(v6(0xfe80, 0, 0), 10, Forbidden::LinkLocal),
    Block6(v6(0xfec0, 0, 0), 10, Forbidden::Private),
    Block6(v6(0xff00, 0, 0), 8, Forbidden::Multicast),
];

/// The address to connect to, or why not.
///
/// An IPv4 address in IPv6 clothes comes back as what it is.
pub fn judge(address: IpAddr) -> Result<IpAddr, Forbidden> {
    match address {
        IpAddr::V4(address) => judge_v4(address).map(IpAddr::V4),
        IpAddr::V6(address) => judge_v6(address),
    }
}

fn judge_v4(address: Ipv4Addr) -> Result<Ipv4Addr, Forbidden> {
    let holds = |block: &&Block4| same_start(address.to_bits(), block.0.to_bits(), block.1);
    match BLOCKS4.iter().find(holds) {
        Some(block) => Err(block.2),
        None => Ok(address),
    }
}

fn judge_v6(address: Ipv6Addr) -> Result<IpAddr, Forbidden> {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return judge_v4(mapped).map(IpAddr::V4);
    }
    let holds = |block: &&Block6| {
        let shift = 128_u32.saturating_sub(block.1);
        let differ = address.to_bits() ^ block.0.to_bits();
        differ.checked_shr(shift).unwrap_or(0) == 0
    };
    if let Some(block) = BLOCKS6.iter().find(holds) {
        return Err(block.2);
    }
    let [a, b, c, d, e, f, ..] = address.segments();
    let carried = carried(address);
    match [a, b, c, d, e, f] {
        // The well-known NAT64 prefix leads to the address that it carries.
        [0x64, 0xff9b, 0, 0, 0, 0] => judge_v4(carried)?,
        // IPv4-compatible and IPv4-translated: nobody has these any more.
        [0, 0, 0, 0, 0, 0] | [0, 0, 0, 0, 0xffff, 0] => {
            judge_v4(carried)?;
            return Err(Forbidden::Tunnel);
        }
        // Only this eighth has been given to anybody.
        _ if a & 0xe000 != 0x2000 => return Err(Forbidden::Reserved),
        // ISATAP.
        [_, _, _, _, 0 | 0x200, 0x5efe] => judge_v4(carried)?,
        _ => carried,
    };
    Ok(IpAddr::V6(address))
}

/// The IPv4 address in the last 32 bits.
fn carried(address: Ipv6Addr) -> Ipv4Addr {
    let [.., a, b, c, d] = address.octets();
    Ipv4Addr::new(a, b, c, d)
}

fn same_start(one: u32, other: u32, bits: u32) -> bool {
    let differ = one ^ other;
    differ.checked_shr(32_u32.saturating_sub(bits)).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(text: &str) -> Result<String, Forbidden> {
        judge(text.parse().unwrap()).map(|address| address.to_string())
    }

    #[test]
    fn the_ends_of_every_block_are_in_it_and_their_neighbours_are_judged_by_theirs() {
        for block in BLOCKS4 {
            let first = block.0.to_bits();
            let last = first | u32::MAX.checked_shr(block.1).unwrap_or(0);
            for inside in [first, last, first + (last - first) / 2] {
                assert!(judge_v4(Ipv4Addr::from_bits(inside)).is_err(), "{inside:x}");
            }
        }
        for block in BLOCKS6 {
            let first = block.0.to_bits();
            let last = first | u128::MAX.checked_shr(block.1).unwrap_or(0);
            for inside in [first, last, first + (last - first) / 2] {
                let inside = Ipv6Addr::from_bits(inside);
                assert!(judge_v6(inside).is_err(), "{inside}");
            }
        }
    }

    #[test]
    fn clothes_do_not_hide_an_address() {
        for (text, expected) in [
            ("::ffff:8.8.8.8", Ok("8.8.8.8")),
            ("::ffff:127.0.0.1", Err(Forbidden::Loopback)),
            ("::127.0.0.1", Err(Forbidden::Loopback)),
            ("::8.8.8.8", Err(Forbidden::Tunnel)),
            ("::ffff:0:8.8.8.8", Err(Forbidden::Tunnel)),
            ("::ffff:0:10.0.0.1", Err(Forbidden::Private)),
            ("64:ff9b::8.8.8.8", Ok("64:ff9b::808:808")),
            ("64:ff9b::169.254.169.254", Err(Forbidden::Metadata)),
            ("64:ff9b:1::8.8.8.8", Err(Forbidden::Tunnel)),
            ("2002:808:808::", Err(Forbidden::Tunnel)),
            ("2001:0:1::1", Err(Forbidden::Tunnel)),
            ("2606:4700::5efe:10.0.0.1", Err(Forbidden::Private)),
            ("2606:4700::200:5efe:7f00:1", Err(Forbidden::Loopback)),
            ("2606:4700::5efe:8.8.8.8", Ok("2606:4700::5efe:808:808")),
        ] {
            let judged = judged(text);
            assert_eq!(judged, expected.map(str::to_owned), "{text}");
        }
    }
}
