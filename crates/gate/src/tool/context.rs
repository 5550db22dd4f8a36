//! What a running call can reach, and the proof that it was let through.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use toolgate_model::{CallId, ErrorKind, Openings, PlanRecord, Stream, ToolError};
use toolgate_policy::{Hidden, Policy};
use toolgate_sandbox::paths::PathSandbox;

use crate::clock::{Clock, Entropy};
use crate::execute::{Chunks, Hold};
use crate::journal::{Entry, Intended, Journal, Record};
use crate::output::{BlockLimits, Redactor};
use crate::session::Session;

/// The proof that a call passed plan, policy and approval. Only `execute` makes one.
pub(crate) struct Permit(());

impl Permit {
    pub(crate) const fn issue() -> Self {
        Self(())
    }
}

/// How much a tool may hand back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputLimits {
    /// The most bytes of one result.
    pub max_bytes: usize,
    /// The most lines of one result.
    pub max_lines: Option<usize>,
    /// What is left of the model's context, in bytes.
    pub available_capacity: usize,
    /// Of the blocks beside the text.
    pub blocks: BlockLimits,
}

impl OutputLimits {
    /// The smaller of the two: what a result may have.
    pub fn effective(&self) -> usize {
        self.max_bytes.min(self.available_capacity)
    }
}

pub(crate) struct ContextParts {
    pub(crate) call_id: CallId,
    pub(crate) sandbox: PathSandbox,
    pub(crate) session: Arc<Session>,
    pub(crate) cancel: CancellationToken,
    pub(crate) chunks: Arc<Chunks>,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) limits: OutputLimits,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) opened: Openings,
    pub(crate) plan: Arc<PlanRecord>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) journal: Arc<dyn Journal>,
}

/// Everything a call may use while it runs. It cannot be made outside the gate:
///
/// ```compile_fail,E0451
/// # use toolgate_gate::tool::RunCtx;
/// fn forge() -> RunCtx { RunCtx { parts: todo!(), hold: None, _permit: todo!() } }
/// ```
pub struct RunCtx {
    parts: ContextParts,
    hold: Option<Arc<Hold>>,
    _permit: Permit,
}

impl RunCtx {
    pub(crate) fn new(parts: ContextParts, permit: Permit) -> Self {
        Self {
            parts,
            hold: None,
            _permit: permit,
        }
    }

    /// Keeps the call's paths locked for as long as this context lives.
    pub(crate) fn hold(&mut self, hold: Arc<Hold>) {
        self.hold = Some(hold);
    }

    /// The call.
    pub fn call_id(&self) -> &CallId {
        &self.parts.call_id
    }

    /// The path sandbox: the only way to files.
    pub fn sandbox(&self) -> &PathSandbox {
        &self.parts.sandbox
    }

    /// The conversation: what was read, what was kept.
    pub fn session(&self) -> &Arc<Session> {
        &self.parts.session
    }

    /// What counts as a secret. Lines it hides do not count as read.
    pub fn redactor(&self) -> &Redactor {
        &self.parts.redactor
    }

    /// What an approver opened beyond the sandbox to this call, or to its conversation.
    pub fn opened(&self) -> &Openings {
        &self.parts.opened
    }

    /// What rules hide from a call that looks through directories; nothing where none does.
    /// A walk leaves out what it names, and reports how much that was.
    pub fn hidden(&self) -> Option<Hidden<'_>> {
        let plan = &self.parts.plan;
        let hidden = self
            .parts
            .policy
            .hidden(&plan.tool, &plan.call.args, &plan.facts)?;
        let leads = plan.leads_to.iter();
        Some(leads.fold(hidden, |hidden, lead| hidden.led(&lead.path, &lead.to)))
    }

    /// How much may be handed back.
    pub fn limits(&self) -> OutputLimits {
        self.parts.limits
    }

    /// Tells when the call is to stop. Long work looks at it, or waits for it.
    pub fn cancel(&self) -> &CancellationToken {
        &self.parts.cancel
    }

    /// Time.
    pub fn clock(&self) -> &dyn Clock {
        &*self.parts.clock
    }

    /// Randomness.
    pub fn entropy(&self) -> &dyn Entropy {
        &*self.parts.entropy
    }

    /// Shows a piece of output while the call runs. It is sanitized, redacted and
    /// passed on in order; a slow reader makes this wait.
    pub async fn emit(&self, stream: Stream, bytes: &[u8]) {
        self.parts.chunks.push(stream, bytes).await;
    }

    /// Puts on record what is about to happen to files, and what they hold now, in one
    /// durable step. Everything is staged and synced before this, nothing renamed. After an
    /// error the tool must not go on: a crash would leave some files changed for good.
    pub async fn intend(&self, files: Vec<Intended>) -> Result<(), ToolError> {
        let (mut told, mut images) = (Vec::with_capacity(files.len()), Vec::new());
        for file in files {
            let (mut file, image) = file.split();
            // The place is needed as it is; the path is only shown.
            file.path = self.parts.redactor.redact(&file.path).0.into_owned();
            told.push(file);
            images.extend(image);
        }
        let entry = Entry {
            conversation: self.parts.session.id().clone(),
            call: self.parts.call_id.clone(),
            at_ms: self.parts.clock.now_ms(),
            record: Record::Intended { files: told },
        };
        let kept = self.parts.journal.intend(entry, images).await;
        kept.map_err(|error| {
            ToolError::new(ErrorKind::Journal, format!("{error}; no file was changed"))
        })
    }
}

impl std::fmt::Debug for RunCtx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunCtx")
            .field("call_id", &self.parts.call_id)
            .field("holds_paths", &self.hold.is_some())
            .finish_non_exhaustive()
    }
}
