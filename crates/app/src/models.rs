//! The models that providers offer.
//!
//! ```no_run
//! use toolgate_app::Asked;
//!
//! # async fn example(app: &toolgate_app::App) -> Result<(), toolgate_app::AppError> {
//! for source in app.providers(&Asked::default())? {
//!     let models = app.models(&source).await;
//!     assert!(models.is_ok(), "{}", source.name());
//! }
//! # Ok(())
//! # }
//! ```

use crate::app::App;
use crate::error::AppError;
use crate::provider_source::{Asked, Source};

/// A provider that can be asked.
#[derive(Clone, Debug)]
pub struct ProviderInfo(Source);

impl ProviderInfo {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The model that is asked, where one is configured.
    pub fn model(&self) -> Option<&str> {
        self.0.model.as_deref()
    }
}

impl App {
    /// The provider that is meant, or all of the configuration where none is named.
    pub fn providers(&self, asked: &Asked) -> Result<Vec<ProviderInfo>, AppError> {
        let config = self.config();
        let sources = if asked.provider.is_some() || asked.base_url.is_some() {
            vec![Source::chosen(config, asked)?]
        } else {
            Source::all(config)
        };
        if sources.is_empty() {
            // The same error as when a turn is asked for.
            Source::chosen(config, asked)?;
        }
        Ok(sources.into_iter().map(ProviderInfo).collect())
    }

    /// The names of a provider's models.
    pub async fn models(&self, provider: &ProviderInfo) -> Result<Vec<String>, AppError> {
        let source = &provider.0;
        let Some(wire) = source.wire() else {
            return Ok(source.model.iter().cloned().collect());
        };
        let endpoint = source.endpoint(wire, self.options())?;
        let client = source.client(endpoint, self.options())?;
        let models = client.models().await.map_err(AppError::internal)?;
        Ok(models.into_iter().map(|model| model.name).collect())
    }
}
