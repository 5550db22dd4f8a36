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
    let effective = load().map_err(AppError::Config)?;
    let ignored = effective.ignored().iter();
    Ok(ignored
        .map(|one| format!("line {}: {}", one.line, one.key))
        .collect())
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
