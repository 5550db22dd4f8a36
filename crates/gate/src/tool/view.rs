//! The window through which a plan may look: reading only.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use toolgate_model::{Access, FileDigest, ToolError, hex};
use toolgate_sandbox::paths::{PathError, PathSandbox, Resolved, Roots};

use crate::blocking;
use crate::execute::cancelled;
use crate::output::Redactor;
use crate::session::Session;

/// Read-only access for previews. It has no way to write and none to the network.
///
/// Its methods may wait for a disk. A preview that is asynchronous itself uses them in
/// [`View::look`].
#[derive(Clone)]
pub struct View {
    sandbox: PathSandbox,
    session: Arc<Session>,
    redactor: Arc<Redactor>,
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("View")
    }
}

/// A file as a preview sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What the plan rests on.
    pub digest: FileDigest,
    /// The content, if the file exists.
    pub content: Option<Vec<u8>>,
}

impl View {
    pub(crate) fn new(
        sandbox: &PathSandbox,
        session: &Arc<Session>,
        redactor: &Arc<Redactor>,
    ) -> Self {
        Self {
            sandbox: sandbox.clone(),
            session: Arc::clone(session),
            redactor: Arc::clone(redactor),
        }
    }

    /// Looks at files on a thread that may wait, so that no conversation waits for a disk, a
    /// hash or a difference.
    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Self) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let view = self.clone();
        let seen = blocking::run(move || look(&view)).await;
        seen.unwrap_or_else(|| Err(cancelled()))
    }

    /// The secrets of the conversation, for previews that quote a file to say why a call fails.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// The conversation, for what was read in it.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The roots of the path sandbox, the working directory first.
    pub fn roots(&self) -> &Roots {
        self.sandbox.roots()
    }

    /// Checks a path as an access would, and says what is there. Changes nothing.
    pub fn preflight(&self, path: &str, access: Access) -> Result<Resolved, PathError> {
        self.sandbox.preflight(path, access)
    }

    /// Refuses content that a write to this path would refuse.
    pub fn check_content(&self, path: &str, content: &[u8]) -> Result<(), ToolError> {
        let checked = self.sandbox.check_content(path, content);
        checked.map_err(|error| path_error(&error))
    }

    /// Reads a file of at most `max_bytes` through the path sandbox. A missing file is no error.
    pub fn read(&self, path: &str, max_bytes: u64) -> Result<Seen, ToolError> {
        let digest = |sha256| FileDigest {
            path: path.to_owned(),
            sha256,
        };
        let mut handle = match self.sandbox.open_read(path) {
            Ok(handle) => handle,
            Err(PathError::NotFound { .. }) => {
                return Ok(Seen {
                    digest: digest(None),
                    content: None,
                });
            }
            Err(error) => return Err(path_error(&error)),
        };
        let content = handle
            .read_all(max_bytes)
            .map_err(|error| path_error(&error))?;
        let sha256 = hex::encode(&Sha256::digest(&content));
        Ok(Seen {
            digest: digest(Some(sha256)),
            content: Some(content),
        })
    }
}

/// The error of a path as the error of a call.
pub fn path_error(error: &PathError) -> ToolError {
    ToolError::new(error.kind(), error.to_string())
}
