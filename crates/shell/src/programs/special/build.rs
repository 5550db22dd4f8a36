//! Programs that build, format and fetch packages.

use crate::expand::field::Field;
use crate::programs::scan::Scan;
use crate::walk::Walker;

/// Flags inside a flag of `go` that choose a program.
const GO_CHOOSES: &[&str] = &["-extld", "-linkmode", "-fplugin", "-wrapper", "-specs"];

impl Walker {
    /// `@file` stands for words in that file, and words behind `--` go to the compiler.
    pub(super) fn compiler(&mut self, name: &str, words: &[Field], scan: &Scan) {
        self.response_files(name, scan);
        let behind = words.iter().skip_while(|word| word.text != "--").skip(1);
        for word in behind {
            if word.text.starts_with("-C") || word.text.starts_with("-o") {
                self.option_opaque(name, word);
            }
        }
    }

    /// A registry that no word names, or what a word names instead of it.
    pub(super) fn fetch(&mut self, words: &[Field], scan: &Scan) {
        let subcommand = words.first().map_or("", |word| word.text.as_str());
        let runs = matches!(subcommand, "create" | "init" | "innit") && !scan.operands.is_empty();
        if runs {
            self.code_opaque(subcommand);
        }
        let local = matches!(subcommand, "init" | "innit" | "link") && !runs;
        if !local {
            self.found.connect("*".to_owned());
        }
        for word in &scan.operands {
            let text = word.text.as_str();
            let source = text.split_once("@ ").map_or(text, |(_, source)| source);
            if source.contains("://") || source.contains("git+") || source.contains("git@") {
                // Code from a place of its own, which is run when it is installed.
                self.option_opaque(subcommand, word);
            } else if text.starts_with(['/', '~']) || text.starts_with("file:") {
                self.read_path(&word.tail(if text.starts_with("file:") { 5 } else { 0 }));
            }
        }
    }

    /// Programs that put their files in order in place; their patterns cross folders.
    pub(super) fn formatter(&mut self, scan: &Scan) {
        for word in &scan.operands {
            let text = word.text.as_str();
            let at = text.find(['*', '?', '[', '{']);
            let fixed = at.and_then(|at| text.get(..at));
            let path = match fixed.map(|fixed| fixed.rfind('/').and_then(|end| fixed.get(..end))) {
                None => word.clone(),
                Some(folder) => Field::literal(folder.unwrap_or(".")),
            };
            if scan.marked('W') {
                self.write_path(&path);
            } else {
                self.read_path(&path);
            }
        }
        if scan.marked('W') && scan.operands.is_empty() {
            self.write_path(&Field::literal("."));
        }
    }

    /// `7z` names what it does before the archive.
    pub(super) fn archive(&mut self, scan: &Scan) {
        let Some((action, rest)) = scan.operands.split_first() else {
            return;
        };
        let Some((archive, members)) = rest.split_first() else {
            return;
        };
        match action.text.as_str() {
            "l" | "t" => self.read_path(archive),
            "x" | "e" => {
                self.read_path(archive);
                if !scan.has("-o") {
                    self.write_path(&Field::literal("."));
                }
            }
            _ => {
                self.write_path(archive);
                for member in members {
                    if member.text.starts_with('@') {
                        self.option_opaque("7z", member);
                    }
                    self.read_path(member);
                }
            }
        }
    }

    /// Expressions of `yq` can read other files.
    pub(super) fn query(&mut self, name: &str, scan: &Scan) {
        let loads = |word: &&Field| word.text.contains("load") && word.text.contains('(');
        if let Some(word) = scan.operands.iter().find(loads) {
            self.option_opaque(name, word);
        }
    }

    pub(super) fn go_flags(&mut self, scan: &Scan) {
        for option in ["-ldflags", "-gcflags", "-gccgoflags", "-asmflags"] {
            for value in scan.values(option) {
                if GO_CHOOSES.iter().any(|flag| value.text.contains(flag)) {
                    self.option_opaque("go", value);
                }
            }
        }
    }
}
