//! Values, and where they stand.

use std::borrow::Cow;
use std::fmt;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, BuildError, MatchKind};

use crate::prefixes::Prefixes;

/// More or longer values than can be looked for at once.
#[derive(Debug, thiserror::Error)]
#[error("cannot look for {values} secret values: {source}; hand in fewer or shorter ones")]
#[non_exhaustive]
pub struct TooManyValues {
    /// How many values were handed in.
    pub values: usize,
    /// What the automaton said.
    pub source: BuildError,
}

/// A value, or a piece of a long one, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// The first byte.
    pub start: usize,
    /// The byte after it.
    pub end: usize,
    /// Which value it is, counted from 0. Of equal values the first is named.
    pub value: usize,
}

/// Values that must not be shown.
#[derive(Clone, Default)]
pub struct KnownValues {
    /// `None` where there are no values.
    automaton: Option<AhoCorasick>,
    /// The value that each pattern of the automaton is, or is a piece of.
    value_of: Vec<usize>,
    prefixes: Prefixes,
}

impl fmt::Debug for KnownValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KnownValues({})", self.value_of.len())
    }
}

impl KnownValues {
    /// Looks for these values as wholes. Empty ones are left out.
    ///
    /// # Errors
    /// They are too many or too long to be looked for at once.
    pub fn new<V: AsRef<str>>(values: impl IntoIterator<Item = V>) -> Result<Self, TooManyValues> {
        Self::in_pieces(values, usize::MAX)
    }

    /// Looks for these values in pieces of at most so many bytes (eight or more): nothing has to
    /// wait for more than a piece, and a part of a long value is found too. Empty values are left
    /// out.
    ///
    /// # Errors
    /// They are too many or too long to be looked for at once.
    pub fn in_pieces<V: AsRef<str>>(
        values: impl IntoIterator<Item = V>,
        bytes: usize,
    ) -> Result<Self, TooManyValues> {
        let mut pieces: Vec<(String, usize)> = Vec::new();
        for (number, value) in values.into_iter().enumerate() {
            cut(value.as_ref(), bytes.max(8), |piece| {
                pieces.push((piece.to_owned(), number));
            });
        }
        pieces.sort_unstable();
        pieces.dedup_by(|later, first| later.0 == first.0);
        let (patterns, value_of): (Vec<String>, Vec<usize>) = pieces.into_iter().unzip();
        if patterns.is_empty() {
            return Ok(Self::default());
        }
        let automaton = AhoCorasickBuilder::new()
            .match_kind(MatchKind::Standard)
            .build(&patterns)
            .map_err(|source| TooManyValues {
                values: patterns.len(),
                source,
            })?;
        Ok(Self {
            automaton: Some(automaton),
            value_of,
            prefixes: Prefixes::new(patterns),
        })
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.automaton.is_none()
    }

    /// Everywhere that one stands, also inside another, in no order.
    pub fn found(&self, text: &str) -> impl Iterator<Item = Found> {
        let hits = self.automaton.iter();
        hits.flat_map(move |values| values.find_overlapping_iter(text))
            .filter_map(|hit| {
                Some(Found {
                    start: hit.start(),
                    end: hit.end(),
                    value: *self.value_of.get(hit.pattern().as_usize())?,
                })
            })
    }

    /// Whether a text holds one.
    #[must_use]
    pub fn are_in(&self, text: &str) -> bool {
        let mut values = self.automaton.iter();
        values.any(|values| values.is_match(text))
    }

    /// The text with a marker for each run of them, borrowed where there is none.
    #[must_use]
    pub fn hide<'t>(&self, text: &'t str, marker: &str) -> Cow<'t, str> {
        let mut found: Vec<Found> = self.found(text).collect();
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        found.sort_unstable();
        let mut out = String::with_capacity(text.len());
        let (mut covered, mut is_first) = (0, true);
        for one in found {
            // What overlaps is hidden as one; values side by side stay two.
            if is_first || one.start >= covered {
                out.push_str(text.get(covered..one.start).unwrap_or_default());
                out.push_str(marker);
                is_first = false;
            }
            covered = covered.max(one.end);
        }
        out.push_str(text.get(covered..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// The offset from which on `text` may be the start of a value, cut off; its length if it
    /// ends in none.
    #[must_use]
    pub fn cut_off(&self, text: &str) -> usize {
        self.prefixes.cut_off(text)
    }
}

/// The pieces of a value. A last piece that is too short to be looked for alone overlaps the one
/// before it.
fn cut(value: &str, bytes: usize, mut take: impl FnMut(&str)) {
    let mut rest = value;
    while rest.len() > bytes {
        let at = rest.floor_char_boundary(bytes);
        let (piece, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
        take(piece);
        rest = if after.len() < bytes / 2 {
            let at = rest.ceil_char_boundary(rest.len() - bytes / 2);
            rest.get(at..).unwrap_or_default()
        } else {
            after
        };
    }
    if !rest.is_empty() {
        take(rest);
    }
}
