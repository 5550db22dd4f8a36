//! Programs that copy, unpack and build.

use crate::expand::field::Field;
use crate::programs::scan::Scan;
use crate::programs::table::Effect;
use crate::reasons::Opacity;
use crate::walk::Walker;

impl Walker {
    /// `dd if=… of=…`.
    pub(super) fn copy_blocks(&mut self, arguments: &[Field]) {
        for word in arguments {
            if word.holes.first() == Some(&0) || word.loose {
                self.unknown_word(word);
            }
            let (key, value) = match word.text.split_once('=') {
                Some((key, _)) => (key, word.tail(key.len() + 1)),
                None => continue,
            };
            match key {
                "if" | "vf" | "ifs" => self.read_path(&value),
                "of" | "ofs" | "hof" | "hofs" | "wipe" | "wipes" => self.write_path(&value),
                log if log.ends_with("log") => self.write_path(&value),
                // Some spellings hand the blocks to a command.
                pipe if pipe.ends_with(':') => {
                    self.option_opaque("dd", word);
                    self.probe_text(&value.text);
                }
                _ => {}
            }
        }
    }

    /// Mirroring an empty directory onto another removes what is there.
    pub(super) fn rsync(&mut self, scan: &Scan) {
        let target = scan
            .uses
            .iter()
            .rev()
            .find(|used| used.effect == Effect::TransferTo);
        if scan.marked('R')
            && let Some(target) = target
        {
            let field = target.value.clone();
            if crate::programs::hosts::of_remote_path(&field.text).is_none() {
                self.look_for_loss(&field);
                self.delete_path(&field, false);
            }
        }
    }

    /// Without a file to change, the patch itself names the files.
    pub(super) fn patch(&mut self, scan: &Scan) {
        let tells = ["--dry-run", "--version", "--help"];
        if tells.iter().any(|option| scan.has(option)) || !scan.operands.is_empty() {
            return;
        }
        self.code_opaque("patch");
        if !scan.has("-o") {
            self.write_path(&Field::literal("."));
        }
    }

    pub(super) fn unpack(&mut self, scan: &Scan) {
        let lists = scan.marked('N') || scan.operands.first().is_some_and(|word| word.text == "l");
        if !lists && !scan.has("-d") {
            self.write_path(&Field::literal("."));
        }
    }

    /// Operands of `make` may set variables, among them the shell it uses.
    pub(super) fn make(&mut self, scan: &Scan) {
        for word in scan.operands.iter().filter(|word| word.text.contains('=')) {
            // A variable of a rule file can be a command, whatever its name.
            let (name, _) = word.text.split_once('=').unwrap_or_default();
            self.found.opaque(Opacity::Setting {
                name: name.to_owned(),
            });
            self.probe_given("make", &word.text);
        }
    }

    /// `+command` is run by pagers and editors when they open a file.
    pub(super) fn pager(&mut self, name: &str, scan: &Scan) {
        for word in scan
            .operands
            .iter()
            .filter(|word| word.text.starts_with('+'))
        {
            self.option_opaque(name, word);
        }
    }

    /// A page may be named by its path.
    pub(super) fn manual(&mut self, scan: &Scan) {
        for word in scan.operands.iter().filter(|word| word.text.contains('/')) {
            self.read_path(word);
        }
    }

    /// `@file` stands for the words in that file.
    pub(super) fn response_files(&mut self, name: &str, scan: &Scan) {
        for word in &scan.operands {
            if word.text.starts_with('@') {
                self.option_opaque(name, word);
            }
        }
    }

    /// The name of a script, or a file to run, with or without `run` before it.
    pub(super) fn script_or_file(&mut self, name: &str, words: &[Field], scan: &Scan) {
        let run = words.first().is_some_and(|word| word.text == "run");
        let script = if run {
            scan.operands.first()
        } else {
            words.first()
        };
        let Some(word) = script else {
            return;
        };
        if word.text == "-" || word.text.contains(['/', '.']) || !word.is_known() {
            self.run_file(name, word);
        }
    }

    /// An exclamation mark runs the rest of its line, unless it compares.
    pub(super) fn desk_calculator(&mut self, name: &str, scan: &Scan) {
        for value in scan.values("-e") {
            let mut rest = value.text.split('!').skip(1);
            let runs = rest.any(|behind| !behind.starts_with(['<', '>', '=']));
            if runs || !value.is_known() {
                self.code_opaque(name);
            }
        }
    }

    /// Lines that start with a dot are commands of the tool, not of the database.
    pub(super) fn sqlite(&mut self, name: &str, scan: &Scan) {
        let statements = scan.operands.get(1..).unwrap_or_default();
        let escapes = |word: &&Field| {
            !word.is_known()
                || word
                    .text
                    .lines()
                    .any(|line| line.trim_start().starts_with('.'))
                || ["load_extension", "writefile", "edit("]
                    .iter()
                    .any(|name| word.text.contains(name))
        };
        if let Some(word) = statements.iter().find(escapes) {
            self.option_opaque(name, word);
        }
        if statements.is_empty() {
            self.code_opaque(name);
        }
    }
}
