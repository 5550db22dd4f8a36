//! What a journal in memory holds, and how entries get there.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::journal::calls::{About, Call, advance};
use crate::journal::chain::{AnchorLink, Hash, Head, Link, NOTHING, sha256};
use crate::journal::states::Step;
use crate::journal::{
    Anchor, Batch, BatchKey, Entry, Image, JournalError, JournalErrorKind, Record, State,
};
use crate::tool::hex;
use toolgate_model::{CallId, ConversationId};

pub(super) struct Held {
    most: usize,
    pub(super) conversations: BTreeMap<ConversationId, Talk>,
    /// Where each entry is, in the order in which they were written.
    order: Vec<(ConversationId, usize)>,
    /// The last entry of every commit, and its time.
    commits: Vec<(ConversationId, u64, u64)>,
    pub(super) images: HashMap<String, (Arc<Vec<u8>>, u64)>,
}

/// So many entries are hashed before others have their turn.
const AT_ONCE: usize = 16;

/// One conversation.
#[derive(Default)]
pub(super) struct Talk {
    pub(super) workspace: Option<String>,
    pub(super) started_ms: u64,
    pub(super) lines: Vec<Kept>,
    pub(super) calls: BTreeMap<CallId, Vec<Call>>,
    pub(super) holder: Option<u64>,
    /// The first entry of every batch.
    keys: HashMap<BatchKey, usize>,
    /// Of as many entries as were looked at: hashing is left to readers.
    hashes: Vec<Hash>,
}

/// An entry.
pub(super) struct Kept {
    pub(super) nth: u64,
    pub(super) said: Said,
}

/// What an entry says, as long as it is not pruned.
pub(super) enum Said {
    Whole(Arc<Vec<Entry>>, usize),
    Pruned {
        kind: &'static str,
        call: CallId,
        at_ms: u64,
        body_hash: Hash,
    },
}

impl Kept {
    pub(super) fn entry(&self) -> Option<&Entry> {
        match &self.said {
            Said::Whole(batch, at) => batch.get(*at),
            Said::Pruned { .. } => None,
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match &self.said {
            Said::Pruned { kind, .. } => kind,
            Said::Whole(..) => self.entry().map_or("", |entry| entry.record.kind()),
        }
    }

    pub(super) fn call(&self) -> CallId {
        match &self.said {
            Said::Pruned { call, .. } => call.clone(),
            Said::Whole(..) => self.entry().map_or("".into(), |entry| entry.call.clone()),
        }
    }

    pub(super) fn at_ms(&self) -> u64 {
        match &self.said {
            Said::Pruned { at_ms, .. } => *at_ms,
            Said::Whole(..) => self.entry().map_or(0, |entry| entry.at_ms),
        }
    }

    /// What it says, as a file would hold it; nothing if that was pruned.
    pub(super) fn body(&self) -> Option<Vec<u8>> {
        let entry = self.entry()?;
        Some(serde_json::to_vec(&entry.record).unwrap_or_default())
    }

    pub(super) fn body_hash(&self) -> Hash {
        match &self.said {
            Said::Pruned { body_hash, .. } => *body_hash,
            Said::Whole(..) => sha256(&self.body().unwrap_or_default()),
        }
    }

    /// Lets go of what it says.
    pub(super) fn prune(&mut self) {
        self.said = Said::Pruned {
            kind: self.kind(),
            call: self.call(),
            at_ms: self.at_ms(),
            body_hash: self.body_hash(),
        };
    }
}

impl Talk {
    /// The hashes of all entries.
    pub(super) fn hashes(&mut self, id: &ConversationId) -> &[Hash] {
        self.hash_some(id, usize::MAX);
        &self.hashes
    }

    /// Hashes at most so many entries that are not hashed yet; whether there were any.
    fn hash_some(&mut self, id: &ConversationId, most: usize) -> bool {
        let hashed = self.hashes.len();
        for (seq, kept) in (1_u64..).zip(&self.lines).skip(hashed).take(most) {
            let before = self.hashes.last().copied().unwrap_or(NOTHING);
            let (call, body_hash) = (kept.call(), kept.body_hash());
            let link = Link {
                conversation: id.as_str(),
                seq,
                kind: kept.kind(),
                call: call.as_str(),
                nth: kept.nth,
                at_ms: kept.at_ms(),
                body_hash: &body_hash,
            };
            self.hashes.push(link.hash(&before));
        }
        self.hashes.len() > hashed
    }

    /// Whether a call still needs what its entries say.
    pub(super) fn is_open(&self, call: &CallId, nth: u64) -> bool {
        let calls = self.calls.get(call).into_iter().flatten();
        let mut found = calls.filter(|call| call.standing.nth == nth);
        found.any(|call| call.standing.state != State::Finished || call.standing.open_intent)
    }
}

/// The number of the entry at a place.
fn number(place: usize) -> u64 {
    u64::try_from(place).unwrap_or(u64::MAX).saturating_add(1)
}

impl Held {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            conversations: BTreeMap::new(),
            order: Vec::new(),
            commits: Vec::new(),
            images: HashMap::new(),
        }
    }

    /// Hashes some entries that are not hashed yet; whether there were any.
    pub(super) fn hash_some(&mut self) -> bool {
        let mut all = self.conversations.iter_mut();
        all.any(|(id, talk)| talk.hash_some(id, AT_ONCE))
    }

    pub(super) fn all(&self) -> Vec<Entry> {
        let found = self.order.iter().filter_map(|(conversation, at)| {
            let talk = self.conversations.get(conversation)?;
            talk.lines.get(*at)?.entry().cloned()
        });
        found.collect()
    }

    fn is_free(&self, holder: u64, conversation: &ConversationId) -> Result<(), JournalError> {
        let talk = self.conversations.get(conversation);
        match talk.and_then(|talk| talk.holder) {
            Some(other) if other != holder => Err(JournalError::new(
                JournalErrorKind::InUse,
                format!("conversation {conversation} is in use by holder {other} of this process"),
            )),
            _ => Ok(()),
        }
    }

    pub(super) fn is_held_elsewhere(&self, holder: u64, conversation: &ConversationId) -> bool {
        self.is_free(holder, conversation).is_err()
    }

    pub(super) fn begin(
        &mut self,
        holder: u64,
        conversation: &ConversationId,
        workspace: Option<String>,
        now_ms: u64,
    ) -> Result<(), JournalError> {
        self.is_free(holder, conversation)?;
        let talk = self.talk(conversation, now_ms);
        talk.holder = Some(holder);
        if talk.workspace.is_none() {
            talk.workspace = workspace;
        }
        Ok(())
    }

    fn talk(&mut self, conversation: &ConversationId, started_ms: u64) -> &mut Talk {
        let begin = || Talk {
            started_ms,
            ..Talk::default()
        };
        self.conversations
            .entry(conversation.clone())
            .or_insert_with(begin)
    }

    pub(super) fn release(&mut self, holder: u64, conversation: &ConversationId) {
        if let Some(talk) = self.conversations.get_mut(conversation) {
            talk.holder = talk.holder.filter(|of| *of != holder);
        }
    }

    pub(super) fn release_all(&mut self, holder: u64) {
        for talk in self.conversations.values_mut() {
            talk.holder = talk.holder.filter(|of| *of != holder);
        }
    }

    /// Writes a batch, or finds that it is there already.
    pub(super) fn append(&mut self, holder: u64, batch: &Batch) -> Result<u64, JournalError> {
        let conversation = batch.conversation();
        self.is_free(holder, &conversation)?;
        let talk = self.conversations.get(&conversation);
        let first = talk.and_then(|talk| Some((talk, *talk.keys.get(batch.key())?)));
        if let Some((talk, first)) = first {
            let there = talk.lines.iter().skip(first);
            let whole = there.len() >= batch.entries().len();
            let mut pairs = there.zip(batch.entries());
            let same = whole
                && pairs.all(|(kept, entry)| {
                    let known = kept.entry();
                    known.map_or(kept.kind() == entry.record.kind(), |known| known == entry)
                });
            if same {
                self.begin(holder, &conversation, None, 0)?;
                return Ok(number(first));
            }
            return Err(JournalError::rejected(format!(
                "conversation {conversation} has other entries under the key {}",
                batch.key()
            )));
        }
        let results = batch.is_only_results();
        let first = self.write(holder, &batch.shared(), About::Meant, results)?;
        let talk = self.talk(&conversation, 0);
        talk.keys.insert(batch.key().clone(), first);
        Ok(number(first))
    }

    /// Writes entries of one conversation, all or none; returns the place of the first.
    pub(super) fn write(
        &mut self,
        holder: u64,
        entries: &Arc<Vec<Entry>>,
        about: About,
        beyond_limit: bool,
    ) -> Result<usize, JournalError> {
        let Some(first) = entries.first() else {
            return Err(JournalError::rejected("no entries"));
        };
        let conversation = &first.conversation;
        self.is_free(holder, conversation)?;
        if !beyond_limit && self.order.len() + entries.len() > self.most {
            let message = format!("{} entries are the most that memory holds", self.most);
            return Err(JournalError::not_written(message));
        }
        let empty = Talk::default();
        let talk = self.conversations.get(conversation).unwrap_or(&empty);
        let place = talk.lines.len();
        let mut moved: BTreeMap<CallId, Vec<Call>> = BTreeMap::new();
        let mut nths = Vec::with_capacity(entries.len());
        for entry in entries.iter() {
            if Step::of(&entry.record) == Step::Note {
                nths.push(0);
                continue;
            }
            let calls = moved.entry(entry.call.clone());
            let calls = calls.or_insert_with(|| {
                let known = talk.calls.get(&entry.call);
                known.cloned().unwrap_or_default()
            });
            let nth = advance(calls, entry, about, number(place)).map_err(|misplaced| {
                JournalError::rejected(format!(
                    "call {} of conversation {} is {}; `{}` cannot follow",
                    entry.call,
                    entry.conversation,
                    misplaced.standing,
                    entry.record.kind()
                ))
            })?;
            nths.push(nth);
        }
        // Nothing fails from here on.
        let talk = self.talk(conversation, first.at_ms);
        talk.holder = Some(holder);
        talk.calls.extend(moved);
        for (at, nth) in nths.into_iter().enumerate() {
            let said = Said::Whole(Arc::clone(entries), at);
            talk.lines.push(Kept { nth, said });
        }
        let seqs = place..talk.lines.len();
        let last = u64::try_from(seqs.end).unwrap_or(u64::MAX);
        let at_ms = entries.last().map_or(0, |entry| entry.at_ms);
        self.order
            .extend(seqs.map(|seq| (conversation.clone(), seq)));
        self.commits.push((conversation.clone(), last, at_ms));
        Ok(place)
    }

    pub(super) fn keep_images(&mut self, images: Vec<Image>, at_ms: u64) {
        for Image { sha256, bytes } in images {
            let kept = self.images.entry(sha256).or_insert((bytes, at_ms));
            kept.1 = kept.1.max(at_ms);
        }
    }

    /// The images that open changes of files would go back to.
    pub(super) fn images_needed(&self) -> HashSet<String> {
        let mut needed = HashSet::new();
        for talk in self.conversations.values() {
            for kept in &talk.lines {
                let Some(entry) = kept.entry() else { continue };
                if let Record::Intended { files } = &entry.record
                    && talk.is_open(&entry.call, kept.nth)
                {
                    needed.extend(files.iter().filter_map(|file| file.before.clone()));
                }
            }
        }
        needed
    }

    /// The anchors of all commits, in order.
    pub(super) fn anchors(&mut self) -> Vec<Anchor> {
        let mut before = NOTHING;
        let mut anchors = Vec::with_capacity(self.commits.len());
        for (number, (conversation, seq, at_ms)) in (1_u64..).zip(&self.commits) {
            let talk = self.conversations.get_mut(conversation);
            let at = usize::try_from(seq - 1).unwrap_or(usize::MAX);
            let hash = talk.and_then(|talk| talk.hashes(conversation).get(at).copied());
            let head = Head(
                conversation.to_string(),
                *seq,
                hex(&hash.unwrap_or(NOTHING)),
            );
            let heads = serde_json::to_string(&[head]).unwrap_or_default();
            let link = AnchorLink {
                number,
                at_ms: *at_ms,
                heads: &heads,
                note: None,
            };
            before = link.hash(&before);
            anchors.push(Anchor::new(number, &before));
        }
        anchors
    }
}
