//! The secrets of this program's own environment.

use toolgate_sandbox::env;

/// Names and values whose values must not be shown.
pub(crate) fn of_environment() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| env::is_secret(name))
        .collect()
}
