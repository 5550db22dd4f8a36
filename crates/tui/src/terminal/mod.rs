//! The terminal: modes, the inline writer, and how everything is given back.
//!
//! ```text
//! Modes::enter ──▶ raw, bracketed paste, focus, key reports ──▶ drop ──▶ as it was
//! Inline ────────▶ finished lines above a live region
//! ```
//!
//! ```
//! use ratatui_core::text::Line;
//! use toolgate_tui::terminal::{Colours, Frame, Inline, Size};
//!
//! let size = Size { columns: 20, rows: 5 };
//! let mut screen = Inline::new(Vec::new(), size, Colours::None, true);
//! let frame = Frame { finished: vec![Line::raw("done")], ..Frame::default() };
//! assert!(screen.draw(&frame, size)?);
//! // A frame without a change writes nothing.
//! assert!(!screen.draw(&Frame::default(), size)?);
//! # Ok::<(), std::io::Error>(())
//! ```

mod inline;
mod modes;
mod pager;
pub mod probe;
mod sgr;
mod watch;

pub use inline::{Frame, Inline, Size};
pub use modes::{Modes, RESTORED, current_size};
pub use pager::page;
pub use sgr::Colours;
pub use watch::{DONE, watch};
