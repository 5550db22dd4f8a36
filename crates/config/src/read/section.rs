//! Sections and the keys in them.

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use toolgate_model::nearest::nearest;

use super::{Found, Places, Reader};
use crate::catalog::{Key, NOT_YET, ROOT, Shape};
use crate::key_path::{KeyPath, key_name};
use crate::picture::quoted;
use crate::setting_error::SettingErrorKind;

/// What others call a key, or what is written where it does not belong.
const OTHER_NAMES: &[(&str, &str)] = &[
    (
        "runs",
        "commands are matched by their leading words: `command = [\"git\", [\"status\", \"diff\"]]`",
    ),
    (
        "commands",
        "commands are matched by their leading words: `command = [\"git\", [\"status\", \"diff\"]]`",
    ),
    (
        "paths",
        "say what is done to them: `reads`, `writes` or `deletes`",
    ),
    ("hosts", "hosts are matched by `connects`"),
    (
        "api_key",
        "keys do not belong into this file; use `api_key_env` or `api_key_command`",
    ),
    ("max_output_size", "that is `max_bytes` in [tools.output]"),
    (
        "max_execution_time",
        "that is `shell_commands_seconds` in [tools.timeouts]",
    ),
    (
        "max_file_size",
        "that is `max_file_read_bytes` in [tools.read_file] and `max_file_bytes` in [tools.write_file]",
    ),
    (
        "max_apply_patch_bytes",
        "that is `max_patch_bytes` in [tools.apply_patch]",
    ),
    (
        "max_read_file_scan_bytes",
        "that is `max_scan_bytes` in [tools.read_file]",
    ),
    (
        "working_directory",
        "that is the first of `allowed_roots` in [tools.sandbox], or the option `--workspace`",
    ),
];

/// So many known keys are listed when nothing better can be said.
const LISTED: usize = 8;

impl Reader<'_> {
    /// Reads a section.
    pub(super) fn section(&mut self, path: &KeyPath, keys: &'static [Key], table: &DeTable<'_>) {
        for (name, value) in table {
            let name_text = name.get_ref().as_ref();
            let Some(key) = keys.iter().find(|key| key.name == name_text) else {
                let not_yet = NOT_YET.iter().find(|(section, _)| *section == name_text);
                match not_yet.filter(|_| path.names().is_empty()) {
                    Some((section, feature)) => self.not_supported(section, feature, name, value),
                    None => self.unknown(&path.section(), keys, name_text, name.span()),
                }
                continue;
            };
            let path = path.with(name_text);
            match key.shape {
                Shape::Table(inner) => {
                    if let Some(table) = self.table(&path, value) {
                        self.section(&path, inner, table);
                    }
                }
                Shape::Named(inner) => {
                    let Some(tables) = self.table(&path, value) else {
                        continue;
                    };
                    for (name, value) in tables {
                        let path = path.with(name.get_ref());
                        if name.get_ref().trim().is_empty() {
                            let problem = "it is empty".to_owned();
                            let fault = SettingErrorKind::BadText {
                                key: path.to_string(),
                                found: String::new(),
                                problem,
                            };
                            self.mistake(name.span(), fault);
                        } else if let Some(table) = self.table(&path, value) {
                            if table.is_empty() {
                                let problem = format!("{} has nothing in it", path.section());
                                self.mistake(name.span(), SettingErrorKind::Conflict { problem });
                            }
                            self.section(&path, inner, table);
                        }
                    }
                }
                shape => {
                    if let Some(read) = self.fit(&path.to_string(), &shape, value) {
                        let places = Places::of(value);
                        self.found.push(Found {
                            path,
                            key,
                            value: read,
                            places,
                            option: None,
                        });
                    }
                }
            }
        }
    }

    fn table<'v, 'i>(
        &mut self,
        path: &KeyPath,
        value: &'v Spanned<DeValue<'i>>,
    ) -> Option<&'v DeTable<'i>> {
        match value.get_ref() {
            DeValue::Table(table) => Some(table),
            other => {
                let fault = SettingErrorKind::WrongType {
                    key: path.to_string(),
                    expected: "a table".to_owned(),
                    found: super::fit::type_name(other),
                };
                self.mistake(value.span(), fault);
                None
            }
        }
    }

    /// Reports everything directly in a section of a feature that does not exist yet.
    fn not_supported(
        &mut self,
        section: &str,
        feature: &'static str,
        name: &Spanned<Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) {
        let section = KeyPath::default().with(section);
        let mut keys: Vec<_> = match value.get_ref() {
            DeValue::Table(table) => table
                .keys()
                .map(|key| (section.with(key.get_ref()), key.span()))
                .collect(),
            _ => Vec::new(),
        };
        if keys.is_empty() {
            keys.push((section, name.span()));
        }
        for (key, span) in keys {
            let key = quoted(&key.to_string());
            self.mistake(span, SettingErrorKind::NotSupported { key, feature });
        }
    }

    /// Reports an unknown key, with what was probably meant.
    pub(super) fn unknown(
        &mut self,
        section: &str,
        keys: &'static [Key],
        name: &str,
        span: Range<usize>,
    ) {
        if self.is_full() {
            return;
        }
        let fault = SettingErrorKind::UnknownKey {
            key: quoted(&key_name(name)),
            section: section.to_owned(),
            instead: instead(keys, name),
        };
        self.mistake(span, fault);
    }
}

fn instead(keys: &'static [Key], name: &str) -> Option<String> {
    if let Some((_, advice)) = OTHER_NAMES.iter().find(|(other, _)| *other == name) {
        return Some((*advice).to_owned());
    }
    if let Some(near) = nearest(name, keys.iter().map(|key| key.name)) {
        return Some(format!("did you mean `{near}`?"));
    }
    let mut homes = Vec::new();
    sections_with(name, &KeyPath::default(), ROOT, &mut homes);
    if let Some(home) = homes.first() {
        return Some(format!("`{name}` belongs in {home}"));
    }
    let known: Vec<String> = keys
        .iter()
        .take(LISTED)
        .map(|key| format!("`{}`", key.name))
        .collect();
    let more = if keys.len() > LISTED { ", …" } else { "" };
    Some(format!("known here: {}{more}", known.join(", ")))
}

/// The sections that know a key of this name.
fn sections_with(name: &str, path: &KeyPath, keys: &'static [Key], homes: &mut Vec<String>) {
    if keys.iter().any(|key| key.name == name) {
        homes.push(path.section());
    }
    for key in keys {
        let path = path.with(key.name);
        match key.shape {
            Shape::Table(inner) => sections_with(name, &path, inner, homes),
            Shape::Named(inner) => sections_with(name, &path.with("NAME"), inner, homes),
            _ => {}
        }
    }
}
