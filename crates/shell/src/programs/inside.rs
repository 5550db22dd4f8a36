//! Commands inside commands: wrappers, subcommands, and text that is run.

use super::Known;
use super::scan::Scan;
use super::table::{self, Effect, Program};
use crate::expand::field::Field;
use crate::place::join;
use crate::reasons::Opacity;
use crate::walk::{Invocation, Output, Variables, Walker};

/// Wrappers that run the shell's own commands in this shell.
pub(super) const OF_THE_SHELL: &[&str] = &["builtin", "command"];

impl Walker {
    pub(super) fn run_line(&mut self, words: &[Field], scan: &Scan) {
        let Some(rest) = scan.rest.and_then(|at| words.get(at..)) else {
            return;
        };
        if let Some(open) = rest.iter().find(|word| word.exact().is_none()) {
            self.unknown_word(open);
            self.probe_marked(rest);
        }
        let text: Vec<&str> = rest.iter().map(|word| word.text.as_str()).collect();
        self.line(&text.join(" "));
    }

    pub(super) fn run_subcommand(
        &mut self,
        program: &Program,
        name: &str,
        rest: &[Field],
        invocation: &Invocation,
    ) -> Output {
        let Some(word) = rest.first() else {
            return Output::Unknown;
        };
        if word.text.starts_with('+') {
            // `cargo +nightly build`: options and subcommand come behind it.
            if word.text.contains('/') {
                self.option_opaque(name, word);
            }
            return self.run_known(program, name, rest, invocation).output;
        }
        if word.exact().is_none() {
            self.unknown_word(word);
        }
        self.lookalike(word);
        match program.subcommand(&word.text) {
            Some(row) => self.run_known(row, name, rest, invocation).output,
            None => {
                if let Some(open) = rest.iter().find(|word| !word.is_known()) {
                    self.unknown_word(open);
                }
                Output::Unknown
            }
        }
    }

    /// The command inside a wrapper.
    pub(super) fn run_inside(
        &mut self,
        program: &Program,
        name: &str,
        words: &[Field],
        scan: &Scan,
        invocation: &Invocation,
    ) -> Known {
        let traits = &program.row.traits;
        let keep = traits.keep || traits.peek;
        let inside = scan.rest.and_then(|at| words.get(at..)).unwrap_or_default();
        let mut command: Vec<Field> = Vec::new();
        for used in scan.uses.iter().filter(|used| used.effect == Effect::Split) {
            command.extend(self.split_words(&used.value));
        }
        command.extend_from_slice(inside);
        if command.is_empty() || scan.marked('N') {
            let asks = name == "command" && scan.marked('N');
            return Known {
                output: if asks {
                    self.located(name, &command)
                } else {
                    Output::Unknown
                },
                recorded: true,
            };
        }
        if traits.package && !scan.marked('L') {
            self.found.connect("*".to_owned());
        }
        if traits.package && self.is_named_like_harm(command.first()) {
            // The package of that name, not the machine's program.
            self.code_opaque(name);
            return Known {
                output: Output::Unknown,
                recorded: true,
            };
        }
        let mut inner = invocation.clone();
        inner.wrappers.push(name.to_owned());
        let mark = self.found.run_count();
        let output = if OF_THE_SHELL.contains(&name) {
            self.dispatch(command, inner)
        } else {
            // A program of its own: nothing that it changes stays.
            let scope = self.scope.clone();
            let output = self.dispatch(command, inner);
            self.scope = scope;
            output
        };
        if traits.peek {
            // Its facts count, its name does not: the wrapper is what was asked for.
            self.found.forget_runs_since(mark);
            return Known {
                output,
                recorded: true,
            };
        }
        Known {
            output,
            recorded: keep,
        }
    }

    /// Wrappers that start their command with fewer variables.
    pub(super) fn clear_environment(&mut self, name: &str, scan: &Scan) {
        let clears = match name {
            "env" => scan.has("-i"),
            "exec" => scan.has("-c"),
            // They keep what their configuration says.
            "sudo" | "doas" | "pkexec" | "run0" | "systemd-run" => true,
            _ => false,
        };
        if clears {
            self.scope.variables = Variables::default();
        }
        if name == "env" {
            for unset in scan.values("-u") {
                match unset.exact() {
                    Some(variable) => self.scope.restore(variable, None),
                    None => self.scope.variables = Variables::default(),
                }
            }
        }
    }

    fn is_named_like_harm(&self, program: Option<&Field>) -> bool {
        program
            .filter(|word| !word.text.contains('/'))
            .and_then(|word| table::find(&word.text))
            .is_some_and(|found| found.row.traits.deny.is_some())
    }

    /// A file of code: a read, or code that was not seen if it is no file at all or any of some.
    pub(crate) fn run_file(&mut self, program: &str, file: &Field) {
        if self.is_stream(file) || file.is_pattern() {
            self.code_opaque(program);
            self.probe_recipes(file);
        }
        if file.text.contains("://") {
            self.code_opaque(program);
            self.connect(file);
        } else {
            self.read_path(file);
        }
    }

    /// Looks for catastrophes in the lines of a file that the line itself writes: `make -f -`.
    fn probe_recipes(&mut self, file: &Field) {
        let texts = match self.stream(&file.text).or_else(|| self.input.clone()) {
            Some(Output::Text(text)) => vec![text],
            Some(output) => output.candidates(),
            None => Vec::new(),
        };
        for line in texts.iter().flat_map(|text| text.lines()) {
            let line = line.trim_start().trim_start_matches(['@', '-', '+']);
            self.probe_literal(line, false);
            if let Some((_, recipe)) = line.split_once(';') {
                self.probe_literal(recipe.trim(), false);
            }
        }
    }

    /// Whether a word names no file of its own, but what something else writes.
    pub(super) fn is_stream(&self, file: &Field) -> bool {
        let directory = self.scope.directory.as_deref().unwrap_or("/");
        is_stream(directory, &file.text)
    }

    /// Commands after which the line may end, or print elsewhere.
    pub(super) fn may_break(&mut self, program: &Field) {
        match program.text.as_str() {
            _ if program.exact().is_none() => self.breaks += 1,
            "exit" | "return" | "break" | "continue" | "logout" | "suspend" | "kill" | "pkill"
            | "killall" | "source" | "." | "eval" => self.breaks += 1,
            "enable" | "alias" | "unalias" | "hash" => {
                self.unsteady = true;
                self.renamed = true;
            }
            "exec" | "set" | "trap" | "shopt" => self.unsteady = true,
            "ulimit" => self.closed = true,
            _ => {}
        }
    }

    pub(crate) fn option_opaque(&mut self, program: &str, word: &Field) {
        self.probe_given(program, &word.text);
        let (program, word) = (program.to_owned(), word.shown());
        self.found.opaque(Opacity::Option { program, word });
    }

    pub(crate) fn code_opaque(&mut self, program: &str) {
        self.found.opaque(Opacity::Code {
            program: program.to_owned(),
        });
    }

    /// The words of a text, split as a shell would.
    fn split_words(&mut self, field: &Field) -> Vec<Field> {
        let Some(text) = field.exact() else {
            self.unknown_word(field);
            return Vec::new();
        };
        if text.contains(['\\', '$', '#', '\'', '"']) {
            // Quotes, escapes and variables have rules of their own here.
            self.unknown_word(&Field::unknown());
            return Vec::new();
        }
        text.split_whitespace().map(Field::literal).collect()
    }
}

/// Standard input, or a descriptor that something else fills.
fn is_stream(directory: &str, text: &str) -> bool {
    let path = join(directory, text);
    let mut parts = path.split('/').skip(1);
    let inside = (parts.next(), parts.next(), parts.next());
    text == "-"
        || matches!(
            inside,
            (Some("dev"), Some("stdin" | "fd" | "tty" | "console"), _)
                | (Some("proc"), Some(_), Some("fd" | "task"))
        )
}

#[cfg(test)]
mod tests {
    use super::is_stream;

    #[test]
    fn streams_are_known_by_all_their_names() {
        for path in [
            "-",
            "/dev/stdin",
            "//dev/./stdin",
            "/dev/fd/63",
            "/dev/../dev/fd/0",
            "/proc/self/fd/0",
            "/proc/12/fd/3",
            "/proc/thread-self/fd/0",
            "/proc/self/task/1/fd/0",
            "../../dev/stdin",
        ] {
            assert!(is_stream("/home/ann", path), "{path}");
        }
        for path in ["a.py", "./-", "dev/stdin", "/dev/shm/a.py", "/proc/cpuinfo"] {
            assert!(!is_stream("/home/ann", path), "{path}");
        }
    }
}
