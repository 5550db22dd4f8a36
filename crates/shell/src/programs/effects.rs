//! What words do to the world: paths, hosts, settings.

use std::rc::Rc;

use super::hosts;
use crate::expand::field::{Field, UNKNOWN};
use crate::place::{self, join};
use crate::reasons::{Catastrophe, Opacity};
use crate::secrets::may_reach_secrets;
use crate::walk::Walker;

/// Devices that swallow or give, and change nothing.
const TAME_DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/console",
];

/// Directories of the system whose mode or owner is an administrator's choice.
const SHARED: &[&str] = &[
    "/Applications",
    "/Volumes",
    "/media",
    "/mnt",
    "/opt",
    "/run",
    "/srv",
    "/usr/local",
    "/usr/local/bin",
];

/// Links behind links: from here on they are not followed.
const MAX_FOLLOWED: usize = 4;

/// How a path is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Touch {
    Read,
    Write,
    Delete,
}

impl Walker {
    pub(crate) fn read_path(&mut self, field: &Field) {
        self.touch(field, Touch::Read);
    }

    pub(crate) fn write_path(&mut self, field: &Field) {
        if field.deep
            && let Some(directory) = self.scope.directory.clone()
            && let Some(grave) = self
                .grave_at(&directory, field)
                .filter(|grave| grave.is_system())
        {
            let path = field.text.clone();
            self.found
                .catastrophe(Catastrophe::Overwrites { path, grave });
        }
        self.touch(field, Touch::Write);
    }

    /// Puts something else in the place of a path, which even a tame device does not survive.
    pub(crate) fn replace_path(&mut self, field: &Field) {
        if TAME_DEVICES.contains(&field.text.as_str()) {
            self.found.catastrophe(Catastrophe::Device {
                path: field.text.clone(),
            });
        }
        self.touch(field, Touch::Write);
    }

    /// Removes a path; `tree` if everything below it goes too.
    pub(crate) fn delete_path(&mut self, field: &Field, tree: bool) {
        if tree {
            self.look_for_loss(field);
        }
        self.touch(field, Touch::Delete);
        if (tree || field.deep) && field.is_pattern() && field.is_known() {
            self.delete_directory_of(field);
        }
    }

    /// What removes trees by a pattern may remove anything in the directory it starts from, so that
    /// a rule about something in there is met.
    fn delete_directory_of(&mut self, field: &Field) {
        if self.scope.directory.is_none() && !field.text.starts_with('/') {
            return;
        }
        for directory in self.directories(field) {
            let (fixed, _) = place::leading_directory(&directory, field);
            let name = self.places.name(&fixed);
            self.found.delete(name);
        }
    }

    /// Changes mode or owner; `tree` if of everything below as well.
    pub(crate) fn change_attributes(&mut self, field: &Field, tree: bool) {
        let mut fields = self.behind_links(field, true);
        fields.push(field.clone());
        for directory in self.directories(field) {
            if fields
                .iter()
                .any(|field| self.is_sealed(&directory, field, tree))
            {
                self.found.catastrophe(Catastrophe::Attributes {
                    path: field.text.clone(),
                });
            }
        }
        self.touch(field, Touch::Write);
    }

    /// Whether other modes or owners of this path lock everybody out of a system or a home.
    fn is_sealed(&self, directory: &str, field: &Field, tree: bool) -> bool {
        let relative = !field.text.starts_with('/');
        if field.text.is_empty() || (relative && self.scope.directory.is_none()) {
            return false;
        }
        if field.is_pattern() {
            let grave = self.places.grave_pattern(directory, field);
            return grave.is_some_and(place::Grave::is_system) && (tree || !field.narrow);
        }
        let path = join(directory, &field.text);
        let system = self
            .places
            .grave(&path)
            .is_some_and(place::Grave::is_system);
        let shared = !tree && SHARED.contains(&path.as_str());
        (system && !shared) || self.places.is_home(&path)
    }

    /// The directory a command would work in, if no path is given.
    pub(crate) fn read_here(&mut self) {
        self.read_path(&Field::literal("."));
    }

    fn touch(&mut self, field: &Field, touch: Touch) {
        if !field.is_known() {
            self.found.opaque(Opacity::Expansion {
                word: field.shown(),
            });
        }
        if field.text.contains(UNKNOWN) || (field.text.is_empty() && !field.is_known()) {
            return;
        }
        if field.text.is_empty() || field.text == "-" {
            return;
        }
        if self.scope.directory.is_none() && !field.text.starts_with('/') {
            self.found.opaque(Opacity::Directory);
            return;
        }
        let directories = self.directories(field);
        if directories
            .iter()
            .any(|directory| place::is_led_away(directory, &field.text))
        {
            self.found.opaque(Opacity::Expansion {
                word: field.text.clone(),
            });
        }
        if self.following < MAX_FOLLOWED {
            self.following += 1;
            // What removes a link leaves alone what it leads to.
            for led in self.behind_links(field, touch != Touch::Delete) {
                self.touch(&led, touch);
            }
            self.following -= 1;
        }
        for directory in &directories {
            if field.is_pattern() {
                self.touch_pattern(directory, field, touch);
            } else {
                let path = join(directory, &field.text);
                self.touch_path(&path, touch);
            }
        }
    }

    /// The directories a path may start from; one is enough for an absolute path.
    fn directories(&self, field: &Field) -> Vec<Rc<str>> {
        let directory = self.scope.directory.clone().unwrap_or_else(|| "".into());
        let mut directories = vec![directory];
        if !field.text.starts_with('/') {
            directories.extend(self.scope.alternatives().cloned());
        }
        directories
    }

    fn touch_pattern(&mut self, directory: &str, field: &Field, touch: Touch) {
        let (fixed, stays_below) = place::leading_directory(directory, field);
        if !stays_below || place::crosses_directories(field) {
            self.found.opaque(Opacity::Expansion {
                word: field.text.clone(),
            });
        }
        if may_reach_secrets(field) {
            self.found.opaque(Opacity::Pattern {
                word: field.text.clone(),
            });
        }
        if touch == Touch::Read {
            if let Some(name) = spelled_secret(field) {
                self.touch_path(&join(&fixed, &name), touch);
            }
            self.touch_path(&fixed, touch);
            return;
        }
        let path = join(directory, &field.text);
        if fixed == "/dev" || place::beneath("/dev", &fixed).is_some() {
            self.found
                .catastrophe(Catastrophe::Device { path: path.clone() });
        }
        self.touch_path(&path, touch);
    }

    fn touch_path(&mut self, path: &str, touch: Touch) {
        if let Some(rest) = path
            .strip_prefix("/dev/tcp/")
            .or_else(|| path.strip_prefix("/dev/udp/"))
        {
            self.found.connect(rest.replacen('/', ":", 1));
            return;
        }
        let descriptor = ["/dev/fd/", "/proc/self/fd/"]
            .iter()
            .any(|top| path.starts_with(top));
        if descriptor || (TAME_DEVICES.contains(&path) && touch != Touch::Delete) {
            return;
        }
        let name = self.places.name(path);
        if touch == Touch::Read {
            self.found.read(name);
            return;
        }
        let outside = match &self.places.container {
            Some(container) => match container.outside(path) {
                None if !container.privileged => return,
                outside => outside,
            },
            None => None,
        };
        let path = outside.as_deref().unwrap_or(path);
        if is_device(path) {
            self.found.catastrophe(Catastrophe::Device {
                path: path.to_owned(),
            });
        }
        if is_kernel(path) {
            self.found.catastrophe(Catastrophe::Kernel {
                what: path.to_owned(),
            });
        }
        match touch {
            Touch::Delete => self.found.delete(name),
            _ => self.found.write(name),
        }
    }

    /// Whether removing this tree removes a system, a home or a workspace.
    pub(crate) fn look_for_loss(&mut self, field: &Field) {
        let mut fields = self.behind_links(field, false);
        fields.push(field.clone());
        for field in &fields {
            self.look_for_loss_of(field);
        }
    }

    fn look_for_loss_of(&mut self, field: &Field) {
        if field.from_input && !field.is_known() {
            self.found.catastrophe(Catastrophe::RemovesFromInput);
            return;
        }
        let Some(directory) = self.scope.directory.clone() else {
            // Not known where, but known that it takes everything there.
            if matches!(field.text.as_str(), "." | ".." | "*" | "./" | "./*" | "../") {
                self.found.catastrophe(Catastrophe::Removes {
                    path: field.text.clone(),
                    grave: place::Grave::Workspace,
                });
            }
            return self.look_for_loss_from("/", field, false);
        };
        self.look_for_loss_from(&directory, field, true);
        let others: Vec<Rc<str>> = self.scope.alternatives().cloned().collect();
        for other in others {
            match self.grave_at(&other, field) {
                None => {}
                // Only where a `cd` fails, which a guard (`cd x && …`) rules out.
                Some(place::Grave::Workspace) => self.found.opaque(Opacity::Directory),
                Some(grave) => {
                    let path = field.text.clone();
                    self.found.catastrophe(Catastrophe::Removes { path, grave });
                }
            }
        }
    }

    fn look_for_loss_from(&mut self, directory: &str, field: &Field, relative: bool) {
        if !relative && !field.text.starts_with('/') {
            return;
        }
        if let Some(grave) = self.grave_at(directory, field) {
            let path = field.text.clone();
            self.found.catastrophe(Catastrophe::Removes { path, grave });
        }
    }

    fn grave_at(&self, directory: &str, field: &Field) -> Option<place::Grave> {
        if field.text.is_empty() {
            return None;
        }
        if field.is_pattern() {
            return self.places.grave_pattern(directory, field);
        }
        self.places.grave(&join(directory, &field.text))
    }

    /// Contacts the host that a word names.
    pub(crate) fn connect(&mut self, field: &Field) {
        if field.text.starts_with('+') {
            return;
        }
        let text = field.text.trim_start_matches('@');
        match hosts::of(text) {
            _ if field.text.contains(UNKNOWN) || field.holes.first() == Some(&0) => {
                self.unknown_word(field)
            }
            hosts::Host::Name(host) => {
                // What follows the host may be open; the host itself must not be.
                let end = field
                    .text
                    .find(host.as_str())
                    .map_or(0, |at| at + host.len());
                if field.holes.iter().any(|hole| *hole <= end) {
                    self.unknown_word(field);
                }
                self.found.connect(host);
            }
            hosts::Host::File(path) => self.read_path(&Field::literal(path)),
            hosts::Host::Unclear => self.unknown_word(field),
        }
    }

    /// `host:path` on another machine, or a path here.
    pub(crate) fn transfer(&mut self, field: &Field, into: bool) {
        let remote = hosts::of_remote_path(&field.text);
        if remote.is_some() && !field.is_known() {
            self.unknown_word(field);
        }
        match remote {
            Some(hosts::Host::Name(host)) => self.found.connect(host),
            Some(hosts::Host::Unclear) => {
                self.unknown_word(field);
                self.found.connect("*".to_owned());
            }
            Some(hosts::Host::File(path)) if into => self.write_path(&Field::literal(path)),
            Some(hosts::Host::File(path)) => self.read_path(&Field::literal(path)),
            None if into => self.write_path(field),
            None => self.read_path(field),
        }
    }

    pub(crate) fn unknown_word(&mut self, field: &Field) {
        self.found.opaque(Opacity::Expansion {
            word: field.shown(),
        });
    }
}

fn is_device(path: &str) -> bool {
    let Some(inside) = place::beneath("/dev", path) else {
        return false;
    };
    !["shm/", "pts/", "fd/", "mqueue/"]
        .iter()
        .any(|tame| inside.starts_with(tame))
        && !inside.is_empty()
}

fn is_kernel(path: &str) -> bool {
    if place::beneath("/sys", path).is_some() {
        return true;
    }
    let Some(inside) = place::beneath("/proc", path) else {
        return false;
    };
    let first = inside.split('/').next().unwrap_or_default();
    let process = first == "self" || first == "thread-self";
    !process && !first.bytes().all(|byte| byte.is_ascii_digit())
}

/// The last part of a pattern, if it spells out a name that holds secrets.
fn spelled_secret(field: &Field) -> Option<String> {
    let last = field.text.rsplit('/').next()?;
    let mut name = Field::literal(last);
    name.active = vec![0];
    may_reach_secrets(&name).then(|| last.to_owned())
}
