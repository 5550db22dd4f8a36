//! Directories beyond the roots that a call would need.
//!
//! The tool names them. Only what an approver may open is offered, by its real name, and it is
//! looked up again when the answer comes and when the call starts.

use std::path::Path;

use toolgate_model::NeededDirectory;
use toolgate_sandbox::command::ExactDirectory;
use toolgate_sandbox::paths::PathSandbox;

/// The directories that an approver can open to a call.
pub(super) fn offered(named: Vec<NeededDirectory>, sandbox: &PathSandbox) -> Vec<NeededDirectory> {
    let may_be = |directory: &NeededDirectory| sandbox.may_be_opened(Path::new(&directory.to));
    named.into_iter().filter(may_be).collect()
}

/// Whether the name still leads to the same directory.
pub(crate) fn holds(directory: &NeededDirectory) -> bool {
    let now = ExactDirectory::of(Path::new(&directory.path));
    now.is_some_and(|now| {
        now.path == Path::new(&directory.to)
            && (now.device, now.inode) == (directory.device, directory.inode)
    })
}

/// The directory for an approver: both names, if a link leads from one to the other.
pub(crate) fn shown(directory: &NeededDirectory) -> String {
    // A name with blanks or marks could pass for two names, or for a link.
    let name = |name: &str| {
        let plain = |c: char| c.is_alphanumeric() || "/._-+@~".contains(c);
        if name.chars().all(plain) {
            name.to_owned()
        } else {
            format!("'{}'", name.replace('\\', "\\\\").replace('\'', "\\'"))
        }
    };
    if directory.is_through_link() {
        let (path, to) = (name(&directory.path), name(&directory.to));
        format!("{path} (a link leads to {to})")
    } else {
        name(&directory.path)
    }
}
