//! Small files of the server's own, replaced whole and readable by the user alone.

use std::io::{self, Write};
use std::path::Path;

/// Replaces a file, durably, with mode 0600.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory)?;
    // Made with mode 0600.
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    std::fs::File::open(directory)?.sync_all()
}
