//! Commands whose output is known from their words.

use crate::expand::field::Field;
use crate::programs::scan::{Scan, Use};
use crate::programs::table::Effect;
use crate::walk::{Output, Walker};

/// What `echo` prints.
pub(super) fn echo(arguments: &[Field]) -> Output {
    let mut newline = true;
    let mut escapes = false;
    let mut rest = arguments;
    while let Some((first, behind)) = rest.split_first() {
        let letters = first.text.strip_prefix('-').unwrap_or_default();
        if letters.is_empty()
            || !letters
                .chars()
                .all(|letter| matches!(letter, 'n' | 'e' | 'E'))
        {
            break;
        }
        for letter in letters.chars() {
            match letter {
                'n' => newline = false,
                other => escapes = other == 'e',
            }
        }
        rest = behind;
    }
    let mut words = Vec::with_capacity(rest.len());
    for field in rest {
        match field.exact() {
            Some(text) => words.push(text),
            None => return Output::Unknown,
        }
    }
    let mut text = words.join(" ");
    if escapes {
        match unescaped(&text) {
            Some(plain) => text = plain,
            None => return Output::Unknown,
        }
    }
    if newline {
        text.push('\n');
    }
    Output::Text(text)
}

/// Backslash escapes of `echo -e` and `printf`; nothing for the rare ones.
fn unescaped(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        match characters.next() {
            None => out.push('\\'),
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('\\') => out.push('\\'),
            Some('a') => out.push('\u{7}'),
            Some('e') => out.push('\u{1b}'),
            Some('x') => out.push(code(&mut characters, 16, 2, None)?),
            Some(digit @ '0'..='7') => out.push(code(&mut characters, 8, 3, Some(digit))?),
            Some(_) => return None,
        }
    }
    Some(out)
}

fn code(
    characters: &mut std::iter::Peekable<std::str::Chars<'_>>,
    base: u32,
    most: usize,
    first: Option<char>,
) -> Option<char> {
    let mut value = 0;
    let mut count = 0;
    if let Some(digit) = first {
        value = digit.to_digit(base)?;
        // A leading zero of `\0nnn` does not count.
        count = usize::from(digit != '0');
    }
    while count < most {
        let Some(digit) = characters.peek().and_then(|c| c.to_digit(base)) else {
            break;
        };
        value = value * base + digit;
        characters.next();
        count += 1;
    }
    char::from_u32(value).filter(char::is_ascii)
}

/// The names that a plain listing prints.
pub(super) fn listing(scan: &Scan) -> Output {
    if scan
        .options
        .iter()
        .any(|option| matches!(option.as_ref(), "-l" | "-s" | "-R" | "-d"))
    {
        return Output::Unknown;
    }
    let all = scan
        .options
        .iter()
        .any(|option| option.starts_with("-a") || option.starts_with("-A"));
    if scan.operands.is_empty() {
        let mut names = vec![Field::names("*", false)];
        if all {
            names.push(Field::names(".*", false));
        }
        return Output::Names(names);
    }
    if scan.operands.iter().all(Field::is_pattern) {
        return Output::Names(scan.operands.clone());
    }
    Output::Unknown
}

/// Options that leave only some of the names below a directory, by the program that has them.
fn narrows(name: &str, scan: &Scan) -> bool {
    let options: &[&str] = match name {
        "fd" | "fdfind" => &["-e", "-S", "-o", "--changed-within", "--changed-before"],
        "rg" => &["-g", "--iglob", "-t", "-T"],
        "git" => &["-d", "-m", "-o", "-i", "-u", "-k"],
        _ => &["--include"],
    };
    let selects = |used: &Use| {
        used.option.is_empty()
            && used.effect == Effect::Data
            && !matches!(used.value.text.as_str(), "" | "." | "*" | "^" | "$")
    };
    scan.uses.iter().any(selects) || scan.has("-e") || options.iter().any(|option| scan.has(option))
}

/// Names below the directories that were searched; `narrow` if not all of them.
pub(super) fn names(name: &str, scan: &Scan) -> Output {
    let searched: Vec<&Field> = scan
        .uses
        .iter()
        .filter(|used| used.option.is_empty() && used.effect == Effect::Read)
        .map(|used| &used.value)
        .collect();
    let below = |directory: &Field| {
        let mut field = directory.clone();
        field.append(&Field::names("/**", false));
        field.narrow = narrows(name, scan);
        field.deep = true;
        field.whole = ends_with_nul(name, scan);
        field
    };
    if searched.is_empty() {
        let below = below(&Field::literal("."));
        // Without `./` in front a name may look like an option.
        let field = Field {
            narrow: below.narrow,
            deep: true,
            whole: below.whole,
            ..Field::names("**", false)
        };
        return Output::Names(vec![field]);
    }
    Output::Names(searched.into_iter().map(below).collect())
}

/// Whether every name ends with a NUL, which no name contains.
fn ends_with_nul(name: &str, scan: &Scan) -> bool {
    let options: &[&str] = match name {
        "git" => &["-z"],
        "grep" | "egrep" | "fgrep" => &["-Z", "--null"],
        "rg" => &["-0", "--null"],
        "fd" | "fdfind" => &["-0", "--print0"],
        _ => &[],
    };
    options.iter().any(|option| scan.has(option))
}

/// Searches print names only when asked to.
pub(super) fn matches(name: &str, scan: &Scan) -> Output {
    let lists = [
        "-l",
        "-L",
        "--files",
        "--files-with-matches",
        "--files-without-match",
    ];
    if lists.iter().any(|option| scan.has(option)) {
        names(name, scan)
    } else {
        Output::Unknown
    }
}

impl Walker {
    pub(super) fn print_directory(&self) -> Output {
        match &self.scope.directory {
            Some(directory) if self.scope.alternatives().next().is_none() => {
                Output::Text(format!("{directory}\n"))
            }
            _ => Output::Unknown,
        }
    }

    /// The top of the repository is most likely the root of the workspace.
    pub(super) fn print_toplevel(&self, scan: &Scan) -> Output {
        if scan
            .options
            .iter()
            .any(|option| option == "--show-toplevel")
        {
            return Output::Names(vec![Field::guess(self.places.root())]);
        }
        Output::Unknown
    }

    /// What `printf` prints, for the formats that are only text and `%s`.
    pub(super) fn print_formatted(&mut self, arguments: &[Field]) -> Output {
        let mut rest = arguments;
        if let [option, behind @ ..] = rest
            && option.text.starts_with("-v")
        {
            let variable = match behind {
                [variable, ..] if option.text == "-v" => variable.clone(),
                _ => option.tail(2),
            };
            self.assign_named("printf", &variable, Field::unknown());
            return Output::Unknown;
        }
        if let [first, behind @ ..] = rest
            && first.text == "--"
        {
            rest = behind;
        } else if rest
            .first()
            .is_some_and(|first| first.text.starts_with('-'))
        {
            // An option, or an error.
            return Output::Unknown;
        }
        let Some((format, values)) = rest.split_first() else {
            return Output::nothing();
        };
        let Some(format) = format.exact().and_then(unescaped) else {
            return Output::Unknown;
        };
        let mut values = values.iter();
        let mut text = String::new();
        let mut exact = true;
        loop {
            let before = values.len();
            let mut characters = format.chars();
            while let Some(character) = characters.next() {
                if character != '%' {
                    text.push(character);
                    continue;
                }
                match characters.next() {
                    Some('%') => text.push('%'),
                    Some(kind @ ('s' | 'b')) => {
                        let value = values.next().map_or(Some(""), Field::exact);
                        let value = match (value, kind) {
                            (Some(value), 'b') => unescaped(value),
                            (value, _) => value.map(ToOwned::to_owned),
                        };
                        match value {
                            Some(value) => text.push_str(&value),
                            None => return Output::Unknown,
                        }
                    }
                    conversion => {
                        // Widths and other kinds change the value in ways that are not followed.
                        exact = false;
                        let ends = |c: &char| c.is_ascii_alphabetic();
                        if !conversion.as_ref().is_some_and(ends) {
                            characters.by_ref().find(ends);
                        }
                        text.push_str(values.next().map_or("", |value| value.text.as_str()));
                    }
                }
            }
            if values.len() == 0 || values.len() == before {
                let output = Output::Text(text);
                return if exact { output } else { output.partly() };
            }
        }
    }

    /// `cat` and `tee` hand on what they read; other readers change it.
    pub(super) fn pass_through(&mut self, name: &str, scan: &Scan) -> Output {
        let tee = matches!(name, "tee" | "gtee");
        if let (true, Some(input)) = (tee, self.input.clone()) {
            for operand in &scan.operands {
                self.feed(&operand.text, &input);
            }
        }
        let plain = scan
            .options
            .iter()
            .all(|option| tee && matches!(option.as_ref(), "-a" | "--append"));
        if !plain || !(tee || name == "cat") {
            return Output::Unknown;
        }
        let only_input = scan.operands.iter().all(|operand| operand.text == "-");
        match (&self.input, scan.operands.as_slice()) {
            (Some(input), _) if tee || only_input => input.clone(),
            (_, [only]) if !tee => self.stream(&only.text).unwrap_or_default(),
            _ => Output::Unknown,
        }
    }
}
