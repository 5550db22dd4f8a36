//! TOML to typed settings, with the place of every mistake.
//!
//! ```text
//! user, project, --config ─▶ read ──▶ Layer ─┐
//! options ───────────────────────────────────┼─▶ merge ──▶ Effective ─┬─▶ settings()        values as types
//! catalog (defaults) ────────────────────────┘      │                 ├─▶ rules()           for policy
//!                                                   │                 ├─▶ gate_settings()   for the gate
//! TrustStore ─▶ is the project's file trusted?      ▼                 ├─▶ path_rules()      for the path sandbox
//! GrantFile  ─▶ remembered approvals             Ignored              └─▶ show(), schema()
//! ```
//!
//! What comes in: the text of files, and options. What goes out: [`Effective`],
//! where every value has an origin. What can go wrong: files that cannot be read
//! and files with mistakes, all of which are reported with file, line and a
//! caret; nothing is guessed and nothing is skipped.
//!
//! **A project's file can only tighten** until the user trusts it. What it says
//! beyond that is ignored and listed by [`Effective::ignored`].
//!
//! The crate reads and writes only files whose paths it is given, and never the
//! environment.

mod catalog;
mod effective;
mod key_path;
mod layer;
mod merge;
mod options;
mod picture;
mod policy;
mod read;
mod sandboxes;
mod schema;
mod setting_error;
pub mod settings;
mod source;
mod store;

pub use catalog::{KnownKey, keys};
pub use effective::{Effective, Project, Shown, Sources};
pub use layer::{Ignored, LayerName, Origin};
pub use options::Options;
pub use schema::schema;
pub use setting_error::{ConfigError, SettingError, SettingErrorKind, SettingErrors};
pub use settings::Settings;
pub use source::{MAX_FILE_BYTES, ReadError, Source};
pub use store::{GrantFile, StoreError, TrustStore, TrustedFile};
