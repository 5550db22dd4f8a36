//! Patterns for variables: a pattern fits as a plain reading of it says, and the lists of
//! a configuration decide in their order, whatever the names and values are.
#![no_main]

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use libfuzzer_sys::fuzz_target;
use toolgate_sandbox::env::{HOME, clean, fits};

const NONE: &[&str] = &[];
/// What a command gets whatever the program has.
const OWN: [(&str, &str); 2] = [("HOME", HOME), ("TERM", "dumb")];

fuzz_target!(|input: &[u8]| {
    // Bytes that are in no text part the input: lists, then their entries.
    let mut lists = input.splitn(3, |byte| *byte == 0xff);
    let mut patterns = || -> Vec<String> {
        let list = lists.next().unwrap_or_default();
        let entries = list.split(|byte| *byte == 0xfe).take(8);
        entries
            .map(|entry| String::from_utf8_lossy(entry).into_owned())
            .collect()
    };
    let (keep, strip) = (patterns(), patterns());
    let variables: Vec<(&[u8], &[u8])> = lists
        .next()
        .unwrap_or_default()
        .split(|byte| *byte == 0xfe)
        .take(16)
        .map(|entry| {
            let at = entry.iter().position(|byte| *byte == b'=');
            entry.split_at(at.unwrap_or(entry.len()))
        })
        .map(|(name, value)| (name, value.strip_prefix(b"=").unwrap_or_default()))
        .collect();
    for pattern in keep.iter().chain(&strip) {
        for (name, _) in &variables {
            assert_eq!(fits(pattern, name), plainly_fits(pattern, name));
        }
    }
    let os = |bytes| OsStr::from_bytes(bytes);
    let got = clean(
        variables.iter().map(|(name, value)| (os(name), os(value))),
        &keep,
        &strip,
    );
    assert_eq!(got, expected(&variables, &keep, &strip));
    let again = clean(got.clone(), &keep, &strip);
    assert_eq!(got, again, "what is clean stays as it is");
});

/// The table of all beginnings of pattern and name.
fn plainly_fits(pattern: &str, name: &[u8]) -> bool {
    let mut row: Vec<bool> = (0..=name.len()).map(|length| length == 0).collect();
    for byte in pattern.bytes() {
        let mut next = vec![byte == b'*' && row[0]];
        for (at, letter) in name.iter().enumerate() {
            next.push(match byte {
                b'*' => row[at + 1] || next[at],
                b'?' => row[at],
                byte => row[at] && byte.eq_ignore_ascii_case(letter),
            });
        }
        row = next;
    }
    row[name.len()]
}

/// One variable at a time: what the lists say of it, and else what becomes of it without
/// any list.
fn expected(
    variables: &[(&[u8], &[u8])],
    keep: &[String],
    strip: &[String],
) -> Vec<(OsString, OsString)> {
    let in_list = |list: &[String], name: &[u8]| list.iter().any(|p| plainly_fits(p, name));
    let mut all: BTreeMap<OsString, OsString> = BTreeMap::new();
    for (name, value) in variables {
        let (os_name, os_value) = (OsStr::from_bytes(name), OsStr::from_bytes(value));
        let alone = |keep: &[&str]| {
            let out = clean([(os_name, os_value)], keep, NONE);
            out.iter().any(|(n, v)| n == os_name && v == os_value)
        };
        // What no program can be given is not kept either.
        let passes = if in_list(keep, name) {
            alone(&["*"])
        } else {
            alone(NONE)
        };
        if passes && !in_list(strip, name) {
            all.insert(os_name.to_owned(), os_value.to_owned());
        }
    }
    for (name, value) in OWN {
        if in_list(strip, name.as_bytes()) {
            all.remove(OsStr::new(name));
        } else {
            all.insert(name.into(), value.into());
        }
    }
    if !in_list(strip, b"PATH") && !all.contains_key(OsStr::new("PATH")) {
        let nothing: [(&str, &str); 0] = [];
        let usual = clean(nothing, NONE, NONE);
        all.extend(usual.into_iter().filter(|(name, _)| name == "PATH"));
    }
    all.into_iter().collect()
}
