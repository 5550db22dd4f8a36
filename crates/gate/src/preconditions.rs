//! What a file is right now, for plans that rest on it.

use std::io::Read;

use sha2::{Digest, Sha256};
use toolgate_model::{FileDigest, ToolError};
use toolgate_sandbox::paths::{PathError, PathSandbox, ReadHandle};

use crate::blocking;
use crate::execute::cancelled;
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

/// The content of each file as lines, if it still has its digest. Nothing for a large one.
pub(crate) async fn lines_of(
    sandbox: &PathSandbox,
    files: &[FileDigest],
) -> Vec<Option<Vec<String>>> {
    if files.is_empty() {
        return Vec::new();
    }
    let (sandbox, files) = (sandbox.clone(), files.to_vec());
    let look = move || files.iter().map(|file| lines(&sandbox, file)).collect();
    blocking::run(look).await.unwrap_or_default()
}

fn lines(sandbox: &PathSandbox, file: &FileDigest) -> Option<Vec<String>> {
    let handle = sandbox.open_read(&file.path).ok()?;
    let mut content = Vec::new();
    let mut bounded = handle.file.take(MOST_LINES_BYTES + 1);
    bounded.read_to_end(&mut content).ok()?;
    let known = file.sha256.as_deref() == Some(hex(&Sha256::digest(&content)).as_str());
    let text = String::from_utf8_lossy(&content);
    known.then(|| text.lines().map(str::to_owned).collect())
}

/// Looks at files through the path sandbox, in their order.
pub(crate) async fn look_at(
    sandbox: &PathSandbox,
    files: &[FileDigest],
) -> Result<Vec<Preconditions>, ToolError> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let paths: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
    let sandbox = sandbox.clone();
    let look = move || paths.iter().map(|path| look(&sandbox, path)).collect();
    let looked = blocking::run(look).await;
    looked.unwrap_or_else(|| Err(cancelled()))
}

/// Whether these files still have their digests.
pub(crate) async fn hold(sandbox: &PathSandbox, files: &[FileDigest]) -> bool {
    let now = look_at(sandbox, files).await;
    now.is_ok_and(|now| {
        let mut pairs = now.iter().zip(files);
        pairs.all(|(now, file)| now.sha256 == file.sha256)
    })
}

fn look(sandbox: &PathSandbox, path: &str) -> Result<Preconditions, ToolError> {
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
