//! Patterns for paths: every one compiles or is refused, one without special characters
//! fits itself alone, one of stars and question marks fits what a plain reading of it
//! says, and whatever fits is never passed over on the way to it.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use toolgate_tools::PathPattern;

/// Longer paths tell nothing new.
const LONGEST_PATH: usize = 300;

fuzz_target!(|input: &[u8]| {
    // A byte that is in no text parts the pattern and the paths.
    let mut parts = input.split(|byte| *byte == 0xff);
    let pattern = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let compiled = match PathPattern::new("pattern", &pattern) {
        Ok(compiled) => compiled,
        Err(error) => {
            assert!(error.message.starts_with("pattern: "), "{error}");
            assert!(!is_plain(&pattern) || refusal_is_due(&pattern), "{pattern}");
            return;
        }
    };
    let tidy = pattern.trim_start_matches("./");
    if is_plain(tidy) {
        assert!(compiled.fits(Path::new(tidy)), "{tidy} fits itself");
    }
    for path in parts.take(8) {
        let path = String::from_utf8_lossy(path);
        if path.len() > LONGEST_PATH || !is_path(&path) {
            continue;
        }
        let fits = compiled.fits(Path::new(&*path));
        if is_plain(tidy) {
            assert_eq!(fits, path == tidy, "{tidy} {path}");
        }
        if is_simple(tidy) {
            assert_eq!(fits, plainly_fits(tidy, &path), "{tidy} {path}");
        }
        if fits {
            let names: Vec<&str> = path.split('/').collect();
            let deepest = compiled.deepest();
            assert!(deepest.is_none_or(|deepest| names.len() <= deepest));
            for (index, directory) in names[..names.len() - 1].iter().enumerate() {
                assert!(
                    compiled.may_hold(directory.as_ref(), index + 1),
                    "{tidy} {path}"
                );
            }
        }
    }
});

/// Whether every character stands for itself.
fn is_plain(pattern: &str) -> bool {
    !pattern.contains(['*', '?', '[', ']', '{', '}', '\\'])
}

/// Whether a pattern without special characters makes no sense all the same.
fn refusal_is_due(pattern: &str) -> bool {
    let tidy = pattern.trim_start_matches("./");
    tidy.is_empty()
        || tidy.len() > 1_000
        || tidy.starts_with('/')
        || tidy.split('/').any(|part| part == "..")
}

/// Whether a walk could come across this path.
fn is_path(path: &str) -> bool {
    path.split('/')
        .all(|name| !matches!(name, "" | "." | "..") && !name.contains('\0'))
}

/// Whether a pattern has nothing special but stars and question marks, and no two `**`
/// in a row.
fn is_simple(pattern: &str) -> bool {
    let parts: Vec<&str> = pattern.split('/').collect();
    let repeated = parts.windows(2).any(|two| two == ["**", "**"]);
    !repeated
        && parts.iter().all(|part| !part.is_empty())
        && !pattern.contains(['[', ']', '{', '}', '\\'])
}

/// Name by name; `**` is any number of names, and at the end at least one.
fn plainly_fits(pattern: &str, path: &str) -> bool {
    let names: Vec<&str> = path.split('/').collect();
    // For every beginning of the path, whether the pattern so far fits it.
    let mut row: Vec<bool> = (0..=names.len()).map(|length| length == 0).collect();
    let mut parts = pattern.split('/').peekable();
    while let Some(part) = parts.next() {
        let mut next = vec![false; row.len()];
        if part == "**" {
            let least = usize::from(parts.peek().is_none());
            for length in 0..row.len() {
                next[length] = (0..=length).any(|from| row[from] && length - from >= least);
            }
        } else {
            for (at, name) in names.iter().enumerate() {
                next[at + 1] = row[at] && name_fits(part.as_bytes(), name.as_bytes());
            }
        }
        row = next;
    }
    row[names.len()]
}

/// The table of all beginnings of a part and a name.
fn name_fits(part: &[u8], name: &[u8]) -> bool {
    let mut row: Vec<bool> = (0..=name.len()).map(|length| length == 0).collect();
    for byte in part {
        let mut next = vec![*byte == b'*' && row[0]];
        for (at, letter) in name.iter().enumerate() {
            next.push(match byte {
                b'*' => row[at + 1] || next[at],
                b'?' => row[at],
                byte => row[at] && byte == letter,
            });
        }
        row = next;
    }
    row[name.len()]
}
