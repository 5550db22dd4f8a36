// Only approval makes what may run.
use toolgate_gate::Ready;

fn ready() -> Ready {
    Ready { fates: Vec::new(), opening: Vec::new() }
}

fn main() {}
