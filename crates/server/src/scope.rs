//! A scope as clients and tokens write it.
//!
//! ```
//! use toolgate_server::ScopeText;
//!
//! let text = r#"{"permissions": {"read_file": {"allowed": true, "paths": ["src"], "timeout": "30s"}}}"#;
//! let scope = serde_json::from_str::<ScopeText>(text)?.scope()?;
//! assert!(scope.permissions["read_file"].allowed);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolgate_app::{Permission, Scope};
use utoipa::ToSchema;

/// Which tools are permitted, on which paths, for how long. Without permissions: those that
/// only read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ScopeText {
    /// Permissions by a tool's name or alias. A tool that is not named is not permitted.
    #[serde(default)]
    pub permissions: BTreeMap<String, PermissionText>,
}

/// What a scope says about one tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PermissionText {
    /// Whether the tool may be used.
    #[serde(default)]
    pub allowed: bool,
    /// The only paths it may touch; without any there is no limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// The longest a call may take: a whole number and `ms`, `s`, `m` or `h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
}

impl ScopeText {
    /// The scope, or what is wrong with it.
    pub fn scope(&self) -> Result<Scope, String> {
        let permission = |(tool, text): (&String, &PermissionText)| {
            let timeout = text.timeout.as_deref().map(duration).transpose();
            let timeout = timeout.map_err(|why| format!("the timeout of {tool:?}: {why}"))?;
            let permission = Permission {
                allowed: text.allowed,
                paths: text.paths.clone(),
                timeout,
            };
            Ok::<_, String>((tool.clone(), permission))
        };
        let permissions = self.permissions.iter().map(permission);
        Ok(Scope {
            permissions: permissions.collect::<Result<_, _>>()?,
        })
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let end = text.find(|found: char| !found.is_ascii_digit());
    let (number, unit) = text
        .split_at_checked(end.unwrap_or(text.len()))
        .unwrap_or_default();
    let wrong = || format!("{text:?} is no time such as \"30s\"");
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let milliseconds = match unit {
        "ms" => Some(number),
        "s" => number.checked_mul(1_000),
        "m" => number.checked_mul(60_000),
        "h" => number.checked_mul(3_600_000),
        _ => None,
    };
    let milliseconds = milliseconds.filter(|time| *time > 0).ok_or_else(wrong)?;
    Ok(Duration::from_millis(milliseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_number_and_a_unit() {
        for (text, milliseconds) in [
            ("250ms", Some(250)),
            ("30s", Some(30_000)),
            ("2m", Some(120_000)),
            ("1h", Some(3_600_000)),
            ("0s", None),
            ("30", None),
            ("-1s", None),
            ("1.5s", None),
            ("", None),
            ("9999999999999999999h", None),
            ("3é", None),
        ] {
            let read = duration(text).ok();
            assert_eq!(read, milliseconds.map(Duration::from_millis), "{text}");
        }
    }
}
