// A tool can be parsed by anybody and run by nobody: there is no context to give it.
use toolgate_gate::tool::{Output, RunCtx, Tool};
use toolgate_model::{Args, ToolError};

async fn run(tool: &dyn Tool, args: &Args) -> Result<Output, ToolError> {
    tool.parse(args)?.run(RunCtx::default()).await
}

fn main() {}
