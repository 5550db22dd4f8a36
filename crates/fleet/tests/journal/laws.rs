//! The laws that every journal keeps.

use std::sync::Arc;

use toolgate_fleet::{FleetOptions, PostgresJournal};
use toolgate_gate::journal::FullJournal;
use toolgate_testkit::journal_laws::Store;

use crate::proxy::Proxy;
use crate::server::Server;

struct InDatabase {
    tenant: String,
}

impl InDatabase {
    fn new() -> Self {
        Self {
            tenant: crate::fresh_tenant(),
        }
    }
}

impl Store for InDatabase {
    fn open(&self) -> Arc<dyn FullJournal> {
        Arc::new(crate::worker(&self.tenant))
    }

    /// The connection is cut before the commit reaches the database, or before its answer comes
    /// back.
    fn losing_an_answer(&self, written: bool) -> Option<Arc<dyn FullJournal>> {
        let proxy = Proxy::start(Server::shared());
        let options = FleetOptions::of_tenant(&self.tenant);
        let journal = PostgresJournal::connect(&proxy.address(), options).unwrap();
        proxy.cut_next_commit(written);
        Some(Arc::new(journal))
    }
}

toolgate_testkit::journal_laws!(InDatabase::new);
