//! Reading, recovery, checking and pruning of a journal in memory.

use std::collections::HashMap;
use std::sync::Arc;

use crate::blocking;
use crate::journal::chain::Hash;
use crate::journal::{
    Anchor, Body, Conversation, ConversationFilter, Entry, Filter, IntendedFile, JournalError,
    Line, Problem, Prune, PruneJournal, Pruned, ReadJournal, Record, RecoverJournal, State,
    Unfinished, Verified, VerifyJournal,
};
use crate::tool::hex;
use futures::future::{BoxFuture, ready};
use toolgate_model::ConversationId;

use super::held::{Held, Kept, Talk};
use super::journal::MemoryJournal;
use crate::journal::calls::About;

impl ReadJournal for MemoryJournal {
    fn conversations(
        &self,
        filter: ConversationFilter,
    ) -> BoxFuture<'_, Result<Vec<Conversation>, JournalError>> {
        let held = self.lock();
        let all = held.conversations.iter();
        let mut found: Vec<Conversation> = all
            .filter(|(id, talk)| {
                filter.id.as_ref().is_none_or(|only| only == *id)
                    && (filter.workspace.is_none() || filter.workspace == talk.workspace)
                    && filter.from_ms.is_none_or(|from| talk.started_ms >= from)
                    && filter.until_ms.is_none_or(|until| talk.started_ms < until)
            })
            .map(|(id, talk)| conversation(id, talk))
            .collect();
        found.sort_by(|a, b| (a.started_ms, &a.id).cmp(&(b.started_ms, &b.id)));
        found.truncate(most(filter.most));
        Box::pin(ready(Ok(found)))
    }

    fn entries(&self, filter: Filter) -> BoxFuture<'_, Result<Vec<Line>, JournalError>> {
        Box::pin(async move {
            self.hashed().await;
            Ok(self.lines(&filter))
        })
    }

    fn image(&self, sha256: &str) -> BoxFuture<'_, Result<Option<Vec<u8>>, JournalError>> {
        let held = self.lock();
        let found = held.images.get(sha256).map(|(bytes, _)| bytes.to_vec());
        Box::pin(ready(Ok(found)))
    }
}

impl MemoryJournal {
    /// Hashes what is not hashed yet, on a thread that may wait and a few entries at a time: who
    /// writes meanwhile does not wait for all of them.
    async fn hashed(&self) {
        let journal = self.clone();
        blocking::run(move || while journal.lock().hash_some() {}).await;
    }

    fn lines(&self, filter: &Filter) -> Vec<Line> {
        let mut held = self.lock();
        let mut found = Vec::new();
        let (only, after) = (filter.conversation.as_ref(), filter.after.as_ref());
        let most = most(filter.most);
        for (id, talk) in &mut held.conversations {
            let skipped = after.is_some_and(|(of, _)| id < of);
            if skipped || only.is_some_and(|only| only != id) {
                continue;
            }
            let hashes = talk.hashes(id).to_vec();
            for ((seq, kept), hash) in (1_u64..).zip(&talk.lines).zip(hashes) {
                let wanted = after.is_none_or(|(of, last)| of != id || seq > *last)
                    && filter.call.as_ref().is_none_or(|call| *call == kept.call())
                    && filter.kind.as_ref().is_none_or(|kind| kind == kept.kind())
                    && filter.from_ms.is_none_or(|from| kept.at_ms() >= from)
                    && filter.until_ms.is_none_or(|until| kept.at_ms() < until);
                if found.len() >= most {
                    break;
                }
                if wanted {
                    found.push(line(id, seq, kept, &hash));
                }
            }
        }
        found
    }

    fn verified(&self, against: Option<Anchor>) -> Verified {
        let mut held = self.lock();
        let anchors = held.anchors();
        let mut verified = Verified {
            conversations: count(held.conversations.len()),
            commits: count(anchors.len()),
            ..Verified::default()
        };
        for talk in held.conversations.values() {
            verified.entries += count(talk.lines.len());
            let pruned = talk.lines.iter().filter(|kept| kept.entry().is_none());
            verified.pruned += count(pruned.count());
            for call in talk.calls.values().flatten() {
                *verified.calls.entry(call.standing.state).or_default() += 1;
            }
        }
        if let Some(kept) = against.filter(|kept| !anchors.contains(kept)) {
            let number = kept.number;
            verified.found(Problem::NotThatRecord { number });
        }
        verified.anchor = anchors.last().cloned();
        verified
    }
}

fn most(most: Option<u64>) -> usize {
    most.map_or(usize::MAX, |most| {
        usize::try_from(most).unwrap_or(usize::MAX)
    })
}

fn conversation(id: &ConversationId, talk: &Talk) -> Conversation {
    let lines = &talk.lines;
    let mut calls = std::collections::BTreeMap::new();
    for call in talk.calls.values().flatten() {
        *calls.entry(call.standing.state).or_default() += 1;
    }
    let bytes = lines.iter().filter_map(Kept::body).map(|body| body.len());
    Conversation {
        id: id.clone(),
        workspace: talk.workspace.clone(),
        started_ms: talk.started_ms,
        last_ms: lines
            .iter()
            .map(Kept::at_ms)
            .max()
            .unwrap_or(talk.started_ms),
        entries: count(lines.len()),
        calls,
        bytes: count(bytes.sum()),
        held_by: talk.holder.map(|_| std::process::id()),
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn line(id: &ConversationId, seq: u64, kept: &Kept, hash: &Hash) -> Line {
    Line {
        conversation: id.clone(),
        seq,
        kind: kept.kind().to_owned(),
        call: kept.call(),
        nth: kept.nth,
        at_ms: kept.at_ms(),
        hash: hex(hash),
        body: match kept.entry() {
            Some(entry) => Body::Kept(Box::new(entry.record.clone())),
            None => Body::Pruned,
        },
    }
}

impl RecoverJournal for MemoryJournal {
    fn unfinished(
        &self,
        conversation: Option<&ConversationId>,
    ) -> BoxFuture<'_, Result<Vec<Unfinished>, JournalError>> {
        let held = self.lock();
        let mut found = Vec::new();
        for (id, talk) in &held.conversations {
            let only = conversation.is_none_or(|only| only == id);
            if only && !held.is_held_elsewhere(self.holder.number, id) {
                found.extend(unfinished(id, talk));
            }
        }
        Box::pin(ready(Ok(found)))
    }

    fn intent(&self, call: &Unfinished) -> BoxFuture<'_, Result<Vec<IntendedFile>, JournalError>> {
        let mut held = self.lock();
        let found = held
            .begin(self.holder.number, &call.conversation, None, 0)
            .and_then(|()| intent(&held, call));
        Box::pin(ready(found))
    }

    fn put(&self, call: &Unfinished, record: Record) -> BoxFuture<'_, Result<(), JournalError>> {
        let entry = Entry {
            conversation: call.conversation.clone(),
            call: call.call.clone(),
            at_ms: self.clock.now_ms(),
            record,
        };
        let entries = Arc::new(vec![entry]);
        let about = About::Nth(call.nth);
        let mut held = self.lock();
        let done = held.write(self.holder.number, &entries, about, true);
        Box::pin(ready(done.map(drop)))
    }
}

fn unfinished(id: &ConversationId, talk: &Talk) -> Vec<Unfinished> {
    let mut found = Vec::new();
    for (name, calls) in &talk.calls {
        for call in calls {
            let standing = call.standing;
            if standing.state == State::Finished && !standing.open_intent {
                continue;
            }
            let its = |kept: &&Kept| kept.nth == standing.nth && kept.call() == *name;
            let tool =
                talk.lines
                    .iter()
                    .rev()
                    .filter(its)
                    .find_map(|kept| match &kept.entry()?.record {
                        Record::Planned { plan } => Some(plan.tool.clone()),
                        _ => None,
                    });
            let received = talk.lines.iter().filter(its).map(Kept::at_ms).min();
            let unfinished = Unfinished {
                conversation: id.clone(),
                call: name.clone(),
                nth: standing.nth,
                state: standing.state,
                half_changed: standing.open_intent,
                tool,
                received_ms: received.unwrap_or(0),
                workspace: talk.workspace.clone(),
            };
            found.push((call.batch, unfinished));
        }
    }
    found.sort_by(|a, b| (a.0, &a.1.call, a.1.nth).cmp(&(b.0, &b.1.call, b.1.nth)));
    found.into_iter().map(|(_, call)| call).collect()
}

fn intent(held: &Held, call: &Unfinished) -> Result<Vec<IntendedFile>, JournalError> {
    let talk = held.conversations.get(&call.conversation);
    let open = talk.filter(|talk| {
        let calls = talk.calls.get(&call.call).into_iter().flatten();
        let mut calls = calls.filter(|of| of.standing.nth == call.nth);
        calls.any(|of| of.standing.open_intent)
    });
    let lines = open.into_iter().flat_map(|talk| talk.lines.iter().rev());
    let mut intents = lines
        .filter(|kept| kept.nth == call.nth)
        .filter_map(Kept::entry)
        .filter(|entry| entry.call == call.call);
    let found = intents.find_map(|entry| match &entry.record {
        Record::Intended { files } => Some(files.clone()),
        _ => None,
    });
    found.ok_or_else(|| {
        JournalError::rejected(format!(
            "call {} of conversation {} is without a change of files that is open; `recovered` cannot follow",
            call.call, call.conversation
        ))
    })
}

impl VerifyJournal for MemoryJournal {
    /// Nothing else can change what is in memory, so this says what is there, and whether it is
    /// the journal of an anchor.
    fn verify(&self, against: Option<Anchor>) -> BoxFuture<'_, Result<Verified, JournalError>> {
        Box::pin(async move {
            self.hashed().await;
            Ok(self.verified(against))
        })
    }
}

impl PruneJournal for MemoryJournal {
    fn prune(&self, what: Prune) -> BoxFuture<'_, Result<Pruned, JournalError>> {
        let pruned = prune(&mut self.lock(), what);
        Box::pin(ready(Ok(pruned)))
    }
}

fn prune(held: &mut Held, what: Prune) -> Pruned {
    // Each content with its last mention, its size, and whether an open call needs it.
    let mut bodies: HashMap<Hash, (u64, usize, bool)> = HashMap::new();
    for talk in held.conversations.values() {
        for kept in &talk.lines {
            if let Some(body) = kept.body() {
                let open = talk.is_open(&kept.call(), kept.nth);
                let known = bodies.entry(kept.body_hash()).or_default();
                *known = (known.0.max(kept.at_ms()), body.len(), known.2 || open);
            }
        }
    }
    let needed = held.images_needed();
    let images = held.images.values().map(|(bytes, at)| (*at, bytes.len()));
    let mut sizes: Vec<(u64, usize)> = bodies.values().map(|body| (body.0, body.1)).collect();
    sizes.extend(images);
    let mut before_ms = what.before_ms.unwrap_or(0);
    if let Some(most) = what.to_bytes {
        sizes.sort_unstable();
        let mut left = count(sizes.iter().map(|(_, bytes)| bytes).sum());
        for (at, bytes) in sizes {
            if left <= most {
                break;
            }
            before_ms = before_ms.max(at.saturating_add(1));
            left = left.saturating_sub(count(bytes));
        }
    }
    let mut pruned = Pruned {
        before_ms,
        ..Pruned::default()
    };
    bodies.retain(|_, (at, _, open)| *at < before_ms && !*open);
    pruned.bodies = count(bodies.len());
    pruned.bytes = count(bodies.values().map(|body| body.1).sum());
    for (id, talk) in &mut held.conversations {
        talk.hashes(id);
        for kept in &mut talk.lines {
            if kept.entry().is_some() && bodies.contains_key(&kept.body_hash()) {
                kept.prune();
            }
        }
    }
    held.images.retain(|hash, (bytes, at)| {
        let stays = *at >= before_ms || needed.contains(hash);
        if !stays {
            pruned.images += 1;
            pruned.bytes += count(bytes.len());
        }
        stays
    });
    pruned
}
