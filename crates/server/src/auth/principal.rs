//! Who makes a request, and what they may do.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a token is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Begins conversations, and does everything in those that it began.
    Owner,
    /// Watches every conversation of its workspaces and answers their questions.
    Approver,
    /// Watches every conversation of its workspaces.
    Reader,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 3] = [Self::Owner, Self::Approver, Self::Reader];

    /// The spelling of files, wires and options.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Approver => "approver",
            Self::Reader => "reader",
        }
    }

    /// The role of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == name)
    }
}

/// Who makes a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Principal {
    /// The token that the server made at its start: the user who started it.
    Operator,
    /// A named token.
    Named {
        /// Its id.
        id: String,
        /// Its name.
        name: String,
        /// What it may do.
        role: Role,
        /// The directories it may use, with links resolved.
        workspaces: Vec<PathBuf>,
    },
}

/// The owner and workspace of a conversation, as permissions see them.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The id of the token that began it; nothing if it was not begun here.
    pub owner: Option<&'a str>,
    /// The directory it is about, where that is known.
    pub workspace: Option<&'a Path>,
}

/// The owner of conversations that the operator began.
pub const OPERATOR: &str = "operator";

impl Principal {
    /// What conversations remember as their owner.
    pub fn owner_id(&self) -> &str {
        match self {
            Self::Operator => OPERATOR,
            Self::Named { id, .. } => id,
        }
    }

    /// The name for records and other users.
    pub fn name(&self) -> &str {
        match self {
            Self::Operator => OPERATOR,
            Self::Named { name, .. } => name,
        }
    }

    /// What it may do; the operator owns everything.
    pub const fn role(&self) -> Role {
        match self {
            Self::Operator => Role::Owner,
            Self::Named { role, .. } => *role,
        }
    }

    /// Whether it is the user who started the server.
    pub const fn is_operator(&self) -> bool {
        matches!(self, Self::Operator)
    }

    /// Whether it may use a directory.
    pub fn may_use(&self, workspace: &Path) -> bool {
        match self {
            Self::Operator => true,
            Self::Named { workspaces, .. } => {
                workspaces.iter().any(|known| workspace.starts_with(known))
            }
        }
    }

    /// Whether it may begin conversations and run calls.
    pub fn may_begin(&self) -> bool {
        self.role() == Role::Owner
    }

    /// Whether it may see a conversation.
    pub fn may_read(&self, of: Subject<'_>) -> bool {
        match self {
            Self::Operator => true,
            Self::Named {
                id,
                role: Role::Owner,
                ..
            } => of.owner == Some(id),
            Self::Named { .. } => of.workspace.is_some_and(|place| self.may_use(place)),
        }
    }

    /// Whether it may answer the questions of a conversation.
    pub fn may_approve(&self, of: Subject<'_>) -> bool {
        self.role() != Role::Reader && self.may_read(of)
    }

    /// Whether it may send, cancel, resume and undo in a conversation.
    pub fn may_write(&self, of: Subject<'_>) -> bool {
        self.role() == Role::Owner && self.may_read(of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(role: Role) -> Principal {
        Principal::Named {
            id: "t1".into(),
            name: "ci".into(),
            role,
            workspaces: vec!["/w".into()],
        }
    }

    #[test]
    fn each_role_may_do_its_own_and_no_more() {
        let workspace = |path| Some(Path::new(path));
        // owner, workspace, then what owner, approver and reader may: r(ead), a(pprove), w(rite)
        for (owner, place, expected) in [
            (Some("t1"), workspace("/w/a"), ["raw", "ra", "r"]),
            (Some("t2"), workspace("/w"), ["", "ra", "r"]),
            (None, workspace("/w"), ["", "ra", "r"]),
            (Some("t2"), workspace("/other"), ["", "", ""]),
            (Some("t2"), workspace("/wide"), ["", "", ""]),
            (None, None, ["", "", ""]),
        ] {
            let of = Subject {
                owner,
                workspace: place,
            };
            for (role, expected) in Role::ALL.into_iter().zip(expected) {
                let who = named(role);
                let may = [
                    (who.may_read(of), 'r'),
                    (who.may_approve(of), 'a'),
                    (who.may_write(of), 'w'),
                ];
                let may: String = may.iter().filter(|one| one.0).map(|one| one.1).collect();
                assert_eq!(may, expected, "{role:?} on {of:?}");
            }
            assert!(Principal::Operator.may_write(of) && Principal::Operator.may_approve(of));
        }
    }
}
