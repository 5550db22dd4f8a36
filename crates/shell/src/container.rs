//! A container as the machine sees it: what its command reaches of the machine.
//!
//! Paths in a container are its own, but for those that lead through a mount. A path is judged
//! by what it means on the machine: `rm -rf /h` is `rm -rf /` where `/` is mounted at `/h`, and
//! `rm -rf /` takes everything with it that is mounted.

use crate::place::{beneath, join};

/// What of the machine is in a container, and where.
#[derive(Clone, Debug, Default)]
pub(crate) struct Container {
    mounts: Vec<Mount>,
    /// Whether it has the devices and the kernel of the machine.
    pub(crate) privileged: bool,
}

#[derive(Clone, Debug)]
struct Mount {
    /// The path on the machine.
    source: String,
    /// The path in the container.
    target: String,
}

impl Container {
    /// Notes a mount that can be written to; both paths are absolute.
    pub(crate) fn mount(&mut self, source: String, target: &str) {
        let target = join("/", target);
        self.mounts.push(Mount { source, target });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.mounts.is_empty() && !self.privileged
    }

    /// Where a path of the container is on the machine.
    pub(crate) fn outside(&self, path: &str) -> Option<String> {
        let inside = |mount: &Mount| {
            let rest = beneath(&mount.target, path)?;
            Some(join(&mount.source, rest))
        };
        // The mount that is nearest to the path is what it leads through.
        let mut mounts: Vec<&Mount> = self.mounts.iter().collect();
        mounts.sort_by_key(|mount| std::cmp::Reverse(mount.target.len()));
        mounts.into_iter().find_map(inside)
    }

    /// Every path of the machine that goes with a directory of the container.
    pub(crate) fn lost_with(&self, path: &str) -> Vec<String> {
        let below = self.mounts.iter().filter(|mount| {
            let rest = beneath(path, &mount.target);
            rest.is_some_and(|rest| !rest.is_empty())
        });
        let below = below.map(|mount| mount.source.clone());
        self.outside(path).into_iter().chain(below).collect()
    }

    /// The names that a directory of the machine has in the container.
    pub(crate) fn names_of(&self, path: &str) -> Vec<String> {
        let name = |mount: &Mount| {
            let rest = beneath(&mount.source, path)?;
            Some(join(&mount.target, rest))
        };
        self.mounts.iter().filter_map(name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_followed_through_mounts() {
        let mut container = Container::default();
        container.mount("/".to_owned(), "/h");
        container.mount("/home/ann/work".to_owned(), "/h/w/");
        assert_eq!(container.outside("/h/etc").as_deref(), Some("/etc"));
        assert_eq!(
            container.outside("/h/w/x").as_deref(),
            Some("/home/ann/work/x")
        );
        assert_eq!(container.outside("/etc"), None);
        assert_eq!(container.lost_with("/h"), ["/", "/home/ann/work"]);
        assert_eq!(container.lost_with("/").len(), 2);
        assert_eq!(container.lost_with("/tmp"), Vec::<String>::new());
        assert_eq!(container.names_of("/etc"), ["/h/etc"]);
    }
}
