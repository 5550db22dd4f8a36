//! A configuration file: any bytes are read or refused with a picture; what is
//! read can be shown, and its rules can be used.
#![no_main]

use std::path::PathBuf;

use libfuzzer_sys::fuzz_target;
use toolgate_config::{ConfigError, Effective, Project, Source, Sources};
use toolgate_policy::Policy;

fuzz_target!(|input: &[u8]| {
    // The first byte chooses whether the file is trusted, the rest is the file.
    let (choice, text) = input.split_at(input.len().min(1));
    let Ok(source) = Source::new("any.toml", text.to_vec()) else {
        return;
    };
    let trusted = choice.first().is_some_and(|byte| byte % 2 == 1);
    let sources = Sources {
        workspace: PathBuf::from("/"),
        project: Some(Project { source, trusted }),
        ..Sources::default()
    };
    match Effective::load(&sources) {
        Ok(effective) => {
            for row in effective.show() {
                assert!(!row.to_string().contains('\n'));
            }
            let rules = effective.rules();
            Policy::compile(rules.settings, &rules.layers, &str::to_owned)
                .expect("rules of a file without mistakes");
            effective
                .path_rules()
                .expect("path rules of a file without mistakes");
            assert!(!trusted || effective.ignored().is_empty());
        }
        Err(ConfigError::SettingErrors(mistakes)) => {
            assert!(!mistakes.all().is_empty());
            let drawn = mistakes.to_string();
            assert!(drawn.chars().all(|c| c == '\n' || !c.is_control()));
        }
        Err(other) => panic!("{other}"),
    }
});
