//! The settings of the built-in tools, from the configuration.

use std::sync::Arc;
use std::time::Duration;

use toolgate_config::Effective;
use toolgate_gate::store::Store;
use toolgate_tools::web::{PrivateHosts, WebLimits, WebSettings};
use toolgate_tools::{
    Brave, CommandSettings, ListSettings, Notes, PatchSettings, ReadSettings, SearchProvider,
    Searxng, ToolSettings, WriteSettings,
};

use crate::error::AppError;
use crate::options::{AppOptions, SecretSource};

pub(crate) fn tool_settings(
    options: &AppOptions,
    config: &Effective,
    commands: Arc<CommandSettings>,
    store: Arc<dyn Store>,
) -> Result<ToolSettings, AppError> {
    let tools = &config.settings().tools;
    let private_hosts =
        PrivateHosts::new(&tools.web_fetch.private_hosts).map_err(AppError::usage)?;
    let search = &config.settings().search;
    let mut search_providers: Vec<Arc<dyn SearchProvider>> = Vec::new();
    if let Some(url) = &search.searxng.url {
        search_providers.push(Arc::new(Searxng::at(url).map_err(AppError::usage)?));
    }
    let key = search.brave.api_key_env.as_deref();
    let key = key.map(|name| options.secret(SecretSource::Variable(name)));
    if let Some(Ok(Some(key))) = key {
        search_providers.push(Arc::new(Brave::new(key).map_err(AppError::usage)?));
    }
    Ok(ToolSettings {
        write: WriteSettings {
            max_file_bytes: tools.write_file.max_file_bytes,
        },
        patch: PatchSettings {
            max_patch_bytes: tools
                .apply_patch
                .max_patch_bytes
                .min(u64::try_from(tools.max_tool_args_bytes).unwrap_or(u64::MAX)),
        },
        web: WebSettings {
            private_hosts,
            limits: WebLimits::within(Duration::from_secs(tools.timeouts.default_seconds)),
            ..WebSettings::default()
        },
        search_providers,
        notes: Notes::kept_in(store),
        read: ReadSettings {
            max_file_read_bytes: tools.read_file.max_file_read_bytes,
            max_scan_bytes: tools.read_file.max_scan_bytes,
        },
        list: ListSettings {
            max_entries: tools.list_directory.max_entries,
            max_depth: tools.list_directory.max_depth,
        },
        commands,
        ..ToolSettings::default()
    })
}
