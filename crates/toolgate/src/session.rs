//! Sessions: one per conversation. A session owns what outlives a call.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! use toolgate::Session;
//! use toolgate::policy::Scope;
//!
//! // An empty scope permits reading only.
//! let session = Session::new("review-17").scoped(Scope::default());
//! assert_eq!(session.id().as_str(), "review-17");
//! session.end().await;
//! assert!(session.cancel().is_cancelled());
//! # });
//! # Ok::<(), std::io::Error>(())
//! ```

pub use toolgate_gate::session::{
    KeepError, KeptInMemory, KeptOnDisk, KeptText, LineRanges, OutputStore, ReadLog, Resource,
    Session, Spool, SpoolReader, Staleness, WholeText,
};
