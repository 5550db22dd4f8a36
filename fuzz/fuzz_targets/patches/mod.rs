//! What holds for every format of patches.

use std::collections::BTreeMap;

use toolgate_tools::patch::Patch;

/// The text of a file and a patch for it: what stands before and after the first `\x01`.
pub fn parts(input: &[u8]) -> Option<(String, String)> {
    let input = std::str::from_utf8(input).ok()?;
    let (text, patch) = input.split_once('\u{1}')?;
    Some((text.to_owned(), patch.to_owned()))
}

/// Reading, printing and applying never panic and agree with each other.
pub fn laws(text: &str, files: &BTreeMap<String, Vec<u8>>) {
    let patch = match Patch::parse(text) {
        Ok(patch) => patch,
        Err(error) => {
            assert!(error.line >= 1 && error.line <= text.lines().count() + 1, "{error}");
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let printed = patch.to_string();
    let again = match Patch::parse(&printed) {
        Ok(again) => again,
        Err(error) => panic!("{error}: {printed:?}"),
    };
    assert_eq!(again.to_string(), printed);
    assert_eq!(again.touched(), patch.touched());
    assert_eq!(again.format(), patch.format());

    let (one, other) = (patch.apply(files), again.apply(files));
    match (&one, &other) {
        (Ok(one), Ok(other)) => assert_eq!(one, other),
        (Err(one), Err(other)) => assert_eq!(one.problem, other.problem),
        _ => panic!("{one:?}\n{other:?}"),
    }
    let Ok(changed) = one else { return };
    let touched = patch.touched();
    for (path, after) in &changed {
        assert_ne!(files.get(path), after.as_ref(), "what did not change is not told");
        let names = if after.is_some() { &touched.writes } else { &touched.deletes };
        let plain = |name: &String| {
            let parts = name.split('/').filter(|part| !matches!(*part, "" | "."));
            parts.collect::<Vec<_>>().join("/") == path.trim_start_matches('/') || path == "."
        };
        assert!(names.iter().any(plain), "{path} is changed and not told of: {names:?}");
    }
}
