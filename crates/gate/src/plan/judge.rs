//! Policy and validators over a planned call.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use toolgate_model::{Decision, ErrorKind, Facts, Risk};
use toolgate_policy::{Question, Stage};

use super::leads::RealFacts;
use super::{Live, Planner, leads_for_approver};
use crate::panics::payload_text;

impl Planner<'_> {
    fn question<'a>(&self, live: &'a Live, facts: &'a Facts) -> Question<'a> {
        let spec = live.entry.spec();
        Question {
            tool: &spec.name,
            args: &live.record.call.args,
            facts,
            side_effects: spec.side_effects,
            requires_approval: live.requires_approval,
            risk: live.record.risk,
            command_sandbox: self.command_sandbox,
            network_closed: self.network_closed,
            sandbox_from_facts: false,
        }
    }

    /// Decides about a call and stores the decision in its record.
    pub(super) fn judge(&self, live: &mut Live) -> Stage {
        let (mut decision, risk, stage) = self.policy_says(live);
        live.exact.decision = Some(decision.clone());
        let record = &live.record;
        self.redactor
            .redact_atoms(&mut decision, &record.tool, &record.facts);
        if !record.leads_to.is_empty() {
            // Names of links are in it, for an approver.
            decision.reason = self.redactor.redact(&decision.reason).0.into_owned();
        }
        // It is not shared before it is planned.
        let record = Arc::make_mut(&mut live.record);
        record.decision = decision;
        record.risk = risk;
        stage
    }

    /// Policy and validators over tool, arguments and facts, under the requested names and
    /// the real ones. The strictest answer wins.
    pub(crate) fn policy_says(&self, live: &Live) -> (Decision, Risk, Stage) {
        let requested = self.says(live, &live.record.facts);
        match &live.real {
            Some(real) => self.with_real(live, real, requested),
            None => requested,
        }
    }

    fn with_real(
        &self,
        live: &Live,
        real: &RealFacts,
        (decision, risk, stage): (Decision, Risk, Stage),
    ) -> (Decision, Risk, Stage) {
        let (mut other, other_risk, other_stage) = self.says(live, &real.facts);
        self.redactor
            .redact_atoms(&mut other, &live.record.tool, &real.facts);
        // An absolute name of the same place has defaults of its own; only a rule counts.
        let counts = real.is_elsewhere || other_stage == Stage::Rule;
        let is_rule = |stage| stage != Stage::Default;
        let stricter = other.action > decision.action
            || (other.action == decision.action && is_rule(other_stage) && !is_rule(stage));
        let mut atoms = decision.atoms.clone();
        for mut answer in std::mem::take(&mut other.atoms) {
            if counts && !atoms.iter().any(|known| known.atom == answer.atom) {
                answer.atom.push_str(" (the real name)");
                atoms.push(answer);
            }
        }
        if !counts || !stricter {
            return (Decision { atoms, ..decision }, risk, stage);
        }
        let leads = leads_for_approver(&live.record.leads_to, self.redactor);
        if !leads.is_empty() {
            let leads = leads.trim_end().replace('\n', "; ");
            other.reason = format!("{} ({leads})", other.reason);
        }
        (
            Decision { atoms, ..other },
            risk.max(other_risk),
            other_stage,
        )
    }

    pub(super) fn says(&self, live: &Live, facts: &Facts) -> (Decision, Risk, Stage) {
        let question = self.question(live, facts);
        let ask = AssertUnwindSafe(|| {
            let verdict = self.policy.judge(question);
            let (mut decision, mut stage) = (verdict.decision, verdict.stage);
            for validator in self.validators {
                if let Some(opinion) = validator.validate(&question)
                    && opinion.action > decision.action
                {
                    (decision, stage) = (tightened(decision, opinion), Stage::Rule);
                }
            }
            (decision, verdict.risk, stage)
        });
        catch_unwind(ask).unwrap_or_else(|payload| {
            let reason = format!("policy panicked: {}", payload_text(&*payload));
            (
                Decision::denied(ErrorKind::Panicked, "panic", reason),
                live.record.risk,
                Stage::Floor,
            )
        })
    }
}

/// The stricter of the two, with the atoms of the first if the second has none.
pub(super) fn tightened(mut decision: Decision, opinion: Decision) -> Decision {
    let atoms = std::mem::take(&mut decision.atoms);
    let mut strictest = decision.stricter(opinion);
    if strictest.atoms.is_empty() {
        strictest.atoms = atoms;
    }
    strictest
}
