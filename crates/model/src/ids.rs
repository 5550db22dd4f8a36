//! Names of things, each with a type of its own so that they cannot be mixed up.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

// Everything that is said about a call or a conversation carries its id along, so a copy is
// only counted.
macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes the text as it is.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into().into())
            }

            /// The text of the id.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }
    };
}

text_id! {
    /// A tool call, as the model or the client named it.
    CallId
}
text_id! {
    /// A conversation: what was read, granted and kept belongs to one of these.
    ConversationId
}
text_id! {
    /// An answer of the model, unique in its conversation.
    MessageId
}
text_id! {
    /// The full output of an earlier call, kept for `read_output`.
    OutputHandle
}
text_id! {
    /// SHA-256 over everything an approval is bound to, in hexadecimal.
    PlanHash
}

/// A single-use 128-bit name of one question to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ApprovalId(u128);

impl ApprovalId {
    /// Makes the id from 128 bits that the caller took from a random source.
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }
}

impl fmt::Display for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl std::str::FromStr for ApprovalId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u128::from_str_radix(text, 16).map(Self)
    }
}

impl Serialize for ApprovalId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ApprovalId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approval_id_survives_json() {
        let id = ApprovalId::from_bits(0x0123_4567_89ab_cdef_0011_2233_4455_6677);
        let text = serde_json::to_string(&id).unwrap();
        assert_eq!(text, "\"0123456789abcdef0011223344556677\"");
        assert_eq!(serde_json::from_str::<ApprovalId>(&text).unwrap(), id);
        assert!(serde_json::from_str::<ApprovalId>("\"xyz\"").is_err());
    }

    #[test]
    fn text_ids_are_transparent_in_json() {
        let id: CallId = "call_7".into();
        assert_eq!(serde_json::to_string(&id).unwrap(), "\"call_7\"");
        assert_eq!(id.to_string(), "call_7");
        assert_eq!(CallId::from(String::from("call_7")), id);
    }
}
