//! Git's configuration format, read leniently: a line that git would refuse is passed over.

/// One `key = value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// The name of the section in lower case, without its subsection.
    pub(super) section: String,
    /// Whether the section has no subsection.
    pub(super) plain: bool,
    /// In lower case.
    pub(super) key: String,
    pub(super) value: String,
}

impl Setting {
    /// Whether this is `section.key` or `section.anything.key`; `*` stands for every key.
    pub(super) fn is(&self, section: &str, key: &str) -> bool {
        self.section == section && (key == "*" || self.key == key)
    }
}

/// All settings of a file, in order.
pub(super) fn settings(text: &str) -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut section = String::new();
    let mut plain = true;
    let mut rest = text;
    while let Some((line, after)) = logical_line(rest) {
        rest = after;
        let mut line = line.trim_start();
        if let Some(header) = line.strip_prefix('[') {
            let (name, after) = header_end(header);
            plain = is_plain(header);
            section = name;
            line = after.trim_start();
        }
        if let Some((key, value)) = assignment(line) {
            settings.push(Setting {
                section: section.clone(),
                plain,
                key,
                value,
            });
        }
    }
    settings
}

/// A line with the lines that continue it, and the text after it.
fn logical_line(text: &str) -> Option<(&str, &str)> {
    if text.is_empty() {
        return None;
    }
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '\n' if !escaped => {
                let (line, after) = text.split_at(at);
                return Some((line, after.strip_prefix('\n').unwrap_or(after)));
            }
            '\r' if escaped => {}
            _ => escaped = c == '\\' && !escaped,
        }
    }
    Some((text, ""))
}

/// The name of a section in lower case, and the text behind its bracket.
fn header_end(header: &str) -> (String, &str) {
    let mut quoted = false;
    let mut escaped = false;
    for (at, c) in header.char_indices() {
        match c {
            ']' if !quoted => {
                let (inside, after) = header.split_at(at);
                let name = inside
                    .split(|c: char| c == '.' || c == '"' || c.is_whitespace())
                    .find(|part| !part.is_empty());
                let name = name.unwrap_or_default().to_ascii_lowercase();
                return (name, after.strip_prefix(']').unwrap_or(after));
            }
            '"' if !escaped => quoted = !quoted,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    (String::new(), "")
}

/// Whether a header names a section alone: `user]`, and not `user "x"]` or `user.x]`.
fn is_plain(header: &str) -> bool {
    let name = header.split(']').next().unwrap_or_default();
    !name.contains(['"', '.'])
}

fn assignment(line: &str) -> Option<(String, String)> {
    let (key, value) = line.split_once('=')?;
    let key = key.trim().to_ascii_lowercase();
    let is_key = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (!key.is_empty() && key.chars().all(is_key)).then(|| (key, unquoted(value)))
}

/// A value without quotes, escapes, comments and the blanks around it.
fn unquoted(value: &str) -> String {
    let mut text = String::new();
    // Blanks count where something follows them.
    let mut kept = 0;
    let mut quoted = false;
    let mut chars = value.trim_start().chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                quoted = !quoted;
                kept = text.len();
                continue;
            }
            '#' | ';' if !quoted => break,
            '\\' => match chars.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('b') => drop(text.pop()),
                Some('\n' | '\r') | None => continue,
                Some(other) => text.push(other),
            },
            c => text.push(c),
        }
        if quoted || !c.is_whitespace() {
            kept = text.len();
        }
    }
    text.truncate(kept);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_git_reads_them() {
        let text = concat!(
            "[core]\n\thooksPath = scripts/hooks ; why\n",
            "[Include] path = \"a b\\\\c\" # x\n",
            "[includeIf \"gitdir:]/x\\\"\"]\npath=one\\\n two\n",
            "[filter.Sub]\n  clean = \"sh \"x.sh  \nflag\n= nothing\n",
            "[alias \"x\"\n",
        );
        let read: Vec<_> = settings(text)
            .into_iter()
            .map(|one| (one.section, one.key, one.value))
            .collect();
        let expected = [
            ("core", "hookspath", "scripts/hooks"),
            ("include", "path", "a b\\c"),
            ("includeif", "path", "one two"),
            ("filter", "clean", "sh x.sh"),
        ];
        let expected = expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()));
        assert_eq!(read, expected);
    }

    #[test]
    fn damaged_text_ends() {
        for text in [
            "[",
            "[a",
            "[\"",
            "a=\\",
            "=",
            "\\\n",
            "[]]=",
            "a=\"\\",
            "\r\n[x]\r\na=1\r",
        ] {
            let _ = settings(text);
        }
        assert_eq!(settings("[x]\r\na = 1\r\n").len(), 1);
    }
}
