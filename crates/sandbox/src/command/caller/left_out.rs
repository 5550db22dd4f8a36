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

/// The rules without the grants that would make every command fail, the directories of the
/// others, and why each of these was left out.
pub(super) fn leave_out(rules: &SandboxRules) -> (SandboxRules, Vec<Directory>, Vec<LeftOut>) {
    let mut usable = rules.clone();
    let (mut directories, mut left_out) = (Vec::new(), Vec::new());
    usable
        .grants
        .retain(|grant| match usable_directory(rules, grant) {
            Ok(directory) => {
                directories.push(directory);
                true
            }
            Err(why) => {
                let path = grant.path.clone();
                left_out.push(LeftOut { path, why });
                false
            }
        });
    (usable, directories, left_out)
}

fn usable_directory(rules: &SandboxRules, grant: &Grant) -> Result<Directory, String> {
    let directory = Directory::grant(rules, grant).map_err(|error| error.to_string())?;
    let is_private = PRIVATE.iter().any(|own| directory.path == Path::new(own));
    if is_private || !may_be_shown(directory.path.as_os_str().as_encoded_bytes()) {
        let path = directory.path.display();
        return Err(format!(
            "commands have a {path} of their own, so that of the machine cannot be granted. Grant a directory in it, or remove the grant"
        ));
    }
    directory.search_once(rules);
    let found = directory.find(rules, &[]);
    if let Some(missed) = found.missed {
        return Err(SandboxError::Search(missed).to_string());
    }
    let names = found.guarded.len();
    if names > guards::MOST {
        let path = directory.path.clone();
        return Err(SandboxError::TooManyGuarded { path, names }.to_string());
    }
    Ok(directory)
}
