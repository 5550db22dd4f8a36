//! Trust in a project's own configuration file, until its content changes.
//!
//! It works without [`App::open`](crate::App::open), because trust in a file with errors can be
//! revoked too.
//!
//! ```
//! use toolgate_app::{Home, trust};
//!
//! # let (place, project) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! let home = Home::at(place.path());
//! let file = trust::project_file(project.path())?;
//! std::fs::write(&file, "")?;
//! trust::trust(&home, &file, 0)?;
//! assert_eq!(trust::list(&home)?.len(), 1);
//! assert!(trust::revoke(&home, &file)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::path::{Path, PathBuf};

use toolgate_config::{Effective, Project, Source, Sources, TrustStore};

pub use toolgate_config::TrustedFile;

use crate::configuration::{PROJECT_FILE, workspace};
use crate::error::AppError;
use crate::home::Home;

/// The file in which the project of a workspace configures Toolgate.
pub fn project_file(directory: &Path) -> Result<PathBuf, AppError> {
    Ok(workspace(directory)?.join(PROJECT_FILE))
}

/// What a project's file would change if it were trusted, a line each: the keys that are ignored
/// until then. A file with errors is an error.
pub fn widens(home: &Home, file: &Path) -> Result<Vec<String>, AppError> {
    let source = Source::read_project(file).map_err(AppError::usage)?;
    let effective = untrusted(home, file, source)?;
    let ignored = effective.ignored().iter();
    Ok(ignored
        .map(|one| format!("line {}: {}", one.line, one.key))
        .collect())
}

/// The configuration with this file as long as it is not trusted.
fn untrusted(home: &Home, file: &Path, source: Source) -> Result<Effective, AppError> {
    let load = || {
        Effective::load(&Sources {
            workspace: file.parent().unwrap_or(Path::new(".")).to_path_buf(),
            user: Source::read_if_there(&home.user_config())?,
            project: Some(Project {
                source,
                trusted: false,
            }),
            ..Sources::default()
        })
    };
    load().map_err(AppError::Config)
}

/// A project's file as a user looks at it before trusting it.
#[derive(Clone, Debug)]
pub struct Review {
    file: PathBuf,
    source: Source,
    widens: Vec<Widening>,
}

/// A key that takes effect once the file is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Widening {
    /// Its line in the file, from 1.
    pub line: u32,
    /// The key.
    pub key: String,
    /// The line as it is written.
    pub text: String,
}

impl Review {
    /// Reads a file. One with errors is an error.
    ///
    /// ```
    /// use toolgate_app::{Home, trust};
    ///
    /// # let (place, project) = (tempfile::tempdir()?, tempfile::tempdir()?);
    /// # let home = Home::at(place.path());
    /// let file = trust::project_file(project.path())?;
    /// std::fs::write(&file, "[tools.sandbox]\nnetwork = \"on\"\n")?;
    /// let review = trust::Review::of(&home, &file)?;
    /// assert_eq!(review.widens()[0].text, "network = \"on\"");
    /// review.trust(&home, 0)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(home: &Home, file: &Path) -> Result<Self, AppError> {
        let source = Source::read_project(file).map_err(AppError::usage)?;
        let effective = untrusted(home, file, source.clone())?;
        let lines: Vec<&str> = source.text().lines().collect();
        let widens = effective.ignored().iter().map(|one| Widening {
            line: one.line,
            key: one.key.clone(),
            text: lines
                .get(
                    usize::try_from(one.line)
                        .unwrap_or(usize::MAX)
                        .saturating_sub(1),
                )
                .map_or_else(String::new, |line| line.trim().to_owned()),
        });
        let widens = widens.collect();
        Ok(Self {
            file: file.to_path_buf(),
            source,
            widens,
        })
    }

    /// What takes effect once the file is trusted.
    pub fn widens(&self) -> &[Widening] {
        &self.widens
    }

    /// Trusts the file with the content that was looked at, whatever it holds by now.
    pub fn trust(&self, home: &Home, at_ms: u64) -> Result<TrustedFile, AppError> {
        TrustStore::at(home.trust())
            .trust(&self.file, self.source.text().as_bytes(), at_ms)
            .map_err(AppError::internal)
    }
}

/// Trusts a file with its present content, at this time in milliseconds since 1970.
pub fn trust(home: &Home, file: &Path, at_ms: u64) -> Result<TrustedFile, AppError> {
    let source = Source::read_project(file).map_err(AppError::usage)?;
    TrustStore::at(home.trust())
        .trust(file, source.text().as_bytes(), at_ms)
        .map_err(AppError::internal)
}

/// Whether a trusted file still has the content that was trusted.
pub fn is_current(home: &Home, file: &TrustedFile) -> bool {
    let project = TrustStore::at(home.trust()).project(Path::new(&file.path));
    project.is_ok_and(|project| project.is_some_and(|project| project.trusted))
}

/// The trusted files.
pub fn list(home: &Home) -> Result<Vec<TrustedFile>, AppError> {
    let store = TrustStore::at(home.trust());
    store.list().map_err(AppError::internal)
}

/// Trusts a file no longer. Whether it was trusted.
pub fn revoke(home: &Home, file: &Path) -> Result<bool, AppError> {
    let store = TrustStore::at(home.trust());
    store.revoke(file).map_err(AppError::internal)
}
