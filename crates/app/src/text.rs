//! Text of models, tools and files, made fit for a face.
//!
//! ```
//! use toolgate_app::text::approval_text;
//!
//! assert_eq!(approval_text("a\u{1b}[2Jb"), r"a\u{1b}[2Jb");
//! ```

pub use toolgate_gate::output::{approval_text, preview_text, sanitize, whole_args, whole_value};
