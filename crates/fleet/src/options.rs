//! How a worker uses the database.

use std::sync::Arc;
use std::time::Duration;

use toolgate_gate::{Clock, SystemClock};

/// How a worker uses the database.
#[derive(Clone)]
#[non_exhaustive]
pub struct FleetOptions {
    /// Whose conversations these are. Rows of other tenants are neither seen nor changed.
    pub tenant: String,
    /// The name of this machine in what other workers are told.
    pub node: String,
    /// How long a worker that gives no sign keeps its conversations.
    pub lease: Duration,
    /// How long a statement may take.
    pub statement_timeout: Duration,
    /// How many connections are open at most.
    pub connections: usize,
    /// What entries are dated with that the journal makes by itself. Leases use the clock of
    /// the database.
    pub clock: Arc<dyn Clock>,
}

impl Default for FleetOptions {
    fn default() -> Self {
        Self {
            tenant: "default".to_owned(),
            node: "local".to_owned(),
            lease: Duration::from_secs(30),
            statement_timeout: Duration::from_secs(30),
            connections: 4,
            clock: Arc::new(SystemClock),
        }
    }
}

impl FleetOptions {
    /// The options of a worker for this tenant.
    pub fn of_tenant(tenant: impl Into<String>) -> Self {
        Self {
            tenant: tenant.into(),
            ..Self::default()
        }
    }
}

impl std::fmt::Debug for FleetOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FleetOptions")
            .field("tenant", &self.tenant)
            .field("node", &self.node)
            .field("lease", &self.lease)
            .field("statement_timeout", &self.statement_timeout)
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}
