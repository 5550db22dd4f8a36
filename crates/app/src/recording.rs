//! A recording of what the model says, to be played again.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use toolgate_providers::replay::Script;

use crate::app::locked;
use crate::error::AppError;

/// Where a recording goes.
#[derive(Clone)]
pub(crate) struct Recording {
    path: PathBuf,
    trouble: Arc<Mutex<Option<String>>>,
}

impl Recording {
    /// A recording to this file. Whether it can be written is known before the model is asked.
    pub(crate) fn to(path: &Path) -> Result<Self, AppError> {
        let told = |why: &dyn std::fmt::Display| {
            AppError::usage(format!("cannot record to {}: {why}", path.display()))
        };
        if path.is_dir() {
            return Err(told(&"it is a directory"));
        }
        // A script that a user wrote is not lost by a slip.
        if path
            .metadata()
            .is_ok_and(|file| file.is_file() && file.len() > 0)
        {
            return Err(told(
                &"it is there and not empty; name another file, or remove it",
            ));
        }
        tempfile::NamedTempFile::new_in(directory_of(path)).map_err(|error| told(&error))?;
        Ok(Self {
            path: path.to_path_buf(),
            trouble: Arc::default(),
        })
    }

    /// Writes the script so far, whole or not at all.
    pub(crate) fn write(&self, script: &Script) {
        let written = (|| {
            let text = script.to_toml().map_err(|fault| fault.to_string())?;
            let told = |error: std::io::Error| error.to_string();
            let mut file =
                tempfile::NamedTempFile::new_in(directory_of(&self.path)).map_err(told)?;
            std::io::Write::write_all(&mut file, text.as_bytes()).map_err(told)?;
            file.persist(&self.path)
                .map_err(|error| told(error.error))?;
            Ok::<(), String>(())
        })();
        *locked(&self.trouble) = written
            .err()
            .map(|error| format!("{} could not be recorded: {error}", self.path.display()));
    }

    /// Why nothing was recorded, if so.
    pub(crate) fn trouble(&self) -> Option<String> {
        locked(&self.trouble).take()
    }
}

fn directory_of(file: &Path) -> &Path {
    let directory = file.parent();
    let directory = directory.filter(|directory| !directory.as_os_str().is_empty());
    directory.unwrap_or(Path::new("."))
}
