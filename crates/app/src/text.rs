//! Text of models, tools and files, made fit for a face.
//!
//! ```
//! use toolgate_app::text::approval_text;
//!
//! assert_eq!(approval_text("a\u{1b}[2Jb"), r"a\u{1b}[2Jb");
//! ```

/// A number with a narrow gap after every three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let count = digits.len();
    let digit = |(at, digit): (usize, char)| {
        let gap = (at > 0 && (count - at).is_multiple_of(3)).then_some('\u{202f}');
        gap.into_iter().chain([digit])
    };
    digits.chars().enumerate().flat_map(digit).collect()
}

pub use toolgate_gate::output::{approval_text, preview_text, sanitize, whole_args, whole_value};
