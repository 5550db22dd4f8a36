//! A workspace with a store of its own.

use std::sync::Arc;

use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use toolgate_gate::registry::Registry;
use toolgate_gate::session::Session;
use toolgate_gate::{BatchContext, Gate};
use toolgate_journal::{MemoryJournal, MemoryStore};
use toolgate_model::{Call, ErrorKind, ToolCall, ToolResult};
use toolgate_sandbox::paths::{PathRules, PathSandbox};
use toolgate_tools::{Notes, ToolSettings, register_all};

/// A conversation in a workspace. Nobody is there to ask: notes need nobody's yes.
pub(crate) struct WorkerState {
    directory: Arc<TempDir>,
    tools: Arc<Registry>,
    runtime: Runtime,
    gate: Gate,
    session: Arc<Session>,
}

impl WorkerState {
    /// A new workspace with a store of its own.
    pub(crate) fn new() -> Self {
        Self::with(directory(), Notes::kept_in(Arc::new(MemoryStore::new())))
    }

    /// A new workspace for which nobody gave a store.
    pub(crate) fn without_store() -> Self {
        Self::with(directory(), Notes::default())
    }

    /// A workspace whose notes are kept there.
    pub(crate) fn with(directory: Arc<TempDir>, notes: Notes) -> Self {
        let settings = ToolSettings {
            notes,
            ..ToolSettings::default()
        };
        let registry = Registry::new();
        register_all(&registry, &settings).unwrap();
        Self::at(directory, Arc::new(registry))
    }

    /// Another conversation in the same workspace.
    pub(crate) fn again(&self) -> Self {
        Self::at(Arc::clone(&self.directory), Arc::clone(&self.tools))
    }

    /// Another workspace with the same store.
    pub(crate) fn elsewhere(&self) -> Self {
        Self::at(directory(), Arc::clone(&self.tools))
    }

    fn at(directory: Arc<TempDir>, tools: Arc<Registry>) -> Self {
        let sandbox = PathSandbox::open(&PathRules::new(directory.path())).unwrap();
        let gate = Gate::builder(
            Arc::clone(&tools),
            toolgate_gate::Rules::default(),
            sandbox,
            Arc::new(MemoryJournal::new()),
        )
        .build()
        .unwrap();
        Self {
            directory,
            tools,
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()
                .unwrap(),
            gate,
            session: Arc::new(Session::new("test")),
        }
    }

    /// Makes one call.
    pub(crate) fn call(&self, tool: &str, args: Value) -> ToolResult {
        let Value::Object(args) = args else {
            panic!("arguments are an object: {args}")
        };
        let call = Call::Whole(ToolCall::new("c0", tool, args));
        let passage = BatchContext::default();
        let run = self.gate.run(&self.session, vec![call], &passage);
        let mut results = self.runtime.block_on(run);
        assert_eq!(results.len(), 1);
        results.pop().unwrap()
    }

    /// Makes one call that has to go well; its content.
    pub(crate) fn ok(&self, tool: &str, args: Value) -> String {
        let shown = args.to_string();
        let result = self.call(tool, args);
        assert_eq!(result.error, None, "{tool} {shown}");
        result.content
    }

    /// Makes one call that has to fail; kind and message.
    pub(crate) fn fails(&self, tool: &str, args: Value) -> (ErrorKind, String) {
        let shown = args.to_string();
        let error = self.call(tool, args).error;
        let error = error.unwrap_or_else(|| panic!("{tool} {shown} went well"));
        (error.kind, error.message)
    }
}

pub(crate) fn directory() -> Arc<TempDir> {
    Arc::new(TempDir::new().unwrap())
}
