//! Programs that build, format and fetch packages.

use crate::expand::field::Field;
use crate::programs::scan::Scan;
use crate::programs::table;
use crate::walk::{Invocation, Walker};

/// Flags inside a flag of `go` that choose a program.
const GO_CHOOSES: &[&str] = &["-extld", "-linkmode", "-fplugin", "-wrapper", "-specs"];

/// Definitions of builds that are no switches and still choose no program.
const PLAIN_DEFINITIONS: &[&str] = &[
    "CMAKE_BUILD_TYPE",
    "CMAKE_CXX_STANDARD",
    "CMAKE_C_STANDARD",
    "CMAKE_OSX_ARCHITECTURES",
    "b_sanitize",
    "buildtype",
    "cpp_std",
    "c_std",
    "default_library",
    "optimization",
    "warning_level",
];

/// Values that switch something on or off, or count.
const SWITCHES: &[&str] = &[
    "auto", "disabled", "enabled", "false", "no", "off", "on", "true", "yes",
];

impl Walker {
    /// `@file` stands for words in that file.
    pub(super) fn compiler(&mut self, name: &str, scan: &Scan) {
        self.response_files(name, scan);
    }

    /// A target that is a file describes the linker too, and so does what a compiler emits where.
    pub(super) fn cargo(&mut self, name: &str, scan: &Scan) {
        self.response_files(name, scan);
        for value in scan.values("--target").chain(scan.values("--emit")) {
            if value.text.contains(['/', '.', '=']) {
                self.option_opaque(name, value);
            }
        }
    }

    /// `-DNAME=value`: what is not a switch can choose programs and files.
    pub(super) fn definitions(&mut self, name: &str, scan: &Scan) {
        for definition in scan.values("-D") {
            if !is_switch(&definition.text) || !definition.is_known() {
                self.option_opaque(name, definition);
            }
        }
    }

    /// The name of a script of the project, or of a program that a package brought.
    pub(super) fn package_binary(&mut self, words: &[Field], invocation: &Invocation) {
        let runner = words
            .first()
            .and_then(|word| table::find(&word.text))
            .is_some_and(|program| program.row.traits.runner);
        if runner {
            self.dispatch_silently(words.to_vec(), invocation);
        }
    }

    /// Commands of `sbt` and its like are words; some of them are code.
    pub(super) fn build_commands(&mut self, name: &str, scan: &Scan) {
        let plain = |c: char| c.is_ascii_alphanumeric() || " :/._*-~+".contains(c);
        for word in &scan.operands {
            let first = word.text.split_whitespace().next().unwrap_or_default();
            let code = matches!(
                first,
                "set" | "eval" | "alias" | "apply" | "session" | "update-in"
            );
            if code || !word.text.chars().all(plain) {
                self.option_opaque(name, word);
            }
        }
    }

    /// A goal that is named by its coordinates is fetched and run.
    pub(super) fn build_goals(&mut self, name: &str, scan: &Scan) {
        let foreign = |word: &&Field| word.text.matches(':').count() > 1;
        for word in scan.operands.iter().filter(foreign) {
            self.option_opaque(name, word);
        }
    }

    /// `/p:NAME=value` and `-logger:file`: switches of another program that builds.
    pub(super) fn build_switches(&mut self, name: &str, words: &[Field], scan: &Scan) {
        self.response_files(name, scan);
        let switch = |word: &&Field| {
            let text = word.text.as_str();
            text.starts_with(['-', '/']) && !text.starts_with("--") && text.contains(':')
        };
        for word in words.iter().filter(switch) {
            self.option_opaque(name, word);
        }
    }

    /// `cargo watch -x`: words for `cargo`.
    pub(super) fn watched(&mut self, scan: &Scan) {
        for value in scan.values("-x") {
            match value.exact() {
                Some(text) => {
                    self.child_line(&format!("cargo {text}"), Vec::new());
                }
                None => self.unknown_word(value),
            }
        }
    }

    /// Runs a command whose facts count and whose name does not.
    pub(super) fn dispatch_silently(&mut self, words: Vec<Field>, invocation: &Invocation) {
        let mark = self.found.run_count();
        self.dispatch(words, invocation.clone());
        self.found.forget_runs_since(mark);
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

    /// Programs that put their files in order in place; their patterns cross directories.
    pub(super) fn formatter(&mut self, name: &str, scan: &Scan) {
        let first = scan.operands.first().map_or("", |word| word.text.as_str());
        // They write unless they shall only compare.
        let formats = matches!(name, "black" | "isort") || (name == "ruff" && first == "format");
        let compares = [
            "--check",
            "--diff",
            "-c",
            "--check-only",
            "--df",
            "--version",
            "--help",
        ];
        let only = compares.iter().any(|option| scan.has(option));
        let writes = scan.marked('W') || (formats && !only);
        for word in &scan.operands {
            let text = word.text.as_str();
            let at = text.find(['*', '?', '[', '{']);
            let fixed = at.and_then(|at| text.get(..at));
            let path = match fixed.map(|fixed| fixed.rfind('/').and_then(|end| fixed.get(..end))) {
                None => word.clone(),
                Some(directory) => Field::literal(directory.unwrap_or(".")),
            };
            if writes {
                self.write_path(&path);
            } else {
                self.read_path(&path);
            }
        }
        if writes && scan.operands.is_empty() {
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

/// Whether a definition only switches something on or off, or is known to choose no program.
fn is_switch(definition: &str) -> bool {
    let (name, value) = definition.split_once('=').unwrap_or((definition, "on"));
    let (name, _) = name.split_once(':').unwrap_or((name, ""));
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ',' | '+');
    let lower = value.to_ascii_lowercase();
    let switch = SWITCHES.contains(&lower.as_str()) || value.bytes().all(|b| b.is_ascii_digit());
    (switch && !name.contains("COMPILER"))
        || (PLAIN_DEFINITIONS.contains(&name) && value.chars().all(word))
}
