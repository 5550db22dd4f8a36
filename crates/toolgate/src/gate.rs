//! The gate itself, with its settings.
//!
//! [`crate::Workspace`] puts a gate together with the usual parts; [`Gate::builder`] does it from
//! parts of your own. Rules are an argument without a default: a gate that was given none does
//! not compile.
//!
//! ```
//! use std::sync::Arc;
//! use toolgate::gate::{Gate, GateSettings, OnError};
//! use toolgate::journal::MemoryJournal;
//! use toolgate::registry::Registry;
//! use toolgate::sandbox::{PathRules, PathSandbox};
//! use toolgate::Rules;
//!
//! # let directory = tempfile::tempdir()?;
//! let paths = PathSandbox::open(&PathRules::new(directory.path()))?;
//! let journal = Arc::new(MemoryJournal::new());
//! let gate = Gate::builder(Arc::new(Registry::new()), Rules::default(), paths, journal)
//!     .settings(GateSettings::default().on_error(OnError::Stop))
//!     .build()?;
//! assert_eq!(gate.settings().max_concurrent, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A gate serves any number of conversations side by side. `max_concurrent` is about the calls of
//! one batch, `max_commands` about the commands of all.
//!
//! ```compile_fail,E0061
//! # use std::sync::Arc;
//! # use toolgate::{Gate, Registry, journal::MemoryJournal, sandbox::PathSandbox};
//! # fn without_rules(paths: PathSandbox) {
//! Gate::builder(Arc::new(Registry::new()), paths, Arc::new(MemoryJournal::new()));
//! # }
//! ```

pub use toolgate_gate::plan::{CallLimits, Mode as GateMode};
pub use toolgate_gate::{
    BatchContext, BuildError, Builder as GateBuilder, ByHand, Clock, Entropy, Gate, OnError, Ready,
    Settings as GateSettings, SystemClock, SystemEntropy, Timeouts,
};
