//! `--metrics FILE`: what was counted, as text that Prometheus reads.

use std::fmt;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use toolgate_app::Metrics;

use crate::failure::CliError;

/// The counts of this process. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Counted(pub(crate) Metrics);

impl fmt::Debug for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Counted(…)")
    }
}

impl Counted {
    /// Writes the counts, whole or not at all: who collects them may look at any time, and
    /// is mostly somebody else, so that everybody may read the file.
    pub(crate) fn write(&self, path: &Path) -> Result<(), CliError> {
        let directory = path.parent().filter(|one| !one.as_os_str().is_empty());
        let written = || -> std::io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(directory.unwrap_or(Path::new(".")))?;
            file.write_all(self.0.render().as_bytes())?;
            let readable = std::fs::Permissions::from_mode(0o644);
            file.as_file().set_permissions(readable)?;
            file.persist(path).map_err(|error| error.error)?;
            Ok(())
        };
        written()
            .map_err(|error| CliError::internal(format!("the metrics {}: {error}", path.display())))
    }
}
