//! Links of the kernel that lead out of `/proc` again.
//!
//! `/proc/self/root` is `/`, `/proc/self/cwd` is the directory the line is in, and what stands
//! below a descriptor is wherever that was opened. A path is followed through them component by
//! component, because `..` behind such a link starts where it leads.

/// Where a path stands that was built component by component, before the next one is added.
///
/// Below a descriptor it is not known where: `/` is the guess that misses nothing.
pub(crate) fn leave_descriptor(path: &mut String) -> bool {
    let mut parts = path.split('/').skip(1);
    let leads = match (parts.next(), parts.next()) {
        (Some("dev"), Some("fd")) => parts.next().is_some() && parts.next().is_none(),
        (Some("proc"), Some(_)) => {
            let mut next = parts.next();
            if next == Some("task") {
                parts.next();
                next = parts.next();
            }
            matches!(next, Some("fd" | "map_files"))
                && parts.next().is_some()
                && parts.next().is_none()
        }
        _ => false,
    };
    if leads {
        path.clear();
    }
    leads
}

/// Follows the link that a path ends in, if it is one; `directory` is where the line is. Says whether
/// it is one whose target is not this process's own.
pub(crate) fn follow(path: &mut String, directory: &str) -> Option<Owner> {
    let mut parts = path.strip_prefix("/proc/")?.split('/');
    let process = parts.next()?;
    let mut link = parts.next()?;
    let mut own = matches!(process, "self" | "thread-self");
    if link == "task" {
        own &= parts.next().is_some();
        link = parts.next()?;
    }
    if parts.next().is_some() {
        return None;
    }
    let target = match link {
        "root" => "",
        "cwd" => directory.trim_end_matches('/'),
        _ => return None,
    };
    path.clear();
    path.push_str(target);
    Some(if own { Owner::Own } else { Owner::Other })
}

/// Whose link it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Own,
    Other,
}
