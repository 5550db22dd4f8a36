//! Messages from the caller to its warden beside an order.

use super::message::{network_byte, network_of};
use crate::command::inside::init::Kind;
use crate::command::rules::Omit;

/// Asks for a sandbox to be made, and how that went.
const TRY: u8 = b't';
/// Brings an order.
const RUN: u8 = b'r';

/// Says that a program begins.
pub(crate) const BEGUN: &[u8] = b"begun";

/// The request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Make one, and say whether that works.
    Try,
    /// Run the order that comes along.
    Run,
}

/// The packet that asks whether a sandbox can be made.
pub(crate) fn try_packet(kind: Kind) -> [u8; 5] {
    packet(TRY, kind)
}

/// The packet that an order travels with.
pub(crate) fn run_packet(kind: Kind) -> [u8; 5] {
    packet(RUN, kind)
}

fn packet(tag: u8, kind: Kind) -> [u8; 5] {
    [
        tag,
        u8::from(kind.namespaces),
        network_byte(kind.network),
        u8::from(kind.omit.landlock),
        u8::from(kind.omit.seccomp),
    ]
}

/// Decodes such a packet; none if it is not one.
pub(crate) fn read(bytes: &[u8]) -> Option<(Wish, Kind)> {
    let [tag, namespaces, network, landlock, seccomp] = bytes else {
        return None;
    };
    let wish = if *tag == TRY { Wish::Try } else { Wish::Run };
    let kind = Kind {
        namespaces: *namespaces == 1,
        network: network_of(*network).ok()?,
        omit: Omit {
            landlock: *landlock == 1,
            seccomp: *seccomp == 1,
        },
    };
    Some((wish, kind))
}
