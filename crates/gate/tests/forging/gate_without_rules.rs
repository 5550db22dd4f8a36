// A gate has rules: leaving them out is an error of the compiler, not a gate that allows everything.
use std::sync::Arc;

use toolgate_gate::Gate;
use toolgate_gate::journal::Journal;
use toolgate_gate::registry::Registry;
use toolgate_sandbox::paths::PathSandbox;

fn build(registry: Arc<Registry>, sandbox: PathSandbox, journal: Arc<dyn Journal>) -> Gate {
    Gate::builder(registry, sandbox, journal).build().unwrap()
}

fn main() {}
