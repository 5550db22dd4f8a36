//! The approvals that a project's person wants remembered.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toolgate_gate::approve::{Grant, GrantError, GrantStamp, GrantStore};

use super::{Kept, Store, StoreError, VERSION, text};

/// The remembered approvals of one project, in a file that all projects share.
#[derive(Clone, Debug)]
pub struct GrantFile {
    store: Store,
    project: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Grants {
    version: u32,
    projects: BTreeMap<String, Vec<Grant>>,
}

impl Kept for Grants {
    fn empty() -> Self {
        Self {
            version: VERSION,
            projects: BTreeMap::new(),
        }
    }

    fn version(&self) -> u32 {
        self.version
    }
}

impl GrantFile {
    /// The grants of the project in this workspace.
    ///
    /// The file need not be there yet, the workspace must.
    pub fn at(path: impl Into<PathBuf>, workspace: &Path) -> Result<Self, StoreError> {
        let canonical = workspace
            .canonicalize()
            .map_err(|error| StoreError::Refused {
                path: workspace.to_owned(),
                doing: "found",
                error,
            })?;
        Ok(Self {
            store: Store { path: path.into() },
            project: text(&canonical)?,
        })
    }

    /// The project whose grants these are.
    pub fn project(&self) -> &str {
        &self.project
    }

    /// The grants of every project, by workspace.
    pub fn everywhere(&self) -> Result<BTreeMap<String, Vec<Grant>>, StoreError> {
        Ok(self.store.read::<Grants>()?.projects)
    }
}

impl GrantStore for GrantFile {
    fn stamp(&self) -> Option<GrantStamp> {
        self.store.stamp().map(GrantStamp)
    }

    fn list(&self) -> Result<Vec<Grant>, GrantError> {
        let mut all = self.everywhere().map_err(told)?;
        Ok(all.remove(&self.project).unwrap_or_default())
    }

    fn add(&self, grants: &[Grant]) -> Result<(), GrantError> {
        let add = |kept: &mut Grants| {
            kept.projects
                .entry(self.project.clone())
                .or_default()
                .extend_from_slice(grants);
            !grants.is_empty()
        };
        self.store.change(add).map(drop).map_err(told)
    }

    fn revoke(&self, id: &str) -> Result<bool, GrantError> {
        let revoke = |kept: &mut Grants| {
            let Some(grants) = kept.projects.get_mut(&self.project) else {
                return false;
            };
            let before = grants.len();
            grants.retain(|grant| grant.id != id);
            let found = grants.len() < before;
            if grants.is_empty() {
                kept.projects.remove(&self.project);
            }
            found
        };
        self.store.change(revoke).map_err(told)
    }
}

fn told(error: StoreError) -> GrantError {
    GrantError {
        message: error.to_string(),
    }
}
