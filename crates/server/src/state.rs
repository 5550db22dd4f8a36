//! What every request and socket shares.

use tokio_util::sync::CancellationToken;
use toolgate_app::App;

use crate::auth::Gatekeeper;
use crate::conversations::Conversations;
use crate::counters::Counters;
use crate::guard::Allowed;
use crate::options::ServerOptions;
use crate::rate::Rates;

/// What every request and socket shares.
pub(crate) struct State {
    pub(crate) app: App,
    pub(crate) options: ServerOptions,
    pub(crate) gatekeeper: Gatekeeper,
    pub(crate) allowed: Allowed,
    pub(crate) rates: Rates,
    pub(crate) counters: Counters,
    pub(crate) conversations: Conversations,
    /// Changes with every start.
    pub(crate) epoch: String,
    /// No new request is taken.
    pub(crate) stopping: CancellationToken,
    /// Every turn is settled: connections end.
    pub(crate) closing: CancellationToken,
}
