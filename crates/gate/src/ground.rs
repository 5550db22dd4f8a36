//! What a file is right now, for plans that rest on it.

use std::io::Read;

use sha2::{Digest, Sha256};
use toolgate_model::ToolError;
use toolgate_sandbox::paths::{PathError, PathWall, ReadHandle};

use crate::tool::{hex, path_error};

/// A larger file cannot be the ground of a question: nobody reads that much.
const MOST: u64 = 64 * 1024 * 1024;

/// A file at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ground {
    /// Its resolved place, if it is there.
    pub(crate) place: Option<String>,
    /// SHA-256 of its content, if it is there.
    pub(crate) sha256: Option<String>,
}

/// The name under which a conversation remembers a file: links resolved, root included.
pub fn place(handle: &ReadHandle) -> String {
    format!("{}:{}", handle.root, handle.path.to_string_lossy())
}

/// Looks at a file through the path wall.
pub(crate) fn look(wall: &PathWall, path: &str) -> Result<Ground, ToolError> {
    let mut handle = match wall.open_read(path) {
        Ok(handle) => handle,
        Err(PathError::NotFound { .. }) => {
            return Ok(Ground {
                place: None,
                sha256: None,
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
    Ok(Ground {
        place: Some(place(&handle)),
        sha256: Some(hex(&hash.finalize())),
    })
}
