// What a call gets ready with cannot be made outside the gate.
use toolgate_gate::tool::Ahead;

fn main() {
    let _ = Ahead::new();
}
