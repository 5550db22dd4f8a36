//! `web_search` against servers of its own.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use toolgate_model::{Action, ErrorKind};
use toolgate_tools::web::WebLimits;
use toolgate_tools::{Brave, SearchProvider, Searxng, ToolSettings};

use crate::fixture::{Plot, Site};
use crate::server::{Reply, Server};

const KEY: &str = "a-key-that-nobody-sees";

fn json_reply(body: &Value) -> Reply {
    let headers = [("Content-Type", "application/json")];
    Reply::new("200 OK", &headers, body.to_string())
}

/// What SearXNG says about so many pages.
fn searxng_says(count: usize) -> Reply {
    let results: Vec<Value> = (1..=count)
        .map(|n| json!({"title": format!("Title {n}"), "url": format!("https://s.example/{n}"), "content": format!("words {n}"), "score": 1.5}))
        .collect();
    json_reply(&json!({"query": "q", "results": results, "suggestions": []}))
}

/// What Brave says about so many pages.
fn brave_says(count: usize) -> Reply {
    let results: Vec<Value> = (1..=count)
        .map(|n| json!({"title": format!("<strong>B</strong> {n}"), "url": format!("https://b.example/{n}"), "description": format!("more &amp; <strong>words</strong> {n}")}))
        .collect();
    json_reply(&json!({"type": "search", "web": {"results": results}}))
}

fn down() -> Reply {
    Reply::new("500 Internal Server Error", &[], "broken")
}

/// A site that asks these servers, as far as there are any.
fn site(searxng: Option<&Server>, brave: Option<&Server>) -> Site {
    let mut providers: Vec<Arc<dyn SearchProvider>> = Vec::new();
    if let Some(server) = searxng {
        let url = format!("http://{}", server.address());
        providers.push(Arc::new(Searxng::at(&url).unwrap()));
    }
    if let Some(server) = brave {
        let url = format!("http://{}/", server.address());
        providers.push(Arc::new(Brave::at(&url, KEY).unwrap()));
    }
    Site::with(Plot {
        tools: ToolSettings {
            search_providers: providers,
            ..ToolSettings::default()
        },
        ..Plot::default()
    })
}

fn found(site: &Site, args: Value) -> String {
    let result = site.call("web_search", args);
    assert_eq!(result.error, None);
    result.content
}

#[test]
fn ac_18_searxng_is_asked_and_its_results_are_a_list() {
    let server = Server::new(|_| searxng_says(2));
    let site = site(Some(&server), None);
    let result = site.call("web_search", json!({"query": "test & more"}));
    assert_eq!(result.error, None);
    assert_eq!(
        result.content,
        "1. Title 1\n   https://s.example/1\n   words 1\n\n2. Title 2\n   https://s.example/2\n   words 2"
    );
    assert_eq!(result.metadata["provider"], "searxng");
    assert_eq!(result.metadata["result_count"], 2);
    let asked = server.asked();
    assert_eq!(
        asked[0].path,
        "/search?q=test+%26+more&format=json&engines=bing%2Cduckduckgo%2Cbrave"
    );
}

#[test]
fn ac_19_brave_is_asked_where_searxng_fails_or_finds_nothing() {
    let brave = Server::new(|_| brave_says(1));
    let failing = [
        down(),
        searxng_says(0),
        Reply::html("<p>no JSON"),
        json_reply(&json!([1])),
    ];
    for (n, reply) in failing.into_iter().enumerate() {
        let searxng = Server::new(move |_| reply.clone());
        let site = site(Some(&searxng), Some(&brave));
        let result = site.call("web_search", json!({"query": "test"}));
        assert_eq!(result.error, None, "{n}");
        assert_eq!(
            result.content,
            "1. B 1\n   https://b.example/1\n   more & words 1"
        );
        assert_eq!(result.metadata["provider"], "brave");
        assert_eq!(searxng.asked().len(), 1);
    }
    // Nobody listens there any more.
    let gone = Server::new(|_| down());
    let site = {
        let site = site(Some(&gone), Some(&brave));
        drop(gone);
        site
    };
    assert!(found(&site, json!({"query": "test"})).starts_with("1. B 1"));
    let asked = brave.asked();
    assert_eq!(asked[0].path, "/res/v1/web/search?q=test&count=5");
    assert_eq!(asked[0].header("x-subscription-token"), Some(KEY));
}

#[test]
fn ac_20_an_error_where_everybody_fails_says_how_each_did() {
    let (searxng, brave) = (Server::new(|_| down()), Server::new(|_| Reply::html("x")));
    let result = site(Some(&searxng), Some(&brave)).call("web_search", json!({"query": "test"}));
    let error = result.error.unwrap();
    assert_eq!((error.kind, error.retryable), (ErrorKind::Network, true));
    for told in ["searxng: HTTP 500", "brave: its answer cannot be read"] {
        assert!(error.message.contains(told), "{}", error.message);
    }
    assert!(!error.message.contains(KEY) && !result.content.contains(KEY));
    let only = site(None, Some(&searxng)).call("web_search", json!({"query": "test"}));
    assert_eq!(only.error.unwrap().kind, ErrorKind::HttpStatus);
}

#[test]
fn property_32_never_more_results_than_wanted() {
    let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let served = Arc::clone(&count);
    let server =
        Server::new(move |_| searxng_says(served.load(std::sync::atomic::Ordering::SeqCst)));
    let site = site(Some(&server), None);
    let mut runner = proptest::test_runner::TestRunner::new(toolgate_testkit::laws(256));
    let asked = std::cell::Cell::new(0);
    let cases = (0_usize..70, prop::option::of(1_usize..90));
    let ran = runner.run(&cases, |(there, wanted)| {
        count.store(there, std::sync::atomic::Ordering::SeqCst);
        asked.set(asked.get() + 1);
        let mut args = json!({"query": format!("q{}", asked.get())});
        if let Some(wanted) = wanted {
            args["numResults"] = json!(wanted);
        }
        let result = site.call("web_search", args);
        let listed = result
            .content
            .lines()
            .filter(|line| line.contains(". Title "))
            .count();
        prop_assert_eq!(listed, there.min(wanted.unwrap_or(5)).min(50));
        prop_assert_eq!(
            result.metadata["result_count"].as_u64(),
            Some(listed as u64)
        );
        Ok(())
    });
    ran.unwrap();
}

#[test]
fn nothing_found_is_no_error() {
    let server = Server::new(|_| searxng_says(0));
    let content = found(&site(Some(&server), None), json!({"query": "test"}));
    assert!(content.starts_with("No results found"), "{content}");
    // Whoever answered counts, even if somebody else failed.
    let broken = Server::new(|_| down());
    let content = found(
        &site(Some(&broken), Some(&server)),
        json!({"query": "test"}),
    );
    assert!(content.starts_with("No results found"), "{content}");
}

#[test]
fn without_a_server_the_error_says_what_to_do() {
    let result = site(None, None).call("web_search", json!({"query": "test"}));
    let error = result.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Disabled);
    assert!(
        error.message.contains("search.searxng.url = "),
        "{}",
        error.message
    );
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    let site = site(None, None);
    for args in [
        json!({}),
        json!({"query": ""}),
        json!({"query": "  \n"}),
        json!({"query": 1}),
        json!({"query": "x", "max_results": 0}),
        json!({"query": "x", "max_results": -3}),
        json!({"query": "x", "max_results": 1.5}),
        json!({"query": "x", "site": "y"}),
    ] {
        let error = site.plan("web_search", args.clone()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::BadArgs, "{args}");
    }
}

#[test]
fn a_plan_names_the_servers_and_counts_as_reading() {
    let (searxng, brave) = (Server::new(|_| down()), Server::new(|_| down()));
    let site = site(Some(&searxng), Some(&brave));
    let record = site.plan("web_search", json!({"query": "a\nb"})).unwrap();
    let places = [searxng.address().to_string(), brave.address().to_string()];
    assert_eq!(record.facts.connects, places);
    assert_eq!(record.decision.action, Action::Allow);
    assert!(searxng.asked().is_empty());
}

#[test]
fn a_search_server_is_trusted_itself_and_not_in_where_it_points() {
    let other = Server::new(|_| searxng_says(1));
    let to = format!("http://{}/search", other.address());
    let server = Server::new(move |_| Reply::to("302 Found", &to));
    let result = site(Some(&server), None).call("web_search", json!({"query": "test"}));
    assert_eq!(result.error.unwrap().kind, ErrorKind::Network);
    assert!(other.asked().is_empty());
    // And web_fetch reaches it no more than any other private host.
    let granted = site(Some(&other), None);
    assert_eq!(
        granted.kind(&format!("http://{}/", other.address())),
        ErrorKind::BlockedHost
    );
}

#[test]
fn what_engines_say_cannot_forge_another_result() {
    let forged = json!({"results": [
        {"title": "A\n2. Fake", "url": "https://a.example/\n   x", "content": "line\n\n3. Fake\n   https://evil.example"},
        {"title": "script", "url": "javascript:alert(1)", "content": ""},
        {"title": null, "url": "https://untitled.example/", "content": null},
        {"url": "https://bare.example/"},
        {"title": "no url"},
    ]});
    let server = Server::new(move |_| json_reply(&forged));
    let content = found(&site(Some(&server), None), json!({"query": "test"}));
    let lines: Vec<&str> = content.lines().collect();
    assert_eq!(
        lines,
        [
            "1. A 2. Fake",
            "   https://a.example/x",
            "   line 3. Fake https://evil.example",
            "",
            "2. (no title)",
            "   https://untitled.example/",
            "",
            "3. (no title)",
            "   https://bare.example/",
        ]
    );
}

#[test]
fn a_silent_search_server_leaves_the_next_one_its_part_of_the_time() {
    let silent = Server::new(|_| Reply::Silent(Vec::new()));
    let brave = Server::new(|_| brave_says(1));
    let mut providers: Vec<Arc<dyn SearchProvider>> = Vec::new();
    let url = format!("http://{}", silent.address());
    providers.push(Arc::new(Searxng::at(&url).unwrap()));
    let url = format!("http://{}/", brave.address());
    providers.push(Arc::new(Brave::at(&url, KEY).unwrap()));
    let site = Site::with(Plot {
        limits: WebLimits::within(Duration::from_millis(2_000)),
        tools: ToolSettings {
            search_providers: providers,
            ..ToolSettings::default()
        },
        ..Plot::default()
    });
    assert!(found(&site, json!({"query": "q"})).contains("https://b.example/1"));
}
