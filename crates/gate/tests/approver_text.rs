//! An approver sees what will run: the shape of a secret hides nothing from the question.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use toolgate_gate::approve::{Answer, ApprovalItem};
use toolgate_gate::journal::Record;
use toolgate_gate::output::{Redactor, preview_text, whole_line, whole_text};
use toolgate_model::PlanRecord;
use toolgate_testkit::{
    Bench, Rig, Scripted, ScriptedApprover, Workspace, asking, call_because, states_facts,
};

const KNOWN: &str = "plain-words-of-a-variable";
/// What an approver sees instead of [`KNOWN`].
const MARKER: &str = "[redacted:env DEPLOY_TOKEN]";
const RANDOM: &str = "a1b2c3d4e5f6g7h8";

fn redactor() -> Redactor {
    Redactor::new([
        ("DEPLOY_TOKEN", KNOWN),
        ("ODD", "value $(date) of a variable"),
    ])
    .unwrap()
}

/// Shapes of secrets around a part that would run; `{}` is that part.
fn shapes() -> Vec<String> {
    let key = ["-----BEGIN ", "PRIVATE KEY-----"].concat();
    let end = ["-----END ", "PRIVATE KEY-----"].concat();
    let (long, body) = (RANDOM.repeat(9), "A".repeat(24));
    vec![
        format!("token=\"{long} {{}}\" make test"),
        format!("token='{long}{{}}' make test"),
        format!("token=\"{RANDOM}{{}}\" make test"),
        format!("token=`{long} {{}}`"),
        format!("password={long}{{}}"),
        format!("{{\\\"secret\\\":\\\"{long} {{}}\\\"}}"),
        format!("echo {key}{body}\n{{}}\necho {body} {end}"),
        format!("# {key}\n# {body}\n{{}}\n# {body}\n# {end}\n"),
        format!("{key}\n{body}\n*** Add File: {{}}\n{body}\n{end}"),
        "echo https://a:b1c2d3e4{}@localhost".to_owned(),
        format!("curl -H 'Authorization: Bearer {RANDOM}{{}}'"),
        format!("deploy --api-key {RANDOM}{{}} --fast"),
        format!("gh{}_{}{{}}", "p", RANDOM.repeat(3)),
        format!("login {KNOWN}{{}}"),
        format!("token=\"{KNOWN}{long} {{}}\""),
    ]
}

/// The item of a question about a call with this text in every place that a user reads.
async fn asked(text: &str) -> (ApprovalItem, Bench) {
    let bench = Rig::new()
        .settings(|settings| settings.command_sandbox = true)
        .tool(states_facts("act").side_effects())
        .redactor(redactor())
        .build();
    let args = json!({"connects": [text], "commands": [["sh", "-c", text]]});
    let approver = ScriptedApprover::new([Answer::no()]);
    let call = call_because("c", "act", args, text);
    bench
        .run_through(vec![call], &asking(approver.clone()))
        .await;
    let mut asked = approver.asked();
    assert_eq!(asked.len(), 1, "{text}");
    (asked.remove(0).items.remove(0), bench)
}

fn plan(bench: &Bench) -> Arc<PlanRecord> {
    let entries = bench.journal.entries().into_iter();
    let plans = entries.filter_map(|entry| match entry.record {
        Record::Planned { plan } => Some(plan),
        _ => None,
    });
    plans.last().unwrap()
}

#[tokio::test]
async fn a_part_that_runs_is_shown_within_every_shape_of_a_secret() {
    for shape in shapes() {
        for part in [
            "$(touch${IFS}x)",
            "$(touch x; ls)",
            "`id`",
            "touch canary",
            "a|sh",
            "x.md",
        ] {
            let text = shape.replace("{}", part);
            let (item, bench) = asked(&text).await;
            assert!(item.whole.contains(part), "{text}: {}", item.whole);
            let args = serde_json::to_string(&item.args).unwrap();
            assert!(args.contains(part), "{text}: {args}");
            let location = whole_line(&text.replace(KNOWN, MARKER));
            assert_eq!(item.locations, [location], "{text}");
            assert!(
                !args.contains(KNOWN) && !item.whole.contains(KNOWN),
                "{text}"
            );
            assert!(!item.why.contains("redacted:a"), "{}", item.why);
            // What is on record is the call that the answer is bound to.
            let plan = plan(&bench);
            assert_eq!(plan.plan_hash, item.plan_hash, "{text}");
            assert_eq!(plan.call.args["connects"][0], text);
        }
    }
}

#[tokio::test]
async fn a_preview_is_shown_whole_and_its_record_is_redacted() {
    for shape in shapes() {
        let text = shape.replace("{}", "touch canary");
        let workspace = Workspace::new();
        std::fs::write(workspace.path().join("a.sh"), &text).unwrap();
        let bench = Rig::new()
            .workspace(workspace)
            .tool(Scripted::new("act").side_effects().shows("a.sh"))
            .redactor(redactor())
            .build();
        let approver = ScriptedApprover::new([Answer::no()]);
        let call = call_because("c", "act", json!({}), "why");
        bench
            .run_through(vec![call], &asking(approver.clone()))
            .await;
        let asked = approver.asked();
        let shown = asked[0].items[0].preview.clone().unwrap();
        let expected = text.replace(KNOWN, MARKER);
        assert_eq!(shown, preview_text(&expected), "{text}");
        let stored = preview_text(&redactor().redact(&text).0).into_owned();
        assert_eq!(plan(&bench).preview, Some(stored), "{text}");
    }
}

#[test]
fn a_known_value_is_hidden_from_an_approver_only_if_it_is_one_plain_word() {
    for (value, hidden) in [
        ("plain-words_of.a+variable/1=", true),
        ("пароль-漢字", true),
        ("user:pass@host:5432", true),
        ("two words here", false),
        ("line\nline\nline", false),
        ("tab\ttab\ttab", false),
        ("value$(date)", false),
        ("value${HOME}", false),
        ("value`date`", false),
        ("value;reboot", false),
        ("value|sh -x", false),
        ("value&reboot", false),
        ("value>file", false),
        ("value<file", false),
        ("value\"quote", false),
        ("value'quote", false),
        ("value\\escape", false),
        ("value*glob?", false),
        ("value\u{200b}zero", false),
        ("value\u{3164}filler", false),
    ] {
        let redactor = Redactor::new([("DEPLOY_TOKEN", value)]).unwrap();
        let text = format!("run {value} now");
        let expected = if hidden {
            "run [redacted:env DEPLOY_TOKEN] now"
        } else {
            &*text
        };
        assert_eq!(redactor.for_approver(&text), expected, "{value:?}");
        // Everywhere else it stays hidden.
        assert_eq!(redactor.hide_known(&text), "run [redacted:env] now");
        assert_eq!(redactor.redact(&text).0, "run [redacted:env] now");
    }
}

#[test]
fn a_known_value_is_found_beside_and_within_every_shape() {
    let redactor = redactor();
    for (text, shown) in [
        (
            format!("token={KNOWN}$(id)"),
            "token=[redacted:env]$(id)".to_owned(),
        ),
        (
            format!("token=x{KNOWN}"),
            "token=x[redacted:env]".to_owned(),
        ),
        (format!("{KNOWN}{KNOWN};id"), "[redacted:env];id".to_owned()),
        (
            format!("https://a:{KNOWN}$(id)@h"),
            "https://a:[redacted:env]$(id)@h".to_owned(),
        ),
    ] {
        assert_eq!(redactor.hide_known(&text), shown);
        let named = shown.replace("[redacted:env]", MARKER);
        assert_eq!(redactor.for_approver(&text), named);
    }
}

#[test]
fn a_hidden_value_is_named_by_its_variables() {
    let redactor = Redactor::new([
        ("DEPLOY_TOKEN", "abcdefgh12345678"),
        ("OTHER_TOKEN", "12345678abcdefgh"),
        ("SAME_TOKEN", "abcdefgh12345678"),
        ("odd ] name", "zyxwvuts-98765432"),
    ])
    .unwrap();
    for (text, shown) in [
        ("-H abcdefgh12345678", "-H [redacted:env DEPLOY_TOKEN]"),
        (
            "abcdefgh12345678abcdefgh",
            "[redacted:env DEPLOY_TOKEN, OTHER_TOKEN]",
        ),
        ("x zyxwvuts-98765432", "x [redacted:env]"),
        ("nothing", "nothing"),
    ] {
        assert_eq!(redactor.for_approver(text), shown);
    }
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(256))]

    #[test]
    fn a_question_holds_every_embedded_command_verbatim(
        shape in prop::sample::select(shapes()),
        word in "[a-z]{1,12}",
        // Without the two signs that a quoted text escapes.
        rest in "[ !#-\\[\\]-~]{0,24}",
        tail in "[ -~\n]{0,12}",
    ) {
        let part = format!("$({word} {rest})");
        let text = format!("{}{tail}", shape.replace("{}", &part));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (item, _) = runtime.block_on(asked(&text));
        let args = item.args["connects"][0].as_str().unwrap();
        prop_assert_eq!(args, text.replace(KNOWN, MARKER));
        prop_assert!(args.contains(&part));
        prop_assert!(item.whole.contains(&whole_text(&part)), "{}", item.whole);
    }
}
