//! Messages between the caller, the warden and the sandbox. Both ends use this code: orders go in,
//! reports come out, over Unix sockets that carry descriptors.

pub(crate) mod message;
pub(crate) mod packets;
pub(crate) mod report;
pub(crate) mod wire;
