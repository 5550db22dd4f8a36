//! What the file of a project may do before the user trusts it.
//!
//! Each key has one direction that is stricter; a value in that direction
//! counts, an equal one changes nothing, and any other is ignored. Rules, block
//! lists and fences always count: policy gives them no power to allow.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;
use toolgate_model::Action;
use toolgate_policy::Mode;

use super::{Layer, Merged, Project};
use crate::key_path::KeyPath;
use crate::layer::Ignored;
use crate::read::Found;

/// What becomes of a value of an untrusted layer.
pub(super) enum Verdict {
    /// It counts, perhaps with something taken out.
    Takes(Value),
    /// It says what already holds.
    Same,
    /// It does not count, for this reason.
    Ignored(String),
}

const ONLY_TRUSTED: &str = "a project's file may set it only once it is trusted";

const EXEMPTS_ONLY: &str = "until it is trusted, an allow of a project's file only exempts \
                            from the rules after it in the same file";

const RAISES_ONLY: &str = "until it is trusted, a project's file may only raise the risk to `high`";

const OUTSIDE_ROOTS: &str = "the directory lies in none of the roots, and a project's file may only \
                             narrow them until it is trusted";

impl Merged {
    /// Judges a value of an untrusted layer; `persons_mode` is what trusted layers end up with.
    pub(super) fn tighten(&mut self, layer: &Layer, found: &Found, persons_mode: Mode) -> Verdict {
        let now = self
            .settings
            .get(&found.path)
            .and_then(super::Setting::value);
        let given = &found.value;
        match found.key.project {
            Project::Ignored => Verdict::Ignored(ONLY_TRUSTED.to_owned()),
            Project::Counts if found.key.name == "rules" => {
                Verdict::Takes(self.disarm(layer, found))
            }
            Project::Counts | Project::Narrows => Verdict::Takes(given.clone()),
            Project::Lowers => lower(given, now.as_ref()),
            Project::Sets(flag) => match (given.as_bool(), now.as_ref().and_then(Value::as_bool)) {
                (given, now) if given == now => Verdict::Same,
                (Some(given), _) if given == flag => Verdict::Takes(Value::Bool(flag)),
                _ => Verdict::Ignored(format!(
                    "until it is trusted, a project's file may only set it to {flag}"
                )),
            },
            Project::Tightens(words) => {
                // The mode that holds may be nobody's word, but follow from the trust level.
                let implied = (found.key.name == "mode" && now.is_none())
                    .then(|| Value::from(self.approval_mode().as_str()));
                stricter(given, now.or(implied).as_ref(), words)
            }
            Project::DefaultAction => default_action(given, now.as_ref(), persons_mode),
        }
    }

    /// Rules without what only a trusted layer may say.
    fn disarm(&mut self, layer: &Layer, found: &Found) -> Value {
        let mut rules = found.value.clone();
        let Some(entries) = rules.as_array_mut() else {
            return rules;
        };
        for (at, rule) in entries.iter_mut().enumerate() {
            let places = found.places.entry(at);
            let key = format!("tools.rules, rule {}", at + 1);
            if rule.get("action").and_then(Value::as_str) == Some("allow") {
                let key = format!("{key}, action");
                self.ignore(layer, found, places, &key, EXEMPTS_ONLY.to_owned());
            }
            // It stands in questions, and is not Toolgate's word.
            if let Some(message) = rule.get_mut("message")
                && let Some(text) = message.as_str()
            {
                *message = format!("the project's file says: {}", Value::from(text)).into();
            }
            // Only the highest risk can make nothing look smaller than it is.
            let risk = rule.get("risk").and_then(Value::as_str);
            if risk.is_some_and(|risk| risk != "high") {
                if let Some(rule) = rule.as_object_mut() {
                    rule.remove("risk");
                }
                let key = format!("{key}, risk");
                self.ignore(layer, found, places, &key, RAISES_ONLY.to_owned());
            }
        }
        rules
    }

    /// Takes directories out of an untrusted layer's roots that lie in none of the user's.
    pub(super) fn drop_foreign_roots(&mut self, workspace: &Path) {
        let key = KeyPath::of(["tools", "sandbox", "allowed_roots"]);
        let Some(setting) = self.settings.get_mut(&key) else {
            return;
        };
        let trusted = setting.parts.iter().filter(|part| part.trusted);
        let roots: Vec<PathBuf> = trusted
            .flat_map(|part| directories(&part.value, workspace))
            .collect();
        let is_inside = |entry: &Value| {
            directory(entry, workspace)
                .is_some_and(|directory| roots.iter().any(|root| directory.starts_with(root)))
        };
        let ignored = &mut self.ignored;
        for part in setting.parts.iter_mut().filter(|part| !part.trusted) {
            let (Value::Array(entries), Some((source, places))) = (&mut part.value, &part.places)
            else {
                continue;
            };
            for (at, _) in entries
                .iter()
                .enumerate()
                .filter(|(_, entry)| !is_inside(entry))
            {
                ignored.push(Ignored {
                    file: source.name().to_owned(),
                    line: source.line(places.entry(at).span.start),
                    key: key.to_string(),
                    why: OUTSIDE_ROOTS.to_owned(),
                });
            }
            entries.retain(is_inside);
        }
        let is_empty = |value: &Value| value.as_array().is_none_or(Vec::is_empty);
        setting
            .parts
            .retain(|part| part.trusted || !is_empty(&part.value));
        ignored.sort_by_key(|ignored| ignored.line);
    }
}

fn lower(given: &Value, now: Option<&Value>) -> Verdict {
    let Some(new) = given.as_u64() else {
        return Verdict::Ignored(ONLY_TRUSTED.to_owned());
    };
    match now.and_then(Value::as_u64) {
        Some(now) if new == now => Verdict::Same,
        Some(now) if new > now => Verdict::Ignored(format!(
            "until it is trusted, a project's file may only lower it, and it is {now}"
        )),
        _ => Verdict::Takes(given.clone()),
    }
}

fn stricter(given: &Value, now: Option<&Value>, words: &[&str]) -> Verdict {
    let rank = |value: Option<&Value>| {
        let word = value.and_then(Value::as_str)?;
        words.iter().position(|known| *known == word)
    };
    match (rank(Some(given)), rank(now)) {
        (Some(new), Some(now)) if new == now => Verdict::Same,
        (Some(new), Some(now)) if new < now => Verdict::Takes(given.clone()),
        (_, Some(now)) => Verdict::Ignored(format!(
            "until it is trusted, a project's file may only make it stricter than `{}`",
            words.get(now).copied().unwrap_or_default()
        )),
        (_, None) => Verdict::Ignored(ONLY_TRUSTED.to_owned()),
    }
}

/// A default action replaces whole cells of the table: `deny` is always stricter,
/// `ask` only where no cell is a denial, and that is so unless the mode is `deny`.
fn default_action(given: &Value, now: Option<&Value>, persons_mode: Mode) -> Verdict {
    let action = |value: &Value| serde_json::from_value::<Action>(value.clone()).ok();
    let new = action(given);
    match now.and_then(action) {
        Some(now) if new == Some(now) => Verdict::Same,
        Some(now) if new > Some(now) => Verdict::Takes(given.clone()),
        None if new == Some(Action::Deny) => Verdict::Takes(given.clone()),
        None if new == Some(Action::Ask) && persons_mode != Mode::Deny => {
            Verdict::Takes(given.clone())
        }
        _ => Verdict::Ignored(
            "until it is trusted, a project's file may only make it stricter".to_owned(),
        ),
    }
}

/// The directories of a list of roots.
fn directories(value: &Value, workspace: &Path) -> Vec<PathBuf> {
    let entries = value.as_array().map(Vec::as_slice).unwrap_or_default();
    entries
        .iter()
        .filter_map(|entry| directory(entry, workspace))
        .collect()
}

/// The directory of an entry of a list of roots, without `.` and `..`.
fn directory(entry: &Value, workspace: &Path) -> Option<PathBuf> {
    let text = entry.as_str().or_else(|| entry.get("path")?.as_str())?;
    Some(tidy(&workspace.join(text)))
}

/// A path without `.` and `..`, by its letters alone.
pub(crate) fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                tidy.pop();
            }
            other => tidy.push(other),
        }
    }
    tidy
}
