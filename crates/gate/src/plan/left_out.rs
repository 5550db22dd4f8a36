//! A call for several files of which some may not be read.
//!
//! Policy gives a call the strictest answer of all its parts. Where each file stands for
//! itself, that would let one denied file hide all others: such a file is taken out of the
//! call, which reports it, and what is left is decided as if it had been asked for alone.

use std::sync::Arc;

use toolgate_model::{Access, Action, ErrorKind, Facts, Status, ToolError};
use toolgate_policy::Stage;

use super::leads::RealNames;
use super::planner::locations;
use super::{Live, Planner};
use crate::output::approval_text;
use crate::tool::path_error;

impl Planner<'_> {
    /// Takes files that are denied out of a call that can go on without them.
    pub(super) fn leave_out_denied(&self, live: &mut Live) {
        let facts = &live.record.facts;
        let only_reads = Facts {
            reads: facts.reads.clone(),
            ..Facts::none()
        };
        if facts.reads.len() < 2 || *facts != only_reads {
            return;
        }
        let denied: Vec<(String, ToolError)> = facts
            .reads
            .iter()
            .filter_map(|path| Some((path.clone(), self.refuses(live, path)?)))
            .collect();
        // Where nothing is left, the call itself is denied.
        if denied.is_empty() || denied.len() == facts.reads.len() {
            return;
        }
        if !live.invocation.leave_out(&denied) {
            return;
        }
        let record = Arc::make_mut(&mut live.record);
        record
            .facts
            .reads
            .retain(|path| !denied.iter().any(|(other, _)| other == path));
        record.locations = locations(&record.facts);
        let summary = live.invocation.summary();
        record.summary = approval_text(&self.redactor.redact(&summary).0);
        live.exact.summary = summary;
    }

    /// Why this file alone may not be read by the call, if it may not.
    fn refuses(&self, live: &Live, path: &str) -> Option<ToolError> {
        let alone = Facts::reading(path.to_owned());
        let mut asked = vec![self.says(live, &alone)];
        match self.sandbox.preflight(path, Access::Read) {
            Ok(found) => {
                let mut names = RealNames::new(self.sandbox);
                names.add(&alone, Access::Read, path, &found);
                let is_elsewhere = !names.leads.is_empty();
                if let Some(real) = names.real_facts(is_elsewhere) {
                    let answer = self.says(live, &real.facts);
                    if is_elsewhere || answer.2 == Stage::Rule {
                        asked.push(answer);
                    }
                }
            }
            Err(error) if error.kind().status() == Status::Denied => {
                return Some(path_error(&error));
            }
            Err(_) => {}
        }
        let (decision, ..) = asked
            .into_iter()
            .find(|(decision, ..)| decision.action == Action::Deny)?;
        let kind = decision.kind.unwrap_or(ErrorKind::PolicyDenied);
        let reason = self.redactor.redact(&decision.reason).0.into_owned();
        Some(ToolError::new(kind, reason))
    }
}
