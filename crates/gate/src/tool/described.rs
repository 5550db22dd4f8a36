//! A tool that only its definition is known of.

use toolgate_model::{Args, ErrorKind, ToolError};

use super::{Invocation, Tool, ToolSpec};

/// A tool whose results a person supplies: models are offered it and its calls are checked,
/// and it cannot run.
#[derive(Clone, Debug)]
pub struct Described(ToolSpec);

impl Described {
    /// A tool of this definition.
    pub const fn new(spec: ToolSpec) -> Self {
        Self(spec)
    }
}

impl Tool for Described {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn parse(&self, _: &Args) -> Result<Box<dyn Invocation>, ToolError> {
        let message = "nothing runs this tool: a person supplies its results, in parse_only mode";
        Err(ToolError::new(ErrorKind::Disabled, message))
    }
}
