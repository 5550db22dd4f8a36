//! Privileges and limits that a process gives up before it runs a command.

use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Resource, Rlimit};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};

use crate::command::rules::Limits;

const NO_CAPABILITIES: CapabilitySets = CapabilitySets {
    effective: CapabilitySet::empty(),
    permitted: CapabilitySet::empty(),
    inheritable: CapabilitySet::empty(),
};

/// Which part of what the user has one command may use up.
pub(super) const SHARE: u64 = 4;
/// Signals that wait, and timers.
const MOST_SIGNALS: u64 = 16 << 10;
/// Bytes in message queues.
const MOST_QUEUE_BYTES: u64 = 800 << 10;
/// Bytes that one process keeps from being swapped out.
const MOST_LOCKED: u64 = 64 << 20;

/// Sets the limits, each as the highest the process can ever have.
pub(super) fn set_limits(limits: &Limits) -> Result<(), Errno> {
    let limit = |resource, most: u64| {
        let had = rustix::process::getrlimit(resource).maximum;
        // A limit that is stricter already stays: only root could lift it.
        let most = had.map_or(most, |had| had.min(most));
        rustix::process::setrlimit(
            resource,
            Rlimit {
                current: Some(most),
                maximum: Some(most),
            },
        )
    };
    // These are counted per user, so one command gets a part only.
    let share = |resource, most: u64| {
        let had = rustix::process::getrlimit(resource).maximum;
        limit(resource, had.map_or(most, |had| (had / SHARE).min(most)))
    };
    share(Resource::Sigpending, MOST_SIGNALS)?;
    share(Resource::Msgqueue, MOST_QUEUE_BYTES)?;
    limit(Resource::Memlock, MOST_LOCKED)?;
    // No raised priority, even if the user may have one.
    limit(Resource::Rtprio, 0)?;
    limit(Resource::Nice, 0)?;
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, limits.file_size)?;
    limit(Resource::Nofile, u64::from(limits.open_files))?;
    limit(Resource::Nproc, u64::from(limits.processes))?;
    if let Some(seconds) = limits.cpu_seconds {
        limit(Resource::Cpu, u64::from(seconds))?;
    }
    Ok(())
}

/// Gives up every privilege, for this process and all that come from it.
pub(super) fn drop_privileges() -> Result<(), Errno> {
    narrow()?;
    drop_capabilities()
}

/// Gives up what a later program could gain. The process keeps its present rights.
pub(super) fn narrow() -> Result<(), Errno> {
    let held = rustix::thread::capabilities(None)?;
    if held.effective.contains(CapabilitySet::SETPCAP) {
        for capability in 0..u64::BITS {
            let capability = CapabilitySet::from_bits_retain(1 << capability);
            match rustix::thread::remove_capability_from_bounding_set(capability) {
                Ok(()) => {}
                // Past the last one that this kernel knows.
                Err(Errno::INVAL) => break,
                Err(errno) => return Err(errno),
            }
        }
        // Being user 0 means nothing any more.
        rustix::thread::set_capabilities_secure_bits(
            CapabilitiesSecureBits::NO_ROOT
                | CapabilitiesSecureBits::NO_ROOT_LOCKED
                | CapabilitiesSecureBits::NO_SETUID_FIXUP
                | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
                | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
                | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
                | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED,
        )?;
    }
    rustix::thread::clear_ambient_capability_set()?;
    rustix::thread::set_no_new_privs(true)?;
    // Only now: a process that cannot be looked into cannot be given id maps either.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
}

/// Gives up every capability. After [`narrow`] there is no way back to any.
pub(super) fn drop_capabilities() -> Result<(), Errno> {
    rustix::thread::set_capabilities(None, NO_CAPABILITIES)?;
    if rustix::thread::capabilities(None)? == NO_CAPABILITIES {
        Ok(())
    } else {
        Err(Errno::PERM)
    }
}
