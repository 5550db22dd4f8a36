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
    let selector = Selector::parse("section > p").unwrap();
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
        let written = |reading: Reading<'_>| {
            let page = read(&html, &reading, &|| true);
            black_box(page.unwrap_or_default());
        };
        let parsed = best(|| drop(black_box(dom_query::Document::from(html.as_str()))));
        let ways: [(&str, Reading<'_>); 3] = [
            ("Markdown", reading(Style::Markdown, None)),
            ("text", reading(Style::Text, None)),
            ("selector", reading(Style::Markdown, Some(&selector))),
        ];
        let rate = |taken: Duration| {
            let bytes = u32::try_from(html.len()).unwrap();
            f64::from(bytes) / 1e6 / taken.as_secs_f64()
        };
        println!("{name:<10} {:<9} {:>7.1} MB/s", "parse", rate(parsed));
        for (way, reading) in ways {
            let taken = best(|| written(reading));
            let times = taken.as_secs_f64() / parsed.as_secs_f64();
            println!(
                "{name:<10} {way:<9} {:>7.1} MB/s {times:>6.2} times a parse",
                rate(taken)
            );
        }
    }
}

/// The shortest of several tries.
fn best(mut work: impl FnMut()) -> Duration {
    let tries = (0..ROUNDS).map(|_| {
        let began = Instant::now();
        work();
        began.elapsed()
    });
    tries.min().unwrap_or_default()
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
