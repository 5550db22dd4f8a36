//! Hash on hash: what makes a later change of the record visible.
//!
//! Every entry's hash covers the hash of the entry before it in its conversation. Every
//! commit adds an anchor that covers the anchor before it and the last entry of each
//! conversation it touched, so that a conversation cannot be taken out as a whole. Its note
//! covers what a commit changes besides: conversations, stored values, pruned contents.
//! A cut-off end leaves a shorter chain that is whole in itself: only an anchor that was
//! kept elsewhere finds it.
//!
//! Every journal hashes alike, so that an exported chain can be checked anywhere.
//!
//! ```
//! use toolgate_gate::journal::chain::{Link, NOTHING, sha256};
//!
//! let link = Link {
//!     conversation: "c",
//!     seq: 1,
//!     kind: "started",
//!     call: "call_1",
//!     nth: 1,
//!     at_ms: 7,
//!     body_hash: &sha256(b"{}"),
//! };
//! assert_ne!(link.hash(&NOTHING), Link { seq: 2, ..link }.hash(&NOTHING));
//! ```

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::tool::hex;

/// SHA-256.
pub type Hash = [u8; 32];

/// What comes before the first of a chain.
pub const NOTHING: Hash = [0; 32];

/// What an entry's hash covers, besides the hash before it.
#[derive(Clone, Copy, Debug)]
pub struct Link<'a> {
    /// The conversation.
    pub conversation: &'a str,
    /// The entry's number there; the first is 1.
    pub seq: u64,
    /// The record's kind.
    pub kind: &'a str,
    /// The call; empty where the entry belongs to none.
    pub call: &'a str,
    /// Which call of that id; the first is 1, and 0 where there is none.
    pub nth: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// The hash of the record's JSON.
    pub body_hash: &'a Hash,
}

impl Link<'_> {
    /// The hash of the entry after one with the hash `before`.
    pub fn hash(&self, before: &Hash) -> Hash {
        let mut hash = Fields::new("toolgate entry 1");
        hash.bytes(before);
        hash.bytes(self.conversation.as_bytes());
        hash.number(self.seq);
        hash.bytes(self.kind.as_bytes());
        hash.bytes(self.call.as_bytes());
        hash.number(self.nth);
        hash.number(self.at_ms);
        hash.bytes(self.body_hash);
        hash.end()
    }
}

/// The last entry of a conversation when a commit was made: its name, number and hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head(
    /// The conversation.
    pub String,
    /// The entry's number.
    pub u64,
    /// Its hash, in hexadecimal.
    pub String,
);

/// What an anchor's hash covers, besides the hash before it.
#[derive(Clone, Copy, Debug)]
pub struct AnchorLink<'a> {
    /// Which commit; the first is 1.
    pub number: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// A JSON list of [`Head`]s.
    pub heads: &'a str,
    /// What the commit changed besides entries.
    pub note: Option<&'a str>,
}

impl AnchorLink<'_> {
    /// The hash of the anchor after one with the hash `before`.
    pub fn hash(&self, before: &Hash) -> Hash {
        let mut hash = Fields::new("toolgate anchor 1");
        hash.bytes(before);
        hash.number(self.number);
        hash.number(self.at_ms);
        hash.bytes(self.heads.as_bytes());
        hash.number(u64::from(self.note.is_some()));
        hash.bytes(self.note.unwrap_or_default().as_bytes());
        hash.end()
    }
}

/// A point of the whole record, to be kept outside of it: everything up to here can be
/// checked against it later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Anchor {
    /// Which commit.
    pub number: u64,
    /// Its hash, in hexadecimal.
    pub hash: String,
}

impl Anchor {
    /// The anchor of a commit with this hash.
    pub fn new(number: u64, hash: &Hash) -> Self {
        Self {
            number,
            hash: hex(hash),
        }
    }
}

/// The SHA-256 of some bytes.
pub fn sha256(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

/// The hash of a list of texts, for one purpose.
pub fn fields_hash<'a>(what: &str, texts: impl IntoIterator<Item = &'a str>) -> Hash {
    let mut hash = Fields::new(what);
    for text in texts {
        hash.bytes(text.as_bytes());
    }
    hash.end()
}

/// Hashes fields so that no two lists of fields have the same bytes.
struct Fields(Sha256);

impl Fields {
    fn new(what: &str) -> Self {
        let mut fields = Self(Sha256::new());
        fields.bytes(what.as_bytes());
        fields
    }

    fn number(&mut self, number: u64) {
        self.0.update(number.to_be_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    fn end(self) -> Hash {
        self.0.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_counts() {
        let link = Link {
            conversation: "ab",
            seq: 1,
            kind: "started",
            call: "c",
            nth: 1,
            at_ms: 7,
            body_hash: &NOTHING,
        };
        let other_body = sha256(b"x");
        let variants = [
            link,
            Link {
                conversation: "a",
                ..link
            },
            Link { seq: 2, ..link },
            Link {
                kind: "planned",
                ..link
            },
            Link { call: "d", ..link },
            Link { nth: 2, ..link },
            Link { at_ms: 8, ..link },
            Link {
                body_hash: &other_body,
                ..link
            },
            // The border between two fields counts too.
            Link {
                kind: "starte",
                call: "dc",
                ..link
            },
        ];
        let mut hashes: Vec<Hash> = variants.iter().map(|link| link.hash(&NOTHING)).collect();
        hashes.push(link.hash(&other_body));
        let anchor = AnchorLink {
            number: 1,
            at_ms: 7,
            heads: "[]",
            note: None,
        };
        let anchors = [
            anchor,
            AnchorLink {
                number: 2,
                ..anchor
            },
            AnchorLink { at_ms: 8, ..anchor },
            AnchorLink {
                heads: "[1]",
                ..anchor
            },
            AnchorLink {
                note: Some(""),
                ..anchor
            },
            AnchorLink {
                note: Some("x"),
                ..anchor
            },
        ];
        hashes.extend(anchors.iter().map(|anchor| anchor.hash(&NOTHING)));
        hashes.push(anchor.hash(&other_body));
        let count = hashes.len();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), count);
    }
}
