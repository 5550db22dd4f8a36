//! What making text of a page costs, against what parsing it costs anybody.
//!
//! Prints megabytes in a second and, for each way to read a page, how many times the work of
//! a plain parse with the same parser.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use toolgate_tools::html::{Reading, Selector, Style, read};
use url::Url;

const ROUNDS: usize = 15;

fn main() {
    let base = Url::parse("https://site.example/docs/").unwrap();
    let selector = Selector::parse("p, td").unwrap();
    for (name, html) in [
        ("an article", article()),
        ("a table", table()),
        ("links", links()),
    ] {
        let reading = |style, selector| Reading {
            style,
            selector,
            base: Some(&base),
            most: usize::MAX,
        };
        let written = |reading: &Reading<'_>| {
            black_box(read(&html, reading, &|| true).unwrap());
        };
        let markdown = reading(Style::Markdown, None);
        let text = reading(Style::Text, None);
        let selected = reading(Style::Markdown, Some(&selector));
        let ways: [(&str, &dyn Fn()); 4] = [
            ("parse", &|| {
                drop(black_box(dom_query::Document::from(html.as_str())))
            }),
            ("Markdown", &|| written(&markdown)),
            ("text", &|| written(&text)),
            ("selector", &|| written(&selected)),
        ];
        let taken = best(&ways);
        let parsed = taken.first().unwrap().as_secs_f64();
        for ((way, _), taken) in ways.iter().zip(&taken) {
            let taken = taken.as_secs_f64();
            let rate = f64::from(u32::try_from(html.len()).unwrap()) / 1e6 / taken;
            println!(
                "{name:<10} {way:<9} {rate:>7.1} MB/s {:>6.2} times a parse",
                taken / parsed
            );
        }
    }
}

/// The shortest of several tries of each, taken in turn so that a busy machine is fair to all.
fn best(ways: &[(&str, &dyn Fn())]) -> Vec<Duration> {
    let mut best = vec![Duration::MAX; ways.len()];
    for _ in 0..ROUNDS {
        for ((_, work), best) in ways.iter().zip(&mut best) {
            let began = Instant::now();
            work();
            *best = began.elapsed().min(*best);
        }
    }
    best
}

fn article() -> String {
    let section = "<section><h2>A heading</h2><p>Some words with <b>bold</b> and <a href='../x?y=z'>a \
        link</a>, and then quite a few more words that say nothing at all.</p><ul><li>one<li>two</ul>\
        <pre><code class=language-rust>fn main() {}\n</code></pre></section>\n";
    format!(
        "<!doctype html><title>T</title><nav>nav</nav><main>{}</main>",
        section.repeat(4_000)
    )
}

fn table() -> String {
    let row = "<tr><td>a cell</td><td>12345</td><td><b>more</b></td></tr>\n";
    format!(
        "<main><table><tr><th>A<th>B<th>C</tr>{}</table></main>",
        row.repeat(16_000)
    )
}

fn links() -> String {
    "<p><a href=/some/where?page=1>one</a> <a href=https://other.example/>two</a></p>\n"
        .repeat(12_000)
}
