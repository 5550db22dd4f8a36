// What may run once cannot be copied.
use toolgate_gate::Ready;
use toolgate_gate::plan::{Authorized, NeedsApproval, Planned};
use toolgate_gate::tool::RunCtx;

fn copies<T: Clone>() {}

fn main() {
    copies::<Authorized>();
    copies::<NeedsApproval>();
    copies::<Planned>();
    copies::<Ready>();
    copies::<RunCtx>();
}
