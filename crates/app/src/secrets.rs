//! The secrets that the app knows: of the environment, and of the providers.

use toolgate_config::Effective;
use toolgate_providers::http::{Secrets, secret_values};
use toolgate_sandbox::env;

use crate::options::Environment;

/// A name for secrets that have none.
const OF_PROVIDER: &str = "PROVIDER_KEY";

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
pub(crate) fn of_environment(
    environment: &Environment,
    config: &Effective,
) -> Vec<(String, String)> {
    let named = named(config);
    let kept = &config.settings().tools.environment.keep;
    // What the user lets every command see is no secret to hide from it.
    let hidden =
        |name: &str, value: &str| env::holds_credential(name, value) && !env::is_listed(name, kept);
    environment
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())))
        .filter(|(name, value)| named.contains(name) || hidden(name, value))
        .collect()
}

/// Headers of the configuration that are keys.
pub(crate) fn of_headers(config: &Effective) -> Vec<(String, String)> {
    let providers = config.settings().providers.values();
    providers
        .flat_map(|provider| named_values(secret_values(None, &provider.headers)))
        .collect()
}

/// What a provider is asked with.
pub(crate) fn of_provider(secrets: &Secrets) -> Vec<(String, String)> {
    named_values(secrets.expose()).collect()
}

fn named_values<'v>(
    values: impl Iterator<Item = &'v str>,
) -> impl Iterator<Item = (String, String)> {
    values.map(|value| (OF_PROVIDER.to_owned(), value.to_owned()))
}
