//! What is shown, hashed and journalled about a planned call.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::call::ToolCall;
use crate::decision::Decision;
use crate::facts::{Access, Facts};
use crate::ids::{ConversationId, PlanHash};

/// How much harm a call can do, for the person's eye.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// It only reads.
    Low,
    /// It changes files or talks to the outside.
    #[default]
    Medium,
    /// It runs programs or destroys.
    High,
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        })
    }
}

/// What a tool is about, for timeouts and for lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Category {
    /// Files and directories.
    File,
    /// Programs.
    Exec,
    /// Searching elsewhere than in files.
    Search,
    /// The network.
    Web,
    /// Tools of MCP servers.
    Mcp,
    /// Everything else.
    #[default]
    Other,
}

/// A file as a plan saw it: what an approval rests on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileDigest {
    /// The path beneath its root.
    pub path: String,
    /// SHA-256 of the content in hexadecimal; nothing if there was no file.
    pub sha256: Option<String>,
}

/// A path of a call that a link leads to another place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Lead {
    /// How the path is used.
    pub access: Access,
    /// The name as the call gives it.
    pub path: String,
    /// The name after all links are followed.
    pub to: String,
}

/// A directory beyond the roots that a call would need, as it was when the call was planned.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "StoredDirectory")]
pub struct NeededDirectory {
    /// The name as the call gives it.
    pub path: String,
    /// The name after all links are followed.
    pub to: String,
    /// The device it lies on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

impl NeededDirectory {
    /// Whether a link leads its name to another place.
    pub fn is_through_link(&self) -> bool {
        self.path != self.to
    }
}

/// A needed directory in a record. Older records have the name alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredDirectory {
    Name(String),
    Whole {
        path: String,
        to: String,
        device: u64,
        inode: u64,
    },
}

impl From<StoredDirectory> for NeededDirectory {
    fn from(stored: StoredDirectory) -> Self {
        match stored {
            StoredDirectory::Name(path) => Self {
                to: path.clone(),
                path,
                device: 0,
                inode: 0,
            },
            StoredDirectory::Whole {
                path,
                to,
                device,
                inode,
            } => Self {
                path,
                to,
                device,
                inode,
            },
        }
    }
}

/// A planned call as plain data. It can be shown, hashed and stored; it cannot run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanRecord {
    /// The conversation it belongs to.
    pub conversation: ConversationId,
    /// The call after rewriting, with canonical argument names.
    pub call: ToolCall,
    /// The tool's canonical name.
    pub tool: String,
    /// What it will do in one line, made from the parsed arguments.
    pub summary: String,
    /// How much harm it can do.
    pub risk: Risk,
    /// Files and other things it touches, for the person.
    pub locations: Vec<String>,
    /// What it says it will touch.
    pub facts: Facts,
    /// What policy decided.
    pub decision: Decision,
    /// The diff or text a person is shown, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// Arguments that the preview shows in another form, such as a patch as its difference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub previewed: Vec<String>,
    /// Whether something is missing from the preview because it was too long.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preview_cut: bool,
    /// Every argument that the preview does not show, whole, as lines for a person. Filled for
    /// people and clients; the record has the arguments themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<String>,
    /// The files that preview rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rests_on: Vec<FileDigest>,
    /// Where links lead the paths of the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leads_to: Vec<Lead>,
    /// Hash of tool, arguments, working directory, files, links and directories that could be
    /// opened: what an answer is bound to.
    pub plan_hash: PlanHash,
    /// Directories beyond the roots that it would need, and that an approver can open to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opens: Vec<NeededDirectory>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_needed_directory_is_read_from_older_records_too() {
        let read = |text: &str| serde_json::from_str::<NeededDirectory>(text).unwrap();
        let old = read(r#""/srv/a""#);
        assert_eq!((old.path.as_str(), old.inode), ("/srv/a", 0));
        let new = NeededDirectory {
            path: "/srv/l".into(),
            to: "/srv/a".into(),
            device: 1,
            inode: u64::MAX,
        };
        assert_eq!(read(&serde_json::to_string(&new).unwrap()), new);
        assert!(new.is_through_link() && !old.is_through_link());
    }

    #[test]
    fn risks_are_ordered_and_spelled_once() {
        assert!(Risk::Low < Risk::Medium && Risk::Medium < Risk::High);
        for risk in [Risk::Low, Risk::Medium, Risk::High] {
            assert_eq!(serde_json::to_string(&risk).unwrap(), format!("\"{risk}\""));
        }
    }
}
