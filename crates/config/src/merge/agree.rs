//! Values that are right each and wrong together.

use std::collections::BTreeMap;

use super::{Merged, Part};
use crate::key_path::KeyPath;
use crate::setting_error::{SettingError, SettingErrorKind};

/// What does not go together in the merged values.
pub(crate) fn disagreements(merged: &Merged) -> Vec<SettingError> {
    let mut sections: BTreeMap<&str, Section<'_>> = BTreeMap::new();
    for (path, setting) in &merged.settings {
        let [kind, name, key] = path.names() else {
            continue;
        };
        let given = setting.parts.last().filter(|part| part.places.is_some());
        if let ("providers", Some(part)) = (kind.as_str(), given) {
            let section = sections.entry(name).or_default();
            section.insert(key, part);
        }
    }
    let sections = sections.iter();
    let mut all: Vec<SettingError> = sections
        .filter_map(|(name, section)| disagreement(name, section))
        .collect();
    all.extend(
        NOT_ABOVE
            .iter()
            .filter_map(|bound| unreachable(merged, bound)),
    );
    all
}

/// A limit that another one makes unreachable.
struct NotAbove {
    limit: [&'static str; 3],
    bound: &'static [&'static str],
    why: &'static str,
}

const NOT_ABOVE: &[NotAbove] = &[
    NotAbove {
        limit: ["tools", "apply_patch", "max_patch_bytes"],
        bound: &["tools", "max_tool_args_bytes"],
        why: "a patch is one argument of its call",
    },
    NotAbove {
        limit: ["tools", "output", "max_block_bytes"],
        bound: &["tools", "output", "max_blocks_bytes"],
        why: "a block is one of the blocks of its result",
    },
    NotAbove {
        limit: ["tools", "output", "keep_bytes"],
        bound: &["tools", "output", "keep_total_bytes"],
        why: "an output is one of those that are kept",
    },
];

/// A limit of a trusted file above its bound. A bound that an untrusted project lowered
/// takes the limit down with it and is no error of the user's file.
fn unreachable(merged: &Merged, rule: &NotAbove) -> Option<SettingError> {
    let trusted = |path: &[&str]| {
        let setting = merged.settings.get(&KeyPath::of(path.iter().copied()))?;
        setting.parts.iter().rfind(|part| part.trusted)
    };
    let (limit, bound) = (trusted(&rule.limit)?, trusted(rule.bound)?);
    let (value, most) = (limit.value.as_u64()?, bound.value.as_u64()?);
    if value <= most {
        return None;
    }
    // The built-in value of a limit follows its bound.
    let (source, places) = limit.places.as_ref()?;
    let problem = format!(
        "`{}` = {value} can never be reached: {}, and `{}` is {most}; lower the one or raise the other",
        rule.limit.join("."),
        rule.why,
        rule.bound.join(".")
    );
    let fault = SettingErrorKind::Conflict { problem };
    Some(SettingError::new(source, places.span.clone(), fault))
}

/// What files say in a section whose name they chose.
type Section<'m> = BTreeMap<&'m str, &'m Part>;

fn disagreement(name: &str, section: &Section<'_>) -> Option<SettingError> {
    let title = KeyPath::of(["providers", name]).section();
    let (part, fault) = provider(&title, section)?;
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
