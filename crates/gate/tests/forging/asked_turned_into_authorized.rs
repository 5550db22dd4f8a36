// A call that needs a yes does not become one that may run by taking it apart.
use toolgate_gate::plan::{Authorized, NeedsApproval};

fn skip(asked: NeedsApproval) -> Authorized {
    Authorized { live: asked.live }
}

fn main() {}
