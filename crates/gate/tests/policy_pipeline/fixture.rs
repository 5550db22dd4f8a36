//! Tools and gates that several topics share.

use toolgate_gate::plan::Plan;
use toolgate_model::{Action, ErrorKind, Risk};
use toolgate_policy::Trust;
use toolgate_shell::{LineContext, analyse};
use toolgate_testkit::{Bench, Rig, Scripted, call};

pub(crate) fn shell_tool(line: &str) -> Scripted {
    let context = LineContext {
        cwd: "",
        home: Some("/home/ann"),
        roots: &["/home/ann/work"],
    };
    let facts = analyse(line, &context).facts;
    Scripted::new("run_command").side_effects().facts(facts)
}

pub(crate) fn autonomous(rig: Rig) -> Bench {
    rig.rules(|rules| rules.settings.trust = Trust::Autonomous)
        .settings(|settings| settings.command_sandbox = true)
        .build()
}

/// The plan of one call: the action, the kind of a refusal, the risk.
pub(crate) async fn planned(
    bench: &Bench,
    name: &str,
    args: serde_json::Value,
) -> (Action, Option<ErrorKind>, Option<Risk>) {
    let planned = bench
        .gate
        .plan(&bench.session, vec![call("c", name, args)])
        .await;
    let plan = planned.plans().next().unwrap();
    let risk = plan.record().map(|record| record.risk);
    match plan {
        Plan::Go(_) => (Action::Allow, None, risk),
        Plan::Ask(_) => (Action::Ask, None, risk),
        Plan::Settled(refusal) => (Action::Deny, Some(refusal.error.kind), risk),
        Plan::Manual(_) => panic!("tools are enabled"),
    }
}
