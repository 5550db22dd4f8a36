//! Patterns for names and paths.

use std::path::Path;

use globset::{GlobBuilder, GlobSet};
use toolgate_model::ToolError;

/// Longer patterns are nobody's honest work.
const LONGEST: usize = 1_000;

/// A pattern for paths beneath a directory.
#[derive(Clone, Debug)]
pub struct PathPattern {
    matcher: GlobSet,
    /// Names the first directories must have, where the pattern spells them out.
    directories: Vec<String>,
    /// How deep something that fits can lie, if the pattern says so.
    deepest: Option<usize>,
}

impl PathPattern {
    /// Compiles a pattern: `*` and `?` stay inside one name, `**` crosses directories.
    pub fn new(argument: &str, pattern: &str) -> Result<Self, ToolError> {
        let tidy = pattern.trim_start_matches("./");
        if tidy.starts_with('/') || tidy.split('/').any(|part| part == "..") {
            return Err(ToolError::bad_args(format!(
                "{argument}: patterns are relative to the searched directory, without `..`; name another directory in `directory`"
            )));
        }
        let mut parts: Vec<&str> = tidy.split('/').collect();
        let special = |part: &str| part.contains(['*', '?', '[', ']', '{', '}', '\\']);
        // A separator inside braces or brackets makes the parts above meaningless.
        let unclear = tidy.contains(['{', '[', '\\']) || parts.contains(&"**");
        let deepest = (!unclear).then_some(parts.len());
        parts.pop();
        let directories = parts.into_iter().take_while(|part| !special(part));
        Ok(Self {
            matcher: compile(argument, tidy)?,
            directories: directories.map(str::to_owned).collect(),
            deepest,
        })
    }

    /// Whether a path beneath the directory fits.
    pub fn fits(&self, path: &Path) -> bool {
        self.matcher.is_match(path)
    }

    /// Whether something in this directory, so deep beneath the start, can fit.
    pub fn may_hold(&self, name: &std::ffi::OsStr, depth: usize) -> bool {
        let wanted = depth
            .checked_sub(1)
            .and_then(|index| self.directories.get(index));
        wanted.is_none_or(|wanted| name == wanted.as_str())
    }

    /// How deep something that fits can lie, if that is known.
    pub const fn deepest(&self) -> Option<usize> {
        self.deepest
    }
}

/// A pattern that picks files: by name if it has no slash, by path otherwise.
#[derive(Clone, Debug)]
pub(crate) struct FilePattern {
    matcher: GlobSet,
    by_name: bool,
}

impl FilePattern {
    pub(crate) fn new(argument: &str, pattern: &str) -> Result<Self, ToolError> {
        let tidy = pattern.trim_start_matches("./");
        let tidy = tidy.strip_suffix('/').unwrap_or(tidy);
        Ok(Self {
            matcher: compile(argument, tidy)?,
            by_name: !tidy.contains('/'),
        })
    }

    /// Whether a path beneath the searched directory fits.
    pub(crate) fn fits(&self, path: &Path) -> bool {
        if self.by_name {
            path.file_name()
                .is_some_and(|name| self.matcher.is_match(name))
        } else {
            self.matcher.is_match(path)
        }
    }
}

fn compile(argument: &str, pattern: &str) -> Result<GlobSet, ToolError> {
    let refuse = |why: String| ToolError::bad_args(format!("{argument}: {why}"));
    if pattern.is_empty() || pattern.len() > LONGEST {
        return Err(refuse(format!(
            "a pattern has 1 to {LONGEST} characters, got {}",
            pattern.len()
        )));
    }
    // `**/**/` means what `**/` means, and costs more.
    let mut shorter = pattern.replace("**/**/", "**/");
    while shorter.contains("**/**/") {
        shorter = shorter.replace("**/**/", "**/");
    }
    GlobBuilder::new(&shorter)
        .literal_separator(true)
        .backslash_escape(true)
        .empty_alternates(true)
        .build()
        // A set of one: it knows endings and plain names without a regular expression, and
        // refuses a pattern that is too large instead of panicking.
        .and_then(|glob| GlobSet::new([glob]))
        .map_err(|error| {
            refuse(format!(
                "the pattern cannot be used: {}; examples are `*.rs`, `src/**/*.rs`, `*.{{ts,tsx}}`",
                error.kind()
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stay_inside_names_and_double_stars_do_not() {
        for (pattern, path, fits) in [
            ("*.rs", "a.rs", true),
            ("*.rs", "src/a.rs", false),
            ("**/*.rs", "a.rs", true),
            ("**/*.rs", "src/x/a.rs", true),
            ("src/**", "src/x/a.rs", true),
            ("./src/*.rs", "src/a.rs", true),
            ("*.{ts,tsx}", "a.tsx", true),
            ("{a/b,c}/x", "a/b/x", true),
            ("?.rs", "a.rs", true),
            ("[ab].rs", "c.rs", false),
            ("**/**/**/x", "a/x", true),
            ("a\\*b", "a*b", true),
        ] {
            let compiled = PathPattern::new("pattern", pattern).unwrap();
            assert_eq!(compiled.fits(Path::new(path)), fits, "{pattern} {path}");
            // What fits is never passed over on the way.
            let path = Path::new(path);
            let parents: Vec<_> = path.parent().unwrap().components().collect();
            if fits {
                for (index, part) in parents.iter().enumerate() {
                    assert!(compiled.may_hold(part.as_os_str(), index + 1), "{pattern}");
                }
                assert!(compiled.deepest().is_none_or(|deep| deep > parents.len()));
            }
        }
    }

    #[test]
    fn patterns_that_make_no_sense_say_so() {
        for pattern in [
            "",
            "/etc/*",
            "../*",
            "a/../b",
            "[a",
            "{a,b",
            &"x".repeat(1001),
        ] {
            let error = PathPattern::new("pattern", pattern).unwrap_err();
            assert!(error.message.starts_with("pattern: "), "{error}");
        }
    }

    #[test]
    fn a_pattern_without_a_slash_picks_by_name() {
        let names = FilePattern::new("exclude", "vendor/").unwrap();
        assert!(names.fits(Path::new("a/vendor")) && !names.fits(Path::new("vendor/a")));
        let paths = FilePattern::new("exclude", "src/**").unwrap();
        assert!(paths.fits(Path::new("src/a/b")) && !paths.fits(Path::new("a/src/b")));
    }
}
