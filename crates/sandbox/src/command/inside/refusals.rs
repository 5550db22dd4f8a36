//! Counts the system calls that seccomp refuses.
//!
//! The calls that a filter does not permit come here one by one, and there is only one
//! answer: not permitted. The caller waits for it, so a call that is not answered ends
//! with the caller. Nothing that could change meanwhile is looked at.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;

use super::seccomp;
use crate::command::sys;

/// A system call that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Refused {
    /// Its number on this machine.
    pub number: i32,
    /// How often.
    pub times: u32,
}

impl Refused {
    /// The name of the call.
    pub fn name(&self) -> &'static str {
        seccomp::name_of(self.number).unwrap_or("unknown")
    }
}

/// The refusals of one command.
#[derive(Debug)]
pub(super) struct Refusals {
    listener: Option<OwnedFd>,
    counted: BTreeMap<i32, u32>,
}

impl Refusals {
    pub(super) fn heard_over(listener: Option<OwnedFd>) -> Self {
        Self {
            listener,
            counted: BTreeMap::new(),
        }
    }

    /// Readable when a call waits for its answer; none where none will come.
    pub(crate) fn listener(&self) -> Option<BorrowedFd<'_>> {
        self.listener.as_ref().map(AsFd::as_fd)
    }

    /// Answers the call that waits.
    pub(crate) fn answer(&mut self) {
        let Some(listener) = &self.listener else {
            return;
        };
        match sys::refuse_next(listener) {
            Ok(number) => {
                let times = self.counted.entry(number).or_default();
                *times = times.saturating_add(1);
            }
            // The calling process is gone.
            Err(Errno::NOENT | Errno::INTR) => {}
            Err(_) => self.listener = None,
        }
    }

    /// No process is left that could call.
    pub(crate) fn close(&mut self) {
        self.listener = None;
    }

    /// The counts.
    pub(crate) fn counted(&self) -> Vec<Refused> {
        let all = self.counted.iter();
        all.map(|(number, times)| Refused {
            number: *number,
            times: *times,
        })
        .collect()
    }
}
