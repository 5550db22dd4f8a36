//! Output mode: what is left of a byte stream when nothing in it can steer a terminal.
//!
//! The machine follows what terminals do with escape sequences, so that it removes
//! exactly what a terminal would have swallowed, and it differs from them in one
//! place: a string sequence (OSC, DCS, APC, PM, SOS) ends at the line end at the
//! latest, because otherwise one forgotten terminator hides all that follows.

use std::borrow::Cow;

use super::chars::{is_foreign_line_end, is_removed, may_start_change, run_len, split};

/// Removes control from a stream of bytes, chunk by chunk.
///
/// The text does not depend on where the stream was cut, and what is kept between
/// two chunks is a few bytes, however long a sequence is.
///
/// ```
/// # use toolgate_gate::output::Sanitizer;
/// let mut sanitizer = Sanitizer::new();
/// let mut text = String::new();
/// sanitizer.push(b"a\x1b]52;c;", &mut text);
/// sanitizer.push(b"eA==\x07b\r", &mut text);
/// sanitizer.push(b"\nc", &mut text);
/// sanitizer.finish(&mut text);
/// assert_eq!(text, "ab\nc");
/// ```
#[derive(Debug, Default, Clone)]
pub struct Sanitizer {
    state: State,
    /// The last character was a carriage return: a newline now belongs to it.
    after_return: bool,
    /// The start of a character whose end has not arrived.
    partial: Partial,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Preconditions,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate such as `(`: one final character to come.
    Designate,
    /// After CSI, until the final character.
    Csi,
    /// OSC, which BEL ends as well.
    OscString,
    /// DCS, APC, PM or SOS.
    OtherString,
}

#[derive(Debug, Default, Clone, Copy)]
struct Partial {
    bytes: [u8; 4],
    len: usize,
}

impl Partial {
    fn push(&mut self, byte: u8) {
        if let Some(free) = self.bytes.get_mut(self.len) {
            *free = byte;
            self.len += 1;
        }
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

const REPLACEMENT: &str = "\u{fffd}";

impl Sanitizer {
    /// A machine at the start of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends to `out` what is left of the next bytes of the stream.
    ///
    /// Bytes that are not UTF-8 become U+FFFD, as many as
    /// [`String::from_utf8_lossy`] would make; they never count as control.
    pub fn push(&mut self, chunk: &[u8], out: &mut String) {
        let mut rest = self.complete_partial(chunk, out);
        loop {
            let error = match std::str::from_utf8(rest) {
                Ok(text) => return self.text(text, out),
                Err(error) => error,
            };
            let (valid, after) = rest
                .split_at_checked(error.valid_up_to())
                .unwrap_or((rest, &[]));
            self.text(std::str::from_utf8(valid).unwrap_or_default(), out);
            match error.error_len() {
                Some(invalid) => {
                    self.text(REPLACEMENT, out);
                    rest = after.get(invalid..).unwrap_or_default();
                }
                None => {
                    after.iter().for_each(|&byte| self.partial.push(byte));
                    return;
                }
            }
        }
    }

    /// Ends the stream: an unfinished sequence is dropped, an unfinished character
    /// becomes U+FFFD. The machine is then at the start of a new stream.
    pub fn finish(&mut self, out: &mut String) {
        if self.partial.len > 0 {
            self.text(REPLACEMENT, out);
        }
        *self = Self::default();
    }

    /// Finishes the character that the last chunk began; returns what follows it.
    fn complete_partial<'c>(&mut self, chunk: &'c [u8], out: &mut String) -> &'c [u8] {
        let mut rest = chunk;
        while self.partial.len > 0 {
            let Some((&byte, after)) = rest.split_first() else {
                break;
            };
            let mut longer = self.partial;
            longer.push(byte);
            match std::str::from_utf8(longer.bytes()) {
                Err(error) if error.error_len().is_none() => {
                    self.partial = longer;
                    rest = after;
                }
                Ok(text) => {
                    self.partial = Partial::default();
                    self.text(text, out);
                    rest = after;
                }
                // The byte does not continue the character: what came before it is
                // one invalid piece, and the byte stands for itself.
                Err(_) => {
                    self.partial = Partial::default();
                    self.text(REPLACEMENT, out);
                }
            }
        }
        rest
    }

    fn text(&mut self, text: &str, out: &mut String) {
        let mut rest = text;
        while !rest.is_empty() {
            rest = match self.state {
                State::Preconditions => self.ground(rest, out),
                State::Escape | State::Designate | State::Csi => self.sequence(rest, out),
                State::OscString | State::OtherString => self.string(rest),
            };
        }
    }

    fn ground<'t>(&mut self, text: &'t str, out: &mut String) -> &'t str {
        if std::mem::take(&mut self.after_return)
            && let Some(rest) = text.strip_prefix('\n')
        {
            return rest;
        }
        let (kept, rest) = split(text, unchanged_len(text));
        out.push_str(kept);
        let mut chars = rest.chars();
        match chars.next() {
            Some(c) if is_foreign_line_end(c) => self.line_end(c, out),
            Some('\u{1b}') => self.state = State::Escape,
            Some(c) => self.state = after_c1(c),
            None => {}
        }
        chars.as_str()
    }

    fn line_end(&mut self, c: char, out: &mut String) {
        if c != '\n' || !self.after_return {
            out.push('\n');
        }
        self.after_return = c == '\r';
    }

    /// Inside an escape or control sequence, up to and with the next character that
    /// is more than a parameter.
    fn sequence<'t>(&mut self, text: &'t str, out: &mut String) -> &'t str {
        let last_parameter = if self.state == State::Csi { 0x3f } else { 0x2f };
        let parameters = text
            .bytes()
            .take_while(|b| (0x20..=last_parameter).contains(b))
            .count();
        if parameters > 0 {
            self.after_return = false;
            if self.state == State::Escape {
                self.state = State::Designate;
            }
        }
        let (_, rest) = split(text, parameters);
        let mut chars = rest.chars();
        let Some(c) = chars.next() else { return rest };
        match c {
            // A terminal obeys these in the middle of a sequence and goes on with it.
            '\n' | '\r' => {
                self.line_end(c, out);
                return chars.as_str();
            }
            '\t' => out.push(c),
            '\u{1b}' => self.state = State::Escape,
            '\u{18}' | '\u{1a}' => self.state = State::Preconditions,
            '\0'..='\u{1f}' | '\u{7f}' => {}
            '\u{20}'..='\u{7e}' if self.state == State::Escape => self.state = after_escape(c),
            '\u{20}'..='\u{7e}' => self.state = State::Preconditions,
            '\u{80}'..='\u{9f}' => self.state = after_c1(c),
            // No sequence contains such a character: it is text again.
            _ => {
                self.state = State::Preconditions;
                return rest;
            }
        }
        self.after_return = false;
        chars.as_str()
    }

    /// Inside a string sequence: nothing of it is text.
    fn string<'t>(&mut self, text: &'t str) -> &'t str {
        let (_, rest) = split(text, run_len(text.as_bytes(), may_end_string));
        let mut chars = rest.chars();
        match chars.next() {
            Some('\u{1b}') => self.state = State::Escape,
            Some('\u{7}') if self.state == State::OscString => self.state = State::Preconditions,
            Some('\u{18}' | '\u{1a}') => self.state = State::Preconditions,
            Some(c @ '\u{80}'..='\u{9f}') => self.state = after_c1(c),
            Some(c) if c == '\n' || is_foreign_line_end(c) => {
                self.state = State::Preconditions;
                return rest;
            }
            _ => {}
        }
        chars.as_str()
    }
}

/// The state after ESC and a final character.
fn after_escape(c: char) -> State {
    match c {
        '[' => State::Csi,
        ']' => State::OscString,
        'P' | 'X' | '^' | '_' => State::OtherString,
        _ => State::Preconditions,
    }
}

/// The state after a C1 character, which means the same as ESC and a character
/// 0x40 below it. Any other character leaves the machine in the ground state.
fn after_c1(c: char) -> State {
    match c {
        '\u{9b}' => State::Csi,
        '\u{9d}' => State::OscString,
        '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}' => State::OtherString,
        _ => State::Preconditions,
    }
}

#[inline(always)]
fn may_end_string(byte: u8) -> bool {
    ((byte < 0x20) & (byte != b'\t')) | (byte == 0xc2) | (byte == 0xe2)
}

/// How much of the start of `text`, read as plain text, output keeps as it is.
fn unchanged_len(text: &str) -> usize {
    let mut at = 0;
    loop {
        let (_, rest) = split(text, at);
        let run = run_len(rest.as_bytes(), may_start_change);
        at += run;
        match split(rest, run).1.chars().next() {
            Some(c) if !is_removed(c) && !is_foreign_line_end(c) => at += c.len_utf8(),
            _ => return at,
        }
    }
}

/// A whole text in output mode; borrowed where nothing had to change.
#[must_use]
pub fn sanitize(text: &str) -> Cow<'_, str> {
    let (unchanged, rest) = split(text, unchanged_len(text));
    if rest.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    out.push_str(unchanged);
    let mut sanitizer = Sanitizer::new();
    sanitizer.text(rest, &mut out);
    sanitizer.finish(&mut out);
    Cow::Owned(out)
}
