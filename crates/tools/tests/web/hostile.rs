//! `web_fetch` against servers that do not behave.

use std::io::Write;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use toolgate_model::ErrorKind;
use toolgate_tools::web::WebLimits;

use crate::fixture::{PUBLIC, Plot, Site, hasty};
use crate::server::{Authority, Reply, Server};

fn site(limits: WebLimits) -> Site {
    let site = Site::with(Plot {
        limits,
        ..Plot::default()
    });
    site.network.name("page.example", &[&[PUBLIC]]);
    site
}

/// What becomes of a page that a server sends so.
fn fetched(limits: WebLimits, reply: Reply) -> toolgate_model::ToolResult {
    let server = Server::new(move |_| reply.clone());
    let site = site(limits);
    site.network.port(80, server.address());
    site.call("web_fetch", json!({"url": "http://page.example/"}))
}

fn kind(limits: WebLimits, reply: Reply) -> Option<ErrorKind> {
    fetched(limits, reply).error.map(|error| error.kind)
}

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n";

#[test]
fn a_server_that_says_nothing_is_given_up() {
    for sent in [
        &b""[..],
        b"HTTP/1.1 200",
        HEAD,
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
    ] {
        let began = Instant::now();
        let kind = kind(hasty(), Reply::Silent(sent.to_vec()));
        assert_eq!(kind, Some(ErrorKind::IdleTimeout), "{sent:?}");
        assert!(began.elapsed() < Duration::from_secs(5));
    }
}

#[test]
fn a_call_takes_no_longer_than_its_settings_give_it() {
    let limits = WebLimits::within(Duration::from_millis(400));
    let pause = Duration::from_millis(20);
    for reply in [
        Reply::Silent(HEAD.to_vec()),
        Reply::Endless(HEAD.to_vec(), b"x".to_vec(), pause),
    ] {
        let began = Instant::now();
        let ended = kind(limits, reply);
        assert!(
            matches!(ended, Some(ErrorKind::Timeout | ErrorKind::IdleTimeout)),
            "{ended:?}"
        );
        assert!(began.elapsed() < Duration::from_secs(5));
    }
}

#[test]
fn a_server_that_drips_is_ended_at_the_deadline() {
    let pause = Duration::from_millis(20);
    let began = Instant::now();
    let body = Reply::Endless(HEAD.to_vec(), b"x".to_vec(), pause);
    assert_eq!(kind(hasty(), body), Some(ErrorKind::Timeout));
    let head = Reply::Endless(b"HTTP/1.1 200 OK\r\nX: ".to_vec(), b"x".to_vec(), pause);
    let ended = kind(hasty(), head);
    assert!(
        matches!(ended, Some(ErrorKind::Timeout | ErrorKind::IdleTimeout)),
        "{ended:?}"
    );
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_page_without_end_is_cut_and_says_so() {
    let limits = WebLimits {
        max_bytes: 50_000,
        ..WebLimits::default()
    };
    let endless = Reply::Endless(HEAD.to_vec(), vec![b'x'; 4096], Duration::ZERO);
    let result = fetched(limits, endless);
    assert_eq!(result.error, None);
    assert!(result.truncated);
    assert_eq!(result.metadata["bytes"], 50_000);
    assert!(
        result.content.contains("the page goes on"),
        "{}",
        result.content
    );
}

#[test]
fn a_packed_bomb_goes_off_in_a_small_room() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&vec![b' '; 64 << 20]).unwrap();
    let bomb = encoder.finish().unwrap();
    let headers = [("Content-Type", "text/html"), ("Content-Encoding", "gzip")];
    let limits = WebLimits {
        max_bytes: 1 << 20,
        ..WebLimits::default()
    };
    let result = fetched(limits, Reply::new("200 OK", &headers, &bomb));
    assert_eq!(result.error, None);
    assert_eq!(result.metadata["bytes"], 1 << 20);
    assert!(result.truncated);
}

#[test]
fn packed_pages_are_unpacked_and_damaged_ones_are_errors() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(b"<p>packed words").unwrap();
    let packed = encoder.finish().unwrap();
    let reply = |encoding: &str, body: &[u8]| {
        let headers = [
            ("Content-Type", "text/html"),
            ("Content-Encoding", encoding),
        ];
        Reply::new("200 OK", &headers, body)
    };
    let limits = WebLimits::default();
    assert_eq!(
        fetched(limits, reply("gzip", &packed)).content,
        "packed words"
    );
    for (encoding, body) in [
        ("gzip", &b"no gzip at all"[..]),
        ("gzip", &packed[..packed.len() / 2]),
        ("br", b"x"),
        ("gzip, gzip", &packed),
        ("zstd", b"x"),
    ] {
        assert_eq!(
            kind(limits, reply(encoding, body)),
            Some(ErrorKind::Network),
            "{encoding}"
        );
    }
}

#[test]
fn what_is_no_http_is_an_error_of_the_network() {
    let many: String = (0..1_000).map(|n| format!("X-{n}: y\r\n")).collect();
    let long = format!("X: {}\r\n", "y".repeat(1 << 20));
    for sent in [
        "".to_owned(),
        "SSH-2.0-OpenSSH_9\r\n".to_owned(),
        "HTTP/1.1 999999 X\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort".to_owned(),
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_owned(),
        format!("HTTP/1.1 200 OK\r\n{many}\r\n"),
        format!("HTTP/1.1 200 OK\r\n{long}\r\n"),
    ] {
        let kind = kind(
            WebLimits::default(),
            Reply::Bytes(sent.clone().into_bytes()),
        );
        let start: String = sent.chars().take(60).collect();
        assert_eq!(kind, Some(ErrorKind::Network), "{start:?}");
    }
}

#[test]
fn chunks_are_put_together() {
    let chunked = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n\
        5\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\n\r\n";
    let result = fetched(WebLimits::default(), Reply::Bytes(chunked.into()));
    assert_eq!(result.content, "hello world");
}

#[test]
fn a_server_that_cannot_prove_its_name_is_asked_nothing() {
    let trusted = Authority::new();
    let stranger = Authority::new();
    for (identity, why) in [
        (trusted.identity(&["other.example"]), "the name of another"),
        (stranger.identity(&["page.example"]), "signed by a stranger"),
        (trusted.expired("page.example"), "expired"),
    ] {
        let server = Server::encrypted(&identity, |_| Reply::html("<p>secret"));
        let site = Site::with(Plot {
            roots: vec![trusted.root()],
            ..Plot::default()
        });
        site.network.name("page.example", &[&[PUBLIC]]);
        site.network.port(443, server.address());
        let error = site.fails(json!({"url": "https://page.example/"}));
        assert_eq!(error.kind, ErrorKind::Network, "{why}");
        assert!(
            error.message.contains("could not prove"),
            "{why}: {}",
            error.message
        );
        assert_eq!(server.asked().len(), 0, "{why}");
    }
    // A server that does not speak TLS at all.
    let plain = Server::new(|_| Reply::html("<p>plain"));
    let site = site(WebLimits::default());
    site.network.port(443, plain.address());
    assert_eq!(site.kind("https://page.example/"), ErrorKind::Network);
}

#[test]
fn a_tangled_page_is_given_up_half_way_and_what_was_read_is_returned() {
    // The parser's work grows with the square of the depth.
    let tangled = format!("<p>the start</p>{}", "<div>x".repeat(300_000));
    let limits = WebLimits {
        convert: Duration::from_millis(300),
        ..WebLimits::default()
    };
    let began = Instant::now();
    let result = fetched(limits, Reply::html(tangled));
    assert_eq!(result.error, None);
    assert!(result.truncated);
    assert!(result.content.starts_with("the start"));
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn a_page_cannot_send_escape_sequences_to_the_terminal() {
    let headers = [("Content-Type", "text/plain")];
    let body = "a\u{1b}]0;title\u{7}b\u{202e}c\u{200b}d";
    let result = fetched(WebLimits::default(), Reply::new("200 OK", &headers, body));
    assert_eq!(result.content, "abcd");
}

#[test]
fn req_12_3_a_network_error_names_the_url_and_the_reason() {
    let cut_off = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf".to_vec();
    for (url, sent, kind, place, reason) in [
        (
            "http://gone.example/a?b=c",
            None,
            ErrorKind::Network,
            "gone.example",
            "no such name",
        ),
        (
            "http://page.example:8081/a",
            None,
            ErrorKind::Network,
            "page.example:8081",
            "no connection",
        ),
        (
            "http://page.example/a/b",
            Some(Reply::Bytes(b"SSH-2.0-OpenSSH_9\r\n".to_vec())),
            ErrorKind::Network,
            "page.example:80",
            "did not answer as a web server does",
        ),
        (
            "http://page.example/half",
            Some(Reply::Bytes(cut_off)),
            ErrorKind::Network,
            "page.example:80",
            "did not answer as a web server does",
        ),
        (
            "http://page.example/slow",
            Some(Reply::Silent(Vec::new())),
            ErrorKind::IdleTimeout,
            "page.example:80",
            "said nothing for",
        ),
    ] {
        let site = site(match kind {
            ErrorKind::IdleTimeout => hasty(),
            _ => WebLimits::default(),
        });
        let server = sent.map(|sent| Server::new(move |_| sent.clone()));
        if let Some(server) = &server {
            site.network.port(80, server.address());
        }
        let error = site.fails(json!({"url": url}));
        assert_eq!(error.kind, kind, "{url}");
        let (before, after) = error.message.split_once(": ").unwrap();
        assert_eq!(before, format!("Failed to fetch {url}"));
        for part in [place, reason] {
            assert!(after.contains(part), "{url}: {after}");
        }
    }
}

#[test]
fn a_network_error_tells_no_secret_of_the_url() {
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let site = site(WebLimits::default());
    let url = format!("http://gone.example/a?key={secret}");
    let error = site.fails(json!({"url": url}));
    assert!(
        error.message.contains("http://gone.example/a?key="),
        "{error}"
    );
    assert!(!error.message.contains(secret), "{error}");
    let url = "http://ann:hunter2@gone.example/";
    let error = site.fails(json!({"url": url}));
    assert!(!error.message.contains("hunter2"), "{error}");
}
