//! What can be known about the paths of a call before it runs, without changing anything.

use std::panic::{AssertUnwindSafe, catch_unwind};

use toolgate_model::{Access, Action, Decision, ErrorKind, Facts, ToolError};

use super::{Live, Planner};
use crate::panics::payload_text;
use crate::tool::{Invocation, path_error};

impl Planner<'_> {
    /// A stricter decision than policy's, for what is at the paths of a call: a sandbox
    /// refuses one, or a link leads an allowed change to instructions to agents.
    pub(super) fn before_running(&self, live: &Live) -> Option<Decision> {
        let record = &live.record;
        match self.preflight(&record.facts, &*live.invocation) {
            Ok(led_to) if record.decision.action == Action::Allow => {
                self.instructions(live, &led_to)
            }
            Ok(_) => None,
            Err(refused) => {
                let wall = if record.facts.claimed {
                    "the command wall"
                } else {
                    "the path wall"
                };
                Some(Decision::denied(refused.kind, wall, refused.message))
            }
        }
    }

    /// What a wall would refuse whatever policy says. What is merely missing is the tool's to tell:
    /// an earlier call of the batch may still make it. Returns where links led the changes.
    fn preflight(
        &self,
        facts: &Facts,
        invocation: &dyn Invocation,
    ) -> Result<Vec<(Access, String)>, ToolError> {
        if facts.claimed {
            // What a command claims is held by its own wall, which the tool knows. Foreign code.
            let asked = catch_unwind(AssertUnwindSafe(|| invocation.refused()));
            let refused = asked.unwrap_or_else(|payload| {
                let message = format!(
                    "Tool panicked while it was asked about its wall: {}",
                    payload_text(&*payload)
                );
                Some(ToolError::new(ErrorKind::Panicked, message))
            });
            return refused.map_or(Ok(Vec::new()), Err);
        }
        let mut led_to = Vec::new();
        for (access, path) in facts.paths() {
            match self.wall.preflight(path, access) {
                Ok(found) if access != Access::Read => {
                    let name = self.wall.name(found.root, &found.path);
                    led_to.push((access, name.to_string_lossy().into_owned()));
                }
                Err(error) if error.kind().status() == toolgate_model::Status::Denied => {
                    return Err(path_error(&error));
                }
                _ => {}
            }
        }
        let together = facts.writes.iter().map(std::path::Path::new);
        let planted = self.wall.check_plants(together);
        planted.map_err(|error| path_error(&error))?;
        Ok(led_to)
    }

    /// What policy says where a link on the way leads to instructions to agents.
    fn instructions(&self, live: &Live, led_to: &[(Access, String)]) -> Option<Decision> {
        let question = self.question(live);
        led_to
            .iter()
            .find_map(|(access, path)| self.policy.led_to_instructions(&question, *access, path))
    }
}
