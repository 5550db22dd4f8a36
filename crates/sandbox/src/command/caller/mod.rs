//! The caller's process: the one that the gate runs in. It decides what a command gets, starts the
//! warden, sends the order, reads the output and waits for the end. It never forks.

pub(crate) mod after;
pub(crate) mod connection;
pub(crate) mod directory;
pub(crate) mod doctor;
pub(crate) mod driving;
pub(crate) mod exact;
pub(crate) mod guards;
pub(crate) mod layering;
pub(crate) mod layout;
pub(crate) mod left_out;
pub(crate) mod place;
mod poise;
pub(crate) mod reach;
pub(crate) mod remedy;
pub(crate) mod running;
pub(crate) mod sandbox;
pub(crate) mod search;
pub(crate) mod start;
