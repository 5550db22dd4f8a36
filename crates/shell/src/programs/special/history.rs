//! Version control other than git: what it reads out of its history.

use crate::expand::field::Field;
use crate::programs::scan::Scan;
use crate::walk::Walker;

impl Walker {
    /// Words of `hg`, `svn` and `jj` that name files, as they are now or were once.
    pub(super) fn history(&mut self, name: &str, words: &[Field], scan: &Scan) {
        let subcommand = words.first().map_or("", |word| word.text.as_str());
        if subcommand == "archive" && scan.values("-I").next().is_none() {
            self.option_opaque(name, &Field::literal(subcommand));
        }
        if name == "svn" && asks_server(subcommand, scan) {
            self.found.connect("*".to_owned());
        }
        let included = scan.values("-I").chain(scan.values("-X")).cloned();
        let files: Vec<Field> = scan.operands.iter().cloned().chain(included).collect();
        let searches = usize::from(matches!(subcommand, "grep" | "propget" | "pg"));
        for file in files.iter().skip(searches) {
            self.versioned_file(name, file);
        }
    }

    /// A path, or a word of the program's own language of file sets.
    fn versioned_file(&mut self, name: &str, file: &Field) {
        let text = file.text.as_str();
        if text.contains("://") {
            self.option_opaque(name, file);
            return self.connect(file);
        }
        // `.env@12` is the file at a revision.
        let end = text.rfind('@').filter(|at| name == "svn" && *at > 0);
        let path = Field::literal(text.get(..end.unwrap_or(text.len())).unwrap_or_default());
        if text.starts_with('^') || text.contains([':', '(', '|', '&', '*', '?', '[', '"']) {
            self.option_opaque(name, file);
        } else if file.is_known() {
            self.read_path(&path);
        } else {
            self.read_path(file);
        }
    }
}

/// Whether `svn` asks the server: its working copy holds only the files as they were taken.
fn asks_server(subcommand: &str, scan: &Scan) -> bool {
    let local = [
        "diff", "di", "status", "stat", "st", "proplist", "pl", "propget", "pg",
    ];
    let options = ["-u", "--show-updates", "-r", "-c"];
    !local.contains(&subcommand) || options.iter().any(|option| scan.has(option))
}
