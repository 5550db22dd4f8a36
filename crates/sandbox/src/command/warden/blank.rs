//! Templates that are made before there is a command, and the forms of templates.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::num::NonZeroU64;
use std::os::fd::BorrowedFd;
use std::rc::Rc;

use rustix::io::Errno;

use super::machine::Machine;
use super::place::Place;
use super::pool::Key;
use super::template::Template;
use crate::command::inside::init::Kind;
use crate::command::protocol::report::{SetupError, Step};

/// A template that has no form yet, in a place that no conversation has yet if it is of one.
#[derive(Debug)]
pub(super) struct Blank {
    pub(super) template: Template,
    pub(super) place: Option<Place>,
}

impl Blank {
    pub(super) fn make(kind: Kind, machine: &Machine) -> Result<Self, SetupError> {
        let place = kind.shared.then(Place::make).transpose()?;
        let template = Template::start(kind, machine, place.as_ref())?;
        Ok(Self { template, place })
    }
}

/// A new template in the form of an order, from one that was prepared if there is one. The first
/// command of a conversation makes its place.
pub(super) fn formed(
    blank: &mut Option<Blank>,
    places: &mut HashMap<NonZeroU64, Place>,
    most_places: usize,
    machine: &Machine,
    key: &Key,
    pattern: &[BorrowedFd<'_>],
) -> Result<Rc<Template>, SetupError> {
    let kind = key.kind;
    let first = key.place.filter(|number| !places.contains_key(number));
    if first.is_some() && places.len() >= most_places {
        let busy = SetupError::new(Step::Busy, Errno::AGAIN);
        let full = format!("{most_places} conversations have run commands and have not ended");
        return Err(busy.about(full));
    }
    let fits = |blank: &&mut Blank| blank.template.kind == kind && first == key.place;
    if blank.as_mut().filter(fits).is_some()
        && let Some(Blank { template, place }) = blank.take()
    {
        places.extend(first.zip(place));
        if template.form(pattern).is_ok() {
            return Ok(Rc::new(template));
        }
    }
    let place = match key.place {
        Some(number) => Some(match places.entry(number) {
            Entry::Occupied(known) => &*known.into_mut(),
            Entry::Vacant(new) => &*new.insert(Place::make()?),
        }),
        None => None,
    };
    let template = Template::start(kind, machine, place)?;
    template.form(pattern)?;
    Ok(Rc::new(template))
}
