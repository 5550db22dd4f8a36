// What may run cannot be read from anywhere.
use toolgate_gate::Ready;
use toolgate_gate::plan::{Authorized, NeedsApproval, Planned};

fn reads<T: serde::de::DeserializeOwned>() {}

fn main() {
    reads::<Authorized>();
    reads::<NeedsApproval>();
    reads::<Planned>();
    reads::<Ready>();
}
