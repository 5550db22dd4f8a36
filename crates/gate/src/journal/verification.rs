//! Whether the record is what was written.

use std::collections::BTreeMap;

use futures::future::BoxFuture;

use super::chain::Anchor;
use super::states::State;
use super::{JournalError, JournalErrorKind, ReadJournal};

/// Checks a journal.
pub trait VerifyJournal: ReadJournal {
    /// Checks everything, and that the journal holds the commit of an anchor kept elsewhere.
    /// Finding something is no error: see [`Verified::is_sound`].
    fn verify(&self, against: Option<Anchor>) -> BoxFuture<'_, Result<Verified, JournalError>>;

    /// Refuses a conversation that is not as its commits say, before files change because of
    /// it. The whole check by default; a journal that can check one conversation alone does.
    fn verify_conversation(
        &self,
        conversation: &toolgate_model::ConversationId,
    ) -> BoxFuture<'_, Result<(), JournalError>> {
        let _ = conversation;
        Box::pin(async move {
            let verified = self.verify(None).await?;
            match verified.problems.first() {
                None => Ok(()),
                Some(problem) => Err(JournalError::new(
                    JournalErrorKind::Damaged,
                    format!("{problem}; no file was changed because of it"),
                )),
            }
        })
    }
}

/// More problems than this are counted, not told.
const TOLD: usize = 100;

/// Something that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// SQLite itself finds the file damaged.
    #[error("the file is damaged: {why}")]
    File {
        /// What SQLite said.
        why: String,
    },
    /// The schema is not the one that this program makes.
    #[error("the schema: {what}; nothing else was checked")]
    Schema {
        /// What is different.
        what: String,
    },
    /// A row holds something that this program never writes.
    #[error("table {table}, row {row}: {why}")]
    Unreadable {
        /// The table.
        table: &'static str,
        /// The key of the row.
        row: String,
        /// What is wrong with it.
        why: String,
    },
    /// Entries are missing.
    #[error("conversation {conversation}: entries before number {seq} are missing")]
    Gap {
        /// The conversation.
        conversation: String,
        /// The first number after the gap.
        seq: u64,
    },
    /// An entry was changed.
    #[error("conversation {conversation}: entry {seq} is not what was written")]
    Changed {
        /// The conversation.
        conversation: String,
        /// The entry.
        seq: u64,
    },
    /// An entry does not follow the one before it.
    #[error("conversation {conversation}: entry {seq} does not follow the entry before it")]
    Unlinked {
        /// The conversation.
        conversation: String,
        /// The entry.
        seq: u64,
    },
    /// What an entry says was changed.
    #[error("conversation {conversation}: what entry {seq} says is not what was written")]
    BodyChanged {
        /// The conversation.
        conversation: String,
        /// The entry.
        seq: u64,
    },
    /// The body of an entry is gone, and it was not pruned.
    #[error("conversation {conversation}: what entry {seq} says is missing, and was not pruned")]
    BodyMissing {
        /// The conversation.
        conversation: String,
        /// The entry.
        seq: u64,
    },
    /// The content of a file before a change was changed.
    #[error("the image {hash} is not what was written")]
    ImageChanged {
        /// Its name: the hash it should have.
        hash: String,
    },
    /// The time that decides when a content is pruned was changed.
    #[error(
        "table {table}: {hash} is listed as mentioned last at {listed}, its entries say {entries}"
    )]
    WrongTime {
        /// The table.
        table: &'static str,
        /// The hash of the content.
        hash: String,
        /// What the table says, in milliseconds since 1970.
        listed: u64,
        /// What the entries say.
        entries: u64,
    },
    /// A content that no entry names.
    #[error("table {table}: no entry names {hash}")]
    Unnamed {
        /// The table.
        table: &'static str,
        /// The hash of the content.
        hash: String,
    },
    /// The content of a file before a change is gone, and it was not pruned.
    #[error(
        "conversation {conversation}: entry {seq} needs the image {hash}, which is missing and was not pruned"
    )]
    ImageMissing {
        /// The conversation.
        conversation: String,
        /// The entry.
        seq: u64,
        /// The hash of the image.
        hash: String,
    },
    /// Entries about a call that cannot follow each other.
    #[error("conversation {conversation}: entry {seq}: `{kind}` cannot follow for call {call}")]
    OutOfOrder {
        /// The conversation.
        conversation: String,
        /// The entry.
        seq: u64,
        /// The call.
        call: String,
        /// What the entry is.
        kind: String,
    },
    /// The table of calls says something else than the entries.
    #[error(
        "conversation {conversation}: call {call} is listed as {listed}, its entries say {entries}"
    )]
    WrongState {
        /// The conversation.
        conversation: String,
        /// The call, with its number.
        call: String,
        /// What the table says.
        listed: String,
        /// What the entries say.
        entries: String,
    },
    /// The table of calls says something else than the entries, besides the state.
    #[error(
        "conversation {conversation}: call {call} has {column} {listed}, its entries say {entries}"
    )]
    WrongCall {
        /// The conversation.
        conversation: String,
        /// The call, with its number.
        call: String,
        /// The column.
        column: &'static str,
        /// What the table says.
        listed: i64,
        /// What the entries say.
        entries: String,
    },
    /// A conversation that no list shows.
    #[error("conversation {conversation} is on record and not listed")]
    NotListed {
        /// The conversation.
        conversation: String,
    },
    /// A conversation was put in.
    #[error("conversation {conversation} is listed, and no commit opened it")]
    NotOpened {
        /// The conversation.
        conversation: String,
    },
    /// A conversation's workspace or start was changed.
    #[error("conversation {conversation}: {column} is {listed}, commit {number} wrote {written}")]
    ConversationChanged {
        /// The conversation.
        conversation: String,
        /// The column.
        column: &'static str,
        /// What the table says.
        listed: String,
        /// What was written.
        written: String,
        /// The commit.
        number: u64,
    },
    /// A stored value was changed.
    #[error("stored value {key:?} of {space:?} in {workspace:?} {what}")]
    Stored {
        /// The workspace.
        workspace: String,
        /// The space.
        space: String,
        /// The key.
        key: String,
        /// What happened to it.
        what: String,
    },
    /// A lease of a conversation that does not exist.
    #[error("a lease is held on conversation {conversation}, which is not listed")]
    StrayLease {
        /// The conversation.
        conversation: String,
    },
    /// The tables were taken over as found more than once.
    #[error("commit {number} takes the tables over as found, after earlier commits covered them")]
    TakenOverAgain {
        /// The commit.
        number: u64,
    },
    /// A commit is missing.
    #[error("commits before number {number} are missing")]
    AnchorGap {
        /// The first number after the gap.
        number: u64,
    },
    /// The anchor of a commit was changed, or does not follow the one before it.
    #[error("the anchor of commit {number} is not what was written")]
    AnchorChanged {
        /// The commit.
        number: u64,
    },
    /// A commit vouches for an entry that is not there, or is another.
    #[error(
        "commit {number} wrote entry {seq} of conversation {conversation}, and that is gone or another"
    )]
    HeadGone {
        /// The commit.
        number: u64,
        /// The conversation.
        conversation: String,
        /// The entry.
        seq: u64,
    },
    /// The end of a conversation is no commit's.
    #[error("conversation {conversation} ends with entry {seq}, and no commit wrote that")]
    NotAnchored {
        /// The conversation.
        conversation: String,
        /// Its last entry.
        seq: u64,
    },
    /// The anchor kept elsewhere is not in this record.
    #[error(
        "commit {number} is not in the record, or not the one that was kept elsewhere: the end was cut off, or this is another record"
    )]
    NotThatRecord {
        /// The commit.
        number: u64,
    },
}

/// From which commit on a check covers workspaces, start times, batches and stored values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coverage {
    /// From the first.
    #[default]
    Whole,
    /// From this one, which took over what an older version wrote.
    Since {
        /// The commit.
        commit: u64,
    },
    /// From none: the file is as an older version wrote it.
    Not,
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// How many conversations there are.
    pub conversations: u64,
    /// How many entries.
    pub entries: u64,
    /// How many of them say what was pruned since.
    pub pruned: u64,
    /// How many commits.
    pub commits: u64,
    /// How many calls have come how far.
    pub calls: BTreeMap<State, u64>,
    /// The last commit, to be kept elsewhere.
    pub anchor: Option<Anchor>,
    /// What the commits cover.
    pub coverage: Coverage,
    /// What is not as it was written; the first ones.
    pub problems: Vec<Problem>,
    /// How many more there are.
    pub more_problems: u64,
}

impl Verified {
    /// Whether everything is as it was written.
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }

    /// Adds something that is not as it was written.
    pub fn found(&mut self, problem: Problem) {
        if self.problems.len() < TOLD {
            self.problems.push(problem);
        } else {
            self.more_problems += 1;
        }
    }
}
