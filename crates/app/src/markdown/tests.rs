#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use proptest::prelude::*;

use super::*;

fn lines(text: &str, width: usize) -> Vec<String> {
    let rows = rows(text, width);
    rows.iter()
        .map(|row| row.text().trim_end().to_owned())
        .collect()
}

#[test]
fn markdown_becomes_rows() {
    for (text, shown) in [
        ("one two", &["one two"][..]),
        ("# A *b*\n\ntext", &["# A b", "", "text"]),
        ("a  \nb", &["a", "b"]),
        ("a\nb", &["a b"]),
        ("> q\n> r\n>\n> s", &["│ q r", "│", "│ s"]),
        ("- a\n- b\n  - c", &["• a", "• b", "  • c"]),
        ("- a\n\n- b", &["• a", "", "• b"]),
        ("3. x\n4. y", &["3. x", "4. y"]),
        ("- [x] done\n- [ ] open", &["• ☑ done", "• ☐ open"]),
        (
            "x\n\n```rust\nfn a() {\n}\n```\ny",
            &["x", "", "  rust", "  fn a() {", "  }", "", "y"],
        ),
        ("[text](http://a)", &["text (http://a)"]),
        ("<http://a>", &["http://a"]),
        ("![cat](c.png)", &["[image: cat] (c.png)"]),
        ("<b>x</b>", &["<b>x</b>"]),
        ("a\n\n---\n\nb", &["a", "", "────────────────────", "", "b"]),
        (
            "| a | bcd |\n|---|---|\n| 12 | 3 |",
            &["a  │ bcd", "───┼────", "12 │ 3"],
        ),
        ("~~no~~ `code`", &["no `code`"]),
        ("", &[]),
    ] {
        assert_eq!(lines(text, 20), shown, "{text:?}");
    }
}

#[test]
fn words_are_wrapped_beneath_their_mark() {
    assert_eq!(
        lines("- alpha beta gamma delta epsilon", 20),
        ["• alpha beta gamma", "  delta epsilon"]
    );
    assert_eq!(
        lines(
            "- x\n\n      let a = 1; // a long line of code stays whole",
            20
        ),
        [
            "• x",
            "",
            "    let a = 1; // a long line of code stays whole"
        ]
    );
    assert_eq!(
        lines("日本語の文 日本語の文 日本語", 20),
        ["日本語の文", "日本語の文 日本語"]
    );
}

#[test]
fn a_table_that_is_too_wide_names_each_value() {
    let text = "| name | description |\n|---|---|\n| one | a long description of it |\n";
    assert_eq!(
        lines(text, 20),
        ["name: one", "description: a long description of it"]
    );
}

#[test]
fn a_block_is_whole_when_the_next_begins_or_its_fence_closes() {
    for (text, blocks) in [
        ("a\n\nb", &["a\n\n", "b"][..]),
        ("a\nb\n\n\nc\n", &["a\nb\n\n\n", "c\n"]),
        ("```\nx\n\ny\n```\nz", &["```\nx\n\ny\n```\n", "z"]),
        ("~~~\n```\n\na\n~~~\nz", &["~~~\n```\n\na\n~~~\n", "z"]),
        ("- a\n\n  more\n\nb", &["- a\n\n  more\n\n", "b"]),
        (
            "1. a\n   ```\n   x\n\n   y\n   ```\n\nb",
            &["1. a\n   ```\n   x\n\n   y\n   ```\n\n", "b"],
        ),
    ] {
        let mut found = Vec::new();
        let mut cutter = Blocks::default();
        for letter in text.chars() {
            found.extend(cutter.push(&letter.to_string()));
        }
        found.push(cutter.finish());
        assert_eq!(found, blocks, "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn blocks_lose_nothing_however_they_come(
        pieces in prop::collection::vec("(a|b| |\n|`{1,4}|~~~|- |> |\\||#|é){0,12}", 0..12)
    ) {
        let mut cutter = Blocks::default();
        let mut joined = String::new();
        for piece in &pieces {
            joined.extend(cutter.push(piece));
        }
        joined.push_str(&cutter.finish());
        prop_assert_eq!(joined, pieces.concat());
    }

    #[test]
    fn every_letter_of_plain_words_is_shown(
        words in prop::collection::vec("[a-z]{1,12}", 1..60), width in 20_usize..80
    ) {
        let text = words.join(" ");
        let rows = rows(&text, width);
        let shown: Vec<String> = rows.iter().map(Row::text).collect();
        prop_assert_eq!(shown.join(" "), text);
        prop_assert!(shown.iter().all(|line| line.len() <= width));
    }

    #[test]
    fn any_text_has_rows_without_line_ends(text in ".{0,200}", width in 0_usize..100) {
        for row in rows(&text, width) {
            prop_assert!(!row.text().contains('\n'));
        }
    }
}
