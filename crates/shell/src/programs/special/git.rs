//! What git does to the files of a working tree.
//!
//! Words are revisions or paths, and only a repository knows which. A word that may be a path
//! counts as one, so that a rule about it is met; what changes the tree as a whole writes the
//! directory it starts from.

use crate::expand::field::Field;
use crate::place;
use crate::programs::scan::Scan;
use crate::reasons::{Catastrophe, Opacity};
use crate::secrets::may_reach_secrets;
use crate::walk::Walker;

/// How a path is touched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Touch {
    Read,
    Write,
    Delete,
}

/// The words of one call, sorted by what git can take them for.
struct Sorted<'w> {
    /// Before `--`: revisions or paths.
    open: Vec<&'w Field>,
    /// Behind `--`: paths.
    paths: Vec<&'w Field>,
}

impl<'w> Sorted<'w> {
    fn new(words: &'w [Field], scan: &'w Scan) -> Self {
        let dashes = words.iter().position(|word| word.text == "--");
        let behind = dashes.map_or(0, |at| words.len() - at - 1);
        let split = scan.operands.len().saturating_sub(behind);
        let (open, paths) = scan
            .operands
            .split_at_checked(split)
            .unwrap_or((&scan.operands, &[]));
        Self {
            open: open.iter().collect(),
            paths: paths.iter().collect(),
        }
    }

    fn all(&self) -> impl Iterator<Item = &'w Field> {
        self.open.iter().chain(&self.paths).copied()
    }

    fn is_empty(&self) -> bool {
        self.open.is_empty() && self.paths.is_empty()
    }
}

impl Walker {
    /// Subcommands that read or change files of the working tree.
    pub(super) fn git_files(&mut self, words: &[Field], scan: &Scan) {
        let Some(subcommand) = words.first() else {
            return;
        };
        let sorted = Sorted::new(words, scan);
        let action = words.get(1).map_or("", |word| word.text.as_str());
        if matches!(
            (subcommand.text.as_str(), action),
            ("stash", "clear") | ("reflog", "expire" | "delete" | "drop")
        ) {
            // What it forgets nobody gets back.
            self.code_opaque("git");
        }
        match subcommand.text.as_str() {
            "add" | "stage" if sorted.is_empty() => self.read_here(),
            "add" | "stage" | "commit" => self.git_each(sorted.all(), Touch::Read),
            "rm" if scan.has("--cached") => self.git_each(sorted.all(), Touch::Read),
            "rm" => self.git_each(sorted.all(), Touch::Delete),
            "mv" => self.git_move(&sorted),
            "clean" => self.git_clean(&sorted, scan),
            "restore" | "checkout" if takes_from_revision(subcommand, &sorted, scan) => {
                let paths: Vec<&Field> = if sorted.paths.is_empty() {
                    sorted
                        .open
                        .iter()
                        .copied()
                        .filter(|word| may_be_path(word))
                        .collect()
                } else {
                    sorted.paths.clone()
                };
                self.git_each(paths.into_iter(), Touch::Read);
                self.git_rewrite(subcommand, &sorted, scan);
            }
            "restore" | "checkout" => self.git_rewrite(subcommand, &sorted, scan),
            "switch" if creates(scan) && sorted.is_empty() => {}
            "reset" if !resets_files(scan) => {}
            "stash" => self.git_stash(&sorted, scan),
            "cat-file" => self.git_object(&sorted, scan),
            "archive" => self.git_archive(&sorted),
            "switch" | "reset" | "merge" | "rebase" | "cherry-pick" | "revert" | "am" => {
                self.write_tree();
            }
            "read-tree" if scan.has("-u") => self.write_tree(),
            "apply" if !only_tells(scan) && !scan.has("--directory") => self.write_tree(),
            "read-tree" | "apply" => {}
            _ => self.git_reads(subcommand, &sorted, scan),
        }
    }

    /// `restore` and `checkout`: files of the working tree become what they were.
    fn git_rewrite(&mut self, subcommand: &Field, sorted: &Sorted<'_>, scan: &Scan) {
        if subcommand.text == "checkout" {
            self.git_checkout(sorted, scan);
        } else if scan.has("--staged") && !scan.has("--worktree") {
            self.git_each(sorted.all(), Touch::Read);
        } else {
            self.git_each(sorted.all(), Touch::Write);
        }
    }

    /// The working tree, as far as a line can name it.
    pub(super) fn write_tree(&mut self) {
        self.write_path(&Field::literal("."));
    }

    fn git_move(&mut self, sorted: &Sorted<'_>) {
        let words: Vec<&Field> = sorted.all().collect();
        if let Some((target, sources)) = words.split_last() {
            self.git_each(sources.iter().copied(), Touch::Delete);
            self.git_touch(target, Touch::Write);
        }
    }

    fn git_clean(&mut self, sorted: &Sorted<'_>, scan: &Scan) {
        let touch = if scan.has("-n") || scan.has("--dry-run") {
            Touch::Read
        } else {
            Touch::Delete
        };
        if sorted.is_empty() {
            self.git_touch(&Field::literal("."), touch);
        }
        self.git_each(sorted.all(), touch);
        if let Some(tree) = self.scope.variable("GIT_WORK_TREE") {
            let tree = tree.value.clone();
            self.git_touch_path(&tree, touch);
        }
    }

    /// A branch or paths: `git checkout x` takes whichever there is.
    fn git_checkout(&mut self, sorted: &Sorted<'_>, scan: &Scan) {
        self.git_each(sorted.paths.iter().copied(), Touch::Write);
        if !sorted.paths.is_empty() || (creates(scan) && sorted.open.is_empty()) {
            return;
        }
        self.write_tree();
        let paths = sorted.open.iter().copied().filter(|word| may_be_path(word));
        self.git_each(paths, Touch::Write);
    }

    fn git_stash(&mut self, sorted: &Sorted<'_>, scan: &Scan) {
        let action = sorted.open.first().map_or("", |word| word.text.as_str());
        if action == "show" && (scan.has("-p") || scan.has("--patch")) {
            // Whatever files it holds.
            self.option_opaque("git stash show", &Field::literal("-p"));
        }
        if matches!(
            action,
            "list" | "show" | "drop" | "clear" | "create" | "store"
        ) {
            return;
        }
        self.write_tree();
        self.git_each(sorted.paths.iter().copied(), Touch::Write);
    }

    /// `cat-file`: an object by its name. What a name of digits stands for only a repository knows.
    fn git_object(&mut self, sorted: &Sorted<'_>, scan: &Scan) {
        let all = ["--batch", "--batch-command", "--batch-all-objects"];
        if all.iter().any(|option| scan.has(option)) {
            self.option_opaque("git cat-file", &Field::literal("--batch"));
        }
        let tells = ["-t", "-s", "-e"].iter().any(|option| scan.has(option));
        let kind = sorted.open.first().map_or("", |word| word.text.as_str());
        for word in sorted.all() {
            let text = word.text.as_str();
            if text.contains(':') {
                self.git_object_path(word);
            } else if matches!(text, "blob" | "commit" | "tree" | "tag") || tells {
                // The kind of the object, or only its size and kind are printed.
            } else if kind == "blob" || (names_object(text) && kind != "commit" && kind != "tree") {
                self.unknown_object(word);
            }
        }
    }

    /// `archive`: every file of a revision, unless paths are named.
    fn git_archive(&mut self, sorted: &Sorted<'_>) {
        let words: Vec<&Field> = sorted.all().collect();
        let Some((revision, paths)) = words.split_first() else {
            return;
        };
        if revision.text.contains(':') {
            self.git_object_path(revision);
        } else if paths.is_empty() {
            self.option_opaque("git archive", revision);
        }
        self.git_each(paths.iter().copied(), Touch::Read);
    }

    /// `diff`, `log`, `show`, `blame` and the like.
    fn git_reads(&mut self, subcommand: &Field, sorted: &Sorted<'_>, scan: &Scan) {
        let searches = subcommand.text == "grep" && !scan.has("-e") && !scan.has("-f");
        // These print the content of an object; others only follow commits.
        let prints = matches!(
            subcommand.text.as_str(),
            "show" | "diff" | "grep" | "diff-tree"
        );
        let open = sorted.open.get(usize::from(searches)..).unwrap_or_default();
        let mut paths = sorted.paths.len();
        for word in open {
            if word.text.contains(':') {
                self.git_object_path(word);
                paths += 1;
            } else if prints && names_object(&word.text) {
                self.unknown_object(word);
            } else if may_be_path(word) {
                self.git_touch(word, Touch::Read);
                paths += 1;
            }
        }
        if let Some(revision) = open.first()
            && subcommand.text == "grep"
            && paths == 0
        {
            // Every line of every file that the revision holds.
            self.option_opaque("git grep", revision);
        }
        self.git_each(sorted.paths.iter().copied(), Touch::Read);
        for value in scan.values("-L") {
            if let Some((_, path)) = value.text.rsplit_once(':')
                && !path.is_empty()
            {
                self.read_path(&value.tail(value.text.len() - path.len()));
            }
        }
    }

    /// `REVISION:path`, `:path` or `:0:path`. A revision may hold colons itself, so every one
    /// may be the one before the path.
    fn git_object_path(&mut self, word: &Field) {
        let text = word.text.as_str();
        let staged = text.strip_prefix(':');
        let magic = staged.is_some_and(|rest| rest.starts_with(['(', '/', '!', '^', ':']));
        if magic {
            return self.option_opaque("git", word);
        }
        let mut found = false;
        for (at, _) in text.match_indices(':') {
            let before = text.get(..at).unwrap_or_default();
            let path = word.tail(at + 1);
            let stage =
                before.is_empty() && matches!(path.text.as_bytes(), [b'0'..=b'3', b':', ..]);
            if !stage {
                self.read_in_revision(&path);
                found = true;
            }
        }
        if !found {
            self.option_opaque("git", word);
        }
    }

    /// A name of digits that can be the content of any file.
    fn unknown_object(&mut self, word: &Field) {
        self.found.opaque(Opacity::Object { word: word.shown() });
    }

    /// `REVISION:path` starts at the top of the repository, `REVISION:./path` here.
    fn read_in_revision(&mut self, path: &Field) {
        if path.text.is_empty() {
            return self.read_here();
        }
        let here = path.text.starts_with("./") || path.text.starts_with("../");
        if !here && path.is_known() {
            let top = self.places.root().to_owned();
            self.read_path(&Field::literal(place::join(&top, &path.text)));
        }
        if !path.text.starts_with('/') {
            self.read_path(path);
        }
    }

    fn git_each<'f>(&mut self, words: impl Iterator<Item = &'f Field>, touch: Touch) {
        for word in words {
            self.git_touch(word, touch);
        }
    }

    /// Touches what a word of git's own pattern language means.
    fn git_touch(&mut self, word: &Field, touch: Touch) {
        if word.text.starts_with(':') {
            return self.option_opaque("git", word);
        }
        let Some(at) = word.text.find(['*', '?', '[']) else {
            return self.git_touch_path(word, touch);
        };
        // What a search found is named by patterns too.
        if touch != Touch::Read && !word.deep && !word.narrow {
            self.unknown_word(word);
        }
        if reaches_secrets(word, at) {
            self.found.opaque(Opacity::Pattern {
                word: word.text.clone(),
            });
        }
        let fixed = word.text.get(..at).unwrap_or_default();
        let directory = fixed.rfind('/').and_then(|end| fixed.get(..=end));
        let last = word.text.rsplit('/').next().unwrap_or_default();
        if word.text.contains('/') && !last.is_empty() && !last.contains(['*', '?', '[']) {
            // A name that the pattern spells out, in whatever directory.
            let named = format!("{}{last}", directory.unwrap_or_default());
            self.git_touch_path(&Field::literal(named), Touch::Read);
        }
        self.git_touch_path(&Field::literal(directory.unwrap_or(".")), touch);
    }

    fn git_touch_path(&mut self, path: &Field, touch: Touch) {
        match touch {
            Touch::Read => self.read_path(path),
            Touch::Write => self.write_path(path),
            Touch::Delete => {
                self.git_loss(path);
                self.delete_path(path, false);
            }
        }
    }

    /// Cleaning a working tree removes what is in it; only a workspace is one.
    fn git_loss(&mut self, path: &Field) {
        let Some(directory) = self.scope.directory.clone() else {
            return;
        };
        let plain = place::join(&directory, &path.text);
        let mut places = self.places_behind(&plain);
        places.push(plain);
        for place in places {
            if let Some(grave) = self.places.grave_beyond_roots(&place) {
                let path = place;
                self.found.catastrophe(Catastrophe::Removes { path, grave });
            }
        }
    }
}

/// Whether a new branch is made, which leaves the files as they are.
fn creates(scan: &Scan) -> bool {
    ["-b", "-B", "-c", "-C", "--orphan"]
        .iter()
        .any(|option| scan.has(option))
}

fn resets_files(scan: &Scan) -> bool {
    ["--hard", "--merge", "--keep"]
        .iter()
        .any(|option| scan.has(option))
}

fn only_tells(scan: &Scan) -> bool {
    ["--check", "--stat", "--numstat", "--summary", "--cached"]
        .iter()
        .any(|option| scan.has(option))
}

/// Whether one of git's patterns can fit a name that holds secrets. Here a star goes on beyond a
/// slash, so what is before it says nothing about the name, and it fits a leading dot too.
fn reaches_secrets(word: &Field, at: usize) -> bool {
    let open = word.text.get(at..).unwrap_or_default();
    let behind = match open.as_bytes() {
        [b'[', ..] => open.split_once(']').map_or("", |(_, behind)| behind),
        _ => open.trim_start_matches(['*', '?']),
    };
    let behind = behind.split('/').next().unwrap_or_default();
    let mut patterns = vec![word.text.clone(), open.to_owned(), behind.to_owned()];
    if let Some(rest) = behind.strip_prefix('.') {
        // Nothing stands for the star.
        patterns.push(format!("[.]{rest}"));
    }
    if !behind.is_empty() {
        let dotted = if open.starts_with('*') { ".*" } else { "[.]" };
        patterns.push(format!("{dotted}{behind}"));
    }
    let hidden = |name: &String| {
        let field = Field::names(name.clone(), false);
        may_reach_secrets(&field)
    };
    patterns.iter().any(hidden)
}

/// Whether files are taken from a revision that the line names, and not from the index.
fn takes_from_revision(subcommand: &Field, sorted: &Sorted<'_>, scan: &Scan) -> bool {
    if subcommand.text == "restore" {
        return scan.has("--source");
    }
    let revisions = sorted.open.iter().filter(|word| !may_be_path(word)).count();
    let first = usize::from(sorted.paths.is_empty());
    !creates(scan) && (revisions > 0 || sorted.open.len() > first)
}

/// Whether a word can name an object by its digits, and is not made a commit by what follows.
fn names_object(word: &str) -> bool {
    word.split("..").any(|side| {
        let side = side.trim_start_matches(['^', '.']);
        let (base, peeled) = side
            .split_once('^')
            .map_or((side, ""), |(base, rest)| (base, rest));
        let digits = base.bytes().all(|byte| byte.is_ascii_hexdigit());
        let named = base.len() >= 7 || base.bytes().any(|byte| byte.is_ascii_digit());
        let object = digits && base.len() >= 4 && named;
        match peeled {
            "" => object && !side.contains('^'),
            "{}" => object,
            "{blob}" | "{object}" => true,
            _ => false,
        }
    })
}

/// Whether a word can be a path: revisions that only a repository knows by these signs cannot.
fn may_be_path(word: &Field) -> bool {
    let text = word.text.as_str();
    let revision = text.ends_with("HEAD")
        || text.starts_with(['^', '@'])
        || text.contains(['^', '~'])
        || text.contains("@{")
        || (text.contains("..") && !text.split('/').any(|part| part == ".."))
        || (text.len() >= 7 && text.bytes().all(|byte| byte.is_ascii_hexdigit()));
    !text.is_empty() && !revision
}
