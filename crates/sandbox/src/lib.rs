//! The sandbox of Toolgate.
//!
//! Policy is the courtesy; these are the boundary. [`paths`] is what every
//! file tool goes through: nothing in the project opens a path that a model
//! named in any other way.

pub mod command;
pub mod env;
pub mod paths;

pub use paths::{PathError, PathRules, PathSandbox};
