//! A word after expansion, as far as it is known.

/// Stands in a text for a piece that is only known at run time and is not empty
/// by default, so that no such text is ever taken for a well-known path.
pub(crate) const UNKNOWN: char = '\u{fffc}';

/// One word as a program would get it.
///
/// The text is the best guess; `holes` say where it is only a guess, and
/// `active` where characters still match file names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) text: String,
    /// Byte offsets of `*`, `?` and `[` that are patterns.
    pub(crate) active: Vec<usize>,
    /// Byte offsets where something stands that is only known at run time.
    pub(crate) holes: Vec<usize>,
    /// The unknown part is not quoted: it may become several words, or none.
    pub(crate) loose: bool,
    /// The pattern stands for a selection, not for everything in a directory.
    pub(crate) narrow: bool,
    /// Every single name below a directory: what is done to each is done to the whole tree.
    pub(crate) deep: bool,
    /// The word comes from standard input, and nothing is known about that.
    pub(crate) from_input: bool,
    /// The name ends with a NUL where it is printed: nothing splits it.
    pub(crate) whole: bool,
    /// A number, whatever its digits.
    pub(crate) number: bool,
    /// From this byte on the text is one whole number, whatever its digits, and nothing else.
    pub(crate) integer_from: Option<usize>,
    /// How the line writes it, where that says more than the text.
    pub(crate) written: Option<String>,
}

impl Field {
    /// A word that means itself.
    pub(crate) fn literal(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// A word of which nothing is known.
    pub(crate) fn unknown() -> Self {
        Self {
            text: UNKNOWN.to_string(),
            holes: vec![0],
            ..Self::default()
        }
    }

    /// A whole number of which nothing else is known.
    pub(crate) fn integer() -> Self {
        Self {
            number: true,
            integer_from: Some(0),
            ..Self::unknown()
        }
    }

    /// Whether this is a whole number and nothing else: arithmetic over it evaluates nothing more.
    pub(crate) fn is_integer(&self) -> bool {
        self.integer_from == Some(0) || (self.is_known() && is_number(&self.text))
    }

    /// The same text, but only as a guess.
    pub(crate) fn doubted(mut self) -> Self {
        if self.holes.first() != Some(&0) && self.holes.last() != Some(&0) {
            self.holes.push(0);
        }
        self.integer_from = None;
        self
    }

    /// A guess: most likely this text, but nothing in the line says so.
    pub(crate) fn guess(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            holes: vec![0],
            ..Self::default()
        }
    }

    /// A word that stands for names that match `pattern`.
    pub(crate) fn names(pattern: impl Into<String>, narrow: bool) -> Self {
        let text = pattern.into();
        let active = text
            .match_indices(['*', '?', '['])
            .map(|(at, _)| at)
            .collect();
        Self {
            text,
            active,
            narrow,
            ..Self::default()
        }
    }

    pub(crate) fn is_known(&self) -> bool {
        self.holes.is_empty()
    }

    pub(crate) fn is_pattern(&self) -> bool {
        if self.active.is_empty() {
            return false;
        }
        let last = self.text.rfind(']');
        let opens = |at: usize| self.text.as_bytes().get(at) == Some(&b'[');
        self.active
            .iter()
            .any(|at| !opens(*at) || last.is_some_and(|last| last > *at))
    }

    /// Whether the word, once it is known, could turn out to be an option.
    pub(crate) fn may_be_option(&self) -> bool {
        self.text.starts_with('-') || self.loose || self.holes.first() == Some(&0)
    }

    /// The text if all of it is known and none of it matches names.
    pub(crate) fn exact(&self) -> Option<&str> {
        (self.is_known() && !self.is_pattern()).then_some(self.text.as_str())
    }

    /// The text with a mark wherever it is not known.
    pub(crate) fn marked(&self) -> String {
        let mut holes = self.holes.clone();
        holes.sort_unstable();
        holes.dedup();
        let mut text = String::with_capacity(self.text.len());
        let mut from = 0;
        for hole in holes {
            let Some(piece) = self.text.get(from..hole) else {
                continue;
            };
            text.push_str(piece);
            from = hole;
            if !self
                .text
                .get(hole..)
                .is_some_and(|rest| rest.starts_with(UNKNOWN))
            {
                text.push(UNKNOWN);
            }
        }
        text.push_str(self.text.get(from..).unwrap_or_default());
        text
    }

    /// How the word is shown: as it is, or as the line writes it.
    pub(crate) fn shown(&self) -> String {
        match &self.written {
            Some(written) if !self.is_known() => written.clone(),
            _ => self.text.clone(),
        }
    }

    /// The word without its first `bytes` bytes.
    pub(crate) fn tail(&self, bytes: usize) -> Self {
        let shift = |list: &[usize]| {
            list.iter()
                .filter_map(|at| at.checked_sub(bytes))
                .collect::<Vec<_>>()
        };
        Self {
            text: self.text.get(bytes..).unwrap_or_default().to_owned(),
            active: shift(&self.active),
            holes: shift(&self.holes),
            integer_from: self.integer_from.and_then(|at| at.checked_sub(bytes)),
            ..self.clone()
        }
    }

    /// Adds another word's text, with what is known about it.
    pub(crate) fn append(&mut self, other: &Self) {
        let offset = self.text.len();
        // What stands right before it may be more than it looks.
        self.integer_from = other
            .integer_from
            .map(|at| at + offset)
            .filter(|at| !self.holes.contains(at));
        self.text.push_str(&other.text);
        self.active
            .extend(other.active.iter().map(|at| at + offset));
        self.holes.extend(other.holes.iter().map(|at| at + offset));
        self.loose |= other.loose;
        self.narrow |= other.narrow;
        self.deep |= other.deep;
        self.from_input |= other.from_input;
    }

    /// The path components, each with whether it is a pattern, and the text in
    /// pattern form: characters that are not active are escaped.
    pub(crate) fn components(&self) -> Vec<(String, bool)> {
        let mut parts = Vec::new();
        let mut current = String::new();
        let mut pattern = false;
        let mut active = self.active.clone();
        active.sort_unstable();
        for (at, character) in self.text.char_indices() {
            if character == '/' {
                parts.push((std::mem::take(&mut current), pattern));
                pattern = false;
                continue;
            }
            if active.binary_search(&at).is_ok() {
                pattern = true;
            } else if matches!(character, '*' | '?' | '[' | '\\') {
                current.push('\\');
            }
            current.push(character);
        }
        parts.push((current, pattern));
        parts
    }
}

/// Collects fields from the pieces of a word.
#[derive(Default)]
pub(crate) struct FieldBuilder {
    pub(crate) done: Vec<Field>,
    current: Field,
    /// Whether there is a current field even if its text is empty.
    open: bool,
}

impl FieldBuilder {
    /// Text in which pattern characters are active.
    pub(crate) fn text(&mut self, text: &str) {
        let offset = self.current.text.len();
        for (at, _) in text.match_indices(['*', '?', '[']) {
            self.current.active.push(offset + at);
        }
        self.quoted(text);
    }

    /// Text that means only itself.
    pub(crate) fn quoted(&mut self, text: &str) {
        if !text.is_empty() {
            self.current.integer_from = None;
        }
        self.current.text.push_str(text);
        self.open = true;
    }

    /// The value of an expansion.
    pub(crate) fn value(&mut self, value: &Field, quoted: bool) {
        if quoted {
            self.current.append(value);
            self.open = true;
            return;
        }
        if !value.is_known() {
            // It may be split anywhere, which no later step has to know exactly.
            let mut loose = value.clone();
            loose.loose = !value.number;
            self.split(&loose);
            if value.text.is_empty() {
                self.current.holes.push(self.current.text.len());
                self.current.integer_from = None;
                self.current.loose = true;
                self.open = true;
            }
            return;
        }
        self.split(value);
    }

    fn split(&mut self, value: &Field) {
        let mut rest = value.text.as_str();
        let mut offset = 0;
        loop {
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t', '\n']).len();
            if blanks > 0 {
                self.finish_field();
            }
            rest = rest.get(blanks..).unwrap_or_default();
            offset += blanks;
            if rest.is_empty() {
                return;
            }
            let length = rest.find([' ', '\t', '\n']).unwrap_or(rest.len());
            let piece = rest.get(..length).unwrap_or_default();
            let start = self.current.text.len();
            // No hole lies behind the end, so those there are among the last.
            let mut last = self.current.holes.iter().rev().take(8);
            let doubtful = last.any(|hole| *hole == start);
            self.text(piece);
            let end = offset + length;
            for hole in value
                .holes
                .iter()
                .filter(|hole| (offset..=end).contains(*hole))
            {
                self.current.holes.push(start + hole - offset);
            }
            self.current.loose |= value.loose;
            self.current.narrow |= value.narrow;
            self.current.deep |= value.deep;
            self.current.from_input |= value.from_input;
            self.current.number |= value.number;
            if piece == value.text && !doubtful {
                self.current.integer_from = value.integer_from.map(|at| at + start);
            }
            rest = rest.get(length..).unwrap_or_default();
            offset = end;
        }
    }

    /// Ends the current field, as between the words of `"$@"`.
    pub(crate) fn finish_field(&mut self) {
        if self.open {
            self.done.push(std::mem::take(&mut self.current));
            self.open = false;
        }
    }

    pub(crate) fn finish(mut self) -> Vec<Field> {
        self.finish_field();
        self.done
    }
}

/// Digits, with or without a sign.
pub(crate) fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unquoted_values_are_split_and_their_patterns_come_alive() {
        let mut builder = FieldBuilder::default();
        builder.text("a");
        builder.value(&Field::literal(" b *.c"), false);
        builder.quoted("*");
        let fields = builder.finish();
        let texts: Vec<_> = fields.iter().map(|field| field.text.as_str()).collect();
        assert_eq!(texts, ["a", "b", "*.c*"]);
        assert_eq!(fields[2].active, [0]);
    }

    #[test]
    fn quoted_values_stay_one_word() {
        let mut builder = FieldBuilder::default();
        builder.value(&Field::literal("a b *"), true);
        let fields = builder.finish();
        assert_eq!(fields, [Field::literal("a b *")]);
    }

    #[test]
    fn a_tail_keeps_what_is_known_about_the_rest() {
        let mut field = Field::literal("-o");
        field.append(&Field::names("*.c", false));
        field.append(&Field::unknown());
        let tail = field.tail(2);
        assert_eq!(tail.text, format!("*.c{UNKNOWN}"));
        assert_eq!((tail.active, tail.holes), (vec![0], vec![3]));
    }
}
