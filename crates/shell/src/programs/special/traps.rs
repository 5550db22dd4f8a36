//! Commands that the shell runs later.

use crate::expand::field::Field;
use crate::walk::{Output, Walker};

impl Walker {
    /// Notes what a trap runs; that may print at any time.
    pub(super) fn trap(&mut self, arguments: &[Field]) -> Output {
        let action = arguments
            .iter()
            .find(|word| !matches!(word.text.as_str(), "--" | "-l" | "-p"));
        match action.map(Field::exact) {
            None | Some(Some("" | "-")) => Output::nothing(),
            Some(Some(text)) => {
                let text = text.to_owned();
                self.look_at_trap(&text, arguments);
                let output = self.forked(|walker| walker.line(&text));
                if !self.traps.contains(&text) {
                    self.traps.push(text);
                }
                output.maybe()
            }
            Some(None) => {
                self.code_opaque("trap");
                Output::Unknown
            }
        }
    }

    /// A trap that runs before the end may change what the rest of the line does.
    fn look_at_trap(&mut self, text: &str, arguments: &[Field]) {
        let behind = arguments
            .iter()
            .skip_while(|word| word.text != text)
            .skip(1);
        let early: Vec<&Field> = behind
            .filter(|word| !matches!(word.exact(), Some("EXIT" | "exit" | "0")))
            .collect();
        let ends = |word: &&Field| {
            let name = word.text.to_ascii_uppercase();
            let name = name.strip_prefix("SIG").unwrap_or(&name);
            word.exact().is_some()
                && matches!(
                    name,
                    "INT" | "TERM" | "HUP" | "QUIT" | "1" | "2" | "3" | "15"
                )
        };
        if !early.iter().all(ends) {
            self.code_opaque("trap");
        }
        if early.is_empty() {
            return;
        }
        let functions = !self.scope.functions.is_empty();
        let changes = self.perhaps_changes(text);
        if functions || changes {
            self.code_opaque("trap");
        }
    }
}
