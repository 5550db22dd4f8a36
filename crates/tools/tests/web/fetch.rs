//! `web_fetch` against servers that behave.

use std::sync::Mutex;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use toolgate_model::{Action, ErrorKind, Status};
use toolgate_tools::web::{PrivateHosts, Target, Web, WebSettings};

use crate::fixture::{PUBLIC, Plot, Site};
use crate::one_page::OnePage;
use crate::server::{Authority, Reply, Server};

#[test]
fn a_plan_says_where_it_goes_and_what_it_wants() {
    let site = Site::new();
    let args = json!({"url": "HTTPS://User-Docs.Example./a?b#c", "selector": "#x"});
    let record = site.plan("web_fetch", args).unwrap();
    assert_eq!(record.facts.connects, ["user-docs.example:443"]);
    assert!(record.facts.complete);
    assert_eq!(record.decision.action, Action::Ask);
    assert_eq!(record.summary, "Fetch #x of https://user-docs.example/a?b");
    let granting = Site::granting(&["127.0.0.1:8000", "wiki.intern"]);
    for (url, place) in [
        ("http://127.0.0.1:8000/", "127.0.0.1:8000"),
        ("https://wiki.intern/", "wiki.intern:443"),
    ] {
        let record = granting.plan("web_fetch", json!({"url": url})).unwrap();
        assert_eq!(record.facts.connects, [place]);
    }
    for url in [
        "http://127.0.0.1:8001/",
        "http://127.0.0.2:8000/",
        "http://x.intern/",
    ] {
        let error = granting.plan("web_fetch", json!({"url": url})).unwrap_err();
        assert_eq!(error.kind, ErrorKind::BlockedHost, "{url}");
        assert_eq!(error.kind.status(), Status::Denied);
    }
}

#[test]
fn arguments_that_do_not_fit_are_told_apart() {
    let site = Site::new();
    let url = "https://example.com/";
    for (args, told) in [
        (json!({}), "url"),
        (json!({"url": 1}), "url"),
        (json!({"url": url, "selector": ""}), "selector"),
        (json!({"url": url, "selector": "p["}), "no CSS selector"),
        (json!({"url": url, "selector": "::::"}), "no CSS selector"),
        (json!({"url": url, "max_length": 0}), "max_length"),
        (json!({"url": url, "max_length": -1}), "max_length"),
        (json!({"url": url, "max_length": "9"}), "max_length"),
        (json!({"url": url, "format": "html"}), "format"),
        (json!({"url": url, "method": "POST"}), "method"),
        (
            json!({"url": url, "maxLength": 1, "max_length": 2}),
            "max_length",
        ),
    ] {
        let error = site.plan("web_fetch", args.clone()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::BadArgs, "{args}");
        assert!(error.message.contains(told), "{args}: {}", error.message);
    }
}

#[test]
fn a_request_is_plain_and_says_who_asks() {
    let mut page = OnePage::new();
    page.serve(Reply::html("<p>x"));
    page.site
        .fetch(json!({"url": "http://page.example/a%20b?c=d#e"}));
    let asked = page.server.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].path, "/a%20b?c=d");
    assert_eq!(asked[0].header("host"), Some("page.example"));
    assert!(
        asked[0]
            .header("user-agent")
            .unwrap()
            .starts_with("toolgate/")
    );
    for never in ["cookie", "authorization", "referer", "origin"] {
        assert_eq!(asked[0].header(never), None);
    }
    assert_eq!(page.site.network.resolved(), ["page.example"]);
    assert_eq!(page.site.network.connected().len(), 1);
}

#[test]
fn errors_of_a_server_come_with_what_it_says() {
    let mut page = OnePage::new();
    for (status, body, retryable) in [
        ("404 Not Found", "<p>There is no such page</p>", false),
        ("403 Forbidden", "<p>Not for you</p>", false),
        ("429 Too Many Requests", "<p>Slower, please</p>", true),
        ("500 Internal Server Error", "<p>Something broke</p>", true),
        ("503 Service Unavailable", "", true),
        ("204 No Content", "", false),
        ("304 Not Modified", "", false),
        ("300 Multiple Choices", "<p>Choose</p>", false),
    ] {
        let html = [("Content-Type", "text/html")];
        page.serve(Reply::new(status, &html, body));
        let url = page.url();
        let result = page.site.call("web_fetch", json!({"url": url}));
        if status.starts_with("204") {
            assert_eq!(result.error, None);
            continue;
        }
        let error = result.error.unwrap();
        assert_eq!(
            (error.kind, error.retryable),
            (ErrorKind::HttpStatus, retryable)
        );
        let said = format!("HTTP {} ({url})", status.replacen(' ', ": ", 1));
        assert_eq!(error.message, said);
        assert!(result.content.contains(&said), "{}", result.content);
        let words = body.trim_start_matches("<p>").trim_end_matches("</p>");
        assert!(result.content.contains(words), "{}", result.content);
        assert_eq!(
            result.metadata["status"].as_u64().unwrap().to_string(),
            status[..3]
        );
    }
}

#[test]
fn what_is_no_text_is_refused_by_its_name_or_by_its_bytes() {
    let mut page = OnePage::new();
    for (content_type, body) in [
        ("image/png", &b"\x89PNG"[..]),
        ("application/pdf", b"%PDF-1.7"),
        ("application/zip", b"PK"),
        ("video/mp4", b"x"),
        ("text/html", b"a\0b"),
        ("application/octet-stream", b"\x7fELF\0"),
    ] {
        page.serve(Reply::new(
            "200 OK",
            &[("Content-Type", content_type)],
            body,
        ));
        let url = page.url();
        assert_eq!(page.site.kind(&url), ErrorKind::Binary, "{content_type}");
    }
    page.serve(Reply::new("200 OK", &[], "<!doctype html><p>no type"));
    let url = page.url();
    assert_eq!(page.site.fetch(json!({"url": url})), "no type");
    page.serve(Reply::new(
        "200 OK",
        &[("Content-Type", "application/json")],
        "{}",
    ));
    let url = page.url();
    let error = page.site.fails(json!({"url": url, "selector": "p"}));
    assert_eq!(error.kind, ErrorKind::BadArgs);
    assert!(error.message.contains("no HTML"), "{}", error.message);
}

#[test]
fn charsets_are_read_from_the_header_the_mark_and_the_page() {
    let mut page = OnePage::new();
    for (content_type, body, text, charset) in [
        (
            "text/plain; charset=iso-8859-1",
            &b"caf\xe9"[..],
            "café",
            "windows-1252",
        ),
        (
            "text/html",
            b"<meta charset=windows-1251><p>\xcf\xf0\xe8",
            "При",
            "windows-1251",
        ),
        ("text/plain", b"\xff\xfeh\0i\0", "hi", "UTF-16LE"),
        (
            "text/plain; charset=shift_jis",
            b"\x83\x65\x83\x58\x83\x67",
            "テスト",
            "Shift_JIS",
        ),
        (
            "text/plain; charset=utf-8",
            b"\xef\xbb\xbfmarked",
            "marked",
            "UTF-8",
        ),
        // What the header says is wrong, and shows.
        (
            "text/plain; charset=utf-8",
            b"caf\xe9",
            "caf\u{fffd}",
            "UTF-8",
        ),
        (
            "text/plain; charset=klingon",
            b"caf\xe9",
            "café",
            "windows-1252",
        ),
    ] {
        page.serve(Reply::new(
            "200 OK",
            &[("Content-Type", content_type)],
            body,
        ));
        let url = page.url();
        let result = page.site.call("web_fetch", json!({"url": url}));
        assert_eq!(result.content, text, "{content_type}");
        assert_eq!(result.metadata["charset"], charset);
    }
}

#[test]
fn redirects_within_the_host_are_followed_and_the_place_is_told() {
    let server = Server::new(|asked| match asked.path.as_str() {
        "/301" => Reply::to("301 Moved Permanently", "/302"),
        "/302" => Reply::to("302 Found", "http://page.example/303"),
        "/303" => Reply::to("303 See Other", "307#part"),
        "/307" => Reply::to("307 Temporary Redirect", "/308"),
        "/308" => Reply::to("308 Permanent Redirect", "/end"),
        "/nowhere" => Reply::new("302 Found", &[], "lost"),
        _ => Reply::html("<p>the end"),
    });
    let site = Site::new();
    site.network.name("page.example", &[&[PUBLIC]]);
    site.network.port(80, server.address());
    let result = site.call("web_fetch", json!({"url": "http://page.example/301"}));
    assert_eq!(result.content, "the end");
    assert_eq!(result.metadata["url"], "http://page.example/end");
    // Each hop asks for the name again, because each connection is checked.
    assert_eq!(site.network.resolved().len(), 6);
    let error = site.fails(json!({"url": "http://page.example/nowhere"}));
    assert_eq!(error.kind, ErrorKind::HttpStatus);
}

#[test]
fn a_host_that_was_granted_is_reached_where_it_is() {
    let server = Server::new(|_| Reply::html("<p>inside"));
    let place = server.address().to_string();
    let url = format!("http://{place}/");
    let site = Site::granting(&[&place]);
    assert_eq!(site.fetch(json!({"url": url})), "inside");
    // By name, and only by that name.
    let site = Site::granting(&[&format!("wiki.intern:{}", server.port())]);
    site.network.name("wiki.intern", &[&["127.0.0.1"]]);
    site.network.name("evil.example", &[&["127.0.0.1"]]);
    let at = |name: &str| format!("http://{name}:{}/", server.port());
    assert_eq!(site.fetch(json!({"url": at("wiki.intern")})), "inside");
    assert_eq!(site.kind(&at("evil.example")), ErrorKind::BlockedHost);
    // A granted name is no way to credentials, or to nobody.
    for inside in ["169.254.169.254", "0.0.0.0", "224.0.0.1", "fd00:ec2::254"] {
        site.network.name("wiki.intern", &[&[inside]]);
        let error = site.fails(json!({"url": at("wiki.intern")}));
        assert_eq!(error.kind, ErrorKind::BlockedHost, "{inside}");
    }
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn encrypted_pages_are_fetched_from_those_who_can_prove_their_name() {
    let authority = Authority::new();
    let identity = authority.identity(&["page.example"]);
    let server = Server::encrypted(&identity, |_| Reply::html("<p>safe"));
    let site = Site::with(Plot {
        roots: vec![authority.root()],
        ..Plot::default()
    });
    site.network.name("page.example", &[&[PUBLIC]]);
    site.network.port(443, server.address());
    assert_eq!(site.fetch(json!({"url": "https://page.example/"})), "safe");
}

#[test]
fn the_first_address_that_answers_is_used() {
    let server = Server::new(|_| Reply::html("<p>second"));
    let site = Site::new();
    // Nobody listens behind port 81 of the test's network.
    site.network
        .name("page.example", &[&["93.184.215.15", PUBLIC]]);
    site.network.port(8080, server.address());
    assert_eq!(
        site.fetch(json!({"url": "http://page.example:8080/"})),
        "second"
    );
    let error = site.fails(json!({"url": "http://page.example:8081/"}));
    assert_eq!((error.kind, error.retryable), (ErrorKind::Network, true));
    assert_eq!(site.network.connected().len(), 3);
}

#[test]
fn the_network_of_this_machine_reaches_a_server_that_was_granted() {
    let server = Server::new(|_| Reply::html("<p>here"));
    let place = format!("localhost:{}", server.port());
    let settings = WebSettings {
        private_hosts: PrivateHosts::new([&place, "127.0.0.1"]).unwrap(),
        ..WebSettings::default()
    };
    let web = Web::new(&settings);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    for host in [place, server.address().to_string()] {
        let target = Target::parse(&format!("http://{host}/"), &settings.private_hosts).unwrap();
        let fetched = async { web.get(&target, &[]).await?.read().await };
        let content = runtime.block_on(fetched).unwrap();
        assert_eq!(content.bytes, b"<p>here", "{host}");
    }
}

#[test]
fn a_call_that_is_cancelled_ends_at_once() {
    let (waits, asked) = std::sync::mpsc::channel();
    let waits = Mutex::new(waits);
    let server = Server::new(move |_| {
        waits.lock().unwrap().send(()).unwrap();
        Reply::Silent(Vec::new())
    });
    let site = Site::new();
    site.network.name("page.example", &[&[PUBLIC]]);
    site.network.port(80, server.address());
    let cancel = CancellationToken::new();
    let canceller = cancel.clone();
    let waiting = std::thread::spawn(move || {
        asked.recv().unwrap();
        canceller.cancel();
    });
    let began = std::time::Instant::now();
    let result = site.call_until(&cancel, "web_fetch", json!({"url": "http://page.example/"}));
    assert_eq!(result.error.unwrap().kind, ErrorKind::Cancelled);
    assert!(began.elapsed() < std::time::Duration::from_secs(10));
    waiting.join().unwrap();
}
