//! The laws of `web_fetch`.

use proptest::prelude::*;
use serde_json::json;
use toolgate_model::ErrorKind;

use crate::one_page::OnePage;
use crate::server::Reply;

/// Runs a law over cases with one server for all of them.
fn law<S: Strategy>(cases: S, law: impl Fn(&mut OnePage, S::Value)) {
    let page = std::cell::RefCell::new(OnePage::new());
    let mut runner = proptest::test_runner::TestRunner::new(toolgate_testkit::laws(256));
    let ran = runner.run(&cases, |case| {
        law(&mut page.borrow_mut(), case);
        Ok(())
    });
    ran.unwrap();
}

#[test]
fn property_29_a_page_comes_back_as_text() {
    let words = prop::collection::vec("[a-zA-Zäöüß0-9.,;!?]{1,12}", 1..8);
    let paragraphs = prop::collection::vec(words, 1..6);
    law(
        (paragraphs, any::<bool>()),
        |page, (paragraphs, markdown)| {
            let paragraphs: Vec<String> = paragraphs.iter().map(|words| words.join(" ")).collect();
            let body: String = paragraphs
                .iter()
                .map(|text| format!("<p>{text}</p>"))
                .collect();
            page.serve(Reply::html(format!(
                "<!doctype html><title>T</title><body>{body}"
            )));
            let url = page.url();
            let format = if markdown { "markdown" } else { "text" };
            let content = page.site.fetch(json!({"url": url, "format": format}));
            let expected = paragraphs.join("\n\n");
            let expected = if markdown {
                format!("# T\n\n{expected}")
            } else {
                expected
            };
            assert_eq!(content, expected);
        },
    );
}

#[test]
fn property_29_text_that_is_no_html_comes_back_as_it_is() {
    let types = [
        "text/plain",
        "application/json",
        "text/csv",
        "application/xml",
    ];
    let texts = ("[ -~äöü]{1,80}", prop::sample::select(types.to_vec()));
    law(texts, |page, (text, content_type)| {
        let headers = [("Content-Type", content_type)];
        page.serve(Reply::new("200 OK", &headers, &text));
        let url = page.url();
        assert_eq!(page.site.fetch(json!({"url": url})), text);
    });
}

#[test]
fn property_30_a_selector_brings_only_what_fits_it() {
    let parts = prop::collection::vec(("[a-z]{3,10}", any::<bool>()), 1..12);
    law(parts, |page, parts| {
        let element = |(n, (word, wanted)): (usize, &(String, bool))| {
            let class = if *wanted { "yes" } else { "no" };
            format!("<div class={class}>{word}{n}</div>")
        };
        let body: String = parts.iter().enumerate().map(element).collect();
        page.serve(Reply::html(format!("<main>{body}</main>")));
        let url = page.url();
        let wanted: Vec<String> = parts
            .iter()
            .enumerate()
            .filter(|(_, (_, wanted))| *wanted)
            .map(|(n, (word, _))| format!("{word}{n}"))
            .collect();
        let args = json!({"url": url, "selector": "div.yes"});
        if wanted.is_empty() {
            let error = page.site.fails(args);
            assert_eq!(error.kind, ErrorKind::TargetNotFound);
            assert!(error.message.contains("div.no"), "{}", error.message);
        } else {
            assert_eq!(page.site.fetch(args), wanted.join("\n\n"));
        }
    });
}

#[test]
fn property_31_what_is_longer_than_wanted_is_cut_and_says_so() {
    law(
        ("[a-zäöü€𝄞]{0,60}", 1_usize..80),
        |page, (text, most)| {
            let headers = [("Content-Type", "text/plain; charset=utf-8")];
            page.serve(Reply::new("200 OK", &headers, &text));
            let url = page.url();
            let result = page
                .site
                .call("web_fetch", json!({"url": url, "maxLength": most}));
            assert_eq!(result.error, None);
            let length = text.chars().count();
            if text.is_empty() {
                assert_eq!(result.content, "[The page holds no text.]");
            } else if length <= most {
                assert_eq!((result.content, result.truncated), (text, false));
            } else {
                let start: String = text.chars().take(most).collect();
                let note = format!(
                    "\n\n[Content truncated: {} characters omitted]",
                    length - most
                );
                assert_eq!((result.content, result.truncated), (start + &note, true));
            }
        },
    );
}
