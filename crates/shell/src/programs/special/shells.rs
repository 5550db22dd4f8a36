//! Shells: what is handed to them is walked, and what cannot be seen is opaque.

use crate::expand::field::Field;
use crate::walk::{Output, Walker};

impl Walker {
    /// `sh -c text`, `sh file`, or a shell that reads its commands.
    pub(super) fn shell(&mut self, name: &str, arguments: &[Field]) -> Output {
        let mut code = false;
        let mut from_input = false;
        let mut rest = arguments;
        while let Some((word, behind)) = rest.split_first() {
            let text = word.text.as_str();
            if !word.is_known() && word.may_be_option() {
                self.unknown_word(word);
            }
            let Some(option) = text.strip_prefix(['-', '+']) else {
                break;
            };
            rest = behind;
            match option {
                "" | "-" => break,
                "-help" | "-version" => return Output::Unknown,
                "-norc" | "-noprofile" | "-posix" | "-login" | "-restricted" | "-verbose" => {}
                "-rcfile" | "-init-file" => {
                    self.option_opaque(name, word);
                    rest = rest.get(1..).unwrap_or_default();
                }
                letters if letters.starts_with('-') => self.option_opaque(name, word),
                letters => {
                    code |= letters.contains('c') && text.starts_with('-');
                    from_input |= letters.contains('s');
                    let named = letters.matches(['o', 'O']).count();
                    rest = rest.get(named..).unwrap_or_default();
                    if named > 1
                        || letters.contains('i')
                        || !letters
                            .chars()
                            .all(|c| "abcefhiklmnoprstuvxBCDEHOPT".contains(c))
                    {
                        self.option_opaque(name, word);
                    }
                }
            }
        }
        if code {
            return self.shell_text(name, rest);
        }
        let operand = if from_input { None } else { rest.first() };
        match operand {
            None => self.shell_input(name, rest),
            Some(file) => {
                let arguments = rest.get(1..).unwrap_or_default();
                self.shell_file(name, file, arguments)
            }
        }
    }

    fn shell_text(&mut self, name: &str, rest: &[Field]) -> Output {
        let Some((text, behind)) = rest.split_first() else {
            self.code_opaque(name);
            return Output::Unknown;
        };
        if text.exact().is_none() {
            self.unknown_word(text);
            self.probe_marked(std::slice::from_ref(text));
        }
        // The first word behind the text is `$0`.
        let arguments = behind.get(1..).unwrap_or_default().to_vec();
        let zero = behind.first().cloned();
        let text = text.text.clone();
        self.named_child(&text, zero, arguments)
    }

    fn shell_input(&mut self, name: &str, arguments: &[Field]) -> Output {
        match self.input.clone() {
            Some(Output::Text(text)) => {
                // Commands in the text read what the shell has not read yet.
                let rest = Output::Text(text.clone()).partly();
                let input = self.input.replace(rest);
                let output = self.child_line(&text, arguments.to_vec());
                self.input = input;
                output
            }
            input => {
                self.code_opaque(name);
                self.probe_candidates(&input.unwrap_or_default(), arguments);
                Output::Unknown
            }
        }
    }

    /// Looks for catastrophes in every text that a shell may read.
    fn probe_candidates(&mut self, output: &Output, arguments: &[Field]) {
        // The shell has read it: a shell in the text does not read it again.
        let input = self.input.take();
        for text in output.candidates() {
            self.perhaps(|walker| {
                walker.child_line(&text, arguments.to_vec());
            });
        }
        self.input = input;
    }

    fn shell_file(&mut self, name: &str, file: &Field, arguments: &[Field]) -> Output {
        if file.text == "/dev/stdin" || file.text == "/proc/self/fd/0" || file.text == "/dev/fd/0" {
            return self.shell_input(name, arguments);
        }
        match self.stream(&file.text) {
            Some(Output::Text(text)) => return self.child_line(&text, arguments.to_vec()),
            Some(output) => self.probe_candidates(&output, arguments),
            None => {}
        }
        self.read_path(file);
        self.code_opaque(name);
        Output::Unknown
    }

    /// `source file`: like a shell, but in this one.
    pub(super) fn source(&mut self, name: &str, arguments: &[Field]) -> Output {
        let Some((file, behind)) = arguments.split_first() else {
            return Output::nothing();
        };
        let output = match self.stream(&file.text) {
            None if file.text == "/dev/stdin" => self.input.clone(),
            stream => stream,
        };
        let text = match output {
            Some(Output::Text(text)) => Some(text),
            other => {
                self.probe_candidates(&other.unwrap_or_default(), behind);
                None
            }
        };
        match text {
            Some(text) => {
                let saved = self.scope.arguments.clone();
                if !behind.is_empty() {
                    self.scope.arguments = Some(behind.to_vec());
                }
                let output = self.rejoin_source(|walker| walker.line(&text));
                self.scope.arguments = saved;
                output
            }
            None => {
                self.read_path(file);
                self.code_opaque(name);
                Output::Unknown
            }
        }
    }
}
