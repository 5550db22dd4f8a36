//! What the terminal says about itself: its background.
//!
//! Asked once before keys are read, for at most 100 ms. Keys that were typed meanwhile are kept.
//!
//! ```
//! use toolgate_tui::terminal::probe::{Answer, understand};
//!
//! let typed = b"hi\x1b]11;rgb:ffff/ffff/eeee\x07\x1b[?62;22c";
//! let answer = understand(typed);
//! assert_eq!(answer, Answer { is_light: Some(true), typed: "hi".into(), is_complete: true });
//! ```

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The background, then a question that every terminal answers: its answer ends the wait.
const QUESTION: &[u8] = b"\x1b]11;?\x07\x1b[c";
const WAIT: Duration = Duration::from_millis(100);
/// More than this is no answer.
const MOST: usize = 4096;

/// What came back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Whether the background is light, if the terminal says.
    pub is_light: Option<bool>,
    /// Printable characters that were typed meanwhile.
    pub typed: String,
    /// Whether the last answer has come.
    pub is_complete: bool,
}

/// Asks the terminal that standard input and output are. It has to be in raw mode.
pub fn ask() -> io::Result<Answer> {
    let mut out = io::stdout().lock();
    out.write_all(QUESTION)?;
    out.flush()?;
    let stdin = io::stdin();
    let mut held = Vec::new();
    let until = Instant::now() + WAIT;
    let mut answer = Answer::default();
    while !answer.is_complete && held.len() < MOST {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).unwrap_or_default();
        let fd = stdin.as_fd();
        let mut fds = [PollFd::new(&fd, PollFlags::IN)];
        if left == Timespec::default() || poll(&mut fds, Some(&left))? == 0 {
            break;
        }
        let mut piece = [0; 256];
        let count = rustix::io::read(stdin.as_fd(), &mut piece)?;
        if count == 0 {
            break;
        }
        held.extend(piece.iter().take(count));
        answer = understand(&held);
    }
    Ok(answer)
}

/// Takes answers and keys apart.
pub fn understand(bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes);
    let mut answer = Answer::default();
    let mut rest = &*text;
    while let Some(first) = rest.chars().next() {
        if let Some(inner) = rest.strip_prefix("\u{1b}]") {
            let end = inner.find(['\u{7}', '\u{1b}']).unwrap_or(inner.len());
            let (body, after) = inner.split_at_checked(end).unwrap_or((inner, ""));
            answer.is_light = body
                .strip_prefix("11;")
                .and_then(is_light)
                .or(answer.is_light);
            rest = after
                .strip_prefix("\u{1b}\\")
                .or(after.strip_prefix('\u{7}'))
                .unwrap_or(after);
        } else if let Some(inner) = rest.strip_prefix("\u{1b}[") {
            let end = inner.find(|c: char| ('@'..='~').contains(&c));
            answer.is_complete |=
                end.is_some_and(|end| inner.get(end..).is_some_and(|end| end.starts_with('c')));
            rest = end.and_then(|end| inner.get(end + 1..)).unwrap_or("");
        } else {
            if !first.is_control() {
                answer.typed.push(first);
            }
            rest = rest.get(first.len_utf8()..).unwrap_or("");
        }
    }
    answer
}

/// Whether a colour as terminals write it (`rgb:ffff/ffff/ffff`) is light.
fn is_light(colour: &str) -> Option<bool> {
    let parts = colour.strip_prefix("rgb:")?.split('/');
    let parts: Vec<u32> = parts
        .map(|part| {
            let most = 16_u32
                .checked_pow(u32::try_from(part.len()).ok()?)?
                .checked_sub(1)?;
            let value = u32::from_str_radix(part, 16).ok()?;
            (value * 255).checked_div(most)
        })
        .collect::<Option<_>>()?;
    let [red, green, blue] = parts.as_slice() else {
        return None;
    };
    Some(red * 299 + green * 587 + blue * 114 > 127_500)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn light_and_dark_are_told_apart_and_keys_are_kept() {
        for (bytes, light, typed, complete) in [
            (
                &b"\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?1;2c"[..],
                Some(false),
                "",
                true,
            ),
            (b"\x1b]11;rgb:ff/f0/e0\x07", Some(true), "", false),
            (b"y\x1b]11;rgb:12/34\x07es\x1b[?62c", None, "yes", true),
            (b"\x1b]11;rgb:zz/zz/zz", None, "", false),
            (b"\x1b[A\x1b", None, "", false),
        ] {
            let answer = understand(bytes);
            assert_eq!(answer.is_light, light, "{bytes:?}");
            assert_eq!(
                (answer.typed.as_str(), answer.is_complete),
                (typed, complete)
            );
        }
    }
}
