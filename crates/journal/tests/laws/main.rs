//! The laws of a journal, kept by every implementation of this crate.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod in_memory {
    use std::sync::Arc;

    use toolgate_gate::journal::FullJournal;
    use toolgate_journal::MemoryJournal;
    use toolgate_testkit::journal_laws::Store;

    struct InMemory(MemoryJournal);

    impl InMemory {
        fn new() -> Self {
            Self(MemoryJournal::new())
        }
    }

    impl Store for InMemory {
        fn open(&self) -> Arc<dyn FullJournal> {
            Arc::new(self.0.another())
        }
    }

    toolgate_testkit::journal_laws!(InMemory::new);
}

mod sqlite {
    use std::path::Path;
    use std::sync::Arc;

    use toolgate_gate::journal::FullJournal;
    use toolgate_journal::{Options, Point, SqliteJournal};
    use toolgate_testkit::journal_laws::Store;

    pub(crate) struct InFile {
        directory: tempfile::TempDir,
    }

    impl InFile {
        pub(crate) fn new() -> Self {
            // In memory where there is such a directory: these tests end no process.
            let memory = Path::new("/dev/shm");
            let directory = if memory.is_dir() {
                tempfile::tempdir_in(memory)
            } else {
                tempfile::tempdir()
            };
            Self {
                directory: directory.unwrap(),
            }
        }

        fn open_with(&self, options: Options) -> SqliteJournal {
            SqliteJournal::open(self.directory.path().join("journal.db"), options).unwrap()
        }
    }

    impl Store for InFile {
        fn open(&self) -> Arc<dyn FullJournal> {
            Arc::new(self.open_with(Options::default()))
        }

        /// The writer dies before or after the commit is on disk.
        fn losing_an_answer(&self, written: bool) -> Option<Arc<dyn FullJournal>> {
            let dies_at = if written {
                Point::Committed
            } else {
                Point::Written
            };
            let hook = move |point| assert_ne!(point, dies_at, "as the test wants it");
            let options = Options {
                folds_when_quiet: false,
                hook: Some(Arc::new(hook)),
                ..Options::default()
            };
            Some(Arc::new(self.open_with(options)))
        }
    }

    toolgate_testkit::journal_laws!(InFile::new);
}
