//! After a command: the caller looks for guarded names that appeared, moves them aside and removes
//! its placeholders. Records on disk let the next start do this if the caller is killed.

pub(crate) mod baseline;
pub(crate) mod deep;
pub(crate) mod placeholders;
pub(crate) mod recheck;
pub(crate) mod records;
pub(crate) mod sweep;
mod vacant_names;
