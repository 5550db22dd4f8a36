//! Plans: what would happen, before anything does.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! use toolgate::plan::Plan;
//! use toolgate::serde_json::json;
//! use toolgate::{Call, Workspace};
//!
//! # let directory = tempfile::tempdir()?;
//! let workspace = Workspace::open(directory.path())?;
//! let call = Call::new("1", "no_such_tool", json!({}));
//! let planned = workspace.gate().plan(&workspace.session("c"), vec![call]).await;
//! assert!(planned.plans().all(|plan| matches!(plan, Plan::Settled(_))));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use toolgate_gate::plan::{Authorized, ManualCall, NeedsApproval, Plan, Planned, Refusal};
