//! What the options and files of `toolgate run` say, and what is said where they are wrong.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use program::{Bench, Done, finish};
use serde_json::Value;
use toolgate_providers::Wire;
use toolgate_providers::replay::Script;
use toolgate_testkit::{Loopback, Render, Told};

/// A server that says hi on a wire, however often it is asked.
fn greeting(wire: Wire) -> Loopback {
    Loopback::start(move |_| {
        let script = Script::from_toml("[[steps]]\ntext = \"hi\"\n").unwrap();
        Told::new(200, wire.stream_type(), script.steps[0].render(wire))
    })
}

fn conversation(done: &Done) -> String {
    let mut lines = done.stderr.lines();
    let told = lines.find_map(|line| line.strip_prefix("conversation "));
    let id = told.and_then(|rest| rest.split(':').next());
    id.expect("an id").to_owned()
}

#[test]
fn the_coder_of_the_configuration_holds_without_a_preset() {
    let bench = Bench::new();
    let server = greeting(Wire::Ollama);
    bench.home(
        "config.toml",
        &format!(
            "[providers.local]\nkind = \"ollama\"\nmodel = \"a\"\nbase_url = \"{}\"\n[presets.coder]\nsystem_prompt = \"Mine.\"\nmodel = \"b\"\ntrust = \"autonomous\"\n",
            server.url()
        ),
    );
    for more in [&[][..], &["--preset", "coder"]] {
        let mut args = vec!["run", "x"];
        args.extend(more);
        let done = bench.run(&args);
        assert_eq!(done.code, Some(0), "{done:?}");
    }
    let heard = server.heard();
    let heard: Vec<Value> = heard.iter().map(|heard| heard.json()).collect();
    for heard in &heard {
        assert_eq!(heard["messages"][0]["content"], "Mine.");
        assert_eq!(heard["model"], "b");
    }
    assert_eq!(heard.len(), 2);
}

#[test]
fn nobody_is_asked_without_the_key_that_the_configuration_names() {
    let bench = Bench::new();
    let server = greeting(Wire::OpenAiChat);
    let section = format!(
        "[providers.work]\nkind = \"openai-chat\"\nmodel = \"m\"\nbase_url = \"{}\"\n",
        server.url()
    );
    bench.home(
        "config.toml",
        &format!("{section}api_key_env = \"MYKEY\"\n"),
    );
    for key in [None, Some(""), Some(" \n")] {
        let mut command = bench.toolgate();
        command
            .args(["run", "x"])
            .envs(key.map(|key| ("MYKEY", key)));
        let done = finish(command, b"");
        assert_eq!(done.code, Some(2), "{key:?}: {done:?}");
        for part in ["[providers.work]", "MYKEY", "api_key_env"] {
            assert!(done.stderr.contains(part), "{key:?}: {done:?}");
        }
    }
    assert!(server.heard().is_empty());
    // A server of one's own may need none.
    bench.home("config.toml", &section);
    let done = bench.run(&["run", "x"]);
    assert_eq!(done.code, Some(0), "{done:?}");
}

#[test]
fn a_history_is_what_an_export_writes_and_nothing_else() {
    let bench = Bench::new();
    bench.write("s.toml", "[[steps]]\ntext = \"hi\"\n");
    for (history, parts) in [
        ("[]", &["no JSON object", "`messages`"][..]),
        ("", &["no JSON object"]),
        ("\"x\"", &["no JSON object"]),
        ("{}", &["missing field `messages`"]),
        (r#"{"messages":[],"mesages":[]}"#, &["mesages"]),
        (
            r#"{"messages":[{"role":"user","content":"a","txet":"b"}]}"#,
            &["txet"],
        ),
        (
            r#"{"messages":[{"role":"system","content":"a"}]}"#,
            &["system"],
        ),
    ] {
        bench.write("talk.json", history);
        let args = ["run", "--script", "s.toml", "--history", "talk.json", "x"];
        let done = bench.run(&args);
        assert_eq!(done.code, Some(2), "{history}: {done:?}");
        for part in parts.iter().chain(&["talk.json", "journal export"]) {
            assert!(done.stderr.contains(part), "{history}: {part}: {done:?}");
        }
        assert!(!done.stderr.contains("struct"), "{history}: {done:?}");
    }
}

/// A conversation in which a person is to answer the calls `c` and `d`.
fn left_to_a_person() -> (Bench, String) {
    let bench = Bench::new();
    bench.home("config.toml", "[tools]\nmode = \"parse_only\"\n");
    let call = |id| {
        format!("[[steps.calls]]\nid = \"{id}\"\nname = \"read_file\"\nargs = {{ path = \"a\" }}\n")
    };
    bench.write("s.toml", &format!("[[steps]]\n{}{}", call("c"), call("d")));
    bench.write("t.toml", "[[steps]]\ntext = \"Thanks.\"\n");
    let done = bench.run(&["run", "--script", "s.toml", "go"]);
    assert_eq!(done.code, Some(4), "{done:?}");
    let id = conversation(&done);
    (bench, id)
}

#[test]
fn every_mistake_in_supplied_results_is_told_with_its_line() {
    let (bench, id) = left_to_a_person();
    let supply = |results: &str| {
        bench.write("results", results);
        let with = ["--conversation", &id, "--results", "results"];
        bench.run(&[&["run", "--script", "t.toml"][..], &with].concat())
    };
    let good = r#"{"call_id":"c","content":"x"}"#;
    for (results, part) in [
        (
            "nonsense".to_owned(),
            "line 1: is no JSON object; a line is",
        ),
        (format!("{good}\n\n[1]"), "line 3: is no JSON object"),
        (format!("{good}\n{{\"call_id\":"), "line 2: EOF"),
        (
            r#"{"call_id":"c"}"#.to_owned(),
            "line 1: has no result for call \"c\"",
        ),
        (
            r#"{"call_id":"c","content":"x","error":"y"}"#.to_owned(),
            "line 1: has both `content` and `error`",
        ),
        (
            r#"{"call_id":"c","content":"x","bogus":1}"#.to_owned(),
            "line 1: unknown field `bogus`",
        ),
        (
            format!("{good}\n{good}"),
            "line 2: call \"c\" has its result in line 1",
        ),
        (
            r#"{"call_id":"e","content":"x"}"#.to_owned(),
            "line 1: no result is wanted for a call \"e\"",
        ),
        (good.to_owned(), "a result is still wanted for d"),
    ] {
        let done = supply(&results);
        assert_eq!(done.code, Some(2), "{results}: {done:?}");
        assert!(done.stderr.contains(part), "{results}: {}", done.stderr);
    }
    let done = supply(&format!(
        "{good}\n{{\"call_id\":\"d\",\"error\":\"none\"}}\n"
    ));
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (Some(0), "Thanks.\n"),
        "{done:?}"
    );
}

#[test]
fn what_is_wrong_with_the_record_is_told_before_who_is_asked() {
    let bench = Bench::new();
    let local = |name| {
        format!(
            "[providers.{name}]\nkind = \"ollama\"\nmodel = \"m\"\nbase_url = \"http://127.0.0.1:9\"\n"
        )
    };
    bench.home("config.toml", &(local("one") + &local("two")));
    bench.write("s.toml", "[[steps]]\ntext = \"hi\"\n");
    let done = bench.run(&["run", "--script", "s.toml", "x"]);
    let id = conversation(&done);
    let journal = bench.home_directory().join("journal.db");
    let whole = std::fs::read(&journal).unwrap();
    // Where SQLite keeps the number that a program gives to its tables.
    let mut newer = whole.clone();
    newer[60..64].copy_from_slice(&99_u32.to_be_bytes());
    for (bytes, id, code, part) in [
        (
            whole,
            "run_other",
            2,
            "nothing is on record of \"run_other\"",
        ),
        (newer, &id, 1, "written by a newer toolgate"),
        (vec![b'x'; 8192], &id, 1, "not a journal"),
        (Vec::new(), &id, 1, "nothing is on record yet"),
    ] {
        std::fs::write(&journal, bytes).unwrap();
        let done = bench.run(&["run", "--conversation", id, "y"]);
        assert_eq!(done.code, Some(code), "{part}: {done:?}");
        assert!(done.stderr.contains(part), "{part}: {done:?}");
        assert!(!done.stderr.contains("--provider"), "{part}: {done:?}");
    }
}

#[test]
fn a_dash_is_standard_input_and_a_recording_takes_no_files_place() {
    let bench = Bench::new();
    bench.write("s.toml", "[[steps]]\ntext = \"hi\"\n");
    bench.write("empty.toml", "");
    let done = bench.feed(&["run", "--script", "s.toml", "-"], b"from the pipe");
    let id = conversation(&done);
    let shown = bench.run(&["journal", "show", &id, "--json", "--kind", "user_message"]);
    assert!(shown.stdout.contains("from the pipe"), "{shown:?}");
    let before = bench.read("s.toml");
    let record = |to| bench.run(&["run", "--script", "s.toml", "--record", to, "x"]);
    let done = record("s.toml");
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.stderr.contains("not empty"), "{done:?}");
    assert_eq!(bench.read("s.toml"), before);
    for to in ["empty.toml", "new.toml"] {
        assert_eq!(record(to).code, Some(0));
        assert!(bench.read(to).contains("hi"), "{to}");
    }
}
