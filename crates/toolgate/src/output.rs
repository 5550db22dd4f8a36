//! Output on its way to a model: sanitized, redacted, bounded.
//!
//! ```
//! use toolgate::output::{Redactor, sanitize};
//!
//! let redactor = Redactor::new([("API_KEY", "correct-horse-battery")])?;
//! let (shown, secrets) = redactor.redact("key: correct-horse-battery");
//! assert!(!shown.contains("horse") && secrets.len() == 1);
//! assert_eq!(sanitize("\u{1b}[31mred\u{1b}[0m"), "red");
//! # Ok::<(), toolgate::output::RedactorError>(())
//! ```

pub use toolgate_gate::output::{
    BlockLimits, Bounded, Limits as TextLimits, RedactedSpan, Redactor, RedactorError, Sanitizer,
    SecretClass, bound, sanitize,
};
