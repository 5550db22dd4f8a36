//! The table of characters that are drawn, against the Unicode data of the regex library.
//!
//! The table is pinned to Unicode 15.0: terminals draw nothing, or anything, for what is newer.
//! A difference prints the table as it should be, for `crates/model/src/graphic.rs`.

#![allow(clippy::unwrap_used, clippy::panic)]

use regex::Regex;
use toolgate_model::characters::is_graphic;
use toolgate_model::graphic::RANGES;

const DRAWN: &str =
    r"^[\p{Age=15.0}&&[^\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]&&[^\x00-\x7f]]$";

#[test]
fn the_table_is_that_of_unicode() {
    let drawn = Regex::new(DRAWN).unwrap();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    let mut bytes = [0; 4];
    for c in '\u{80}'..=char::MAX {
        if drawn.is_match(c.encode_utf8(&mut bytes)) {
            let code = u32::from(c);
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == code => *last = code,
                _ => ranges.push((code, code)),
            }
        }
    }
    if ranges != RANGES {
        let rows: Vec<String> = ranges
            .chunks(5)
            .map(|row| {
                let pairs = row.iter().map(|(a, b)| format!("(0x{a:x}, 0x{b:x}),"));
                format!("    {}\n", pairs.collect::<Vec<_>>().join(" "))
            })
            .collect();
        panic!("the table should be:\n{}", rows.concat());
    }
}

#[test]
fn what_is_not_assigned_or_not_drawn_is_not_graphic() {
    for code in [
        0x0, 0x1b, 0x7f, 0x9b, 0xa0, 0xad, 0x378, 0x1b4d, 0x2028, 0x202e, 0x2800, 0x2fe0, 0x3000,
        0xe000, 0xfdd0, 0xfff0, 0x13430, 0x13441, 0x13442, 0x1f8d0, 0x1fae9, 0x3fffd, 0xe0041,
        0xe1000, 0xf0000, 0x10fffd,
    ] {
        let c = char::from_u32(code).unwrap();
        assert!(!is_graphic(c), "{c:?}");
    }
    for c in " ~aéßøкирΩελ漢字かな한글กไทย्हनאעربي🦀👩🏽€→│↳“”…–²½№㉈".chars()
    {
        assert!(is_graphic(c), "{c:?}");
    }
}
