// A batch is run once: running it takes it.
use std::sync::Arc;

use toolgate_gate::session::Session;
use toolgate_gate::{Gate, BatchContext, Ready};

async fn twice(gate: Gate, session: Arc<Session>, ready: Ready, passage: BatchContext) {
    gate.execute(&session, ready, &passage).await;
    gate.execute(&session, ready, &passage).await;
}

fn main() {}
