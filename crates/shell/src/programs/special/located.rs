//! Programs that print where a program or file is.
//!
//! The path is likely and not certain, so it is a guess: `$(which rm) -rf /` is seen for what it
//! would do, and a line that uses such a path stays opaque.

use crate::expand::field::{Field, UNKNOWN};
use crate::programs::scan::Scan;
use crate::walk::{Output, Walker};

impl Walker {
    /// What `which`, `type -p`, `command -v`, `readlink -f`, `basename` and their like print.
    pub(crate) fn located(&self, name: &str, operands: &[Field]) -> Output {
        let mut text = String::new();
        for (at, operand) in operands.iter().enumerate() {
            let path = operand.text.trim_end_matches('/');
            if path.is_empty() || path.contains(UNKNOWN) || operand.is_pattern() {
                continue;
            }
            let last = path.rsplit('/').next().unwrap_or_default();
            let printed = match name {
                "basename" if at > 0 => continue,
                "basename" => {
                    let suffix = operands.get(1).map_or("", |word| word.text.as_str());
                    last.strip_suffix(suffix)
                        .filter(|stem| !stem.is_empty())
                        .unwrap_or(last)
                        .to_owned()
                }
                "dirname" => match path.rsplit_once('/') {
                    Some(("", _)) => "/".to_owned(),
                    Some((parent, _)) => parent.to_owned(),
                    None => ".".to_owned(),
                },
                "readlink" | "realpath" => path.to_owned(),
                _ if path.contains('/') => path.to_owned(),
                _ => format!("/usr/bin/{path}"),
            };
            text.push_str(&printed);
            text.push('\n');
        }
        Output::Text(text).partly()
    }

    /// The same for the words of a row.
    pub(super) fn print_located(&self, name: &str, scan: &Scan) -> Output {
        if name == "hash" && !scan.has("-t") {
            return Output::Unknown;
        }
        self.located(name, &scan.operands)
    }
}
