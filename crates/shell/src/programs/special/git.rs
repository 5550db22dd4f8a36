//! What git does to the files of a working tree.
//!
//! Words are revisions or paths, and only a repository knows which. A word that may be a path
//! counts as one, so that a rule about it is met; what changes the tree as a whole writes the
//! folder it starts from.

use crate::expand::field::Field;
use crate::place;
use crate::programs::scan::Scan;
use crate::reasons::Catastrophe;
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
        match subcommand.text.as_str() {
            "add" | "stage" if sorted.is_empty() => self.read_here(),
            "add" | "stage" | "commit" => self.git_each(sorted.all(), Touch::Read),
            "rm" if scan.has("--cached") => self.git_each(sorted.all(), Touch::Read),
            "rm" => self.git_each(sorted.all(), Touch::Delete),
            "mv" => self.git_move(&sorted),
            "clean" => self.git_clean(&sorted, scan),
            "restore" if scan.has("--staged") && !scan.has("--worktree") => {
                self.git_each(sorted.all(), Touch::Read);
            }
            "restore" => self.git_each(sorted.all(), Touch::Write),
            "checkout" => self.git_checkout(&sorted, scan),
            "switch" if creates(scan) && sorted.is_empty() => {}
            "reset" if !resets_files(scan) => {}
            "stash" => self.git_stash(&sorted),
            "switch" | "reset" | "merge" | "rebase" | "cherry-pick" | "revert" | "am" => {
                self.write_tree();
            }
            "read-tree" if scan.has("-u") => self.write_tree(),
            "apply" if !only_tells(scan) && !scan.has("--directory") => self.write_tree(),
            "read-tree" | "apply" => {}
            _ => self.git_reads(subcommand, &sorted, scan),
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

    fn git_stash(&mut self, sorted: &Sorted<'_>) {
        let action = sorted.open.first().map_or("", |word| word.text.as_str());
        if matches!(
            action,
            "list" | "show" | "drop" | "clear" | "create" | "store"
        ) {
            return;
        }
        self.write_tree();
        self.git_each(sorted.paths.iter().copied(), Touch::Write);
    }

    /// `diff`, `log`, `show`, `blame` and the like.
    fn git_reads(&mut self, subcommand: &Field, sorted: &Sorted<'_>, scan: &Scan) {
        let searches = subcommand.text == "grep" && !scan.has("-e") && !scan.has("-f");
        for word in sorted.open.iter().skip(usize::from(searches)) {
            if let Some((revision, path)) = word.text.split_once(':')
                && !revision.is_empty()
            {
                self.read_in_revision(&word.tail(word.text.len() - path.len()));
            } else if may_be_path(word) {
                self.git_touch(word, Touch::Read);
            }
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

    /// `REVISION:path` starts at the top of the repository, `REVISION:./path` here.
    fn read_in_revision(&mut self, path: &Field) {
        if path.text.is_empty() {
            return self.read_here();
        }
        if !path.text.starts_with('.') && path.is_known() {
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
        let fixed = word.text.get(..at).unwrap_or_default();
        let folder = fixed.rfind('/').and_then(|end| fixed.get(..=end));
        self.git_touch_path(&Field::literal(folder.unwrap_or(".")), touch);
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
        let Some(folder) = self.scope.folder.clone() else {
            return;
        };
        let plain = place::join(&folder, &path.text);
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
