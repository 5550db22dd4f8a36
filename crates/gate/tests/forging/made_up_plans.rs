// Only planning makes plans.
use toolgate_gate::plan::{Authorized, NeedsApproval, Planned};

fn authorized() -> Authorized {
    Authorized { live: todo!() }
}

fn needs_approval() -> NeedsApproval {
    NeedsApproval { live: todo!() }
}

fn planned() -> Planned {
    Planned { slots: Vec::new() }
}

fn main() {}
