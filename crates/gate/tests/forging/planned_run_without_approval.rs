// What was planned has to be approved before it is run.
use std::sync::Arc;

use toolgate_gate::plan::Planned;
use toolgate_gate::session::Session;
use toolgate_gate::{Gate, BatchContext};

async fn skip(gate: Gate, session: Arc<Session>, planned: Planned, passage: BatchContext) {
    gate.execute(&session, planned, &passage).await;
}

fn main() {}
