//! Which files of projects the user trusts.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use toolgate_model::hex;

use super::{Kept, Store, StoreError, VERSION, text};
use crate::effective::Project;
use crate::setting_error::ConfigError;
use crate::source::Source;

/// The trusted files.
///
/// A file is trusted at its place and with its content: moved, copied or changed, it is not.
#[derive(Clone, Debug)]
pub struct TrustStore {
    store: Store,
}

/// A file that is trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustedFile {
    /// Where it is.
    pub path: String,
    /// The hash of its content, in hexadecimal.
    pub sha256: String,
    /// When it was trusted, in milliseconds since 1970.
    pub at_ms: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Trusted {
    version: u32,
    trusted: Vec<TrustedFile>,
}

impl Kept for Trusted {
    fn empty() -> Self {
        Self {
            version: VERSION,
            trusted: Vec::new(),
        }
    }

    fn version(&self) -> u32 {
        self.version
    }
}

impl TrustStore {
    /// The store in this file, which need not be there yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            store: Store { path: path.into() },
        }
    }

    /// Whether a file with this content is trusted at this place.
    pub fn is_trusted(&self, file: &Path, content: &[u8]) -> Result<bool, StoreError> {
        let trusted = self.store.read::<Trusted>()?.trusted;
        if trusted.is_empty() {
            return Ok(false);
        }
        let (place, sha256) = (text(&place(file)?)?, hash(content));
        Ok(trusted
            .iter()
            .any(|known| known.path == place && known.sha256 == sha256))
    }

    /// Trusts this content at this place, instead of what was trusted there before.
    pub fn trust(
        &self,
        file: &Path,
        content: &[u8],
        at_ms: u64,
    ) -> Result<TrustedFile, StoreError> {
        let new = TrustedFile {
            path: text(&place(file)?)?,
            sha256: hash(content),
            at_ms,
        };
        self.store.change(|kept: &mut Trusted| {
            kept.trusted.retain(|known| known.path != new.path);
            kept.trusted.push(new.clone());
            kept.trusted
                .sort_by(|left, right| left.path.cmp(&right.path));
            true
        })?;
        Ok(new)
    }

    /// Everything that is trusted, by path.
    pub fn list(&self) -> Result<Vec<TrustedFile>, StoreError> {
        Ok(self.store.read::<Trusted>()?.trusted)
    }

    /// Takes trust in the file at this place back; whether there was any.
    pub fn revoke(&self, file: &Path) -> Result<bool, StoreError> {
        // A directory that is gone can still be named as it was listed.
        let place = place(file).unwrap_or_else(|_| file.to_owned());
        self.store.change(|kept: &mut Trusted| {
            let before = kept.trusted.len();
            kept.trusted
                .retain(|known| Path::new(&known.path) != place && Path::new(&known.path) != file);
            kept.trusted.len() < before
        })
    }

    /// Reads the file of a project, if there is one, and whether it is trusted.
    pub fn project(&self, file: &Path) -> Result<Option<Project>, ConfigError> {
        let Some(source) = Source::read_project_if_there(file)? else {
            return Ok(None);
        };
        // The very bytes that are read as configuration are the ones compared.
        let trusted = self.is_trusted(file, source.text().as_bytes())?;
        Ok(Some(Project { source, trusted }))
    }
}

/// Where a file is: its directory with links resolved, and its name with none.
///
/// If the name were resolved too, a link to a trusted file of another project
/// would be trusted here.
fn place(file: &Path) -> Result<PathBuf, StoreError> {
    let refused = |error| StoreError::Refused {
        path: file.to_owned(),
        doing: "found",
        error,
    };
    let Some(name) = file.file_name() else {
        return Err(refused(std::io::ErrorKind::InvalidInput.into()));
    };
    let directory = match file.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    };
    Ok(directory.canonicalize().map_err(refused)?.join(name))
}

fn hash(content: &[u8]) -> String {
    hex::encode(&Sha256::digest(content))
}
