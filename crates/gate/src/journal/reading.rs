//! Reading what is recorded.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use toolgate_model::{CallId, ConversationId};

use super::states::State;
use super::{JournalError, Record};

/// So many entries are read at once where all are wanted.
const PAGE: u64 = 256;

/// A conversation on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// Its name.
    pub id: ConversationId,
    /// The workspace it is about, where that is known.
    pub workspace: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub started_ms: u64,
    /// When something happened last, in milliseconds since 1970.
    pub last_ms: u64,
    /// How many entries it has.
    pub entries: u64,
    /// How many of its calls have come how far.
    pub calls: BTreeMap<State, u64>,
    /// How many bytes its entries say; what two entries say alike counts for both.
    pub bytes: u64,
    /// The process that works on it now.
    pub held_by: Option<u32>,
}

/// Which conversations are wanted. A field that is not given does not narrow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConversationFilter {
    /// The one of this name.
    pub id: Option<ConversationId>,
    /// About this workspace.
    pub workspace: Option<String>,
    /// Begun at this time or later, in milliseconds since 1970.
    pub from_ms: Option<u64>,
    /// Begun before this time, in milliseconds since 1970.
    pub until_ms: Option<u64>,
    /// At most so many.
    pub most: Option<u64>,
}

impl ConversationFilter {
    /// The conversation of this name.
    pub fn of(id: &ConversationId) -> Self {
        Self {
            id: Some(id.clone()),
            ..Self::default()
        }
    }
}

/// Which entries are wanted. A field that is not given does not narrow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this conversation.
    pub conversation: Option<ConversationId>,
    /// After this entry of this conversation, in the order in which entries are read.
    pub after: Option<(ConversationId, u64)>,
    /// About this call.
    pub call: Option<CallId>,
    /// Of this kind, as [`Record::kind`] names it.
    pub kind: Option<String>,
    /// Not before, in milliseconds since 1970.
    pub from_ms: Option<u64>,
    /// Before, in milliseconds since 1970.
    pub until_ms: Option<u64>,
    /// At most so many.
    pub most: Option<u64>,
}

impl Filter {
    /// All of a conversation.
    pub fn of(conversation: &ConversationId) -> Self {
        Self {
            conversation: Some(conversation.clone()),
            ..Self::default()
        }
    }

    /// A conversation from the entry after this one on.
    pub fn after(conversation: &ConversationId, seq: u64) -> Self {
        Self {
            after: Some((conversation.clone(), seq)),
            ..Self::of(conversation)
        }
    }
}

/// What an entry says.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// It is there.
    Kept(Box<Record>),
    /// It was pruned; the chain still vouches that it was there.
    Pruned,
    /// It is there, and nothing that can be read.
    Unreadable(String),
}

/// An entry on record.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The conversation.
    pub conversation: ConversationId,
    /// Its number there; the first is 1, and none is left out or comes twice.
    pub seq: u64,
    /// What it is.
    pub kind: String,
    /// The call it is about.
    pub call: CallId,
    /// Which call of that id; the first is 1.
    pub nth: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// Its hash, in hexadecimal.
    pub hash: String,
    /// What it says.
    pub body: Body,
}

/// Reads a journal, also while it is written.
pub trait ReadJournal: Send + Sync {
    /// The conversations that were asked for, the one that began first first.
    fn conversations(
        &self,
        filter: ConversationFilter,
    ) -> BoxFuture<'_, Result<Vec<Conversation>, JournalError>>;

    /// The entries that were asked for, by conversation and in order.
    fn entries(&self, filter: Filter) -> BoxFuture<'_, Result<Vec<Line>, JournalError>>;

    /// What a file held before a change, by the hash that the change's entry names; nothing
    /// if that was pruned. It cannot be redacted: it goes back to files and nowhere else. A
    /// journal that keeps no contents has none.
    fn image(&self, sha256: &str) -> BoxFuture<'_, Result<Option<Vec<u8>>, JournalError>> {
        let _ = sha256;
        Box::pin(std::future::ready(Ok(None)))
    }

    /// The conversation of this name.
    fn conversation(
        &self,
        id: &ConversationId,
    ) -> BoxFuture<'_, Result<Option<Conversation>, JournalError>> {
        let found = self.conversations(ConversationFilter::of(id));
        Box::pin(async move { Ok(found.await?.into_iter().next()) })
    }
}

impl dyn ReadJournal + '_ {
    /// Hands out the entries that were asked for, by conversation and in order, until `each` has
    /// had enough. They are read a page at a time, however many there are.
    pub async fn each(
        &self,
        mut filter: Filter,
        mut each: impl FnMut(Line) -> bool,
    ) -> Result<(), JournalError> {
        let mut left = filter.most;
        loop {
            filter.most = Some(left.map_or(PAGE, |left| left.min(PAGE)));
            let page = self.entries(filter.clone()).await?;
            let read = u64::try_from(page.len()).unwrap_or(u64::MAX);
            let Some(last) = page.last() else {
                return Ok(());
            };
            filter.after = Some((last.conversation.clone(), last.seq));
            let wanted = page.into_iter().all(&mut each);
            left = left.map(|left| left.saturating_sub(read));
            if !wanted || left == Some(0) || Some(read) < filter.most {
                return Ok(());
            }
        }
    }
}
