//! Texts that may have begun at the end of another.

/// Texts in order, to find where one of them begins.
#[derive(Clone, Debug, Default)]
pub struct Prefixes {
    texts: Vec<String>,
    longest: usize,
}

impl Prefixes {
    /// Of these texts.
    #[must_use]
    pub fn new(mut texts: Vec<String>) -> Self {
        texts.sort_unstable();
        let longest = texts.iter().map(String::len).max().unwrap_or(0);
        Self { texts, longest }
    }

    /// The most bytes that one of them has.
    #[must_use]
    pub const fn longest(&self) -> usize {
        self.longest
    }

    /// The first offset from which on `text` is the start of one of them, but not all of it;
    /// the length of `text` if there is none.
    #[must_use]
    pub fn cut_off(&self, text: &str) -> usize {
        let is_start = |rest: &str| {
            let at = self.texts.partition_point(|t| t.as_str() <= rest);
            self.texts.get(at).is_some_and(|t| t.starts_with(rest))
        };
        let start = text.ceil_char_boundary(text.len().saturating_sub(self.longest));
        let ends = text.get(start..).unwrap_or_default().char_indices();
        ends.map(|(at, _)| start + at)
            .find(|&at| is_start(text.get(at..).unwrap_or_default()))
            .unwrap_or(text.len())
    }
}
