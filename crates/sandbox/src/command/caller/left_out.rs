//! Grants that cannot be used, which are left out: one of them never makes all commands refuse.

use std::path::{Path, PathBuf};

use super::directory::Directory;
use super::guards;
use super::reach::PRIVATE;
use crate::command::error::SandboxError;
use crate::command::inside::mounts::may_be_shown;
use crate::command::rules::{Grant, SandboxRules};

/// A grant that commands do not get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The directory as it was granted.
    pub path: PathBuf,
    /// Why.
    pub why: String,
}

/// Takes out the grants that would make every command fail.
pub(super) fn leave_out(rules: &SandboxRules) -> (SandboxRules, Vec<LeftOut>) {
    let mut usable = rules.clone();
    let mut left_out = Vec::new();
    usable.grants.retain(|grant| match refused(rules, grant) {
        None => true,
        Some(why) => {
            let path = grant.path.clone();
            left_out.push(LeftOut { path, why });
            false
        }
    });
    (usable, left_out)
}

fn refused(rules: &SandboxRules, grant: &Grant) -> Option<String> {
    let directory = match Directory::grant(rules, grant) {
        Ok(directory) => directory,
        Err(error) => return Some(error.to_string()),
    };
    let is_private = PRIVATE.iter().any(|own| directory.path == Path::new(own));
    if is_private || !may_be_shown(directory.path.as_os_str().as_encoded_bytes()) {
        let path = directory.path.display();
        return Some(format!(
            "commands have a {path} of their own, so that of the machine cannot be granted. Grant a directory in it, or remove the grant"
        ));
    }
    let found = directory.find(rules, &[]);
    if let Some(missed) = found.missed {
        return Some(SandboxError::Search(missed).to_string());
    }
    let names = found.guarded.len();
    (names > guards::MOST).then(|| {
        let path = directory.path.clone();
        SandboxError::TooManyGuarded { path, names }.to_string()
    })
}
