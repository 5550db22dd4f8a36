//! Links that the line itself makes: what stands below one of them is somewhere else.
//!
//! They are files, so a subshell's links are there for everybody behind it. They are added and
//! never taken away: a path through one counts as both, what it says and where it leads.

use super::Walker;
use crate::expand::field::Field;
use crate::place::{beneath, join};

/// More places than this are not followed from one path.
const MAX_PLACES: usize = 32;

/// A line that makes more links than this is not followed.
const MAX_LINKS: usize = 16;

/// A link and what it leads to, both from `/` on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) at: String,
    pub(crate) target: String,
}

impl Walker {
    pub(crate) fn add_link(&mut self, at: String, target: String) {
        let link = Link { at, target };
        if link.at == link.target || self.links.contains(&link) {
            return;
        }
        if self.links.len() < MAX_LINKS {
            self.links.push(link);
        } else {
            self.code_opaque("ln");
        }
    }

    /// Where an absolute path leads, besides what it says.
    pub(crate) fn places_behind(&self, path: &str) -> Vec<String> {
        let mut places = vec![path.to_owned()];
        let mut at = 0;
        while let Some(place) = places.get(at).cloned() {
            at += 1;
            for link in &self.links {
                let Some(rest) = beneath(&link.at, &place) else {
                    continue;
                };
                let behind = join(&link.target, rest);
                if !places.contains(&behind) && places.len() < MAX_PLACES {
                    places.push(behind);
                }
            }
        }
        places.remove(0);
        places
    }

    /// The same word, led through the links that its path goes through. With `itself` also where
    /// the last part of it is the link.
    pub(crate) fn behind_links(&self, field: &Field, itself: bool) -> Vec<Field> {
        if self.links.is_empty() {
            return Vec::new();
        }
        let text = field.text.as_str();
        let first = field.active.first().copied().unwrap_or(text.len());
        let ends = text
            .match_indices('/')
            .map(|(at, _)| at)
            .chain(itself.then_some(text.len()))
            .filter(|end| *end > 0 && *end <= first);
        let directories = self.scope.directory.iter().chain(self.scope.alternatives());
        let mut found = Vec::new();
        for directory in directories {
            for end in ends.clone() {
                let start = join(directory, text.get(..end).unwrap_or_default());
                for place in self.places_behind(&start) {
                    let mut led = Field::literal(place);
                    led.append(&field.tail(end));
                    if !found.contains(&led) && found.len() < MAX_PLACES {
                        found.push(led);
                    }
                }
            }
        }
        found
    }
}
