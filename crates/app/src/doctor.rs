//! Which protections stand around commands on this machine.
//!
//! ```
//! # toolgate_app::init();
//! # let (home, place) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! # let options = toolgate_app::AppOptions::new(toolgate_app::Home::at(home.path()), place.path());
//! # let app = toolgate_app::App::open(options)?;
//! let diagnosis = app.doctor()?;
//! assert!(!diagnosis.switched_off);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use toolgate_config::settings::CommandSandboxMode;
use toolgate_sandbox::command::probe;
use toolgate_sandbox::paths::PathSandbox;

pub use toolgate_sandbox::command::{DoctorReport, Level, Network, Protection, SandboxRules};

use crate::app::App;
use crate::command_context::sandbox_rules;
use crate::error::AppError;
use crate::own_places::path_rules;

/// What stands around commands, and what was tried.
#[derive(Debug)]
pub struct Diagnosis {
    /// What was found.
    pub report: DoctorReport,
    /// The rules that a sandbox would be made from.
    pub rules: SandboxRules,
    /// Whether the configuration turns the sandbox off.
    pub switched_off: bool,
}

impl App {
    /// Tries every protection.
    pub fn doctor(&self) -> Result<Diagnosis, AppError> {
        let (options, config) = (self.options(), self.config());
        let paths = path_rules(options, config, self.journal_file())?;
        let paths = PathSandbox::open(&paths).map_err(AppError::usage)?;
        let rules = sandbox_rules(options, config, &paths);
        let mode = config.settings().tools.sandbox.command_sandbox;
        Ok(Diagnosis {
            report: probe(&rules),
            rules,
            switched_off: mode == CommandSandboxMode::Off,
        })
    }
}
