//! Commands that change the shell itself: directory, variables, options, traps.

use std::rc::Rc;

use crate::expand::field::{Field, UNKNOWN};
use crate::place::{self, join};
use crate::programs::scan::is_setting;
use crate::reasons::Opacity;
use crate::variables::is_powerful;
use crate::walk::{Output, Walker, either};

/// Letters of `set` that change neither words nor what runs.
const HARMLESS_SET: &str = "euxvfnCbmhBETo";
/// Names that `set -o` and `shopt -s` take, likewise.
const HARMLESS_OPTIONS: &[&str] = &[
    "errexit",
    "nounset",
    "xtrace",
    "verbose",
    "pipefail",
    "noclobber",
    "noglob",
    "errtrace",
    "functrace",
    "monitor",
    "notify",
    "nullglob",
    "failglob",
    "globstar",
    "inherit_errexit",
    "checkwinsize",
    "histappend",
];

impl Walker {
    pub(super) fn change_directory(&mut self, name: &str, arguments: &[Field]) {
        let mut operands = arguments.iter().filter(|word| {
            !matches!(
                word.text.as_str(),
                "-L" | "-P" | "-e" | "-@" | "--" | "-LP" | "-PL"
            )
        });
        let odd = arguments
            .iter()
            .find(|word| word.text.len() > 1 && word.text.starts_with('-'))
            .filter(|word| {
                name != "cd"
                    || !matches!(
                        word.text.as_str(),
                        "-L" | "-P" | "-e" | "-@" | "--" | "-LP" | "-PL"
                    )
            });
        if let Some(word) = odd.filter(|word| name == "cd" || word.text != "--") {
            // It may fail, or only turn the stack.
            self.option_opaque(name, word);
            self.scope.stack = None;
        }
        let target = operands.next();
        let plain = arguments.len() == usize::from(target.is_some());
        let popped = match &mut self.scope.stack {
            Some(stack) if name == "popd" && plain && target.is_none() => stack.pop(),
            _ => None,
        };
        // `+1` and the like turn the stack.
        let turns = name == "pushd" && target.is_none_or(|word| word.text.starts_with(['+', '-']));
        if turns {
            self.scope.stack = None;
        }
        if operands.next().is_some() || turns || (name == "popd" && popped.is_none()) {
            self.found.opaque(Opacity::Directory);
            self.scope.lose_directory();
            return;
        }
        if name == "pushd" {
            self.scope.stack = match (self.scope.stack.take(), self.scope.directory.clone()) {
                (Some(mut stack), Some(directory)) if plain => {
                    stack.push(directory);
                    Some(stack)
                }
                _ => None,
            };
        }
        let path = match target {
            _ if popped.is_some() => popped,
            None => Some(self.places.home().into()),
            Some(word) if word.text == "-" => self.scope.previous.clone(),
            Some(word) => self.directory_named(word).map(Rc::from),
        };
        if path.is_none() {
            self.found.opaque(Opacity::Directory);
        }
        if path.as_ref().is_some_and(|path| path.starts_with('/')) && self.scope.directory.is_none()
        {
            // An absolute path says where, wherever the line was before.
            self.scope.directory = Some("/".into());
        }
        let path = path.map(|path| self.led_directory(&path));
        self.scope.change_directory(path.as_deref());
        let now: Vec<Rc<str>> = self
            .scope
            .directory
            .iter()
            .chain(&self.scope.others)
            .cloned()
            .collect();
        for directory in now {
            if !self.places.is_inside(&directory) {
                self.read_path(&Field::literal(&*directory));
            }
        }
    }

    /// The directory behind a path: a link of this line, or of the kernel, leads elsewhere.
    fn led_directory(&mut self, path: &str) -> Rc<str> {
        let directory = self.scope.directory.clone().unwrap_or_else(|| "/".into());
        let plain = join(&directory, path);
        if path.contains("/proc/") || place::is_led_away(&directory, path) {
            // A shell takes `..` off the name and not off what is there.
            self.found.opaque(Opacity::Directory);
        }
        match self.places_behind(&plain).pop() {
            Some(behind) => behind.into(),
            None => path.into(),
        }
    }

    /// Where a word leads; a guess is good enough to find what must not be removed.
    fn directory_named(&mut self, word: &Field) -> Option<String> {
        if word.is_pattern() || word.text.contains(UNKNOWN) {
            return None;
        }
        if !word.is_known() {
            self.unknown_word(word);
        }
        Some(word.text.clone())
    }

    pub(super) fn declare(&mut self, name: &str, arguments: &[Field]) {
        let letters = match name {
            "export" | "readonly" => "",
            _ => "xr",
        };
        let ended = arguments.iter().position(|word| word.text == "--");
        let is_option = |at: usize, word: &Field| {
            ended.is_none_or(|end| at < end) && word.text.starts_with(['-', '+'])
        };
        if let [only] = arguments
            && only.text == "-p"
        {
            // It only prints.
            return;
        }
        let given = |letter: char| {
            let mut options = arguments.iter().enumerate();
            options.any(|(at, word)| is_option(at, word) && word.text.contains(letter))
        };
        let exported = name == "export" || given('x');
        let fixed = name == "readonly" || given('r');
        let own = !matches!(name, "export" | "readonly");
        if name == "local" && !self.in_function() {
            // It fails, and sets nothing.
            self.option_opaque(name, &Field::literal(name));
        }
        for (at, word) in arguments.iter().enumerate() {
            if Some(at) == ended {
                continue;
            }
            if is_option(at, word) {
                let listed = word.text.strip_prefix('-').is_some_and(|given| {
                    !given.is_empty() && given.chars().all(|letter| letters.contains(letter))
                });
                if !listed || !word.is_known() {
                    self.option_opaque(name, word);
                }
                continue;
            }
            self.declare_one(name, word, own, exported, fixed);
        }
    }

    fn declare_one(&mut self, name: &str, word: &Field, own: bool, exported: bool, fixed: bool) {
        let text = word.text.as_str();
        let variable = match text.split_once('=') {
            Some((variable, _)) if is_setting(text) => variable,
            _ if word.exact().is_some_and(is_name) => text,
            _ => {
                self.option_opaque(name, word);
                self.evaluated(text);
                return;
            }
        };
        let hides = own && self.in_function();
        let held = self.is_local(variable);
        if own {
            self.hide(variable);
        }
        if is_setting(text) {
            let rest = text.split_once('=').map_or("", |(_, rest)| rest);
            let value = word.tail(text.len() - rest.len());
            let value = Field {
                loose: false,
                ..value
            };
            let value = if name == "local" && !hides {
                either(&self.variable(variable), &value)
            } else {
                value
            };
            self.assign(variable, value, exported);
        } else if hides && !held {
            // It starts without a value, or in some shells with the one that it hides.
            let value = either(&self.variable(variable), &Field::default());
            self.assign(variable, value, exported);
        } else if exported || fixed || is_powerful(variable) {
            let value = self.variable(variable);
            self.assign(variable, value, exported);
        }
        if fixed {
            self.scope.fix(variable);
        }
    }

    /// Sets the variable that a word names. The index of an element is expanded by the command
    /// itself, whatever quotes the line has put around it.
    pub(super) fn assign_named(&mut self, command: &str, word: &Field, value: Field) {
        match word.exact() {
            Some(name) if is_name(name) => self.assign(name, value, false),
            _ => {
                self.option_opaque(command, word);
                self.evaluated(&word.text);
            }
        }
    }

    /// `wait -p name`: the other words are numbers of processes and jobs.
    pub(super) fn wait_for(&mut self, arguments: &[Field]) {
        let mut rest = arguments;
        while let Some((word, behind)) = rest.split_first() {
            rest = behind;
            let letters = word.text.strip_prefix('-').unwrap_or_default();
            let Some((_, attached)) = letters.split_once('p') else {
                continue;
            };
            let variable = match rest.split_first() {
                Some((next, behind)) if attached.is_empty() => {
                    rest = behind;
                    next.clone()
                }
                _ => word.tail(word.text.len() - attached.len()),
            };
            self.assign_named("wait", &variable, Field::unknown());
        }
    }

    pub(super) fn unset(&mut self, arguments: &[Field]) {
        // With these it is not the variable that goes.
        let other = arguments
            .iter()
            .any(|word| matches!(word.text.as_str(), "-f" | "-n"));
        let functions = arguments.iter().any(|word| word.text == "-f");
        for word in arguments {
            match word.exact() {
                Some("-v" | "-f" | "-n" | "--") => {}
                Some(name) if other && is_name(name) => {
                    if functions {
                        let bodies = self.scope.undefine(name);
                        self.replaced_functions(name, bodies);
                    } else {
                        self.assign(name, Field::unknown(), false);
                    }
                }
                Some(name) if self.scope.functions.contains(name) => {
                    // The variable goes, or the function if there is no such variable.
                    let without = {
                        let mut scope = self.scope.clone();
                        let bodies = scope.undefine(name);
                        self.replaced_functions(name, bodies);
                        scope
                    };
                    self.scope.merge(&without);
                    self.assign_named("unset", word, Field::unknown());
                }
                // What it hid may come back.
                _ if self.may_hide() => self.assign_named("unset", word, Field::unknown()),
                _ => self.assign_named("unset", word, Field::default()),
            }
        }
    }

    pub(super) fn set_options(&mut self, arguments: &[Field]) {
        let mut rest = arguments;
        while let Some((word, behind)) = rest.split_first() {
            let text = word.text.as_str();
            if text == "-" && behind.is_empty() {
                // It ends the options and leaves the arguments alone.
                return;
            }
            if text == "--" || text == "-" {
                self.set_arguments(behind);
                return;
            }
            let Some(letters) = text.strip_prefix(['-', '+']).filter(|_| word.is_known()) else {
                self.set_arguments(rest);
                return;
            };
            if !letters.chars().all(|letter| HARMLESS_SET.contains(letter)) {
                self.option_opaque("set", word);
            }
            rest = behind;
            if letters.find('o').is_some_and(|at| at + 1 < letters.len()) {
                self.option_opaque("set", word);
            }
            if letters.ends_with('o')
                && let Some((option, behind)) = rest.split_first()
            {
                if !HARMLESS_OPTIONS.contains(&option.text.as_str()) {
                    self.option_opaque("set", option);
                }
                rest = behind;
            }
        }
    }

    fn set_arguments(&mut self, words: &[Field]) {
        if self.traps.iter().any(|text| text.contains('$')) {
            self.option_opaque("set", &Field::literal("--"));
        }
        self.scope.arguments = Some(words.to_vec());
    }

    pub(super) fn shift(&mut self, arguments: &[Field]) {
        let count = match arguments
            .first()
            .map(|word| word.exact().map(str::parse::<usize>))
        {
            None => Some(1),
            Some(Some(Ok(count))) => Some(count),
            Some(_) => None,
        };
        let known = self.scope.arguments.take().zip(count);
        self.scope.arguments = known.map(|(mut words, count)| {
            self.count_moved(words.len());
            if count <= words.len() {
                words.drain(..count);
            }
            words
        });
    }

    pub(super) fn shell_options(&mut self, arguments: &[Field]) {
        let changes = arguments.iter().any(|word| {
            word.text
                .strip_prefix('-')
                .is_some_and(|letters| letters.contains(['s', 'u']))
        });
        for word in arguments
            .iter()
            .filter(|word| changes && !word.text.starts_with('-'))
        {
            if !HARMLESS_OPTIONS.contains(&word.text.as_str()) {
                self.option_opaque("shopt", word);
            }
        }
    }

    /// `read`, `mapfile`, `getopts`: variables get values that nobody knows.
    pub(super) fn read_variables(&mut self, name: &str, arguments: &[Field]) {
        // Of `getopts` the second word is the name; the others are options and data.
        let arguments = match arguments {
            [_, variable, ..] if name == "getopts" => std::slice::from_ref(variable),
            _ if name == "getopts" => &[],
            _ => arguments,
        };
        let mut skip = false;
        let guess = self.guess_of_input();
        let callback = arguments.iter().position(|word| word.text == "-C");
        if let Some(text) = callback.and_then(|at| arguments.get(at + 1)) {
            let text = text.text.clone();
            self.probe_text(&text);
        }
        for word in arguments {
            if std::mem::take(&mut skip) {
                continue;
            }
            match word.exact() {
                Some(text) if text.starts_with('-') => {
                    let valued = if name == "read" { "dinNptu" } else { "dnOsuCc" };
                    let taking = text.find(|letter| valued.contains(letter));
                    skip = taking.is_some_and(|at| at + 1 == text.len());
                    if name != "read" && text.contains('C') {
                        self.code_opaque(name);
                    }
                }
                _ => self.assign_named(name, word, guess.clone()),
            }
        }
        self.assign("REPLY", guess, false);
    }

    /// What a variable gets that is read from the input: never certain, but where that may be a
    /// path from `/` on, the shortest is good enough to find what must not be removed.
    fn guess_of_input(&self) -> Field {
        let candidates: Vec<Field> = match &self.input {
            Some(Output::Text(text)) => text.lines().map(Field::literal).collect(),
            Some(Output::Names(names)) => names.clone(),
            Some(output) => {
                let texts = output.candidates();
                let lines = texts.iter().flat_map(|text| text.lines());
                lines.map(Field::literal).collect()
            }
            None => Vec::new(),
        };
        let absolute = |field: &Field| field.text.starts_with('/');
        let shortest = candidates
            .into_iter()
            .filter(absolute)
            .min_by_key(|field| field.text.len());
        match shortest {
            Some(mut field) => {
                field.holes.push(0);
                field
            }
            None => Field::unknown(),
        }
    }

    /// `let`: each word is arithmetic.
    pub(super) fn evaluate(&mut self, arguments: &[Field]) {
        for word in arguments {
            if !word.is_known() {
                self.unknown_word(word);
            }
            self.arithmetic_value(word);
        }
    }

    pub(super) fn test_words(&mut self, arguments: &[Field]) {
        // Asking whether an element is set evaluates its index.
        let asks = arguments
            .iter()
            .any(|word| matches!(word.text.as_str(), "-v" | "-R"));
        if asks
            && arguments
                .iter()
                .any(|word| word.text.contains('[') || !word.is_known())
        {
            self.code_opaque("test");
            for word in arguments {
                self.evaluated(&word.text);
            }
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text
            .bytes()
            .all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}
