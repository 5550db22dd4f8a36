//! The metadata of a file.

use rustix::fs::{FileType, Stat};

use crate::paths::error::FileKind;

/// Kind, size, rights and age of something on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStat {
    /// Its type.
    pub kind: FileKind,
    /// Its reported size in bytes. Nothing may be allocated by it: it can be a lie.
    pub len: u64,
    /// Permission bits, special ones included.
    pub mode: u32,
    /// When it was last changed, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// The user it belongs to.
    pub uid: u32,
    /// The group it belongs to.
    pub gid: u32,
    /// File system and number: the same for two names of one file.
    pub identity: (u64, u64),
}

impl FileStat {
    /// Takes over what the system said.
    // The system's fields differ in width and sign from platform to platform.
    #[allow(clippy::unnecessary_cast, clippy::cast_possible_wrap)]
    pub(crate) fn of(stat: &Stat) -> Self {
        let nanos = i64::try_from(stat.st_mtime_nsec).unwrap_or(0);
        Self {
            kind: kind_of(FileType::from_raw_mode(stat.st_mode)),
            len: u64::try_from(stat.st_size).unwrap_or(0),
            mode: stat.st_mode & 0o7777,
            modified_ns: (stat.st_mtime as i64)
                .saturating_mul(1_000_000_000)
                .saturating_add(nanos),
            uid: stat.st_uid,
            gid: stat.st_gid,
            identity: (stat.st_dev, stat.st_ino),
        }
    }

    /// Whether this is the file of an earlier look, unchanged since.
    pub(crate) fn unchanged_since(&self, earlier: &Self) -> bool {
        (self.identity, self.len, self.modified_ns)
            == (earlier.identity, earlier.len, earlier.modified_ns)
    }

    /// When it was last changed, in milliseconds since 1970.
    pub fn modified_ms(&self) -> i64 {
        self.modified_ns.div_euclid(1_000_000)
    }
}

/// The kind of the system's file type.
pub(crate) fn kind_of(kind: FileType) -> FileKind {
    match kind {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Link,
        FileType::Unknown => FileKind::Unknown,
        _ => FileKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn the_age_of_a_file_has_the_precision_of_the_system() {
        let file = tempfile::tempfile().unwrap();
        let look = |nanos| {
            let time = UNIX_EPOCH + Duration::from_nanos(nanos);
            file.set_modified(time).unwrap();
            FileStat::of(&rustix::fs::fstat(&file).unwrap())
        };
        for (nanos, millis) in [
            (1_700_000_000_123_999_999, 1_700_000_000_123),
            (1_700_000_000_000_999_999, 1_700_000_000_000),
            (5_000_000, 5),
        ] {
            let stat = look(nanos);
            assert_eq!(u64::try_from(stat.modified_ns), Ok(nanos));
            assert_eq!(stat.modified_ms(), millis);
            assert!(look(nanos).unchanged_since(&stat));
            assert!(!look(nanos + 1).unchanged_since(&stat));
        }
    }

    #[test]
    fn an_unreported_type_is_unknown() {
        for (said, kind) in [
            (FileType::RegularFile, FileKind::File),
            (FileType::Directory, FileKind::Directory),
            (FileType::Symlink, FileKind::Link),
            (FileType::Fifo, FileKind::Other),
            (FileType::Socket, FileKind::Other),
            (FileType::CharacterDevice, FileKind::Other),
            (FileType::BlockDevice, FileKind::Other),
            (FileType::Unknown, FileKind::Unknown),
        ] {
            assert_eq!(kind_of(said), kind, "{said:?}");
        }
    }
}
