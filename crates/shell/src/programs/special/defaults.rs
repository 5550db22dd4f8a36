//! Programs that write, read or set something that no word of theirs is a path for.

use crate::expand::field::Field;
use crate::programs::scan::{Scan, Use};
use crate::reasons::Catastrophe;
use crate::walk::Walker;

/// Words of a filter that bring in other files.
const IMPORTING: &[&str] = &["import", "include", "get_search_list", "input_filename"];

impl Walker {
    /// `date 010203042026` sets the clock; a format starts with `+`.
    pub(super) fn date(&mut self, scan: &Scan) {
        let sets = |word: &Field| !word.text.starts_with('+');
        if scan.operands.iter().any(sets) {
            self.found.catastrophe(Catastrophe::Kernel {
                what: "date".to_owned(),
            });
        }
    }

    /// Programs that choose names of files themselves.
    pub(super) fn default_names(&mut self, name: &str, scan: &Scan) {
        let names = match (name, scan.operands.len()) {
            _ if scan.marked('N') => return,
            ("mktemp", 0) if !scan.has("-p") && !scan.has("--tmpdir") => "/tmp/tmp.*",
            ("split", 0 | 1) => "x*",
            ("csplit", _) if !scan.has("-f") => "xx*",
            _ => return,
        };
        self.write_path(&Field::names(names, true));
    }

    /// A filter of `jq` that reads modules is code that nobody sees here.
    pub(super) fn filter(&mut self, name: &str, scan: &Scan) {
        let imports = |word: &Field| {
            let mut names = word
                .text
                .split(|c: char| c != '_' && !c.is_ascii_alphanumeric());
            names.any(|word| IMPORTING.contains(&word))
        };
        if scan.operands.first().is_some_and(imports) {
            self.code_opaque(name);
        }
    }

    /// Values that name a file only in some of their forms.
    pub(crate) fn file_in_data(&mut self, name: &str, used: &Use) {
        let text = used.value.text.as_str();
        let behind = |mark: char| {
            let at = text.find(mark).map(|at| at + 1);
            at.map(|at| used.value.tail(at))
        };
        match (name, used.option) {
            (_, "--cov-report") if !text.starts_with("term") => {
                if let Some(path) = behind(':') {
                    self.write_path(&path);
                }
            }
            ("sed" | "gsed", "-i" | "--in-place") if text.contains(['/', '*']) => {
                self.option_opaque(name, &used.value);
            }
            ("kubectl" | "oc", "-o" | "--output") if text.contains("-file=") => {
                if let Some(path) = behind('=') {
                    self.read_path(&path);
                }
            }
            ("git", "--format" | "--pretty") if text.contains("%G") => {
                self.option_opaque(name, &used.value);
            }
            ("curl", "-w" | "--write-out") if text.contains("%output") || text.starts_with('@') => {
                self.option_opaque(name, &used.value);
            }
            ("curl", "-F" | "--form") if text.contains("=<") => {
                if let Some(path) = behind('<') {
                    self.read_path(&path);
                }
            }
            ("curl", _) if text.contains('@') && used.option.starts_with("--data") => {
                if let Some(path) = behind('@').filter(|_| used.option != "--data-raw") {
                    self.read_path(&path);
                }
            }
            _ => {}
        }
    }
}
