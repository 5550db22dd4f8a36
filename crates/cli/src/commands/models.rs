//! `toolgate models`: who can be asked, and for which models.

use serde_json::json;

use crate::args::{Asked, Common};
use crate::asked::Source;
use crate::clean::say;
use crate::clean::style::{BOLD, DIM, RED};
use crate::configured::{configuration, workspace};
use crate::failure::CliError;
use crate::home::Home;
use crate::out::Out;

pub(crate) async fn run(common: &Common, out: &Out, asked: &Asked) -> Result<u8, CliError> {
    let config = configuration(common, &Home::find()?, &workspace(common)?)?;
    let sources = if asked.provider.is_some() || asked.base_url.is_some() {
        vec![Source::chosen(&config, asked)?]
    } else {
        Source::all(&config)
    };
    if sources.is_empty() {
        // The same words as when a turn is asked for.
        Source::chosen(&config, asked)?;
    }
    let mut worst = 0;
    for source in &sources {
        let listed = list(source, out).await;
        worst = worst.max(u8::from(listed.is_err()));
        show(source, listed, out)?;
    }
    Ok(worst)
}

/// The names of its models, or why they are not known.
async fn list(source: &Source, out: &Out) -> Result<Vec<String>, String> {
    let Some(wire) = source.wire() else {
        return Ok(source.model.iter().cloned().collect());
    };
    let client = source
        .endpoint(wire)
        .and_then(|endpoint| source.client(endpoint, out))
        .map_err(|failure| failure.message().as_str().to_owned())?;
    let models = client
        .models()
        .await
        .map_err(|refused| refused.to_string())?;
    Ok(models.into_iter().map(|model| model.name).collect())
}

fn show(source: &Source, listed: Result<Vec<String>, String>, out: &Out) -> Result<(), CliError> {
    let plain = |text: &str| toolgate_gate::output::approval_text(text);
    if out.json {
        let (models, error) = match listed {
            Ok(models) => (models, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        return out.json_line(&json!({
            "provider": source.name, "model": source.model, "models": models, "error": error,
        }));
    }
    let chosen = source.model.as_deref().unwrap_or("no model chosen");
    out.text(say!("{}  {}", BOLD.on(&source.name), DIM.on(plain(chosen))))?;
    match listed {
        Ok(models) => models
            .iter()
            .try_for_each(|model| out.text(say!("  {}", plain(model)))),
        Err(error) => out.text(say!("  {}", RED.on(plain(&error)))),
    }
}
