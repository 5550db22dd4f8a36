//! What a file is right now, for plans that rest on it.

use std::io::Read;

use sha2::{Digest, Sha256};
use toolgate_model::{FileDigest, ToolError};
use toolgate_sandbox::paths::{PathError, PathSandbox, ReadHandle};

use crate::tool::{hex, path_error};

/// A larger file cannot be the ground of a question: nobody reads that much.
const MOST: u64 = 64 * 1024 * 1024;

/// Of a larger file it is not known which lines of it are still in their place.
const MOST_LINES_BYTES: u64 = 4 * 1024 * 1024;

/// A file at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Preconditions {
    /// Its resolved place, if it is there.
    pub(crate) place: Option<String>,
    /// SHA-256 of its content, if it is there.
    pub(crate) sha256: Option<String>,
    /// When it changed last, in milliseconds since 1970.
    pub(crate) modified_ms: Option<u64>,
}

/// The name under which a conversation remembers a file: links resolved, root included.
pub fn place(handle: &ReadHandle) -> String {
    format!("{}:{}", handle.root, handle.path.to_string_lossy())
}

/// The content of a file as lines, if it still has this digest. Nothing for a large one.
pub(crate) fn lines(sandbox: &PathSandbox, file: &FileDigest) -> Option<Vec<String>> {
    let handle = sandbox.open_read(&file.path).ok()?;
    let mut content = Vec::new();
    let mut bounded = handle.file.take(MOST_LINES_BYTES + 1);
    bounded.read_to_end(&mut content).ok()?;
    let known = file.sha256.as_deref() == Some(hex(&Sha256::digest(&content)).as_str());
    let text = String::from_utf8_lossy(&content);
    known.then(|| text.lines().map(str::to_owned).collect())
}

/// Looks at a file through the path sandbox.
pub(crate) fn look(sandbox: &PathSandbox, path: &str) -> Result<Preconditions, ToolError> {
    let mut handle = match sandbox.open_read(path) {
        Ok(handle) => handle,
        Err(PathError::NotFound { .. }) => {
            return Ok(Preconditions {
                place: None,
                sha256: None,
                modified_ms: None,
            });
        }
        Err(error) => return Err(path_error(&error)),
    };
    let failed = |error: std::io::Error| ToolError::failed(format!("{path}: {error}"));
    let mut hash = Sha256::new();
    let mut chunk = [0_u8; 16 * 1024];
    let mut total = 0_u64;
    loop {
        let count = handle.file.read(&mut chunk).map_err(failed)?;
        if count == 0 {
            break;
        }
        total += count as u64;
        if total > MOST {
            return Err(ToolError::new(
                toolgate_model::ErrorKind::TooLarge,
                format!("{path} is larger than {MOST} bytes"),
            ));
        }
        hash.update(chunk.get(..count).unwrap_or_default());
    }
    Ok(Preconditions {
        place: Some(place(&handle)),
        sha256: Some(hex(&hash.finalize())),
        modified_ms: u64::try_from(handle.stat.modified_ms()).ok(),
    })
}
