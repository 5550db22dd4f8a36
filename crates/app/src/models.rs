//! The models that providers offer.
//!
//! ```
//! use toolgate_app::{AppError, Asked};
//!
//! # let (home, place) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! # let options = toolgate_app::AppOptions::new(toolgate_app::Home::at(home.path()), place.path());
//! # let app = toolgate_app::App::open(options)?;
//! let asked = Asked {
//!     provider: Some("ollama".to_owned()),
//!     ..Asked::default()
//! };
//! let providers = app.providers(&asked)?;
//! assert_eq!(providers[0].name(), "ollama");
//! let none = app.providers(&Asked::default());
//! assert!(matches!(none, Err(AppError::NoProvider)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
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
    /// The names by which a provider can be meant: those of the configuration, then the
    /// built-in ones.
    pub fn provider_names(&self) -> Vec<String> {
        Source::names(self.config())
    }

    /// The provider that is meant, or all of the configuration where none is named.
    pub fn providers(&self, asked: &Asked) -> Result<Vec<ProviderInfo>, AppError> {
        let config = self.config();
        let sources = if asked.provider.is_some() || asked.base_url.is_some() {
            vec![Source::chosen(self.options(), config, asked)?]
        } else {
            Source::all(config)
        };
        if sources.is_empty() {
            // The same one, or the same error, as when a turn is asked for.
            let found = Source::chosen(self.options(), config, asked)?;
            return Ok(vec![ProviderInfo(found)]);
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
