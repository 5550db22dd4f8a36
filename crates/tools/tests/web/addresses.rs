//! Laws of which addresses are reached.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use toolgate_tools::web::{PrivateHosts, Target, judge};

/// Every way to write an IPv4 address that a URL knows.
fn spellings(address: Ipv4Addr) -> Vec<String> {
    let [a, b, c, d] = address.octets();
    let bits = address.to_bits();
    let low24 = bits & 0xff_ffff;
    let low16 = bits & 0xffff;
    vec![
        format!("{a}.{b}.{c}.{d}"),
        format!("{a}.{b}.{c}.{d}."),
        format!("{bits}"),
        format!("{bits:#x}"),
        format!("0{bits:o}"),
        format!("{a}.{low24}"),
        format!("{a}.{b}.{low16}"),
        format!("{a:#x}.{b:#x}.{c:#x}.{d:#x}"),
        format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        format!("{a:#x}.0{b:o}.{low16}"),
        format!("{a}.{b}.{c}.{d}")
            .chars()
            .map(|c| match c.to_digit(10) {
                Some(digit) => char::from_u32(0xff10 + digit).unwrap(),
                None => '\u{3002}',
            })
            .collect(),
        format!("{a}.{b}.{c}.{d}")
            .bytes()
            .map(|byte| format!("%{byte:02x}"))
            .collect(),
    ]
}

/// Every way to carry it in an IPv6 address that leads to it.
fn carriers(address: Ipv4Addr) -> Vec<Ipv6Addr> {
    let bits = u128::from(address.to_bits());
    vec![
        address.to_ipv6_mapped(),
        Ipv6Addr::from_bits(bits),
        Ipv6Addr::from_bits(0xffff_0000_u128 << 32 | bits),
        Ipv6Addr::from_bits(0x0064_ff9b_u128 << 96 | bits),
        Ipv6Addr::from_bits(0x0064_ff9b_0001_u128 << 80 | bits),
        Ipv6Addr::from_bits(0x2002_u128 << 112 | bits << 80),
        Ipv6Addr::from_bits(0x2001_u128 << 112 | bits),
        Ipv6Addr::from_bits(0x2606_4700_u128 << 96 | 0x5efe_u128 << 32 | bits),
    ]
}

fn is_refused(host: &str) -> bool {
    Target::parse(&format!("http://{host}/"), &PrivateHosts::none()).is_err()
}

/// Addresses, half of them from blocks that are special.
fn addresses() -> impl Strategy<Value = Ipv4Addr> {
    let special = (
        prop::sample::select(vec![
            0x0a00_0000_u32,
            0x7f00_0000,
            0xa9fe_0000,
            0xac10_0000,
            0xc0a8_0000,
            0x6440_0000,
            0xe000_0000,
            0xf000_0000,
            0,
        ]),
        0_u32..0x2_0000,
    );
    prop_oneof![
        any::<u32>().prop_map(Ipv4Addr::from_bits),
        special.prop_map(|(block, rest)| Ipv4Addr::from_bits(block | rest)),
    ]
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(2_000))]

    #[test]
    fn every_spelling_of_an_address_is_judged_like_the_address(address in addresses()) {
        let forbidden = judge(IpAddr::V4(address)).is_err();
        for host in spellings(address) {
            prop_assert_eq!(is_refused(&host), forbidden, "{}", host);
        }
    }

    #[test]
    fn no_carrier_leads_to_a_forbidden_address(address in addresses()) {
        if judge(IpAddr::V4(address)).is_err() {
            for carrier in carriers(address) {
                prop_assert!(judge(IpAddr::V6(carrier)).is_err(), "{}", carrier);
                let host = format!("[{carrier}]");
                prop_assert!(is_refused(&host), "{}", host);
            }
        }
    }

    #[test]
    fn what_may_be_reached_is_global(bits: u128) {
        if let Ok(IpAddr::V6(address)) = judge(IpAddr::V6(Ipv6Addr::from_bits(bits))) {
            let [first, ..] = address.segments();
            prop_assert!(first & 0xe000 == 0x2000 || first == 0x64, "{}", address);
        }
    }

    #[test]
    fn standard_judgements_agree(bits: u32) {
        let address = Ipv4Addr::from_bits(bits);
        let special = address.is_private() || address.is_loopback() || address.is_link_local()
            || address.is_multicast() || address.is_broadcast() || address.is_documentation()
            || address.is_unspecified();
        if special {
            prop_assert!(judge(IpAddr::V4(address)).is_err(), "{}", address);
        }
    }

    #[test]
    fn any_text_is_a_target_or_is_refused(text in "\\PC{0,60}", host in "[a-z0-9.:@\\[\\]%/\\\\#?]{0,20}") {
        for url in [text.clone(), format!("http://{text}"), format!("http://{host}")] {
            if let Ok(target) = Target::parse(&url, &PrivateHosts::none()) {
                prop_assert!(matches!(target.url().scheme(), "http" | "https"));
                // What was accepted once is accepted again, as the same.
                let again = Target::parse(target.url().as_str(), &PrivateHosts::none());
                prop_assert_eq!(again.unwrap().to_string(), target.to_string());
            }
        }
    }
}
