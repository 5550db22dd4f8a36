//! Modules of Python that are run by `-m`: programs of their own, with words of their own.

use crate::expand::field::Field;
use crate::programs::scan::Scan;
use crate::walk::{Invocation, Walker};

/// Switches of Python's `-X` that neither write nor run.
const PYTHON_SWITCHES: &[&str] = &[
    "dev",
    "faulthandler",
    "importtime",
    "no_debug_ranges",
    "tracemalloc",
    "utf8",
    "utf8=0",
    "utf8=1",
    "warn_default_encoding",
];

/// Modules that are also programs of that name, or run the project's own tests. Those that start
/// other programs by name are not among them: the name would be lost.
const PROGRAMS: &[&str] = &[
    "autopep8",
    "black",
    "build",
    "coverage",
    "flake8",
    "isort",
    "mypy",
    "nox",
    "pip",
    "pycodestyle",
    "pyflakes",
    "pylint",
    "pyright",
    "pytest",
    "ruff",
    "tox",
    "unittest",
    "yapf",
];

/// Modules that only print: what they are given is read.
const READERS: &[&str] = &[
    "ast",
    "dis",
    "doctest",
    "pickletools",
    "tabnanny",
    "tokenize",
];

/// Modules that only print, whatever they are given.
const PRINTERS: &[&str] = &[
    "calendar",
    "platform",
    "site",
    "sysconfig",
    "this",
    "keyword",
];

impl Walker {
    /// What a module does; one that is not known here cannot be foreseen.
    pub(super) fn python_module(&mut self, name: &str, scan: &Scan, invocation: &Invocation) {
        for filter in scan.values("-W").filter(|value| value.text.contains('.')) {
            // The category of a warning is imported.
            self.option_opaque(name, filter);
        }
        let plain = |value: &&Field| PYTHON_SWITCHES.contains(&value.text.as_str());
        for switch in scan.values("-X").filter(|value| !plain(value)) {
            self.option_opaque(name, switch);
        }
        let Some(module) = scan.values("-m").next().cloned() else {
            return;
        };
        let words = scan.operands.as_slice();
        match module.text.as_str() {
            _ if !module.is_known() => self.unknown_word(&module),
            "json.tool" => self.json_tool(words),
            "zipfile" | "tarfile" => self.archive_module(name, words),
            "py_compile" | "compileall" => self.compiled(&module.text, words),
            "venv" | "virtualenv" => {
                for word in words.iter().filter(is_operand) {
                    self.write_path(word);
                }
            }
            known if PROGRAMS.contains(&known) => {
                let mut command = vec![module.clone()];
                command.extend_from_slice(words);
                self.dispatch_silently(command, invocation);
            }
            known if READERS.contains(&known) => {
                for word in words.iter().filter(is_operand) {
                    self.read_path(word);
                }
            }
            known if PRINTERS.contains(&known) => {}
            _ => self.option_opaque(name, &module),
        }
    }

    /// `json.tool [in [out]]`.
    fn json_tool(&mut self, words: &[Field]) {
        let mut operands = Vec::new();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            if !word.text.starts_with('-') || word.text == "-" {
                operands.push(word);
            } else if "--indent".starts_with(&word.text) && word.text.len() > 3 {
                rest.next();
            }
            if word.is_pattern() {
                // Which of them is written depends on how many there are.
                self.unknown_word(word);
            }
        }
        let mut operands = operands.into_iter();
        if let Some(word) = operands.next() {
            self.read_path(word);
        }
        for word in operands {
            self.write_path(word);
        }
    }

    /// `-l`, `-t`: list or test; `-e`: extract; `-c`: create.
    fn archive_module(&mut self, name: &str, words: &[Field]) {
        let operands: Vec<&Field> = words.iter().filter(is_operand).collect();
        let action = words.iter().find(|word| !is_operand(word));
        let (archive, others) = match operands.split_first() {
            Some((archive, others)) => (*archive, others),
            None => return self.code_opaque(name),
        };
        match action.map_or("", |word| word.text.as_str()) {
            "-l" | "--list" | "-t" | "--test" => self.read_path(archive),
            "-e" | "--extract" => {
                self.read_path(archive);
                let here = Field::literal(".");
                self.write_path(others.first().copied().unwrap_or(&here));
            }
            "-c" | "--create" => {
                self.write_path(archive);
                for word in others {
                    self.read_path(word);
                }
            }
            _ => self.code_opaque(name),
        }
    }

    /// Source files, and what is compiled from them beside them.
    fn compiled(&mut self, module: &str, words: &[Field]) {
        let operands: Vec<&Field> = words.iter().filter(is_operand).collect();
        let plain = |word: &&Field| word.exact().is_some();
        if operands.is_empty() || !operands.iter().all(plain) || operands.len() < words.len() {
            return self.code_opaque("python");
        }
        for word in operands {
            self.read_path(word);
            if module == "compileall" {
                self.write_path(word);
                continue;
            }
            let beside = match word.text.rsplit_once('/') {
                Some((parent, _)) => format!("{parent}/__pycache__"),
                None => "__pycache__".to_owned(),
            };
            self.write_path(&Field::literal(beside));
        }
    }
}

fn is_operand(word: &&Field) -> bool {
    !word.text.starts_with('-')
}
