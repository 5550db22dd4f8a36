//! The real names of the paths of a call.
//!
//! A link in the workspace gives a file a second name. Rules are about files, so policy
//! judges the requested name and the real one, and an approval holds for both together.

use toolgate_model::{Access, Facts, Lead};
use toolgate_sandbox::paths::{PathError, PathSandbox, Resolved};

use crate::output::{Redactor, whole_line};

/// The facts of a call with real names.
pub(crate) struct RealFacts {
    pub(crate) facts: Facts,
    /// Whether a link leads one of the paths elsewhere. Otherwise only the spelling differs.
    pub(crate) is_elsewhere: bool,
}

/// Collects the real names of a call's paths.
pub(super) struct RealNames<'a> {
    sandbox: &'a PathSandbox,
    real: Option<Facts>,
    pub(super) leads: Vec<Lead>,
}

impl<'a> RealNames<'a> {
    pub(super) const fn new(sandbox: &'a PathSandbox) -> Self {
        Self {
            sandbox,
            real: None,
            leads: Vec::new(),
        }
    }

    /// Takes the real name of a path of these facts.
    pub(super) fn add(&mut self, facts: &Facts, access: Access, path: &str, found: &Resolved) {
        let to = self.sandbox.name(found.root, &found.path);
        if to.as_os_str() == path {
            return;
        }
        let to = to.to_string_lossy().into_owned();
        let asked = self.sandbox.asked_name(path).ok();
        let asked = asked.map_or_else(
            || path.to_owned(),
            |asked| asked.to_string_lossy().into_owned(),
        );
        let real = self.real.get_or_insert_with(|| facts.clone());
        let names = match access {
            Access::Read => &mut real.reads,
            Access::Write => &mut real.writes,
            Access::Delete => &mut real.deletes,
        };
        for name in names.iter_mut().filter(|name| *name == path) {
            name.clone_from(&to);
        }
        if asked != to {
            self.leads.push(Lead {
                access,
                path: asked,
                to,
            });
        }
    }

    /// The facts with real names, where any differs.
    pub(super) fn real_facts(&mut self, is_elsewhere: bool) -> Option<RealFacts> {
        let facts = self.real.take()?;
        Some(RealFacts {
            facts,
            is_elsewhere,
        })
    }
}

/// Where links lead the paths of a call now. A path that cannot be looked up leads nowhere.
pub(crate) fn leads_of(sandbox: &PathSandbox, facts: &Facts) -> Vec<Lead> {
    let mut names = RealNames::new(sandbox);
    if !facts.claimed {
        for (access, path) in facts.paths() {
            let found: Result<Resolved, PathError> = sandbox.preflight(path, access);
            if let Ok(found) = found {
                names.add(facts, access, path, &found);
            }
        }
    }
    names.leads
}

/// One line for each link, for records and listeners.
pub(crate) fn leads_text(leads: &[Lead], redactor: &Redactor) -> String {
    lines(leads, |name| whole_line(&redactor.redact(name).0))
}

/// One line for each link, for an approver: a name that looks like a secret is shown.
pub(crate) fn leads_for_approver(leads: &[Lead], redactor: &Redactor) -> String {
    lines(leads, |name| whole_line(&redactor.for_approver(name)))
}

fn lines(leads: &[Lead], shown: impl Fn(&str) -> String) -> String {
    let mut lines: Vec<String> = leads
        .iter()
        .map(|lead| format!("link: {} leads to {}\n", shown(&lead.path), shown(&lead.to)))
        .collect();
    lines.dedup();
    lines.concat()
}
