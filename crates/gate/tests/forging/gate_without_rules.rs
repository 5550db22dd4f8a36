// A gate has rules: leaving them out is an error of the compiler, not a gate that allows everything.
use std::sync::Arc;

use toolgate_gate::Gate;
use toolgate_gate::journal::Journal;
use toolgate_gate::registry::Registry;
use toolgate_sandbox::paths::PathWall;

fn build(registry: Arc<Registry>, wall: PathWall, journal: Arc<dyn Journal>) -> Gate {
    Gate::builder(registry, wall, journal).build().unwrap()
}

fn main() {}
