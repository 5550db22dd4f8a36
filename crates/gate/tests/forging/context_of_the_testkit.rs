// The testkit has no way around it either.
use toolgate_gate::tool::{RunCtx, Tool};
use toolgate_testkit::Scripted;

fn main() {
    let tool = Scripted::new("noop");
    let context: RunCtx = toolgate_testkit::run_ctx();
    let _ = tool.parse(&Default::default()).unwrap().run(context);
}
