//! Unified diffs: any text is read or refused, what is printed reads as the same patch and does
//! the same, and nothing is changed that was not told of.
#![no_main]

#[path = "patches/mod.rs"]
mod patches;

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((text, patch)) = patches::parts(input) else { return };
    let files = BTreeMap::from([
        ("f".to_owned(), text.into_bytes()),
        ("g".to_owned(), b"a\r\nb\r\nc".to_vec()),
    ]);
    patches::laws(&patch, &files);
    patches::laws(&format!("--- a/f\n+++ b/f\n{patch}"), &files);
});
