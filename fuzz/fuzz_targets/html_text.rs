//! Pages: any text becomes text within its room, a shorter room holds the start of the same,
//! and whoever says stop is heard.
#![no_main]

use std::cell::Cell;

use libfuzzer_sys::fuzz_target;
use toolgate_tools::html::{Page, Reading, Selector, Style, read};

/// Work after which a page is given up; the fuzzer finds deep ones.
const STEPS: usize = 20_000;

fn page(html: &str, reading: &Reading<'_>) -> Option<(Page, bool)> {
    let left = Cell::new(STEPS);
    let go_on = || {
        left.set(left.get().saturating_sub(1));
        left.get() > 0
    };
    let page = read(html, reading, &go_on).ok()?;
    assert!(page.text.len() <= reading.most);
    Some((page, left.get() > 0))
}

fuzz_target!(|input: &[u8]| {
    let Some((choice, html)) = input.split_first_chunk::<3>() else {
        return;
    };
    let html = String::from_utf8_lossy(html);
    let [style, room, selector] = *choice;
    let style = if style % 2 == 0 { Style::Markdown } else { Style::Text };
    let selectors = ["p", "*", "div > p", ":not(div)", "li:nth-child(2n+1)", "a[href^='x']", "p:has(b)", "table td"];
    let selector = selectors
        .get(usize::from(selector))
        .map(|text| Selector::parse(text).expect("a selector"));
    let wide = Reading {
        style,
        selector: selector.as_ref(),
        base: None,
        most: 1 << 20,
    };
    let narrow = Reading {
        most: usize::from(room),
        ..wide
    };
    if let (Some((whole, true)), Some((part, true))) = (page(&html, &wide), page(&html, &narrow)) {
        assert!(whole.text.starts_with(&part.text), "{:?} {:?}", whole.text, part.text);
        assert_eq!(part.cut, part.text.len() < whole.text.len());
        assert!(!whole.text.ends_with([' ', '\n']) || html.contains('<'), "{:?}", whole.text);
    }
    // A selector of the fuzzer's own is read or refused.
    let own: String = html.chars().take(40).collect();
    if let Ok(selector) = Selector::parse(&own) {
        let reading = Reading {
            selector: Some(&selector),
            ..wide
        };
        page(&html, &reading);
    }
});
