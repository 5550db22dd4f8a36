//! `toolgate models`: who can be asked, and for which models.

use serde_json::json;

use toolgate_app::models::ProviderInfo;
use toolgate_app::text::approval_text;
use toolgate_app::{App, AppError};

use crate::args::{Asked, Common};
use crate::assembly;
use crate::clean::say;
use crate::clean::style::{BOLD, DIM, RED};
use crate::failure::CliError;
use crate::out::Out;

pub(crate) async fn run(common: &Common, out: &Out, asked: &Asked) -> Result<u8, CliError> {
    let app = assembly::app(common, out)?;
    let sources = app.providers(&asked.into())?;
    let mut worst = 0;
    for source in &sources {
        let listed = list(&app, source).await;
        worst = worst.max(u8::from(listed.is_err()));
        show(source, listed, out)?;
    }
    Ok(worst)
}

/// The names of its models, or why they are not known.
async fn list(app: &App, source: &ProviderInfo) -> Result<Vec<String>, String> {
    let listed = app.models(source).await;
    listed.map_err(|error| match error {
        AppError::Internal(message) => message,
        other => CliError::from(other).message().as_str().to_owned(),
    })
}

fn show(
    source: &ProviderInfo,
    listed: Result<Vec<String>, String>,
    out: &Out,
) -> Result<(), CliError> {
    let plain = approval_text;
    if out.json {
        let (models, error) = match listed {
            Ok(models) => (models, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        return out.json_line(&json!({
            "provider": source.name(), "model": source.model(), "models": models, "error": error,
        }));
    }
    let chosen = source.model().unwrap_or("no model chosen");
    out.text(say!(
        "{}  {}",
        BOLD.on(source.name()),
        DIM.on(plain(chosen))
    ))?;
    match listed {
        Ok(models) => models
            .iter()
            .try_for_each(|model| out.text(say!("  {}", plain(model)))),
        Err(error) => out.text(say!("  {}", RED.on(plain(&error)))),
    }
}
