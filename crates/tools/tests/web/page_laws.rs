//! Laws of pages as text.

use std::cell::Cell;

use proptest::prelude::*;
use toolgate_tools::html::{Reading, Selector, Style, read};
use url::Url;

const STYLES: [Style; 2] = [Style::Markdown, Style::Text];

fn reading(style: Style, most: usize) -> Reading<'static> {
    Reading {
        style,
        selector: None,
        base: None,
        most,
    }
}

/// Something that looks like HTML, whole or not.
fn tangle() -> impl Strategy<Value = String> {
    let names = prop::sample::select(vec![
        "p",
        "div",
        "b",
        "i",
        "a",
        "ul",
        "ol",
        "li",
        "table",
        "tr",
        "td",
        "th",
        "pre",
        "code",
        "h1",
        "h2",
        "blockquote",
        "br",
        "hr",
        "img",
        "span",
        "main",
        "article",
        "nav",
        "script",
        "svg",
        "template",
        "select",
        "title",
        "body",
        "head",
        "html",
        "form",
        "dl",
        "dd",
        "math",
        "frameset",
    ]);
    let piece = prop_oneof![
        names.clone().prop_map(|name| format!("<{name}>")),
        names.clone().prop_map(|name| format!("</{name}>")),
        (names, "[a-z]{1,6}", "[ -~]{0,10}")
            .prop_map(|(name, key, value)| format!("<{name} {key}=\"{value}\">")),
        "[ -~äöü\n\t]{0,12}",
        Just("<!--".to_owned()),
        Just("]]>".to_owned()),
        Just("&amp;&nbsp;&#x0;".to_owned()),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// Elements, closed or not, and words.
fn tags_and_words() -> impl Strategy<Value = String> {
    let names = prop::sample::select(vec![
        "p",
        "div",
        "b",
        "i",
        "a",
        "ul",
        "ol",
        "li",
        "table",
        "tr",
        "td",
        "pre",
        "code",
        "h1",
        "blockquote",
        "br",
        "hr",
        "span",
        "main",
        "nav",
        "svg",
        "select",
        "body",
        "form",
    ]);
    let piece = prop_oneof![
        names.clone().prop_map(|name| format!("<{name}>")),
        names.prop_map(|name| format!("</{name}>")),
        "[a-zäöü \n]{0,12}",
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(toolgate_testkit::laws(512))]

    #[test]
    fn any_page_becomes_tidy_text_within_its_room(html in tangle(), most in 0_usize..400) {
        for style in STYLES {
            let page = read(&html, &reading(style, most), &|| true).unwrap();
            prop_assert!(page.text.len() <= most);
            prop_assert!(!page.text.starts_with([' ', '\n']) || html.contains("<pre"), "{:?}", page.text);
            prop_assert!(page.cut || !page.text.ends_with('\n'), "{:?}", page.text);
        }
    }

    #[test]
    fn a_page_that_was_cut_is_the_start_of_the_whole(html in tangle(), most in 0_usize..200) {
        for style in STYLES {
            let whole = read(&html, &reading(style, 1 << 20), &|| true).unwrap();
            let part = read(&html, &reading(style, most), &|| true).unwrap();
            // Where nothing fits, the page is read once more with everything.
            if !part.text.is_empty() {
                prop_assert!(whole.text.starts_with(&part.text), "{:?} {:?}", whole.text, part.text);
            }
            prop_assert_eq!(part.cut, part.text.len() < whole.text.len());
        }
    }

    #[test]
    fn every_word_of_the_body_is_in_the_text_in_order(words in prop::collection::vec("[a-z]{1,8}", 1..20), tags in prop::collection::vec(prop::sample::select(vec!["p", "div", "b", "li", "td", "h2", "pre", "code", "span", "blockquote", "a", "em", "section"]), 20)) {
        let html: String = words.iter().zip(&tags).map(|(word, tag)| format!("<{tag}>{word}</{tag}> ")).collect();
        for style in STYLES {
            let page = read(&html, &reading(style, 1 << 20), &|| true).unwrap();
            let mut rest = page.text.as_str();
            for word in &words {
                let at = rest.find(word.as_str());
                prop_assert!(at.is_some(), "{} in {:?}", word, page.text);
                rest = &rest[at.unwrap() + word.len()..];
            }
        }
    }

    #[test]
    fn no_sign_of_html_is_left_of_a_page_that_writes_none_out(html in tags_and_words()) {
        let page = read(&html, &reading(Style::Text, 1 << 20), &|| true).unwrap();
        prop_assert!(!page.text.contains(['<', '>']), "{:?}", page.text);
    }

    #[test]
    fn whoever_is_told_to_stop_stops(html in tangle(), steps in 0_usize..20) {
        let long = html.repeat(50);
        let left = Cell::new(steps);
        let go_on = || {
            let now = left.get();
            left.set(now.saturating_sub(1));
            now > 0
        };
        let page = read(&long, &reading(Style::Text, 1 << 24), &go_on).unwrap();
        prop_assert!(page.cut || long.len() <= steps * 4096);
    }

    #[test]
    fn any_selector_is_read_or_refused(selector in "[a-z.#\\[\\]:()>+~* ,=\"'-]{0,30}", html in tangle()) {
        if let Ok(selector) = Selector::parse(&selector) {
            let reading = Reading { selector: Some(&selector), ..reading(Style::Text, 1000) };
            let _ = read(&html, &reading, &|| true);
        }
    }

    #[test]
    fn links_are_whole_or_only_words(href in "[ -~]{0,30}", words in "[a-z]{1,5}") {
        let base = Url::parse("https://site.example/dir/").unwrap();
        let reading = Reading { base: Some(&base), ..reading(Style::Markdown, 1 << 16) };
        let href = href.replace('"', "");
        let page = read(&format!("<a href=\"{href}\">{words}</a>"), &reading, &|| true).unwrap();
        let text = page.text;
        match text.strip_prefix(&format!("[{words}](")).and_then(|rest| rest.strip_suffix(')')) {
            Some(place) => {
                let url = Url::parse(place).unwrap();
                prop_assert!(matches!(url.scheme(), "http" | "https" | "mailto" | "ftp"));
                prop_assert!(!place.contains(['(', ')', ' ']));
            }
            None => prop_assert_eq!(text, format!("[{words}]")),
        }
    }
}

#[test]
fn depth_costs_no_stack_and_no_indent_without_end() {
    for tag in [
        "blockquote",
        "ul><li",
        "b",
        "span",
        "table><tr><td",
        "a href=x",
        "em",
    ] {
        let html = format!("{}x", format!("<{tag}>").repeat(1_000));
        for style in STYLES {
            let page = read(&html, &reading(style, 1 << 20), &|| true).unwrap();
            assert!(page.text.contains('x'), "{tag}");
            assert!(page.text.len() < 60_000, "{tag}: {}", page.text.len());
        }
    }
}
