// Only planning makes plans.
#![allow(unreachable_code)]

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
