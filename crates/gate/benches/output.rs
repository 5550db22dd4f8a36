//! How fast output is sanitized, redacted and bounded, one JSON object per line.
//!
//! `ours_ns` and `theirs_ns` are the best of several runs over the same bytes in the
//! same process; `ratio` says how many times faster ours is. `theirs` is
//! `strip-ansi-escapes`, which removes less.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    missing_docs
)]

use std::hint::black_box;
use std::time::Instant;

use toolgate_gate::output::{Bounder, Limits, Redactor, Sanitizer, sanitize};

const BYTES: usize = 10_000_000;
const RUNS: usize = 7;
/// What a pipe delivers at once.
const CHUNK: usize = 64 * 1024;

fn main() {
    // First, while the process is still small: its peak never goes down again.
    bound_a_gibibyte();
    let texts = [
        ("plain_ascii_log", of(PLAIN)),
        ("utf8_text", of(UTF8)),
        ("full_of_escapes", of(ESCAPES)),
    ];
    for (name, text) in &texts {
        let theirs = best(|| strip_ansi_escapes::strip(text).len());
        report(
            &format!("sanitize_stream/{name}"),
            best(|| stream(text.as_bytes())),
            theirs,
        );
        report(
            &format!("sanitize_whole/{name}"),
            best(|| sanitize(text).len()),
            theirs,
        );
    }
    redact(&texts[0].1);
}

const PLAIN: &str = "2024-05-01T12:00:00.123Z INFO  worker-7 handled request id=8271 path=/api/items status=200 in 12 ms\n";
const UTF8: &str = "Größe “klein” – привет, мир · 漢字かな … ✓ done\n";
const ESCAPES: &str = "\u{1b}[32m✓\u{1b}[0m \u{1b}[1;38;5;208mtest\u{1b}[0m ok \u{1b}]8;;file:///x\u{1b}\\link\u{1b}]8;;\u{1b}\\\r\n";

fn of(line: &str) -> String {
    line.repeat(BYTES / line.len())
}

fn stream(bytes: &[u8]) -> usize {
    let mut sanitizer = Sanitizer::new();
    let mut out = String::new();
    let mut total = 0;
    for chunk in bytes.chunks(CHUNK) {
        sanitizer.push(chunk, &mut out);
        total += black_box(&out).len();
        out.clear();
    }
    sanitizer.finish(&mut out);
    total + out.len()
}

fn best(mut work: impl FnMut() -> usize) -> u128 {
    (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            black_box(work());
            start.elapsed().as_nanos()
        })
        .min()
        .unwrap_or_default()
}

fn report(name: &str, ours: u128, theirs: u128) {
    let ratio = theirs as f64 / ours as f64;
    println!(r#"{{"name":"{name}","ours_ns":{ours},"theirs_ns":{theirs},"ratio":{ratio:.2}}}"#);
}

/// Ordinary text, and text that is nothing but beginnings of secrets: ten times as
/// much of it must not take much more than ten times as long.
fn redact(plain: &str) {
    let env = (0..50).map(|n| (format!("SECRET_{n}"), format!("value-{n}-of-a-secret-{n}")));
    let start = Instant::now();
    let redactor = Redactor::new(env).unwrap();
    let build_ns = start.elapsed().as_nanos();
    let speed = |text: &str| {
        let ns = best(|| redactor.redact(text).0.len());
        text.len() as f64 * 1e3 / ns as f64
    };
    let mb_per_s = speed(plain);
    println!(
        r#"{{"name":"redact/plain_ascii_log","mb_per_s":{mb_per_s:.0},"build_ns":{build_ns}}}"#
    );
    for unit in [
        "eyJ",
        "://a:",
        "token=",
        "-----BEGIN ",
        "authorization: basic ",
        "bearer ",
    ] {
        let short = unit.repeat(100_000 / unit.len());
        let (short, long) = (speed(&short), speed(&short.repeat(10)));
        let name = unit.trim_end();
        println!(
            r#"{{"name":"redact/dense {name}","mb_per_s":{long:.1},"mb_per_s_of_a_tenth":{short:.1}}}"#
        );
    }
}

/// Streams 1 GiB through a collector and says how much the process grew.
fn bound_a_gibibyte() {
    const TOTAL: usize = 1 << 30;
    let chunk = PLAIN.repeat(CHUNK / PLAIN.len());
    let before = peak_kib();
    let start = Instant::now();
    let mut bounder = Bounder::new(Limits::default());
    for _ in 0..TOTAL / chunk.len() {
        bounder.push(&chunk);
    }
    let bounded = bounder.finish(Some("out_1"));
    let ns = start.elapsed().as_nanos();
    println!(
        r#"{{"name":"bound/1_gib","ours_ns":{ns},"total_bytes":{},"kept_bytes":{},"peak_growth_kib":{},"peak_kib":{}}}"#,
        bounded.total_bytes,
        bounded.text.len(),
        peak_kib().saturating_sub(before),
        peak_kib(),
    );
}

/// The most memory the process has had, where the system tells.
fn peak_kib() -> u64 {
    std::fs::read_to_string("/proc/self/status")
        .unwrap_or_default()
        .lines()
        .find_map(|line| {
            line.strip_prefix("VmHWM:")?
                .trim()
                .strip_suffix("kB")?
                .trim()
                .parse()
                .ok()
        })
        .unwrap_or_default()
}
