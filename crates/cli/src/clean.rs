//! Text that can be printed: nothing in it acts on a terminal, and nothing in it is unseen.
//!
//! ```text
//! names, messages, arguments ─▶ Clean::line, Clean::lines ─┐
//! literals of this program ────────────────────────────────┼▶ say!, Style::on ─▶ Clean ─▶ Out, Tty
//! numbers ─────────────────────────────────────────────────┘
//! ```
//!
//! Everything that is shown takes a [`Clean`], and a `Clean` is made here alone. A text that
//! comes from anywhere becomes one line, in which line ends and what cannot be seen are written
//! out (`\n`, `\u{202e}`): it can neither act nor pass for another line. Colours are added
//! around clean text, and have no form that a text could be formatted with otherwise.

use std::borrow::Cow;
use std::fmt;
use std::path::{Display as PathDisplay, Path};

use anstream::adapter::strip_str;
use serde::Serialize;
use toolgate_app::text::sanitize;
use toolgate_model::characters::{escape_json, seen};

/// A text that can be printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clean(String);

impl Clean {
    /// One line, whatever is in the text.
    pub(crate) fn line(text: impl fmt::Display) -> Self {
        Self(text.to_string().chars().flat_map(seen).collect())
    }

    /// Lines: line ends and tabs stay.
    pub(crate) fn lines(text: impl fmt::Display) -> Self {
        let text = text.to_string();
        let mut clean = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                '\n' | '\t' => clean.push(c),
                _ => clean.extend(seen(c)),
            }
        }
        Self(clean)
    }

    /// The words of a model or the output of a command: lines, without what cannot be seen.
    pub(crate) fn output(text: &str) -> Self {
        // What is left is shown as it is, but for what no output keeps.
        Self::lines(sanitize(text))
    }

    /// Lines with colours that this program has put there. Every other sequence is written out.
    pub(crate) fn painted(text: &str) -> Self {
        let mut clean = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("\u{1b}[") {
            let (before, sequence) = rest.split_at_checked(at).unwrap_or((rest, ""));
            clean.push_str(&Self::lines(before).0);
            let inner = sequence.get(2..).unwrap_or_default();
            let after = inner.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
            match after.strip_prefix('m') {
                Some(after) => {
                    let end = sequence.len() - after.len();
                    clean.push_str(sequence.get(..end).unwrap_or_default());
                    rest = after;
                }
                None => {
                    clean.push_str("\\u{1b}[");
                    rest = inner;
                }
            }
        }
        clean.push_str(&Self::lines(rest).0);
        Self(clean)
    }

    /// JSON on one line, with its end.
    pub(crate) fn json_line(value: &impl Serialize) -> serde_json::Result<Self> {
        serde_json::to_string(value).map(Self::json)
    }

    /// Indented JSON, with the end of its last line.
    pub(crate) fn json_page(value: &impl Serialize) -> serde_json::Result<Self> {
        serde_json::to_string_pretty(value).map(Self::json)
    }

    fn json(mut json: String) -> Self {
        json.push('\n');
        match escape_json(&json) {
            Cow::Borrowed(_) => Self(json),
            Cow::Owned(escaped) => Self(escaped),
        }
    }

    /// The text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The same without colours.
    pub(crate) fn plain(&self) -> Self {
        Self(strip_str(&self.0).to_string())
    }

    /// Adds a text at the end.
    pub(crate) fn push(&mut self, more: impl Into<Self>) {
        self.0.push_str(&more.into().0);
    }

    /// These texts with another between them.
    pub(crate) fn join(parts: impl IntoIterator<Item = Self>, between: &'static str) -> Self {
        let mut joined = Self::default();
        for (at, part) in parts.into_iter().enumerate() {
            if at > 0 {
                joined.push(between);
            }
            joined.push(part);
        }
        joined
    }

    /// What [`say!`] makes: its words are literals and its arguments are clean.
    #[doc(hidden)]
    pub(crate) fn said(words: fmt::Arguments<'_>) -> Self {
        Self(words.to_string())
    }
}

impl From<&'static str> for Clean {
    fn from(words: &'static str) -> Self {
        Self(words.to_owned())
    }
}

impl From<String> for Clean {
    fn from(text: String) -> Self {
        Self::line(text)
    }
}

impl From<&String> for Clean {
    fn from(text: &String) -> Self {
        Self::line(text)
    }
}

impl From<&Self> for Clean {
    fn from(clean: &Self) -> Self {
        clean.clone()
    }
}

/// A value that [`say!`] takes. Text from anywhere is taken as one line.
pub(crate) trait Printable {
    /// The value as it is printed.
    fn printed(&self) -> Cow<'_, str>;
}

impl Printable for Clean {
    fn printed(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.0)
    }
}

impl Printable for str {
    fn printed(&self) -> Cow<'_, str> {
        Cow::Owned(Clean::line(self).0)
    }
}

impl<T: Printable + ?Sized> Printable for &T {
    fn printed(&self) -> Cow<'_, str> {
        (**self).printed()
    }
}

impl<T: Printable> Printable for Option<T> {
    fn printed(&self) -> Cow<'_, str> {
        self.as_ref().map_or(Cow::Borrowed(""), T::printed)
    }
}

impl Printable for std::path::PathBuf {
    fn printed(&self) -> Cow<'_, str> {
        self.as_path().printed()
    }
}

impl Printable for Path {
    fn printed(&self) -> Cow<'_, str> {
        Cow::Owned(Clean::line(self.display()).0)
    }
}

macro_rules! printed_as_a_line {
    ($($type:ty),* $(,)?) => {
        $(impl Printable for $type {
            fn printed(&self) -> Cow<'_, str> {
                Cow::Owned(Clean::line(self).0)
            }
        })*
    };
}

printed_as_a_line!(
    String,
    Cow<'_, str>,
    PathDisplay<'_>,
    char,
    usize,
    u8,
    u16,
    u32,
    u64,
    i32,
    i64,
    std::io::Error,
    serde_json::Error,
    dyn fmt::Display + '_,
    toolgate_model::CallId,
    toolgate_model::ConversationId,
    toolgate_model::ErrorKind,
    toolgate_model::Risk,
);

/// An argument of [`say!`].
#[doc(hidden)]
pub(crate) struct Said<'a, T: Printable + ?Sized>(pub(crate) &'a T);

impl<T: Printable + ?Sized> fmt::Display for Said<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.printed())
    }
}

/// Whether a format names no variable: what is named in it is not seen by [`say!`], so it could
/// be anything. Names of constants are allowed.
#[doc(hidden)]
#[allow(clippy::indexing_slicing)] // Evaluated while this is compiled.
pub(crate) const fn names_no_variable(format: &str) -> bool {
    let bytes = format.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'{' {
            if at + 1 < bytes.len() && bytes[at + 1] == b'{' {
                at += 1;
            } else {
                while at < bytes.len() && bytes[at] != b'}' && bytes[at] != b':' {
                    if bytes[at].is_ascii_lowercase() || !bytes[at].is_ascii() {
                        return false;
                    }
                    at += 1;
                }
            }
        }
        at += 1;
    }
    true
}

/// A [`Clean`] from a literal and arguments, each of which is [`Printable`]. Takes what
/// `format!` takes, but for names of variables inside of the literal.
macro_rules! say {
    ($format:literal $(, $argument:expr)* $(,)?) => {{
        const {
            assert!(
                $crate::clean::names_no_variable($format),
                "say! takes its arguments behind the literal"
            );
        }
        $crate::clean::Clean::said(format_args!(
            $format $(, $crate::clean::Said(&$argument))*
        ))
    }};
}
pub(crate) use say;

/// A colour or a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style(&'static str);

impl Style {
    /// Text in this style.
    pub(crate) fn on(self, text: impl Printable) -> Clean {
        match self.0 {
            "" => Clean(text.printed().into_owned()),
            style => Clean(format!("{style}{}\u{1b}[0m", text.printed())),
        }
    }
}

/// Styles, for people only. They are taken away where nobody would see them.
pub(crate) mod style {
    use super::Style;

    pub(crate) const PLAIN: Style = Style("");
    pub(crate) const BOLD: Style = Style("\x1b[1m");
    pub(crate) const DIM: Style = Style("\x1b[2m");
    pub(crate) const ITALIC: Style = Style("\x1b[3m");
    pub(crate) const UNDERLINED: Style = Style("\x1b[4m");
    pub(crate) const RED: Style = Style("\x1b[31m");
    pub(crate) const GREEN: Style = Style("\x1b[32m");
    pub(crate) const YELLOW: Style = Style("\x1b[33m");
    pub(crate) const CYAN: Style = Style("\x1b[36m");
}

#[cfg(test)]
mod tests {
    use super::style::{BOLD, RED};
    use super::*;

    const HOSTILE: &str =
        "a\u{1b}]0;t\u{7}\u{9b}2J\r\n\u{202e}\u{2028}\u{7f}\u{3164}\u{115f}\u{1160}\u{ffa0}b";
    const SHOWN: &str =
        r"a\u{1b}]0;t\u{7}\u{9b}2J\r\n\u{202e}\u{2028}\u{7f}\u{3164}\u{115f}\u{1160}\u{ffa0}b";

    #[test]
    fn text_becomes_one_harmless_line_however_it_comes() {
        let text = HOSTILE.to_owned();
        assert_eq!(Clean::from(&text).as_str(), SHOWN);
        assert_eq!(Clean::from(text.clone()).as_str(), SHOWN);
        assert_eq!(say!("{}", text).as_str(), SHOWN);
        assert_eq!(say!("{}", HOSTILE).as_str(), SHOWN);
        assert_eq!(say!("{}", Path::new(HOSTILE)).as_str(), SHOWN);
        assert_eq!(BOLD.on(&text).plain().as_str(), SHOWN);
        let error = std::io::Error::other(text);
        assert_eq!(say!("{}: {}", 1, error).as_str(), format!("1: {SHOWN}"));
        assert_eq!(Clean::lines("a\n\tb\r").as_str(), "a\n\tb\\r");
    }

    #[test]
    fn clean_text_stays_as_it_is() {
        let once = say!("{}  {}", RED.on("x"), Clean::line(HOSTILE));
        assert_eq!(say!("{}", once), once);
        assert_eq!(once.as_str(), format!("\u{1b}[31mx\u{1b}[0m  {SHOWN}"));
        assert_eq!(once.plain().as_str(), format!("x  {SHOWN}"));
        assert_eq!(say!("{:>3}|{:<3}|", 7, "a").as_str(), "  7|a  |");
        assert_eq!(Clean::join(["a".into(), "b".into()], ", ").as_str(), "a, b");
    }

    #[test]
    fn only_colours_stay_of_a_painted_text() {
        for (text, shown) in [
            ("\u{1b}[1;31ma\u{1b}[0m\n", "\u{1b}[1;31ma\u{1b}[0m\n"),
            ("\u{1b}[2Ja\u{1b}]0;x\u{7}", r"\u{1b}[2Ja\u{1b}]0;x\u{7}"),
            ("\u{1b}[", r"\u{1b}["),
            ("\u{1b}[31\u{1b}[32mx", "\\u{1b}[31\u{1b}[32mx"),
        ] {
            assert_eq!(Clean::painted(text).as_str(), shown, "{text:?}");
        }
    }

    #[test]
    fn a_format_that_names_a_variable_is_found() {
        for (format, fine) in [
            ("{} {:>5} {0}", true),
            ("{BOLD}{{text}}", true),
            ("{text}", false),
            ("{{{text}", false),
            ("{text:?}", false),
        ] {
            assert_eq!(names_no_variable(format), fine, "{format}");
        }
    }

    #[test]
    fn json_is_escaped_and_means_the_same() {
        let value = serde_json::json!({ "a": HOSTILE });
        let line = Clean::json_line(&value).unwrap();
        assert!(
            !line
                .as_str()
                .trim_end()
                .contains(|c: char| !(' '..='~').contains(&c))
        );
        let back: serde_json::Value = serde_json::from_str(line.as_str()).unwrap();
        assert_eq!(back, value);
    }
}
