// The context has no public constructor.
use toolgate_gate::tool::RunCtx;

fn main() {
    let _ = RunCtx::new();
}
