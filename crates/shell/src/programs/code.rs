//! Values that reach the code of an interpreter.
//!
//! Code seldom spells a command out in one text: it joins texts, keeps them in variables, and
//! takes them from options, arguments, the environment or standard input. Here names are
//! replaced by the texts that they hold, so that `literals` meets the command as a whole.

use std::collections::BTreeMap;

use super::literals::{Literal, groups, literals, runs_texts};
use super::probe::is_interpreter;
use super::scan::Scan;
use super::table::Effect;
use crate::expand::field::{Field, UNKNOWN};
use crate::reasons::Catastrophe;
use crate::walk::{Output, Walker};

/// A value may be made of others, and they of others again.
const MAX_ROUNDS: usize = 3;

/// Longer code is only searched for the texts that stand in it.
const MAX_CODE: usize = 32 << 10;

/// How many names of one piece of code are replaced.
const MAX_VALUES: usize = 64;

/// How many lines of input are handed to code.
const MAX_LINES: usize = 16;

/// Names that start a process and do not wait for it.
const STARTING: &[&str] = &["popen(", "spawn("];

/// How code says that something goes on without end, with all blanks taken out.
const ENDLESS: &[&str] = &[
    "while1",
    "while(1",
    "while!0",
    "while(!0",
    "whiletrue",
    "while(true",
    "while:",
    "whilenot0",
    "whilenotfalse",
    "whilefork",
    "while(fork",
    "whileos.fork",
    "until0",
    "until(0",
    "until!1",
    "untilfalse",
    "until(false",
    "for(;;)",
    "for;;",
    "for{",
    "loop{",
    "loopdo",
    "redo",
    "iter(int,1)",
    "count()",
    "(1..)",
    "setinterval(",
];

/// Words with which a process waits, ends or stops a loop.
const RESTING: &[&str] = &[
    "wait",
    "sleep",
    "exit",
    "break",
    "last",
    "return",
    "join",
    "communicate",
    "die",
];

/// A name and the text that it holds.
pub(super) type Given = (String, String);

impl Walker {
    /// Looks for catastrophes in code, with what the names in it are known to hold.
    pub(crate) fn probe_code(&mut self, code: &str) {
        self.probe_code_with(code, &[]);
    }

    /// The same with values that come from outside the code.
    pub(super) fn probe_code_with(&mut self, code: &str, given: &[Given]) {
        if is_fork_bomb(code) {
            let name = "fork".to_owned();
            self.found.catastrophe(Catastrophe::ForkBomb { name });
        }
        if !runs_texts(code) {
            return;
        }
        self.probe_texts(code);
        if let Some(inlined) = inlined(code, given) {
            self.probe_texts(&inlined);
        }
    }

    /// Looks for catastrophes in what an interpreter is given besides its code.
    pub(super) fn probe_given_words(&mut self, name: &str, words: &[Field], scan: &Scan) {
        if !is_interpreter(name) {
            return;
        }
        let codes = scan.uses.iter().filter(|used| {
            used.effect == Effect::Opaque && matches!(used.option, "-c" | "-e" | "-E" | "-r" | "-p")
        });
        for used in codes {
            let code = &used.value.text;
            let at = words
                .iter()
                .position(|word| word.text.ends_with(code.as_str()));
            let behind = at.and_then(|at| words.get(at + 1..)).unwrap_or_default();
            self.probe_fed(code, behind);
        }
    }

    /// Looks for catastrophes in arguments, variables and input that code may run.
    pub(super) fn probe_fed(&mut self, code: &str, arguments: &[Field]) {
        if !runs_texts(code) {
            return;
        }
        let lower = code.to_ascii_lowercase();
        let has = |names: &[&str]| names.iter().any(|name| lower.contains(name));
        if has(&["env"]) {
            let exported = self.scope.variables.values().filter(|known| known.exported);
            let values: Vec<String> = exported.map(|known| known.value.text.clone()).collect();
            for value in values {
                self.probe_literal(&value, false);
            }
        }
        if has(&["argv", "args", "shift", "@a", "$*", "$1"]) {
            for word in arguments {
                self.probe_literal(&word.text, false);
            }
            let mut words = vec![Field::literal("")];
            words.extend_from_slice(arguments);
            self.probe(&words, false);
        }
        for line in self.input_lines() {
            self.probe_literal(&line, false);
        }
    }

    /// The first lines of what a command reads, as far as they are known.
    pub(super) fn input_lines(&self) -> Vec<String> {
        let texts = match &self.input {
            Some(Output::Text(text)) => vec![text.clone()],
            Some(output) => output.candidates(),
            None => Vec::new(),
        };
        let lines = texts.iter().flat_map(|text| text.lines());
        lines.map(str::to_owned).take(MAX_LINES).collect()
    }
}

/// Whether code starts processes in a loop without end, or from inside itself.
fn is_fork_bomb(code: &str) -> bool {
    if !code.contains("ork") && !code.contains("open(") && !code.contains("pawn(") {
        return false;
    }
    let lower = without_texts(code).to_ascii_lowercase();
    let starts = words(&lower).any(|word| word == "fork" || word.ends_with("_fork"))
        || STARTING.iter().any(|name| lower.contains(name));
    if !starts || words(&lower).any(|word| RESTING.iter().any(|rest| word.starts_with(rest))) {
        return false;
    }
    let dense: String = lower.split_whitespace().collect();
    ENDLESS.iter().any(|sign| dense.contains(sign)) || calls_itself(&lower)
}

/// The code without what stands in its texts.
fn without_texts(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut at = 0;
    for literal in literals(code, "'\"") {
        out.push_str(code.get(at..literal.start).unwrap_or_default());
        at = literal.end;
    }
    out + code.get(at..).unwrap_or_default()
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c| !is_name(c)).filter(|word| !word.is_empty())
}

/// Whether a function of the code is called in two places, one of which is likely itself.
fn calls_itself(code: &str) -> bool {
    ["def ", "sub ", "function "].iter().any(|keyword| {
        code.match_indices(keyword).take(MAX_LINES).any(|(at, _)| {
            let name = leading_name(code.get(at + keyword.len()..).unwrap_or_default());
            !name.is_empty() && words(code).filter(|word| *word == name).count() > 2
        })
    })
}

/// The code with names replaced by the texts they hold; nothing if none is known.
fn inlined(code: &str, given: &[Given]) -> Option<String> {
    if code.len() > MAX_CODE {
        return None;
    }
    let mut values: BTreeMap<String, String> = given.iter().cloned().collect();
    let mut text = code.to_owned();
    for _ in 0..MAX_ROUNDS {
        assignments(&text, &mut values);
        if values.is_empty() {
            return None;
        }
        let next = replaced(code, &values);
        if next == text {
            break;
        }
        text = next;
    }
    Some(text)
}

/// Adds the names that are given texts: `name = "text"`.
fn assignments(code: &str, values: &mut BTreeMap<String, String>) {
    let literals = literals(code, "'\"`");
    for group in groups(code, &literals) {
        let Some(first) = group.first() else {
            continue;
        };
        let before = code.get(..first.start).unwrap_or_default();
        let before = before.trim_end_matches(|c: char| c.is_whitespace() || c == '(');
        // An `f` or `r` in front belongs to the quote.
        let before = before
            .strip_suffix(['f', 'r', 'b'])
            .unwrap_or(before)
            .trim_end();
        let Some(target) = before.strip_suffix('=') else {
            continue;
        };
        if target.ends_with(['=', '!', '<', '>']) {
            continue;
        }
        let more = target.ends_with(['+', '.']);
        let name = trailing_name(target.trim_end_matches(['+', '.', ':', '|', '&', '?', ' ']));
        if name.is_empty() || (values.len() >= MAX_VALUES && !values.contains_key(name)) {
            continue;
        }
        let text: String = group.iter().map(|literal| literal.text.as_str()).collect();
        match values.get_mut(name).filter(|_| more) {
            Some(value) if !value.ends_with(&text) => value.push_str(&text),
            Some(_) => {}
            None => {
                values.insert(name.to_owned(), text);
            }
        }
    }
}

fn replaced(code: &str, values: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(code.len());
    let mut at = 0;
    for Literal { start, end, .. } in literals(code, "'\"`") {
        replace_names(code.get(at..start).unwrap_or_default(), values, &mut out);
        let written = code.get(start..end).unwrap_or_default();
        out.push_str(&interpolated(written, values));
        at = end;
        if out.len() > 4 * MAX_CODE {
            break;
        }
    }
    replace_names(code.get(at..).unwrap_or_default(), values, &mut out);
    out
}

/// Replaces the names in code between two texts.
fn replace_names(code: &str, values: &BTreeMap<String, String>, out: &mut String) {
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let sigil = matches!(first, '$' | '@');
        let name = leading_name(rest.get(usize::from(sigil)..).unwrap_or_default());
        let length = usize::from(sigil) + name.len();
        let whole = rest.get(..length).unwrap_or_default();
        if name.is_empty() {
            out.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
            continue;
        }
        rest = rest.get(length..).unwrap_or_default();
        let behind = rest.trim_start();
        let assigned = behind.starts_with('=') && !behind.starts_with("==");
        let part = !sigil && out.ends_with('.');
        let value = values.get(whole).or_else(|| values.get(name));
        match value.and_then(|value| quoted(value)) {
            Some(text) if !assigned && !part && !behind.starts_with('(') => out.push_str(&text),
            _ => out.push_str(whole),
        }
    }
}

/// A text in which names stand: `"$name"`, `"${name}"`, `"#{name}"`, `f"{name}"`.
fn interpolated(written: &str, values: &BTreeMap<String, String>) -> String {
    let mut out = written.to_owned();
    if !written.contains(['$', '{']) {
        return out;
    }
    for (name, value) in values.iter().filter(|(_, value)| quoted(value).is_some()) {
        for form in [
            format!("${{{name}}}"),
            format!("#{{{name}}}"),
            format!("{{{name}}}"),
            format!("${name}"),
        ] {
            if out.contains(&form) && out.len() < MAX_CODE {
                out = out.replace(&form, value);
            }
        }
    }
    out
}

/// A text of code that holds this value.
fn quoted(value: &str) -> Option<String> {
    if value.contains(UNKNOWN) {
        return None;
    }
    let quote = ['"', '\'', '`']
        .into_iter()
        .find(|quote| !value.contains(*quote))?;
    Some(format!("{quote}{}{quote}", value.replace('\\', "\\\\")))
}

fn is_name(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric()
}

fn leading_name(text: &str) -> &str {
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

fn trailing_name(text: &str) -> &str {
    let start = text.trim_end_matches(is_name).len();
    text.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_by_the_texts_they_hold() {
        let given = [
            ("c".to_owned(), "a b".to_owned()),
            ("$1".to_owned(), "x".to_owned()),
        ];
        for (code, expected) in [
            ("BEGIN{system(c)}", r#"BEGIN{system("a b")}"#),
            (r#"{system("ls " $1)}"#, r#"{system("ls " "x")}"#),
            (r#"d="/"; run("ls "+d)"#, r#"d="/"; run("ls "+"/")"#),
            (r#"$d="/"; `ls $d`"#, r#"$d="/"; `ls /`"#),
            (
                r#"d="/"; e="ls "+d; run(e)"#,
                r#"d="/"; e="ls "+"/"; run("ls /")"#,
            ),
            (r#"d="/"; d(1); x.d == 2"#, r#"d="/"; d(1); x.d == 2"#),
        ] {
            assert_eq!(inlined(code, &given).as_deref(), Some(expected), "{code}");
        }
        assert_eq!(inlined("system(d)", &[]), None);
    }

    #[test]
    fn loops_that_start_processes_are_known() {
        for code in [
            "fork while fork",
            "while(1){fork}",
            "{fork;redo}",
            "loop do fork end",
            "import os\nwhile True:\n  os.fork()",
            "def f():\n  os.fork()\n  f()\nf()",
            "sub f{fork;&f}f",
            "for(;;) require('child_process').fork(__filename)",
        ] {
            assert!(is_fork_bomb(code), "{code}");
        }
        for code in [
            "if ($pid = fork) { wait }",
            "while True:\n  pid = os.fork()\n  if pid: os.wait()",
            "os.fork()",
            "def f():\n  os.fork()\nf()",
            "while True: print('x')",
            "while True: print('fork')",
            "while (1) { forked += 1 }",
        ] {
            assert!(!is_fork_bomb(code), "{code}");
        }
    }
}
