//! Checks after a command where protected links lead.
//!
//! If every step on the way is unchanged, the link still leads to the same place.

use std::collections::HashSet;

use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use crate::command::caller::guards::ancestors;
use crate::command::caller::search::entry::{kind_of, look};
use crate::command::caller::search::found::{After, Found, Guarded, Identity, Link, Missed, Why};
use crate::command::caller::search::link_targets::{is_missing, link_of};
use crate::command::caller::search::walk::Search;
use crate::command::inside::bind::beneath;

/// The rule that a report names for a step whose link is not known any more.
const ON_THE_WAY: &str = "the way of a protected link";

/// A path in the tree, which thing is there, and the link that it is.
type Present = (Vec<u8>, Identity, Option<Link>);

impl Search<'_> {
    /// Looks again at the steps that were found before the command. A replacement of one
    /// is the command's, whatever its age.
    pub(crate) fn look_again(&self, after: &After<'_>, found: &mut Found) {
        let old = after.stood.values();
        let old = old.filter(|old| old.led_to || old.link.is_some() || old.is_missing());
        let old: Vec<&Guarded> = old.copied().collect();
        if old.is_empty() {
            return;
        }
        let seen = found.guarded.iter().map(|known| known.path.clone());
        let mut seen: HashSet<Vec<u8>> = seen.collect();
        for old in old {
            if seen.contains(&old.path) {
                continue;
            }
            let why = match &old.why {
                Why::Protected(rule) => rule.clone(),
                _ => ON_THE_WAY.to_owned(),
            };
            match self.first_of(after, &old.path) {
                Ok(Some((path, id, link))) => {
                    if seen.insert(path.clone()) {
                        let now = Guarded::new(path, Why::Protected(why), id);
                        found.guarded.push(Guarded { link, ..now });
                    }
                }
                Ok(None) => {}
                Err(errno) => {
                    let path = self.at(&old.path);
                    let missed = Missed::Unreadable { path, errno };
                    found.missed.get_or_insert(missed);
                }
            }
        }
    }

    /// The entry at a path now, or the first link on the way to it; none if it is missing.
    fn first_of(&self, after: &After<'_>, path: &[u8]) -> Result<Option<Present>, Errno> {
        let look_there = |path: &[u8]| {
            let handle = beneath(self.directory, path)?;
            let stat = look(&handle, c"", AtFlags::EMPTY_PATH)?;
            let is_link = kind_of(&stat) == FileType::Symlink;
            let link = is_link.then(|| link_of(&handle, &stat)).transpose()?;
            Ok((path.to_vec(), Identity::of(&stat), link))
        };
        let mut there = look_there(path);
        if matches!(there, Err(Errno::ACCESS | Errno::PERM)) {
            for above in ancestors(path) {
                after.reopened.open(above);
            }
            there = look_there(path);
        }
        match there {
            Ok(there) => Ok(Some(there)),
            Err(Errno::LOOP) => {
                let above = ancestors(path).map(look_there);
                let mut links = above
                    .filter(|there| there.as_ref().map_or(true, |(_, _, link)| link.is_some()));
                links.next().transpose()
            }
            Err(errno) if is_missing(errno) => Ok(None),
            Err(errno) => Err(errno),
        }
    }
}
