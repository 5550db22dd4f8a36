//! What can be known about the paths of a call before it runs, without changing anything.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use toolgate_model::{Decision, ErrorKind, Facts, ToolError};

use super::leads::RealNames;
use super::{Live, Planner, Seen, leads_for_approver, leads_text};
use crate::output::approval_text;
use crate::panics::payload_text;
use crate::tool::{Invocation, path_error};

impl Planner<'_> {
    /// Makes the decision stricter for what is at the paths of a call: a sandbox refuses one,
    /// or rules say more about the place to which a link leads.
    pub(super) fn before_running(&self, live: &mut Live) {
        let facts = &live.record.facts;
        let claimed = facts.claimed;
        match self.preflight(facts, &*live.invocation) {
            Ok(mut names) => {
                let leads = std::mem::take(&mut names.leads);
                // The paths of a command are what it claims; rules about their real names count,
                // and defaults have decided about the command already.
                live.real = names.real_facts(!claimed && !leads.is_empty());
                if live.real.is_none() {
                    return;
                }
                if !claimed && !leads.is_empty() {
                    let record = Arc::make_mut(&mut live.record);
                    record.leads_to = leads;
                    record.plan_hash = self.hash(&live.entry, &record.call, Seen::by(record));
                    let text = leads_text(&record.leads_to, self.redactor);
                    let text = text.trim_end().replace('\n', "; ");
                    record.summary = approval_text(&format!("{} ({text})", record.summary));
                    let exact = leads_for_approver(&record.leads_to, self.redactor);
                    let exact = exact.trim_end().replace('\n', "; ");
                    live.exact.summary = format!("{} ({exact})", live.exact.summary);
                    for lead in &record.leads_to {
                        if !record.locations.contains(&lead.to) {
                            record.locations.push(lead.to.clone());
                        }
                    }
                }
                self.judge(live);
            }
            Err(refused) => {
                let sandbox = if claimed {
                    "the command sandbox"
                } else {
                    "the path sandbox"
                };
                let record = Arc::make_mut(&mut live.record);
                // What a sandbox refuses is told, also where a default denies.
                record.decision = Decision::denied(refused.kind, sandbox, refused.message);
            }
        }
    }

    /// What a sandbox would refuse whatever policy says. What is merely missing is the tool's to tell:
    /// an earlier call of the batch may still make it. Returns the real names of the paths.
    fn preflight(
        &self,
        facts: &Facts,
        invocation: &dyn Invocation,
    ) -> Result<RealNames<'_>, ToolError> {
        let mut names = RealNames::new(self.sandbox);
        if facts.claimed {
            // What a command claims is held by its own sandbox, which the tool knows. Foreign code.
            let asked = catch_unwind(AssertUnwindSafe(|| invocation.refused()));
            let refused = asked.unwrap_or_else(|payload| {
                let message = format!(
                    "Tool panicked while it was asked about its sandbox: {}",
                    payload_text(&*payload)
                );
                Some(ToolError::new(ErrorKind::Panicked, message))
            });
            if let Some(refused) = refused {
                return Err(refused);
            }
        }
        for (access, path) in facts.paths() {
            match self.sandbox.preflight(path, access) {
                Ok(found) => names.add(facts, access, path, &found),
                Err(error)
                    if !facts.claimed
                        && error.kind().status() == toolgate_model::Status::Denied =>
                {
                    return Err(path_error(&error));
                }
                _ => {}
            }
        }
        if !facts.claimed {
            let together = facts.writes.iter().map(std::path::Path::new);
            let planted = self.sandbox.check_plants(together);
            planted.map_err(|error| path_error(&error))?;
        }
        Ok(names)
    }
}
