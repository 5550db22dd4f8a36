//! Paths in rules and in facts.
//!
//! Patterns are written from the root with forward slashes: `*`, `?`, `[a-z]`
//! and `{a,b}` stay inside one name, `**` crosses directories. What a pattern means
//! depends on the side its rule is on; see the crate's first page.

use std::borrow::Cow;

use globset::{Glob, GlobBuilder};

use crate::error::RuleError;

/// No path that a system accepts is longer, so that a longer pattern is a mistake.
const LONGEST: usize = 4096;

/// A path of a fact, brought into the form that patterns are compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place<'a> {
    /// As the fact says it.
    pub(crate) told: &'a str,
    /// Without `.`, `..` and doubled slashes; the root is `.`.
    pub(crate) tidy: Cow<'a, str>,
    /// Whether it went through `..`: what that means is only known on the disk.
    pub(crate) climbs: bool,
}

impl<'a> Place<'a> {
    pub(crate) fn of(told: &'a str) -> Self {
        let plain = told
            .strip_prefix('/')
            .unwrap_or(told)
            .split('/')
            .all(|part| !matches!(part, "" | "." | ".."));
        if plain {
            return Self {
                told,
                tidy: Cow::Borrowed(told),
                climbs: false,
            };
        }
        let mut parts: Vec<&str> = Vec::new();
        let mut climbs = false;
        for part in told.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    climbs = true;
                    parts.pop();
                }
                _ => parts.push(part),
            }
        }
        let joined = parts.join("/");
        let tidy = match (told.starts_with('/'), joined.is_empty()) {
            (true, _) => format!("/{joined}"),
            (false, true) => ".".to_owned(),
            (false, false) => joined,
        };
        Self {
            told,
            tidy: Cow::Owned(tidy),
            climbs,
        }
    }

    /// Whether it lies outside every root.
    fn is_absolute(&self) -> bool {
        self.tidy.starts_with('/')
    }

    /// Whether it surely lies in a root.
    pub(crate) fn is_inside(&self) -> bool {
        !self.is_absolute() && !self.climbs
    }

    /// Whether a pattern that fits the tidy form may be believed.
    ///
    /// An `allow` is not given on a path that climbs, and a relative one not outside the root.
    pub(crate) fn trusts(&self, pattern_is_absolute: bool, strict: bool) -> bool {
        strict || (!self.climbs && self.is_absolute() == pattern_is_absolute)
    }
}

/// A path pattern of a rule, as the globs that stand for it.
#[derive(Clone, Debug)]
pub(crate) struct PathPattern {
    globs: Vec<Glob>,
    /// Whether its rule denies or asks.
    strict: bool,
    /// Whether it starts at `/`.
    pub(crate) absolute: bool,
    /// The path itself, if the pattern is one and nothing else.
    pub(crate) literal: Option<String>,
    /// For strict rules: the deepest directory that holds everything that fits.
    around: Option<String>,
}

impl PathPattern {
    pub(crate) fn parse(key: &'static str, text: &str, strict: bool) -> Result<Self, RuleError> {
        let fault = |message: String| RuleError::Path {
            key,
            pattern: text.to_owned(),
            message,
        };
        let written = Written::read(text).map_err(|message| fault(message.to_owned()))?;
        let globs = written
            .globs(strict)
            .iter()
            .map(|glob| {
                GlobBuilder::new(glob)
                    .literal_separator(true)
                    .backslash_escape(true)
                    .case_insensitive(false)
                    .build()
                    .map_err(|error| fault(error.kind().to_string()))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            globs,
            strict,
            absolute: written.absolute,
            literal: written.literal(),
            around: strict.then(|| written.around()).flatten(),
        })
    }

    /// The globs that stand for it.
    pub(crate) fn globs(&self) -> &[Glob] {
        &self.globs
    }

    /// Every directory whose deletion would delete something that fits.
    pub(crate) fn directories_around(&self) -> Vec<String> {
        let Some(around) = &self.around else {
            return Vec::new();
        };
        let root = if self.absolute { "/" } else { "." };
        let mut directories = vec![root.to_owned()];
        let above = around
            .match_indices('/')
            .filter_map(|(at, _)| around.get(..at));
        directories.extend(
            above
                .filter(|directory| !directory.is_empty())
                .map(str::to_owned),
        );
        if around != root {
            directories.push(around.clone());
        }
        directories
    }

    /// Whether everything that `other` fits is fitted by this one too, as far as that is plain to see.
    pub(crate) fn covers(&self, other: &Self, deletes: bool) -> bool {
        let globs = other.globs.iter().all(|theirs| {
            self.globs
                .iter()
                .any(|mine| wider(mine.glob(), theirs.glob()))
        });
        let outside = self.strict || self.absolute || !other.reaches_outside();
        let directories = !deletes
            || other
                .directories_around()
                .iter()
                .all(|directory| self.has(directory));
        globs && outside && directories
    }

    /// Whether deleting this directory is something it fits.
    fn has(&self, directory: &str) -> bool {
        self.globs.iter().any(|glob| glob.glob() == "**")
            || self
                .directories_around()
                .iter()
                .any(|mine| mine == directory)
    }

    /// Whether it can fit paths outside every root.
    fn reaches_outside(&self) -> bool {
        self.absolute || (self.strict && self.globs.iter().any(|g| g.glob().starts_with("**")))
    }
}

/// A pattern taken apart.
struct Written<'a> {
    /// Without a leading `./`.
    text: &'a str,
    /// Without a trailing `/` or `/**`, and without a leading `/`.
    inner: &'a str,
    absolute: bool,
    /// Whether it names a directory and what is in it.
    directory: bool,
}

impl<'a> Written<'a> {
    fn read(pattern: &'a str) -> Result<Self, &'static str> {
        if pattern.is_empty() {
            return Err("it is empty; `**` is everything in the root");
        }
        if pattern.len() > LONGEST {
            return Err("it is longer than any path");
        }
        if pattern.starts_with('~') {
            return Err("`~` is not expanded; write the path from the root, or the absolute path");
        }
        let mut text = pattern;
        while let Some(shorter) = text.strip_prefix("./") {
            text = shorter;
        }
        let absolute = text.starts_with('/');
        let below = text.strip_prefix('/').unwrap_or(text);
        let (inner, directory) = if below == "**" {
            ("", true)
        } else if let Some(inner) = below.strip_suffix("/**") {
            (inner, true)
        } else if let Some(inner) = below.strip_suffix('/') {
            (inner, true)
        } else {
            (below, below.is_empty())
        };
        let odd = |part: &str| matches!(part, "" | "." | "..");
        let root = inner.is_empty() || (inner == "." && !absolute);
        if !root && inner.split('/').any(odd) {
            return Err(
                "`.`, `..` and doubled slashes never occur in a path; write it without them",
            );
        }
        Ok(Self {
            text,
            inner,
            absolute,
            directory,
        })
    }

    fn is_everything(&self, strict: bool) -> bool {
        self.inner.is_empty() || (self.inner == "." && (strict || self.directory))
    }

    /// Whether it is a bare name: a slash anywhere ties a pattern to the root.
    fn is_name(&self) -> bool {
        !self.text.contains('/') && !self.is_everything(true)
    }

    fn globs(&self, strict: bool) -> Vec<String> {
        let start = if self.absolute { "/" } else { "" };
        if self.is_everything(strict) {
            return vec![format!("{start}**")];
        }
        let stem = if strict && self.is_name() {
            format!("**/{}", self.inner)
        } else {
            format!("{start}{}", self.inner)
        };
        if strict || self.directory {
            vec![format!("{stem}/**"), stem]
        } else {
            vec![stem]
        }
    }

    /// The one path it fits: without signs, or with every sign escaped.
    fn literal(&self) -> Option<String> {
        if self.directory {
            return None;
        }
        let mut literal = String::with_capacity(self.text.len());
        let mut rest = self.text.chars();
        while let Some(c) = rest.next() {
            match c {
                '\\' => literal.push(rest.next()?),
                c if has_signs(c.encode_utf8(&mut [0; 4])) => return None,
                c => literal.push(c),
            }
        }
        Some(literal)
    }

    /// The deepest directory that surely holds everything that fits; a name can be anywhere.
    fn around(&self) -> Option<String> {
        if self.is_name() {
            return None;
        }
        let fixed: Vec<&str> = self
            .inner
            .split('/')
            .take_while(|part| !has_signs(part))
            .collect();
        let fixed = fixed.join("/");
        Some(match (self.absolute, fixed.is_empty()) {
            (true, _) => format!("/{fixed}"),
            (false, true) => ".".to_owned(),
            (false, false) => fixed,
        })
    }
}

/// Whether one glob is the same as another, or a directory that holds it.
fn wider(mine: &str, theirs: &str) -> bool {
    mine == theirs
        || mine == "**"
        || mine.strip_suffix("/**").is_some_and(|directory| {
            !has_signs(directory)
                && theirs
                    .strip_prefix(directory)
                    .is_some_and(|rest| rest.starts_with('/'))
        })
}

/// A pattern that fits this path and nothing else, whatever signs are in its name.
pub(crate) fn literally(path: &str) -> String {
    let place = Place::of(path);
    let text = if place.climbs {
        path
    } else {
        place.tidy.as_ref()
    };
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if has_signs(c.encode_utf8(&mut [0; 4])) || c == '~' {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// Whether a pattern is more than a plain path.
fn has_signs(text: &str) -> bool {
    text.contains(['*', '?', '[', ']', '{', '}', '\\'])
}
