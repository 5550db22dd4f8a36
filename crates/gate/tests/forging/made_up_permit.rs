// The proof that a call was let through has no name outside the gate.
use toolgate_gate::tool::Permit;

fn main() {
    let _ = Permit::issue();
}
