//! The sandbox of Toolgate.
//!
//! Policy decides what needs approval; the sandbox is the boundary. Every file tool goes through
//! [`paths`], and nothing in the project opens a path that a model named in any other way.

pub mod command;
pub mod env;
pub mod layer;
pub mod paths;

pub use paths::{PathError, PathRules, PathSandbox, git_files};
