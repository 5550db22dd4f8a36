//! The processes inside the sandbox, from the first one to the exec of the command. They mount,
//! give up privileges and load the filters; each step only takes rights away.

pub(crate) mod bind;
pub(crate) mod bpf;
pub(crate) mod confine;
pub(crate) mod init;
pub(crate) mod landlock;
pub(crate) mod layers;
pub(crate) mod mounts;
pub(crate) mod populate;
pub(crate) mod refusals;
pub(crate) mod scratch;
pub(crate) mod seccomp;
pub(crate) mod shell;
pub(crate) mod supervise;
pub(crate) mod system;
pub(crate) mod system_mounts;
pub(crate) mod user_limits;
pub(crate) mod watchdog;
