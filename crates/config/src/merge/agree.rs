//! Values that are right each and wrong together.

use std::collections::BTreeMap;

use super::{Merged, Part};
use crate::key_path::KeyPath;
use crate::setting_error::{SettingError, SettingErrorKind};

/// What does not go together in the merged values.
pub(crate) fn disagreements(merged: &Merged) -> Vec<SettingError> {
    let mut sections: BTreeMap<(&str, &str), Section<'_>> = BTreeMap::new();
    for (path, setting) in &merged.settings {
        let [kind, name, key] = path.names() else {
            continue;
        };
        let given = setting.parts.last().filter(|part| part.places.is_some());
        if let ("providers" | "mcp", Some(part)) = (kind.as_str(), given) {
            let section = sections.entry((kind, name)).or_default();
            section.insert(key, part);
        }
    }
    let sections = sections.iter();
    sections
        .filter_map(|((kind, name), section)| disagreement(kind, name, section))
        .collect()
}

/// What files say in a section whose name they chose.
type Section<'m> = BTreeMap<&'m str, &'m Part>;

fn disagreement(kind: &str, name: &str, section: &Section<'_>) -> Option<SettingError> {
    let title = KeyPath::of([kind, name]).section();
    let given = |key: &str| section.get(key).copied();
    let anything = section.values().next().copied();
    let (part, fault) = match kind {
        "providers" => provider(&title, section)?,
        _ => match (given("command"), given("url")) {
            (None, None) => {
                let problem = "has neither `command` nor `url`; a server is one or the other";
                (anything?, conflict(&title, problem))
            }
            (Some(_), Some(url)) => {
                let problem = "has both `command` and `url`; a server is one or the other";
                (url, conflict(&title, problem))
            }
            _ => return None,
        },
    };
    let (source, places) = part.places.as_ref()?;
    Some(SettingError::new(source, places.span.clone(), fault))
}

/// What does not go together in `[providers.NAME]`: the first that does not.
fn provider<'m>(title: &str, given: &Section<'m>) -> Option<(&'m Part, SettingErrorKind)> {
    let of = |key: &str| given.get(key).copied();
    let Some(kind) = of("kind") else {
        let missing = SettingErrorKind::Missing {
            key: "kind".to_owned(),
            section: title.to_owned(),
        };
        return Some((given.values().next().copied()?, missing));
    };
    if let (Some(_), Some(command)) = (of("api_key_env"), of("api_key_command")) {
        let problem = "has both `api_key_env` and `api_key_command`; keep one of them";
        return Some((command, conflict(title, problem)));
    }
    if let Some(over) = of("over").filter(|_| kind.value != "fenced") {
        let problem = "has `over`, which only the kind `fenced` has; its kind is its wire";
        return Some((over, conflict(title, problem)));
    }
    if let Some(images) = of("images").filter(|images| images.value == true)
        && kind.value == "fenced"
    {
        let problem = "has `images = true`, and the results of the kind `fenced` are text";
        return Some((images, conflict(title, problem)));
    }
    let tokens = |part: &Part| part.value.as_u64();
    if let (Some(context), Some(answer)) = (of("context_tokens"), of("max_tokens"))
        && tokens(answer) >= tokens(context)
    {
        let problem = "has answers of `max_tokens` that fill all of `context_tokens`; lower the one or raise the other";
        return Some((answer, conflict(title, problem)));
    }
    None
}

fn conflict(section: &str, problem: &str) -> SettingErrorKind {
    SettingErrorKind::Conflict {
        problem: format!("{section} {problem}"),
    }
}
