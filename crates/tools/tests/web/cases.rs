//! URLs of the sample and of our own, one JSON object per line.
//!
//! A row without `resolve` is only planned: what is refused there is refused without the
//! network. The others run against servers of this test.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Deserialize;
use serde_json::{Value, json};
use toolgate_model::{ErrorKind, Status};
use toolgate_tools::web::judge;

use crate::fixture::{Plot, Site, rows};
use crate::server::{Asked, Authority, Reply, Server};

#[derive(Debug, Deserialize)]
struct Row {
    id: String,
    args: Value,
    expect: String,
    why: String,
    kind: Option<String>,
    connects: Option<String>,
    resolve: Option<BTreeMap<String, Vec<Vec<String>>>>,
    #[serde(default)]
    redirects: BTreeMap<String, String>,
    serve: Option<Value>,
    max_output_bytes: Option<usize>,
}

fn all(text: &str) -> Vec<Row> {
    let rows = rows(text).into_iter();
    rows.map(|row| serde_json::from_value(row).unwrap())
        .collect()
}

/// What every row needs; it takes longer to make than a row takes to run.
struct Ground {
    authority: Authority,
    site: Site,
}

impl Ground {
    fn new() -> Self {
        let authority = Authority::new();
        let site = Site::with(Plot {
            roots: vec![authority.root()],
            ..Plot::default()
        });
        Self { authority, site }
    }

    fn check(&self, row: &Row) -> Result<(), String> {
        self.site.network.forget();
        match &row.resolve {
            None => planned(&self.site, row),
            Some(resolve) => self.run(row, resolve),
        }
    }
}

/// What planning alone says.
fn planned(site: &Site, row: &Row) -> Result<(), String> {
    let plan = site.plan("web_fetch", row.args.clone());
    match (row.expect.as_str(), plan) {
        ("deny", Err(error)) => {
            let known = matches!(error.kind, ErrorKind::BlockedHost | ErrorKind::BadArgs);
            if !known {
                return Err(format!("refused as {error}"));
            }
            same_kind(row, error.kind)
        }
        ("allow", Ok(record)) => match &row.connects {
            Some(place) if record.facts.connects != [place.clone()] => {
                Err(format!("connects to {:?}", record.facts.connects))
            }
            _ if record.facts.connects.len() == 1 && record.facts.complete => Ok(()),
            _ => Err(format!("facts {:?}", record.facts)),
        },
        (_, plan) => Err(format!("planned as {plan:?}")),
    }
}

fn same_kind(row: &Row, kind: ErrorKind) -> Result<(), String> {
    match &row.kind {
        Some(expected) if expected != kind.as_str() => Err(format!("kind {kind}")),
        _ => Ok(()),
    }
}

impl Ground {
    /// What happens with servers behind the names.
    fn run(&self, row: &Row, resolve: &BTreeMap<String, Vec<Vec<String>>>) -> Result<(), String> {
        let Self { authority, site } = self;
        let names: Vec<&str> = resolve
            .keys()
            .map(|name| name.trim_end_matches('.'))
            .collect();
        let identity = authority.identity(&names);
        let (plain, encrypted) = (replies(row), replies(row));
        let (plain, encrypted) = (Server::new(plain), Server::encrypted(&identity, encrypted));
        for (name, answers) in resolve {
            let answers: Vec<Vec<&str>> = answers
                .iter()
                .map(|answer| answer.iter().map(String::as_str).collect())
                .collect();
            let answers: Vec<&[&str]> = answers.iter().map(Vec::as_slice).collect();
            site.network.name(name, &answers);
        }
        site.network.port(80, plain.address());
        site.network.port(443, encrypted.address());
        let began = Instant::now();
        let result = site.call("web_fetch", row.args.clone());
        for address in site.network.connected() {
            if judge(address.ip()).is_err() {
                return Err(format!("connected to {address}"));
            }
        }
        match (row.expect.as_str(), &result.error) {
            ("deny", Some(error)) if result.status() != Status::Cancelled => {
                same_kind(row, error.kind)
            }
            ("allow", None) if result.content.contains("the page of") => Ok(()),
            ("bounded", None) => {
                let most = row.max_output_bytes.unwrap();
                let bounded = result.content.len() <= most && result.truncated;
                let quick = began.elapsed() < Duration::from_secs(60);
                (bounded && quick)
                    .then_some(())
                    .ok_or_else(|| format!("{} bytes, {:?}", result.content.len(), began.elapsed()))
            }
            (_, error) => Err(format!("ended as {error:?}: {}", result.content)),
        }
    }
}

/// What both servers of a row say.
fn replies(row: &Row) -> impl Fn(&Asked) -> Reply + Send + Sync + 'static {
    let redirects = row.redirects.clone();
    let serve = row.serve.clone();
    move |asked| {
        let host = asked.header("host").unwrap_or_default();
        let from = format!("{host}{}", asked.path);
        if let Some(to) = redirects.get(&from) {
            return Reply::to("302 Found", to);
        }
        match &serve {
            None => Reply::html(format!("<p>the page of {from}")),
            Some(serve) => endless(serve["encoding"] == json!("gzip")),
        }
    }
}

/// A body that goes on for as long as somebody reads.
fn endless(packed: bool) -> Reply {
    let mut head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n".to_owned();
    let piece = if packed {
        head.push_str("Content-Encoding: gzip\r\n");
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&vec![b'x'; 32 << 20]).unwrap();
        encoder.finish().unwrap()
    } else {
        vec![b'x'; 64 << 10]
    };
    head.push_str("\r\n");
    Reply::Endless(head.into_bytes(), piece, Duration::ZERO)
}

fn pass(text: &str, least: usize) {
    let rows = all(text);
    assert!(rows.len() >= least, "{} rows", rows.len());
    let ground = Ground::new();
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let failure = ground.check(row).err()?;
            Some(format!("{} ({}, {}): {failure}", row.id, row.why, row.args))
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn urls_of_the_sample() {
    pass(include_str!("../data/urls.jsonl"), 30);
}

#[test]
fn urls_of_our_own() {
    pass(include_str!("../data/own_urls.jsonl"), 300);
}
