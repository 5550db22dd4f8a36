//! The approvals that a project's person wants remembered.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use toolgate_gate::approve::{Grant, GrantError, GrantStamp, GrantStore};
use toolgate_gate::blocking;

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

    /// The grants of this project. It waits for the disk, which
    /// [`list`](GrantStore::list) does elsewhere.
    pub fn here(&self) -> Result<Vec<Grant>, StoreError> {
        let mut all = self.everywhere()?;
        Ok(all.remove(&self.project).unwrap_or_default())
    }

    /// The grants of every project, by workspace.
    pub fn everywhere(&self) -> Result<BTreeMap<String, Vec<Grant>>, StoreError> {
        Ok(self.store.read::<Grants>()?.projects)
    }
}

impl GrantStore for GrantFile {
    fn stamp(&self) -> BoxFuture<'_, Option<GrantStamp>> {
        // On this thread: one look at a file's metadata, which every batch takes, costs less
        // than another thread.
        let stamp = self.store.stamp().map(GrantStamp);
        Box::pin(std::future::ready(stamp))
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Grant>, GrantError>> {
        self.aside(Self::here)
    }

    fn add<'a>(&'a self, grants: &'a [Grant]) -> BoxFuture<'a, Result<(), GrantError>> {
        let grants = grants.to_vec();
        self.aside(move |file| {
            let add = |kept: &mut Grants| {
                kept.projects
                    .entry(file.project.clone())
                    .or_default()
                    .extend_from_slice(&grants);
                !grants.is_empty()
            };
            file.store.change(add).map(drop)
        })
    }

    fn revoke<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, GrantError>> {
        let id = id.to_owned();
        self.aside(move |file| {
            let revoke = |kept: &mut Grants| {
                let Some(grants) = kept.projects.get_mut(&file.project) else {
                    return false;
                };
                let before = grants.len();
                grants.retain(|grant| grant.id != id);
                let found = grants.len() < before;
                if grants.is_empty() {
                    kept.projects.remove(&file.project);
                }
                found
            };
            file.store.change(revoke)
        })
    }
}

impl GrantFile {
    /// Works on the file on a thread that may wait: for the disk, and for another process that
    /// holds the lock.
    fn aside<'a, T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'a, Result<T, GrantError>> {
        let file = self.clone();
        Box::pin(async move {
            let done = blocking::run(move || work(&file).map_err(told)).await;
            done.unwrap_or_else(|| {
                Err(GrantError {
                    message: "the program is about to end".into(),
                })
            })
        })
    }
}

fn told(error: StoreError) -> GrantError {
    GrantError {
        message: error.to_string(),
    }
}
