//! Which provider is asked where little is configured, and how patiently, through the program.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice
)]

#[path = "support/program.rs"]
mod program;

use std::sync::atomic::{AtomicUsize, Ordering};

use program::{Bench, Done, finish};
use serde_json::{Value, json};
use toolgate_providers::Wire;
use toolgate_providers::replay::Script;
use toolgate_testkit::{Loopback, Render, Sent, Told};

const SSE: &str = "text/event-stream";

/// What a provider of this wire streams for one step of a script.
fn streamed(wire: Wire, toml: &str) -> Vec<u8> {
    Script::from_toml(toml).unwrap().steps[0].render(wire)
}

fn says(wire: Wire, text: &str) -> Told {
    let toml = format!(
        "[[steps]]\ntext = {text:?}\nusage = {{ input_tokens = 12345, output_tokens = 200 }}\n"
    );
    Told::new(200, SSE, streamed(wire, &toml))
}

/// A turn with these variables set.
fn run(bench: &Bench, variables: &[(&str, &str)], args: &[&str]) -> Done {
    let mut command = bench.toolgate();
    command
        .envs(variables.iter().copied())
        .arg("run")
        .args(args);
    finish(command, b"")
}

#[test]
fn a_key_in_its_usual_variable_is_enough() {
    for (variables, wire, model) in [
        (
            &[("ANTHROPIC_API_KEY", "key-1")][..],
            Wire::Anthropic,
            "claude-sonnet-4-5",
        ),
        (
            &[("OPENAI_API_KEY", "key-2")],
            Wire::OpenAiResponses,
            "gpt-5",
        ),
        (
            &[("OPENAI_API_KEY", "key-2"), ("ANTHROPIC_API_KEY", "key-1")],
            Wire::Anthropic,
            "claude-sonnet-4-5",
        ),
        (
            &[("OPENAI_API_KEY", "key-2"), ("ANTHROPIC_API_KEY", " ")],
            Wire::OpenAiResponses,
            "gpt-5",
        ),
    ] {
        let server = Loopback::start(move |_| says(wire, "Hello."));
        let bench = Bench::new();
        let done = run(&bench, variables, &["--base-url", &server.url(), "hi"]);
        assert_eq!(
            (done.code, done.stdout.as_str()),
            (Some(0), "Hello.\n"),
            "{done:?}"
        );
        let heard = server.heard();
        assert_eq!(heard[0].json()["model"], model);
        let told = match wire {
            Wire::Anthropic => {
                "ANTHROPIC_API_KEY is set, so anthropic is asked, model claude-sonnet-4-5"
            }
            _ => "OPENAI_API_KEY is set, so openai-responses is asked, model gpt-5",
        };
        assert!(done.stderr.contains(told), "{done:?}");
        assert!(!done.stderr.contains("key-"), "{done:?}");
    }
    let none = run(&Bench::new(), &[], &["hi"]);
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(none.stderr.contains("ANTHROPIC_API_KEY"), "{none:?}");
}

#[test]
fn defaults_choose_provider_model_and_preset() {
    let server = Loopback::start(move |_| says(Wire::OpenAiChat, "Hello."));
    let bench = Bench::new();
    let provider = |name: &str| {
        format!(
            "[providers.{name}]\nkind = \"openai-chat\"\nmodel = \"{name}-own\"\nbase_url = {:?}\n",
            server.url()
        )
    };
    let providers = [provider("one"), provider("two")].concat();
    bench.home("config.toml", &providers);
    let which = run(&bench, &[], &["hi"]);
    assert_eq!(which.code, Some(2), "{which:?}");
    assert!(which.stderr.contains("[defaults]"), "{which:?}");
    bench.home(
        "config.toml",
        &format!("{providers}[defaults]\nprovider = \"two\"\nmodel = \"chosen\"\npreset = \"terse\"\n[presets.terse]\nsystem_prompt = \"Be terse.\"\n"),
    );
    for (args, model) in [
        (&["hi"][..], "chosen"),
        (&["--provider", "one", "hi"], "one-own"),
        (&["--model", "other", "hi"], "other"),
    ] {
        let done = run(&bench, &[], args);
        assert_eq!(done.code, Some(0), "{done:?}");
        let heard = server.heard();
        let asked = heard.last().unwrap().json();
        assert_eq!(asked["model"], model, "{args:?}");
        assert!(
            asked["messages"][0].to_string().contains("Be terse."),
            "{asked}"
        );
    }
    bench.home("config.toml", "[defaults]\nprovider = \"three\"\n");
    let wrong = run(&bench, &[], &["hi"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.stderr.contains("no provider \"three\""), "{wrong:?}");
}

#[test]
fn the_language_of_the_prompt_is_configured_and_follows_the_locale_otherwise() {
    let server = Loopback::start(move |_| says(Wire::OpenAiChat, "Olá."));
    let prompt = |language: Option<&str>, locale: &str| {
        let bench = Bench::new();
        let language = language.map(|one| format!("[defaults]\nlanguage = \"{one}\"\n"));
        bench.home("config.toml", &language.unwrap_or_default());
        let url = server.url();
        let args = [
            "--provider",
            "openai-chat",
            "--model",
            "m",
            "--base-url",
            &url,
            "hi",
        ];
        let done = run(&bench, &[("LANG", locale)], &args);
        assert_eq!(done.code, Some(0), "{done:?}");
        let heard = server.heard();
        let system = &heard.last().unwrap().json()["messages"][0]["content"];
        // The workspace's own path is in it.
        let text = system.to_string();
        text.contains("ferramenta")
    };
    assert!(!prompt(None, "en_US.UTF-8"));
    assert!(prompt(None, "pt_BR.UTF-8"));
    assert!(!prompt(Some("en"), "pt_BR.UTF-8"));
    assert!(prompt(Some("pt"), "en_US.UTF-8"));
    assert!(prompt(Some("auto"), "pt_PT"));
}

#[test]
fn overload_is_waited_for_and_each_wait_is_said() {
    let count = AtomicUsize::new(0);
    let server = Loopback::start(move |_| {
        let busy = |status, kind: &str| {
            let body = json!({"type": "error", "error": {"type": kind, "message": "Busy"}});
            Told::new(status, "application/json", body.to_string()).header("retry-after-ms", "10")
        };
        match count.fetch_add(1, Ordering::SeqCst) {
            0..=2 => busy(529, "overloaded_error"),
            3..=5 => busy(429, "rate_limit_error"),
            6..=8 => busy(503, "api_error"),
            _ => says(Wire::Anthropic, "At last."),
        }
    });
    let bench = Bench::new();
    let key = [("ANTHROPIC_API_KEY", "key-1")];
    let done = run(&bench, &key, &["--base-url", &server.url(), "hi"]);
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (Some(0), "At last.\n"),
        "{done:?}"
    );
    assert_eq!(server.heard().len(), 10);
    let told = done
        .stderr
        .lines()
        .filter(|line| line.contains("trying again in"));
    let told: Vec<&str> = told.collect();
    assert_eq!(told.len(), 9, "{done:?}");
    assert!(told[8].contains("(9 of 10)"), "{told:?}");
}

#[test]
fn an_answer_that_breaks_off_before_a_call_is_asked_for_again_and_withdrawn() {
    let whole = streamed(
        Wire::Anthropic,
        "[[steps]]\ntext = \"Half an answer and more of it\"\n",
    );
    let text = String::from_utf8(whole).unwrap();
    let at = text.find("and more").map_or(text.len() / 2, |at| {
        text[at..]
            .find("\n\n")
            .map_or(text.len(), |end| at + end + 2)
    });
    let half = text.as_bytes()[..at].to_vec();
    let count = AtomicUsize::new(0);
    let server = Loopback::start(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        0 => Told::new(200, SSE, "").sent(Sent::Cut(half.clone())),
        _ => says(Wire::Anthropic, "The whole answer."),
    });
    let bench = Bench::new();
    let key = [("ANTHROPIC_API_KEY", "key-1")];
    let done = run(&bench, &key, &["--base-url", &server.url(), "hi"]);
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (Some(0), "The whole answer.\n"),
        "{done:?}"
    );
    for part in ["Half an answer", "does not count", "trying again in"] {
        assert!(done.stderr.contains(part), "{part}: {done:?}");
    }
    let heard = server.heard();
    assert_eq!(heard.len(), 2);
    assert_eq!(heard[0].json()["messages"], heard[1].json()["messages"]);
    let listed = bench.run(&["--json", "journal", "list"]);
    let listed: Value = serde_json::from_str(listed.stdout.trim()).unwrap();
    let id = listed["conversation"].as_str().unwrap();
    let shown = bench.run(&[
        "--json",
        "journal",
        "show",
        id,
        "--kind",
        "assistant_message",
    ]);
    let stops = shown.stdout.lines().map(|line| {
        let entry: Value = serde_json::from_str(line).unwrap();
        entry["body"]["stop"].as_str().unwrap().to_owned()
    });
    assert_eq!(stops.collect::<Vec<_>>(), ["withdrawn", "end_turn"]);
    let shown = bench.run(&["journal", "show", id]);
    assert!(
        shown.stdout.contains("broke off and was asked for again"),
        "{shown:?}"
    );
    // The model never hears of the half answer.
    let args = ["--base-url", &server.url(), "--continue", "more"];
    let more = run(&bench, &key, &args);
    assert_eq!(more.code, Some(0), "{more:?}");
    let last = server.heard().pop().unwrap().json();
    assert!(
        !last["messages"].to_string().contains("Half an answer"),
        "{last}"
    );
    assert!(
        last["messages"].to_string().contains("The whole answer."),
        "{last}"
    );
}

#[test]
fn an_answer_that_breaks_off_after_a_call_is_not_asked_for_again() {
    let step = "[[steps]]\ntext = \"I write.\"\n[[steps.calls]]\nid = \"c\"\nname = \"write_file\"\nargs = { path = \"a\", content = \"x\" }\n";
    let text = String::from_utf8(streamed(Wire::Anthropic, step)).unwrap();
    let end = text.rfind("content_block_stop").unwrap();
    let end = end + text[end..].find("\n\n").unwrap() + 2;
    let cut = text.as_bytes()[..end].to_vec();
    let server = Loopback::start(move |_| Told::new(200, SSE, "").sent(Sent::Cut(cut.clone())));
    let bench = Bench::new();
    let key = [("ANTHROPIC_API_KEY", "key-1")];
    let args = ["--approve", "all", "--base-url", &server.url(), "hi"];
    let done = run(&bench, &key, &args);
    assert_eq!(done.code, Some(1), "{done:?}");
    assert_eq!(server.heard().len(), 1);
    assert!(bench.listing().is_empty(), "nothing ran");
}

#[test]
fn tokens_are_told_at_the_end_and_the_cost_where_prices_are_configured() {
    let server = Loopback::start(move |_| says(Wire::OpenAiChat, "Hello."));
    for (prices, told) in [
        ("", "12\u{202f}345 tokens in, 200 out · "),
        (
            "price_input = 3\nprice_output = 15.5\n",
            "12\u{202f}345 tokens in, 200 out · $0.0402 · ",
        ),
    ] {
        let bench = Bench::new();
        bench.home(
            "config.toml",
            &format!(
                "[providers.p]\nkind = \"openai-chat\"\nmodel = \"m\"\nbase_url = {:?}\n{prices}",
                server.url()
            ),
        );
        let done = run(&bench, &[], &["hi"]);
        assert!(done.stderr.contains(told), "{done:?}");
        assert_eq!(done.stderr.contains('$'), !prices.is_empty(), "{done:?}");
        let quiet = run(&bench, &[], &["--quiet", "hi"]);
        assert_eq!(
            (quiet.stdout.as_str(), quiet.stderr.as_str()),
            ("Hello.\n", "")
        );
    }
    let bench = Bench::new();
    for wrong in ["-1", "\"3\"", "nan", "1e9"] {
        bench.home(
            "config.toml",
            &format!("[providers.p]\nkind = \"ollama\"\nprice_input = {wrong}\n"),
        );
        let done = run(&bench, &[], &["hi"]);
        assert_eq!(done.code, Some(2), "{wrong}: {done:?}");
        assert!(done.stderr.contains("a number from 0"), "{wrong}: {done:?}");
    }
}
