//! Where a block is known to be whole.

/// Cuts Markdown into whole blocks while it streams in.
///
/// ```
/// use toolgate_app::markdown::Blocks;
///
/// let mut blocks = Blocks::default();
/// assert_eq!(blocks.push("One.\n\nTw"), Some("One.\n\n".to_owned()));
/// assert_eq!(blocks.push("o"), None);
/// assert_eq!(blocks.rest(), "Two");
/// assert_eq!(blocks.finish(), "Two");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    /// What has come of blocks that are not known to be whole.
    text: String,
    /// How much of it was looked at: whole lines.
    seen: usize,
    /// The mark and the length of the fence that is open.
    fence: Option<(char, usize)>,
    after_blank: bool,
}

impl Blocks {
    /// Takes the next piece. All blocks that are whole now, if there are any.
    pub fn push(&mut self, piece: &str) -> Option<String> {
        self.text.push_str(piece);
        let mut whole = 0;
        while let Some(line) = self.next_line() {
            let start = self.seen;
            self.seen += line.len();
            if self.take(&line) {
                // A closing fence ends its block, another line the one before it.
                whole = match self.fence.is_none() && is_fence(&line).is_some() {
                    true => self.seen,
                    false => start,
                };
            }
        }
        let begun = self.text.get(self.seen..).unwrap_or_default();
        let begins = !begun.is_empty() && !begun.starts_with(char::is_whitespace);
        if self.fence.is_none() && self.after_blank && begins {
            whole = self.seen;
        }
        (whole > 0).then(|| {
            self.seen -= whole;
            let rest = self.text.split_off(whole);
            std::mem::replace(&mut self.text, rest)
        })
    }

    /// What has come of a block that is not whole.
    pub fn rest(&self) -> &str {
        &self.text
    }

    /// The end: what is left.
    pub fn finish(&mut self) -> String {
        std::mem::take(self).text
    }

    fn next_line(&self) -> Option<String> {
        let rest = self.text.get(self.seen..)?;
        let end = rest.find('\n')?;
        rest.get(..=end).map(str::to_owned)
    }

    /// Whether a block ends here.
    fn take(&mut self, line: &str) -> bool {
        let fence = is_fence(line);
        if let Some((mark, count)) = self.fence {
            let closes =
                fence.is_some_and(|(other, length, bare)| bare && other == mark && length >= count);
            if closes {
                self.fence = None;
                self.after_blank = false;
            }
            return closes && !line.starts_with([' ', '\t']);
        }
        let is_blank = line.trim().is_empty();
        let begins = self.after_blank && !is_blank && !line.starts_with([' ', '\t']);
        self.after_blank = is_blank;
        if let Some((mark, length, _)) = fence {
            self.fence = Some((mark, length));
        }
        begins
    }
}

/// Whether a line opens or closes a fenced block: its mark, how many, and whether it can close.
fn is_fence(line: &str) -> Option<(char, usize, bool)> {
    let inner = line.trim();
    let mark = inner
        .chars()
        .next()
        .filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = inner.trim_start_matches(mark);
    let count = inner.len() - rest.len();
    let opens = count >= 3 && (mark == '~' || !rest.contains('`'));
    opens.then_some((mark, count, rest.is_empty()))
}
