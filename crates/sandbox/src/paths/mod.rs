//! The path sandbox, between a path that a model wrote and the disk.
//!
//! ```text
//!  text ──▶ request ──▶ guard ─────────▶ resolve ──────────▶ guard ─────────▶ read, stage, list, remove
//!           split,      deny patterns,   beneath a root's    the same again    one act on the
//!           no `..`     protected paths  handle: openat2,    on the name that  descriptor that
//!                       on the request   or a walk by hand   was really opened was checked
//! ```
//!
//! A path as it was asked for goes in, with the purpose it is opened for. An open descriptor comes
//! out, or a [`PathError`] that tells a model what was wrong and what to do instead. Nothing is
//! opened by a name that was checked earlier: the descriptor that is checked is the one in use.
//!
//! | directory | moment |
//! |---|---|
//! | `resolve/` | the text of a path becomes a descriptor beneath a root |
//! | `rules/` | whether its name may be used, before and after it is opened |
//! | `read/` | one file or one directory is read |
//! | `write/` | a file is staged, placed, renamed or removed |
//! | `walk/` | a whole tree is visited, by one thread or by all cores |
//!
//! A path is refused if it leaves the roots (by `..`, by being absolute, by a link), matches a deny
//! pattern, is protected against writing, does not exist, or is no regular file. A path that is not
//! understood is refused too.
//!
//! Names in the working directory are relative to it; names in every other root are absolute, and
//! need `allow_absolute`.

mod error;
mod message;
mod read;
mod resolve;
mod rules;
mod walk;
mod write;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolgate_model::Access;

pub use error::{BadPath, Escape, Failure, FileKind, Limit, PathError, Protection, RulesError};
pub use read::directory::DirectoryEntry;
pub use read::file::ReadHandle;
pub use read::stat::FileStat;
pub use resolve::Method;
pub use resolve::request::check_text;
pub use resolve::roots::{Root, RootAccess, RootRule, Roots};
pub use rules::git_config::harmless::{GitFiles, git_files};
pub use rules::lifted::LiftedPath;
pub use rules::own::OwnPlaces;
pub use rules::patterns::PatternError;
pub use walk::survey::Surveyor;
pub use walk::tree::{Flow, Visit, WalkEntry, WalkOptions};
pub use write::several::StagedDelete;
pub use write::stage::{Committed, StageOptions, Staged};
pub use write::target::Resolved;

use resolve::request::{self, Request};
pub(crate) use rules::attributes::drivers;
use rules::lifted::Lifted;
pub(crate) use rules::linked::LOCAL;
pub(crate) use rules::opening::rule_that_names;
pub(crate) use rules::own::{KEPT, OwnHere};
use rules::patterns::{self, Patterns, Rule};
use rules::{executed, executed_config, git_config, guard, linked, lists};

/// The configuration of paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathRules {
    /// The directories that may be used; the first is the working directory.
    pub roots: Vec<RootRule>,
    /// Patterns of paths that may be neither read nor written.
    pub denied_patterns: Vec<String>,
    /// Patterns of paths that may not be written.
    pub protected_paths: Vec<String>,
    /// Whether the built-in deny patterns count as well. The built-in protected
    /// paths always do.
    pub include_default_denies: bool,
    /// Whether absolute paths are taken for names of places at all. Those that lead into a root
    /// always are, also by another name of the root; the others lead nowhere, and only the
    /// words of the refusal differ.
    pub allow_absolute: bool,
    /// Protected paths that a trusted rule names, and that may be written therefore.
    /// Exact paths, not patterns, and nothing beneath them.
    pub named: Vec<PathBuf>,
    /// Paths that a trusted rule of the user names, for which the built-in denies do not count.
    pub lifted: Vec<LiftedPath>,
    /// Where Toolgate keeps its own files.
    pub own: OwnPlaces,
    /// The user's home directory. Git's configuration there can name files of a root as hooks.
    pub home: Option<PathBuf>,
}

impl PathRules {
    /// The defaults for one working directory that may be written.
    pub fn new(working_directory: impl Into<PathBuf>) -> Self {
        Self {
            roots: vec![RootRule {
                path: working_directory.into(),
                access: RootAccess::ReadWrite,
            }],
            denied_patterns: Vec::new(),
            protected_paths: Vec::new(),
            include_default_denies: true,
            allow_absolute: false,
            named: Vec::new(),
            lifted: Vec::new(),
            own: OwnPlaces::default(),
            home: None,
        }
    }
}

/// Setters, to be chained after [`PathRules::new`].
///
/// ```
/// use toolgate_sandbox::paths::{PathRules, RootAccess};
///
/// let rules = PathRules::new("/work")
///     .root("/usr/share/dict", RootAccess::ReadOnly)
///     .deny("*.key")
///     .protect("migrations/");
/// assert_eq!(rules.roots.len(), 2);
/// ```
impl PathRules {
    /// Adds a root.
    #[must_use]
    pub fn root(mut self, path: impl Into<PathBuf>, access: RootAccess) -> Self {
        self.roots.push(RootRule {
            path: path.into(),
            access,
        });
        self
    }

    /// Adds a pattern of paths that may be neither read nor written.
    #[must_use]
    pub fn deny(mut self, pattern: impl Into<String>) -> Self {
        self.denied_patterns.push(pattern.into());
        self
    }

    /// Adds a pattern of paths that may not be written.
    #[must_use]
    pub fn protect(mut self, pattern: impl Into<String>) -> Self {
        self.protected_paths.push(pattern.into());
        self
    }

    /// Adds a file or directory of the program's own that no tool sees: absolute, without links.
    #[must_use]
    pub fn close(mut self, place: impl Into<PathBuf>) -> Self {
        self.own.closed.push(place.into());
        self
    }
}

/// The sandbox. Cheap to clone; all clones share the handles of the roots.
#[derive(Clone, Debug)]
pub struct PathSandbox {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    roots: Roots,
    method: Method,
    allow_absolute: bool,
    denied: Patterns,
    protected: Patterns,
    /// Protected against the file tools only.
    protected_from_tools: Patterns,
    named: HashSet<(usize, Vec<u8>)>,
    lifted: Lifted,
    linked: linked::Linked,
    own: OwnPlaces,
    /// The own places in each root.
    own_in: Vec<OwnHere>,
    /// The user's home directory.
    home: Option<PathBuf>,
}

impl PathSandbox {
    /// Opens the roots and compiles the rules, with the best [`Method`] this machine has.
    pub fn open(rules: &PathRules) -> Result<Self, RulesError> {
        let roots = Roots::open(&rules.roots)?;
        let method = roots.get(0).map_or(Method::Walk, Method::best);
        Self::build(rules, roots, method)
    }

    /// Like [`PathSandbox::open`], with a method of the caller's choice.
    pub fn open_with(rules: &PathRules, method: Method) -> Result<Self, RulesError> {
        Self::build(rules, Roots::open(&rules.roots)?, method)
    }

    fn build(rules: &PathRules, roots: Roots, method: Method) -> Result<Self, RulesError> {
        let built_in = if rules.include_default_denies {
            lists::DENIED
        } else {
            &[]
        };
        let named = rules
            .named
            .iter()
            .map(|path| {
                let request = Request::parse(&roots, true, path);
                request
                    .map(|r| (r.root, r.rel.into_owned()))
                    .map_err(|_| RulesError::Named {
                        path: path.display().to_string(),
                    })
            })
            .collect::<Result<_, _>>()?;
        for root in roots.iter() {
            if let Some(place) = rules.own.around(root.path()) {
                return Err(RulesError::Own {
                    root: root.path().display().to_string(),
                    place: place.display().to_string(),
                });
            }
        }
        let own_in = roots.iter().map(|root| rules.own.beneath(root.path()));
        let from_tools = executed::PROTECTED_FROM_TOOLS.iter().copied();
        let mut denied = compile(built_in.iter().copied().chain(own(&rules.denied_patterns)))?;
        let mut configured = rules.protected_paths.clone();
        for root in roots.iter() {
            configured.extend(git_config::patterns(root.path(), rules.home.as_deref()));
        }
        let mut protected = protected(&configured)?;
        let mut protected_from_tools = compile(from_tools.map(Rule::new))?;
        let mut configured = compile(own(&rules.denied_patterns))?;
        for root in roots.iter() {
            configured.seen_from(root.path());
        }
        let lifted = Lifted::new(&rules.lifted, &roots, configured);
        // With several roots, the additions of one apply to all of them: that is only stricter.
        for root in roots.iter() {
            for patterns in [&mut denied, &mut protected, &mut protected_from_tools] {
                patterns.seen_from(root.path());
            }
        }
        Ok(Self {
            inner: Arc::new(Inner {
                denied,
                protected,
                protected_from_tools,
                own_in: own_in.collect(),
                own: rules.own.clone(),
                roots,
                method,
                allow_absolute: rules.allow_absolute,
                linked: linked::Linked::default(),
                lifted,
                named,
                home: rules.home.clone(),
            }),
        })
    }

    /// The directories that may be used, the working directory first.
    pub fn roots(&self) -> &Roots {
        &self.inner.roots
    }

    /// How paths are resolved.
    pub fn method(&self) -> Method {
        self.inner.method
    }

    /// The name of a path for users and models: relative in the working directory,
    /// absolute in every other root.
    pub fn name(&self, root: usize, rel: &Path) -> PathBuf {
        match self.inner.roots.get(root) {
            Some(other) if root > 0 => other.path().join(rel),
            _ if rel.as_os_str().is_empty() => PathBuf::from("."),
            _ => rel.to_path_buf(),
        }
    }

    /// The name of a path before any link is followed, in the form of [`name`](Self::name).
    ///
    /// # Errors
    /// A text that names no place in any root.
    pub fn asked_name(&self, path: impl AsRef<Path>) -> Result<PathBuf, PathError> {
        let (roots, absolute) = (&self.inner.roots, self.inner.allow_absolute);
        let request = request::Request::parse(roots, absolute, path.as_ref())?;
        Ok(self.name(request.root, Path::new(OsStr::from_bytes(&request.rel))))
    }

    /// The deny patterns beneath a directory that is no root, also those that begin above it.
    pub(crate) fn denied_beneath(&self, directory: &Path) -> DeniedBeneath {
        let mut patterns = self.inner.denied.clone();
        patterns.beneath(directory);
        DeniedBeneath {
            patterns,
            sandbox: self.clone(),
            directory: directory.to_path_buf(),
        }
    }

    /// The user's home directory, if it was told.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.inner.home.as_deref()
    }

    /// The own places in a root.
    pub(crate) fn own_in(&self, root: usize) -> Option<&OwnHere> {
        self.inner.own_in.get(root)
    }

    /// The own places.
    pub(crate) fn own(&self) -> &OwnPlaces {
        &self.inner.own
    }

    fn name_bytes(&self, root: usize, rel: &[u8]) -> String {
        let name = self.name(root, Path::new(OsStr::from_bytes(rel)));
        message::shown(name.as_os_str().as_bytes())
    }
}

/// The deny patterns as they apply beneath one directory.
#[derive(Clone, Debug)]
pub(crate) struct DeniedBeneath {
    patterns: Patterns,
    sandbox: PathSandbox,
    directory: PathBuf,
}

impl DeniedBeneath {
    /// The deny pattern that matches this path of the directory, if one does.
    pub(crate) fn by(&self, rel: &Path, is_file: bool) -> Option<&str> {
        let folded = guard::folded(rel.as_os_str().as_bytes());
        let whole = self.patterns.find(&folded, patterns::Scope::Whole);
        whole.or_else(|| self.patterns.find_file(&folded).filter(|_| is_file))
    }

    /// Whether a name that the user lifted lies in this directory of the directory.
    pub(crate) fn has_lifted_in(&self, rel: &Path) -> bool {
        let path = self.directory.join(rel);
        let path = path.as_os_str().as_bytes();
        self.sandbox.has_lifted_in(None, path)
    }

    /// Whether the user lifted the built-in denies for this path of the directory.
    pub(crate) fn is_lifted(&self, rel: &Path, access: Access) -> bool {
        let path = self.directory.join(rel);
        self.sandbox.is_lifted_beyond(&path, access)
    }
}

/// The protected paths: the built-in lists and these patterns.
fn protected(patterns: &[String]) -> Result<Patterns, RulesError> {
    let in_config = executed_config::PROTECTED_CONFIG.iter();
    let in_config: Vec<String> = in_config.map(|name| format!("**/.config/{name}")).collect();
    let built_in = executed::PROTECTED.iter().copied().map(Rule::new);
    compile(
        std::iter::once(executed::GIT_FILE)
            .chain(built_in)
            .chain(own(&in_config))
            .chain(own(patterns)),
    )
}

fn own(patterns: &[String]) -> impl Iterator<Item = Rule<'_>> {
    patterns.iter().map(|text| Rule::new(text))
}

fn compile<'r>(rules: impl Iterator<Item = Rule<'r>>) -> Result<Patterns, RulesError> {
    let mut patterns = Patterns::default();
    for rule in rules {
        patterns.add(rule).map_err(|problem| RulesError::Pattern {
            pattern: rule.text().to_owned(),
            problem,
        })?;
    }
    Ok(patterns)
}
