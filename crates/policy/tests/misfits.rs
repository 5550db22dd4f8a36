//! Rules that nothing a tool does can ever fit.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]
mod support;

use support::*;
use toolgate_policy::{FindingKind, KnownTool, Operator, misfits};

fn tools() -> Vec<KnownTool> {
    let tool = |name: &str, params: Option<&[&str]>, side_effects, runs_commands| KnownTool {
        name: name.to_owned(),
        params: params.map(strings),
        side_effects,
        runs_commands,
    };
    vec![
        tool("read_file", Some(&["path", "start_line"]), false, false),
        tool("write_file", Some(&["path", "content"]), true, false),
        tool("run_command", Some(&["command", "cwd"]), true, true),
        tool("theirs", None, true, false),
    ]
}

#[test]
fn a_rule_that_can_match_nothing_its_tool_does_is_found() {
    let on = |tool: &str, param: &str| rule(tool, Deny).when(param, Operator::Equals, &["x"]);
    let paths = ["src/**"];
    for (rule, told) in [
        (on("read_file", "path"), None),
        (
            on("read_file", "pth"),
            Some("no argument is called `pth`; `path` is the nearest name"),
        ),
        (
            on("read_file", "content"),
            Some(
                "no argument is called `content`; conditions go by the canonical names of arguments",
            ),
        ),
        // Of every tool one may have it, and a tool that says nothing may take anything.
        (on("theirs", "anything"), None),
        (on("*", "anything"), None),
        // A name of no tool is told as that.
        (on("nobody", "pth"), None),
        // What a tool does and does not do.
        (rule("read_file", Deny).reads(&paths), None),
        (rule("read_file", Deny).connects(&["h"]), None),
        (
            rule("read_file", Deny).writes(&paths),
            Some("`read_file` changes no files"),
        ),
        (
            rule("read_file", Deny).deletes(&paths),
            Some("`read_file` changes no files"),
        ),
        (rule("read_file", Deny).writes(&paths).reads(&paths), None),
        (
            rule("read_file", Deny).command("git"),
            Some("`read_file` runs no commands"),
        ),
        (rule("write_file", Deny).writes(&paths), None),
        (rule("write_file", Deny).deletes(&paths), None),
        (
            rule("write_file", Deny).command("git"),
            Some("`write_file` runs no commands"),
        ),
        (rule("run_command", Deny).command("git"), None),
        (rule("*", Deny).command("git"), None),
        (rule("*", Deny).writes(&paths), None),
        (
            rule("read_file", Allow).deletes(&paths),
            Some("`read_file` changes no files"),
        ),
        (rule("read_file", Deny), None),
        (rule("read_file", Ask).opaque(), None),
    ] {
        let found = misfits(&rules(std::slice::from_ref(&rule)), &tools());
        let messages: Vec<&str> = found.iter().map(|found| found.message.as_str()).collect();
        assert_eq!(messages, Vec::from_iter(told), "{rule:?}");
        assert!(
            found
                .iter()
                .all(|found| found.kind == FindingKind::NeverFits)
        );
    }
}

#[test]
fn an_argument_that_one_of_the_tools_has_is_known_for_all_of_them() {
    let mut known = tools();
    known.retain(|tool| tool.name != "theirs");
    let on = |param: &str| rule("*", Deny).when(param, Operator::Equals, &["x"]);
    let found = |param| misfits(&rules(&[on(param)]), &known).len();
    assert_eq!(found("cwd"), 0);
    assert_eq!(found("pth"), 1);
}
