//! The secrets of this program's own environment.

use toolgate_config::Effective;
use toolgate_sandbox::env;

/// The variables that the configuration says hold keys, whatever they are called.
pub(crate) fn named(config: &Effective) -> Vec<String> {
    let settings = config.settings();
    let providers = settings.providers.values();
    providers
        .filter_map(|provider| provider.api_key_env.clone())
        .chain(settings.search.brave.api_key_env.clone())
        .collect()
}

/// Names and values whose values must not be shown.
pub(crate) fn of_environment(config: &Effective) -> Vec<(String, String)> {
    let named = named(config);
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| env::is_secret(name) || named.contains(name))
        .collect()
}
