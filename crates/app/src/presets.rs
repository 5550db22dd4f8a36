//! The presets there are.
//!
//! ```
//! use toolgate_app::presets;
//!
//! # let (home, place) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! # let options = toolgate_app::AppOptions::new(toolgate_app::Home::at(home.path()), place.path());
//! # let app = toolgate_app::App::open(options)?;
//! let names: Vec<String> = presets::all(app.config()).into_iter().map(|(name, _)| name).collect();
//! assert_eq!(names, ["coder"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use toolgate_config::Effective;
use toolgate_config::settings::Preset;
use toolgate_engine::CODER;

use crate::error::AppError;

/// What the preset is for that is always there.
const FOR_CODER: &str =
    "Works in your project as a careful programmer; what holds without a preset";

/// Names and what each is for, by name. A `coder` of the configuration takes the built-in's place.
pub fn all(config: &Effective) -> Vec<(String, Option<String>)> {
    let presets = &config.settings().presets;
    let mut all: Vec<(String, Option<String>)> = presets
        .iter()
        .map(|(name, preset)| (name.clone(), preset.description.clone()))
        .collect();
    if !presets.contains_key(CODER) {
        all.push((CODER.to_owned(), Some(FOR_CODER.to_owned())));
    }
    all.sort();
    all
}

/// The preset of this name.
pub(crate) fn named(config: &Effective, name: &str) -> Result<Preset, AppError> {
    match config.settings().presets.get(name) {
        Some(preset) => Ok(preset.clone()),
        None if name == CODER => Ok(Preset::default()),
        None => {
            let known: Vec<String> = all(config).into_iter().map(|(name, _)| name).collect();
            Err(AppError::usage(format!(
                "there is no preset {name:?}; known are {}; `toolgate config presets` says what they are for",
                known.join(", ")
            )))
        }
    }
}
