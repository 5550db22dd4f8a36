//! Laws of finding: `glob`, `grep`, `list_directory`.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixture::Workspace;
use crate::tree::{Directories, Tree, directories, fits, is_hidden, name_fits, trees};

const CASES: u32 = 256;

/// Runs a law over trees with one gate for all cases. Paths in the law are beneath the tree's directory.
fn hold<S: Strategy>(
    strategy: S,
    law: impl Fn(&Place<'_>, &Tree, S::Value) -> Result<(), TestCaseError>,
) {
    let (ws, fresh) = (Workspace::new(), Directories::default());
    let config = ProptestConfig {
        failure_persistence: None,
        ..toolgate_testkit::laws(CASES)
    };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let held = runner.run(&(trees(), strategy), |(tree, value)| {
        let place = Place {
            ws: &ws,
            directory: fresh.plant(&ws, &tree),
        };
        law(&place, &tree, value)
    });
    if let Err(error) = held {
        panic!("{error}");
    }
}

struct Place<'a> {
    ws: &'a Workspace,
    directory: String,
}

impl Place<'_> {
    /// The paths that `glob` finds.
    fn glob(&self, args: Value) -> Vec<String> {
        let mut args = args;
        args["directory"] = self.directory.as_str().into();
        let result = self.ws.call("glob", args);
        assert_eq!(result.error, None);
        if result.metadata["matches"] == 0 {
            return Vec::new();
        }
        result
            .content
            .lines()
            .map(|line| self.inside(line))
            .collect()
    }

    /// The lines that `grep` finds.
    fn grep(&self, args: Value) -> Vec<String> {
        let mut args = args;
        args["directory"] = self.directory.as_str().into();
        let result = self.ws.call("grep", args);
        assert_eq!(result.error, None);
        if result.metadata["matches"] == 0 {
            return Vec::new();
        }
        result
            .content
            .lines()
            .map(|line| self.inside(line))
            .collect()
    }

    /// Path and kind of everything in a listing.
    fn list(&self, args: Value) -> Vec<(String, String)> {
        let mut args = args;
        args["path"] = self.directory.as_str().into();
        let listing: Value = serde_json::from_str(&self.ws.ok("list_directory", args)).unwrap();
        assert_eq!(listing["truncated"], false);
        let entry = |entry: &Value| {
            let text = |key: &str| entry[key].as_str().unwrap().to_owned();
            (self.inside(&text("path")), text("type"))
        };
        listing["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(entry)
            .collect()
    }

    fn inside(&self, path: &str) -> String {
        path.strip_prefix(&format!("{}/", self.directory))
            .unwrap()
            .to_owned()
    }
}

fn patterns() -> impl Strategy<Value = String> {
    let directory = prop::sample::select(vec!["**", "*", "d0", "d*", ".dh", "d?"]);
    let file = prop::sample::select(vec![
        "*", "*.rs", "*.txt", "a.rs", "?", "**", ".*", "[ab].*",
    ]);
    (prop::collection::vec(directory, 0..3), file).prop_map(|(directories, file)| {
        let mut parts = directories;
        parts.push(file);
        parts.join("/")
    })
}

fn shown(path: &str, hidden: bool) -> bool {
    hidden || !is_hidden(path)
}

#[test]
fn property_16_glob_pattern_matching() {
    hold(
        (patterns(), any::<bool>()),
        |place, tree, (pattern, hidden)| {
            let found = place.glob(json!({"pattern": pattern, "include_hidden": hidden}));
            // The reference knows no classes: both letters are tried in their place.
            let fit = |path: &str| {
                ["a", "b"]
                    .iter()
                    .any(|letter| fits(&pattern.replace("[ab]", letter), path))
            };
            let expected: Vec<&String> = tree
                .keys()
                .filter(|path| shown(path, hidden) && fit(path))
                .collect();
            prop_assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{}", pattern);
            Ok(())
        },
    );
}

#[test]
fn property_17_glob_max_results_constraint() {
    hold(1_usize..8, |place, tree, most| {
        let found = place.glob(json!({"pattern": "**", "maxResults": most}));
        let expected: Vec<&String> = tree
            .keys()
            .filter(|path| !is_hidden(path))
            .take(most)
            .collect();
        prop_assert_eq!(found.iter().collect::<Vec<_>>(), expected);
        Ok(())
    });
}

#[test]
fn property_18_glob_hidden_file_filtering() {
    hold(Just(()), |place, tree, ()| {
        let all = place.glob(json!({"pattern": "**/*", "includeHidden": true}));
        prop_assert_eq!(
            all.iter().collect::<Vec<_>>(),
            tree.keys().collect::<Vec<_>>()
        );
        let plain = place.glob(json!({"pattern": "**/*", "includeHidden": false}));
        let expected: Vec<&String> = tree.keys().filter(|path| !is_hidden(path)).collect();
        prop_assert_eq!(plain.iter().collect::<Vec<_>>(), expected);
        Ok(())
    });
}

/// The lines of a tree that a search has to find.
fn lines(tree: &Tree, wanted: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in tree.iter().filter(|(path, _)| !is_hidden(path)) {
        for (number, line) in text.lines().enumerate() {
            if wanted(path, line) {
                found.push(format!("{path}:{}: {line}", number + 1));
            }
        }
    }
    found
}

#[test]
fn property_19_grep_pattern_matching() {
    hold(
        ("[abx]{1,3}", any::<bool>()),
        |place, tree, (pattern, literal)| {
            let found = place.grep(json!({"pattern": pattern, "literal": literal}));
            let expected = lines(tree, |_, line| line.to_lowercase().contains(&pattern));
            prop_assert_eq!(found, expected);
            Ok(())
        },
    );
}

#[test]
fn property_20_grep_case_sensitivity() {
    hold("[abAB]{1,2}", |place, tree, pattern| {
        let exact = place.grep(json!({"pattern": pattern, "caseSensitive": true}));
        prop_assert_eq!(exact, lines(tree, |_, line| line.contains(&pattern)));
        let any = place.grep(json!({"pattern": pattern, "caseSensitive": false}));
        let folded = pattern.to_lowercase();
        prop_assert_eq!(
            any,
            lines(tree, |_, line| line.to_lowercase().contains(&folded))
        );
        Ok(())
    });
}

#[test]
fn property_21_grep_file_pattern_filtering() {
    let names = prop::sample::select(vec!["*.rs", "a.rs", "b*", "d0/**", "**/c", "*/*"]);
    hold(names, |place, tree, names| {
        let found = place.grep(json!({"pattern": "[ab]", "filePattern": names}));
        let wanted = |path: &str| {
            let name = path.rsplit('/').next().unwrap();
            if names.contains('/') {
                fits(names, path)
            } else {
                name_fits(names, name)
            }
        };
        let expected = lines(tree, |path, line| {
            wanted(path) && line.to_lowercase().contains(['a', 'b'])
        });
        prop_assert_eq!(found, expected);
        Ok(())
    });
}

/// What a listing has to show, in its order.
fn entries(tree: &Tree, deepest: usize, wanted: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let directories = directories(tree)
        .into_iter()
        .map(|path| (path, "dir".to_owned()));
    let files = tree.keys().map(|path| (path.clone(), "file".to_owned()));
    let mut all: Vec<(String, String)> = directories
        .chain(files)
        .filter(|(path, _)| path.split('/').count() <= deepest && wanted(path))
        .collect();
    all.sort();
    all
}

#[test]
fn property_22_directory_listing_completeness() {
    hold(any::<bool>(), |place, tree, hidden| {
        let found = place.list(json!({"include_hidden": hidden}));
        prop_assert_eq!(found, entries(tree, 1, |path| shown(path, hidden)));
        Ok(())
    });
}

#[test]
fn property_23_directory_listing_recursion() {
    hold(
        (1_usize..=4, any::<bool>()),
        |place, tree, (deepest, hidden)| {
            let args = json!({"recursive": true, "maxDepth": deepest, "includeHidden": hidden});
            prop_assert_eq!(
                place.list(args),
                entries(tree, deepest, |path| shown(path, hidden))
            );
            Ok(())
        },
    );
}

/// Whether rules ignore a path: the last rule that fits decides, and nothing comes back out of
/// a directory that is ignored.
fn is_ignored(rules: &[&str], path: &str, is_directory: bool) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    for length in 1..=parts.len() {
        let directory = is_directory || length < parts.len();
        let mut ignored = false;
        for rule in rules {
            let (again, rule) = rule
                .strip_prefix('!')
                .map_or((false, *rule), |rest| (true, rest));
            let (only_directories, rule) = rule
                .strip_suffix('/')
                .map_or((false, rule), |rest| (true, rest));
            let fit = match rule.strip_prefix('/') {
                Some(anchored) => length == 1 && name_fits(anchored, parts[0]),
                None => name_fits(rule, parts[length - 1]),
            };
            if fit && (directory || !only_directories) {
                ignored = !again;
            }
        }
        if ignored {
            return true;
        }
    }
    false
}

#[test]
fn property_24_gitignore_respect() {
    let rule = prop::sample::select(vec![
        "*.txt", "d0/", "/d1", "a.rs", "!a.rs", "!*.txt", "c", "/*.rs", "d-*/", "!d1", "e.*",
        "d0.txt/",
    ]);
    hold(prop::collection::vec(rule, 1..4), |place, tree, rules| {
        place
            .ws
            .put(&format!("{}/.gitignore", place.directory), rules.join("\n"));
        let kept = |path: &str, directory| !is_hidden(path) && !is_ignored(&rules, path, directory);
        let files: Vec<&String> = tree.keys().filter(|path| kept(path, false)).collect();

        let globbed = place.glob(json!({"pattern": "**/*"}));
        prop_assert_eq!(globbed.iter().collect::<Vec<_>>(), files.clone());
        let searched: BTreeSet<String> = place
            .grep(json!({"pattern": "^"}))
            .iter()
            .map(|line| line.split(':').next().unwrap().to_owned())
            .collect();
        let full: BTreeSet<String> = files
            .iter()
            .filter(|path| !tree[**path].is_empty())
            .map(|path| (*path).clone())
            .collect();
        prop_assert_eq!(searched, full);
        let directory_set: BTreeSet<String> = directories(tree).into_iter().collect();
        let expected = entries(tree, 4, |path| kept(path, directory_set.contains(path)));
        prop_assert_eq!(place.list(json!({"recursive": true})), expected);
        Ok(())
    });
}
