//! What answers allowed or opened until a conversation ends: shown, and revoked on record.
//!
//! ```text
//! answered { lasting } ──┐
//! revoked  { revoked } ──┴▶ what holds now ──▶ Held { name, words } ──▶ revoke(name) ──▶ revoked
//! ```
//!
//! Errors: the journal cannot be read.

use toolgate_gate::journal::{Body, Filter, JournalError, Lasting, Line, ReadJournal, Record};
use toolgate_gate::output::Redactor;
use toolgate_model::{ConversationId, OpenedDirectory, Openings};

/// Something that holds until the conversation ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The name that it is revoked by: an id, a directory or `network`.
    pub name: String,
    /// What it allows, in words.
    pub words: String,
}

/// The name of a network that was opened.
const NETWORK: &str = "network";

/// What holds in a conversation by its journal.
pub(crate) async fn of(
    reader: &dyn ReadJournal,
    id: &ConversationId,
) -> Result<Lasting, JournalError> {
    let mut changes: Vec<(u64, Record)> = Vec::new();
    for kind in ["answered", "revoked"] {
        let filter = Filter {
            kind: Some(kind.to_owned()),
            ..Filter::of(id)
        };
        let each = |line: Line| {
            if let Body::Kept(record) = line.body {
                changes.push((line.seq, *record));
            }
            true
        };
        reader.each(filter, each).await?;
    }
    changes.sort_by_key(|(seq, _)| *seq);
    let mut holds = Lasting::default();
    for (_, record) in changes {
        match record {
            Record::Answered { lasting, .. } => holds.add(*lasting),
            Record::Revoked { revoked, .. } => holds.remove(&revoked),
            _ => {}
        }
    }
    Ok(holds)
}

/// Each of them with its name, in the order of the answers.
pub(crate) fn listed(lasting: &Lasting, redactor: &Redactor) -> Vec<Held> {
    let grants = lasting.grants.iter().map(|grant| Held {
        name: grant.id.clone(),
        words: grant.describe(),
    });
    let directories = lasting.opened.directories.iter().map(|opened| {
        let only = Openings {
            directories: vec![opened.clone()],
            network: None,
        };
        Held {
            name: opened.directory.to.clone(),
            words: format!("opens {}", only.in_words().join(", ")),
        }
    });
    let network = lasting.opened.network.map(|network| {
        let only = Openings {
            directories: Vec::new(),
            network: Some(network),
        };
        Held {
            name: NETWORK.to_owned(),
            words: format!("opens the {}", only.in_words().join(", ")),
        }
    });
    let all = grants.chain(directories).chain(network);
    all.map(|held| Held {
        name: redactor.shown(&held.name),
        words: redactor.shown(&held.words),
    })
    .collect()
}

/// The part of it that a name stands for; nothing if there is none.
pub(crate) fn named(lasting: &Lasting, name: &str) -> Option<Lasting> {
    let grants = lasting.grants.iter();
    let grants = grants.filter(|grant| grant.id == name).cloned();
    let is_named = |opened: &&OpenedDirectory| opened.directory.to == name;
    let directories = lasting.opened.directories.iter().filter(is_named);
    let found = Lasting {
        grants: grants.collect(),
        opened: Openings {
            directories: directories.cloned().collect(),
            network: lasting.opened.network.filter(|_| name == NETWORK),
        },
    };
    (!found.is_empty()).then_some(found)
}
