//! Settings that a word gives to a program.

use crate::expand::field::Field;
use crate::walk::Walker;

/// Settings of git that only change how things look or who is named.
const HARMLESS_GIT_SETTINGS: &[&str] = &[
    "advice.",
    "color.",
    "column.",
    "commit.gpgsign=false",
    "core.abbrev",
    "core.autocrlf",
    "core.quotepath",
    "core.filemode",
    "diff.algorithm",
    "diff.noprefix",
    "diff.renames",
    "init.defaultbranch",
    "log.abbrevcommit",
    "log.date",
    "log.decorate",
    "log.follow",
    "log.mailmap",
    "log.showroot",
    "pull.ff",
    "pull.rebase",
    "push.default",
    "rebase.autosquash",
    "status.",
    "tag.gpgsign=false",
    "user.email",
    "user.name",
];

impl Walker {
    /// `git -c name=value`.
    pub(super) fn git_setting(&mut self, name: &str, value: &Field) {
        let text = value.text.to_ascii_lowercase();
        let key = text.split('=').next().unwrap_or_default();
        let harmless = HARMLESS_GIT_SETTINGS.iter().any(|known| {
            let all = known.ends_with('.') && key.starts_with(known);
            all || *known == key || *known == text
        });
        if !harmless || !value.is_known() {
            self.option_opaque(name, value);
            // Many of them are commands.
            let (_, command) = value.text.split_once('=').unwrap_or_default();
            let command = command.trim_start_matches('!').to_owned();
            self.probe_text(&command);
        }
    }
}
