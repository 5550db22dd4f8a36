use super::*;

fn fits(pattern: &str, path: &str) -> bool {
    let mut patterns = Patterns::default();
    patterns.add(Rule::new(pattern)).unwrap();
    let parts: Vec<&[u8]> = path.split('/').map(str::as_bytes).collect();
    patterns.find(&Folded::of(&parts), Scope::Whole).is_some()
}

#[test]
fn a_pattern_has_at_most_as_many_parts_as_there_are_states() {
    let longest = ["a"; MOST_SEGMENTS].join("/");
    assert!(fits(&longest, &longest));
    let mut patterns = Patterns::default();
    let longer = patterns.add(Rule::new(&format!("{longest}/a")));
    assert_eq!(longer, Err(PatternError::TooLarge));
}

#[test]
fn a_rule_that_begins_above_a_directory_holds_beneath_it() {
    for (pattern, directory, yes, no) in [
        (
            "**/.m2/settings*.xml",
            "/h/.m2",
            vec!["settings.xml"],
            vec!["x/settings.xml", "a"],
        ),
        (
            "**/.config/gcloud/",
            "/h/.config",
            vec!["gcloud", "gcloud/x"],
            vec!["a/gcloud"],
        ),
        (
            "**/.git/**/config",
            "/h/.git/modules/a",
            vec!["config", "b/config"],
            vec!["c"],
        ),
        ("**/a/*/c", "/h/a/b", vec!["c", "c/d"], vec!["b/c", "d"]),
        ("**/a/b", "/a/a", vec!["b"], vec!["c"]),
        ("**/.CONFIG/x", "/h/.Config", vec!["X"], vec!["y"]),
        // The directory itself was named explicitly.
        (
            "**/.config/nvim/",
            "/h/.config/nvim",
            vec![],
            vec!["init.lua"],
        ),
        (
            "**/.config/nvim/",
            "/h/.config/nvim/lua",
            vec![],
            vec!["init.lua"],
        ),
        (
            "*secret*",
            "/h/secrets",
            vec!["my_secret"],
            vec!["notes.txt"],
        ),
        // An anchored rule is about the root.
        ("a/b", "/h/a", vec!["a/b"], vec!["b"]),
    ] {
        let mut patterns = Patterns::default();
        patterns.add(Rule::new(pattern)).unwrap();
        patterns.seen_from(Path::new(directory));
        let found = |path: &str| {
            let path = folded(path.as_bytes()).into_owned();
            patterns.find(&path, Scope::Whole).is_some()
        };
        for path in yes {
            assert!(found(path), "{pattern} in {directory}: {path}");
        }
        for path in no {
            assert!(!found(path), "{pattern} in {directory}: {path}");
        }
    }
}

#[test]
fn patterns_mean_what_gitignore_means() {
    for (pattern, yes, no) in [
        ("x", vec!["x", "a/x", "x/a", "a/x/b"], vec!["xa", "a/xb"]),
        ("x/", vec!["x", "a/x", "x/a"], vec!["xa"]),
        (
            "**/x/**",
            vec!["x", "a/x", "x/a/b", "a/b/x/c"],
            vec!["ax/b"],
        ),
        ("/x", vec!["x", "x/a"], vec!["a/x"]),
        ("a/x", vec!["a/x", "a/x/b"], vec!["b/a/x", "a/b/x"]),
        ("**/a/x", vec!["a/x", "b/a/x", "b/c/a/x/d"], vec!["a/b/x"]),
        (
            "a/**/x",
            vec!["a/x", "a/b/x", "a/b/c/x"],
            vec!["x", "b/a/x"],
        ),
        ("a/*/x", vec!["a/b/x"], vec!["a/x", "a/b/c/x"]),
        ("*.pem", vec!["a.pem", "b/a.pem", "a.pem/b"], vec!["pem"]),
        ("**/*.pem", vec!["a.pem", "b/a.pem"], vec!["a.pem.txt"]),
        ("*.{pem,key}", vec!["a.pem", "a.key"], vec!["a.pub"]),
        ("{a,b/c}", vec!["a", "x/a", "b/c"], vec!["x/b/c", "c"]),
        ("{a,{b,c}d}", vec!["a", "bd", "cd"], vec!["b", "d"]),
        ("x{,.bak}", vec!["x", "x.bak"], vec!["x.ba"]),
        (r"\{a,b}", vec!["{a,b}"], vec!["a", "b"]),
        (r"\\{a,b}", vec![r"\a", r"\b"], vec!["a", r"\{a,b}"]),
        (r"{a\,b,c}", vec!["a,b", "c"], vec!["a", "b"]),
        ("a}{b,c}", vec!["a}b", "a}c"], vec!["ab", "a}"]),
        ("SECRETS/", vec!["secrets/a", "Secrets"], vec!["secret"]),
        ("*", vec!["a", "a/b"], vec![]),
        ("**", vec!["a", "a/b"], vec![]),
        (
            "**/.git/**/config*",
            vec![".git/config", "a/.git/b/c/config.lock"],
            vec!["git/config", ".git/x"],
        ),
    ] {
        for path in yes {
            assert!(fits(pattern, path), "{pattern} fits {path}");
        }
        for path in no {
            assert!(!fits(pattern, path), "{pattern} does not fit {path}");
        }
    }
}

#[test]
fn patterns_that_could_never_fit_are_refused() {
    for (pattern, problem) in [
        ("", PatternError::Empty),
        ("/", PatternError::Empty),
        ("!x", PatternError::Negated),
        ("a/[x", PatternError::UnclosedClass),
        ("{a,b", PatternError::UnclosedBrace),
        ("../x", PatternError::Dots),
        ("a/./x", PatternError::Dots),
        (&"a/".repeat(70), PatternError::TooLarge),
        (&"{a,b}".repeat(9), PatternError::TooLarge),
    ] {
        let refused = Patterns::default().add(Rule::new(pattern));
        assert_eq!(refused, Err(problem), "{pattern}");
    }
}

#[test]
fn many_stars_cost_no_more_than_the_path_is_long() {
    let pattern = "**/a/".repeat(30) + "b";
    let path = "a/".repeat(2000) + "c";
    assert!(!fits(&pattern, &path));
}
