//! Line patches: any text is read or refused, what is printed reads as the same patch, and
//! applying does what a plain second implementation does.
#![no_main]

#[path = "../../crates/tools/tests/oracle/mod.rs"]
mod oracle;
#[path = "patches/mod.rs"]
mod patches;

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use oracle::plainly;
use toolgate_tools::patch::Patch;

fuzz_target!(|input: &[u8]| {
    let Some((text, patch)) = patches::parts(input) else { return };
    let files = BTreeMap::from([("f".to_owned(), text.clone().into_bytes())]);
    patches::laws(&format!("LP1\n{patch}"), &files);
    patches::laws(&patch, &files);
    let Ok(Patch::Lp1(lp1)) = Patch::parse(&format!("LP1\n{patch}")) else { return };
    let names: Vec<&str> = lp1.sections.iter().map(|section| section.path.as_str()).collect();
    // A NUL makes a file binary, and a mark is no part of the text; both are others' business.
    if text.contains(['\0', '\u{feff}']) || !names.iter().all(|name| *name == "f") {
        return;
    }
    let ours = Patch::Lp1(lp1.clone()).apply(&files);
    let theirs = plainly(&lp1, "f", Some(&text));
    match (ours, theirs) {
        (Err(_), None) => {}
        (Ok(changed), Some(Some(after))) => {
            let now = match changed.get("f") {
                Some(now) => now.clone(),
                None => Some(text.into_bytes()),
            };
            assert_eq!(now.map(|bytes| String::from_utf8(bytes).expect("UTF-8")), Some(after));
        }
        (ours, theirs) => panic!("{ours:?}\n{theirs:?}"),
    }
    let missing = Patch::Lp1(lp1.clone()).apply(&BTreeMap::new());
    assert_eq!(missing.is_ok(), plainly(&lp1, "f", None).is_some());
});
