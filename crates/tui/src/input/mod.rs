//! What the user writes: the text with its caret, earlier texts, and the draft on disk.
//!
//! ```
//! use toolgate_tui::input::Editor;
//!
//! let mut editor = Editor::with("hello");
//! editor.insert("!");
//! assert_eq!(editor.take(), "hello!");
//! assert!(editor.is_empty());
//! ```

mod editor;
mod history;

pub use editor::Editor;
pub use history::{DraftFile, History};
