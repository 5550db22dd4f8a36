//! Shell lines: which commands a line holds and what they would touch. Pure; nothing runs.
//!
//! ```
//! use toolgate::shell::{LineContext, analyse};
//!
//! let context = LineContext { cwd: "", home: None, roots: &["/work"] };
//! let analysis = analyse("sort -o all.txt names.txt", &context);
//! assert_eq!(analysis.facts.reads, ["names.txt"]);
//! assert_eq!(analysis.facts.writes, ["all.txt"]);
//! ```

pub use toolgate_shell::{
    Analysis, Command as ShellCommand, LineContext, Opacity, Redirection, RedirectionMode, analyse,
    lookalikes,
};
