//! URLs: any text is refused or leads to the public internet, and what was accepted is
//! accepted again as the same place; no IPv6 address hides a forbidden IPv4 address.
#![no_main]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use libfuzzer_sys::fuzz_target;
use toolgate_tools::web::{PrivateHosts, Target, judge};

fn check(text: &str) {
    let Ok(target) = Target::parse(text, &PrivateHosts::none()) else {
        return;
    };
    let url = target.url();
    assert!(matches!(url.scheme(), "http" | "https"), "{text:?}");
    assert!(url.username().is_empty() && url.password().is_none() && url.fragment().is_none());
    let place = target.to_string();
    let (host, port) = place.rsplit_once(':').expect("a port");
    assert!(port.parse::<u16>().is_ok_and(|port| port > 0), "{place}");
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(address) => assert!(judge(address).is_ok(), "{text:?} leads to {address}"),
        Err(_) => {
            assert!(host.contains('.') && !host.ends_with('.') && host.is_ascii(), "{place}");
            assert!(!host.ends_with(".localhost") && !host.ends_with(".internal"), "{place}");
            // What every resolver would take for an address is one.
            let last = host.rsplit('.').next().unwrap_or_default();
            assert!(!last.bytes().all(|byte| byte.is_ascii_digit()), "{place}");
        }
    }
    let again = Target::parse(url.as_str(), &PrivateHosts::none());
    assert_eq!(again.map(|again| again.to_string()), Ok(place));
}

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    check(&text);
    check(&format!("http://{text}"));
    check(&format!("https://{text}/"));
    if let Some((bytes, _)) = input.split_first_chunk::<16>() {
        let address = Ipv6Addr::from(*bytes);
        let [.., a, b, c, d] = *bytes;
        let carried = Ipv4Addr::new(a, b, c, d);
        match judge(IpAddr::V6(address)) {
            // An address in IPv4's clothes comes back as what it is.
            Ok(IpAddr::V4(plain)) => assert_eq!(judge(IpAddr::V4(plain)), Ok(IpAddr::V4(plain))),
            Ok(IpAddr::V6(same)) => assert_eq!(same, address),
            Err(_) => check(&format!("http://[{address}]/")),
        }
        if judge(IpAddr::V4(carried)).is_err() {
            assert!(judge(IpAddr::V6(carried.to_ipv6_mapped())).is_err());
            let nat64 = Ipv6Addr::from_bits(0x0064_ff9b_u128 << 96 | u128::from(carried.to_bits()));
            assert!(judge(IpAddr::V6(nat64)).is_err());
        }
    }
});
