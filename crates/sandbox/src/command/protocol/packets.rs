//! Messages from the caller to its warden beside an order.

use std::num::NonZeroU64;

use super::message::{network_byte, network_of};
use crate::command::inside::init::Kind;
use crate::command::rules::{Network, Omit};

/// Asks for a sandbox to be made, and how that went.
const TRY: u8 = b't';
/// Brings an order.
const RUN: u8 = b'r';
/// Ends a place.
const END: u8 = b'e';

/// Says that a program begins.
pub(crate) const BEGUN: &[u8] = b"begun";

/// The request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Make one, and say whether that works.
    Try,
    /// Run the order that comes along, in the place of this number.
    Run(Option<NonZeroU64>),
    /// No command runs in this place any more.
    End(NonZeroU64),
}

/// The packet that asks whether a sandbox can be made.
pub(crate) fn try_packet(kind: Kind) -> Packet {
    packet(TRY, kind, Some(NonZeroU64::MIN).filter(|_| kind.shared))
}

/// The packet that an order travels with.
pub(crate) fn run_packet(kind: Kind, place: Option<NonZeroU64>) -> Packet {
    packet(RUN, kind, place)
}

/// The packet that ends a place.
pub(crate) fn end_packet(place: NonZeroU64) -> Packet {
    let kind = Kind {
        namespaces: true,
        network: Network::Off,
        omit: Omit::default(),
        shared: true,
    };
    packet(END, kind, Some(place))
}

/// The bytes of such a packet.
type Packet = [u8; 13];

fn packet(tag: u8, kind: Kind, place: Option<NonZeroU64>) -> Packet {
    let [a, b, c, d, e, f, g, h] = place.map_or(0, NonZeroU64::get).to_le_bytes();
    [
        tag,
        u8::from(kind.namespaces),
        network_byte(kind.network),
        u8::from(kind.omit.landlock),
        u8::from(kind.omit.seccomp),
        a,
        b,
        c,
        d,
        e,
        f,
        g,
        h,
    ]
}

/// Decodes such a packet; none if it is not one.
pub(crate) fn read(bytes: &[u8]) -> Option<(Wish, Kind)> {
    let [tag, namespaces, network, landlock, seccomp, place @ ..] = bytes else {
        return None;
    };
    let place = NonZeroU64::new(u64::from_le_bytes(place.try_into().ok()?));
    let wish = match *tag {
        TRY => Wish::Try,
        RUN => Wish::Run(place),
        END => Wish::End(place?),
        _ => return None,
    };
    let kind = Kind {
        namespaces: *namespaces == 1,
        network: network_of(*network).ok()?,
        omit: Omit {
            landlock: *landlock == 1,
            seccomp: *seccomp == 1,
        },
        shared: *namespaces == 1 && place.is_some(),
    };
    Some((wish, kind))
}
