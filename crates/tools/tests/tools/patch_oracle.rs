//! Line patches against a second, plain implementation of their rules.

#[path = "../oracle/mod.rs"]
mod oracle;

use std::collections::BTreeMap;

use oracle::plainly;
use proptest::prelude::*;
use toolgate_tools::patch::{FileSection, Lp1, Operation, Patch, Place};

fn block() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[ab.]{0,1}", 0..3)
}

fn place() -> impl Strategy<Value = Place> {
    (prop::option::weighted(0.4, 1_usize..4), block())
        .prop_map(|(occurrence, find)| Place { occurrence, find })
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        2 => (place(), block()).prop_map(|(place, block)| Operation::Replace(place, block)),
        1 => (place(), block()).prop_map(|(place, block)| Operation::InsertAfter(place, block)),
        1 => (place(), block()).prop_map(|(place, block)| Operation::InsertBefore(place, block)),
        2 => place().prop_map(Operation::Erase),
        1 => block().prop_map(Operation::Append),
        1 => block().prop_map(Operation::Prepend),
        1 => any::<bool>().prop_map(Operation::FinalNewline),
    ]
}

fn text() -> impl Strategy<Value = Option<String>> {
    let text = (
        prop::collection::vec("[ab.]{0,1}", 0..7),
        any::<(bool, bool)>(),
        0_u8..20,
    );
    let text = text.prop_map(|(lines, (crlf, ended), odd)| {
        let end = if crlf { "\r\n" } else { "\n" };
        let mut text = lines.join(end);
        if ended && !lines.is_empty() {
            text.push_str(end);
        }
        // Now and then something that is not allowed.
        match odd {
            0 => text.push('\r'),
            1 => text.push_str(if crlf { "\nx" } else { "\r\nx" }),
            _ => {}
        }
        text
    });
    prop::option::weighted(0.9, text)
}

#[test]
fn line_patches_do_what_a_plain_second_implementation_does() {
    let sections = prop::collection::vec(prop::collection::vec(operation(), 0..4), 1..3);
    let config = ProptestConfig {
        failure_persistence: None,
        ..toolgate_testkit::laws(8192)
    };
    let seen = std::cell::Cell::new((0, 0));
    proptest!(config, |(text in text(), sections in sections)| {
        let sections = sections.into_iter().map(|operations| FileSection {
            line: 1,
            path: "f".to_owned(),
            operations: operations.into_iter().map(|operation| (1, operation)).collect(),
        });
        let patch = Lp1 { sections: sections.collect() };
        let files: BTreeMap<String, Vec<u8>> =
            text.iter().map(|text| ("f".to_owned(), text.clone().into_bytes())).collect();
        let ours = Patch::Lp1(patch.clone()).apply(&files);
        let (mut applied, mut refused) = seen.get();
        match (ours, plainly(&patch, "f", text.as_deref())) {
            (Err(_), None) => refused += 1,
            (Ok(changed), Some(after)) => {
                let now = changed.get("f").cloned();
                let now = now.unwrap_or_else(|| text.clone().map(String::into_bytes));
                prop_assert_eq!(now, after.map(String::into_bytes), "{}", patch);
                applied += 1;
            }
            (ours, theirs) => return Err(TestCaseError::fail(format!("{ours:?} {theirs:?}\n{patch}"))),
        }
        seen.set((applied, refused));
        // What is printed is the same patch.
        let printed = Patch::parse(&patch.to_string()).unwrap();
        prop_assert_eq!(printed.to_string(), patch.to_string());
    });
    let (applied, refused) = seen.get();
    assert!(applied > 1_000 && refused > 1_000, "{applied} {refused}");
}
