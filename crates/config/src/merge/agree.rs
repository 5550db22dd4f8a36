//! Values that are right each and wrong together.

use serde_json::Value;

use super::{Merged, Part};
use crate::key_path::KeyPath;
use crate::mistake::{Fault, Mistake};

/// What does not go together in the merged values.
pub(crate) fn disagreements(merged: &Merged) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    for (section, name) in named_sections(merged) {
        let given = |key: &str| given(merged, &section, &name, key);
        let title = KeyPath::of([section.as_str(), name.as_str()]).section();
        let (missing, both) = match section.as_str() {
            "providers" => (
                given("kind").is_none().then(|| Fault::Missing { key: "kind".to_owned(), section: title.clone() }),
                given("api_key_env").zip(given("api_key_command")).map(|(_, command)| {
                    (command, format!("{title} has both `api_key_env` and `api_key_command`; keep one of them"))
                }),
            ),
            "mcp" => (
                (given("command").is_none() && given("url").is_none())
                    .then(|| Fault::Missing { key: "command` or `url".to_owned(), section: title.clone() }),
                given("command").zip(given("url")).map(|(_, url)| {
                    (url, format!("{title} has both `command` and `url`; a server is one or the other"))
                }),
            ),
            _ => (None, None),
        };
        if let Some(fault) = missing
            && let Some(part) = latest(merged, &section, &name)
        {
            mistakes.extend(mistake(part, fault));
        }
        if let Some((part, problem)) = both {
            mistakes.extend(mistake(part, Fault::Conflict { problem }));
        }
    }
    mistakes
}

/// The sections whose names the files chose.
fn named_sections(merged: &Merged) -> Vec<(String, String)> {
    let mut sections: Vec<(String, String)> = merged
        .settings
        .keys()
        .filter_map(|path| match path.names() {
            [section, name, _] if matches!(section.as_str(), "providers" | "mcp") => {
                Some((section.clone(), name.clone()))
            }
            _ => None,
        })
        .collect();
    sections.dedup();
    sections
}

fn given<'m>(merged: &'m Merged, section: &str, name: &str, key: &str) -> Option<&'m Part> {
    let setting = merged.settings.get(&KeyPath::of([section, name, key]))?;
    setting.parts.last().filter(|part| part.value != Value::Null)
}

/// A value of the section that stands in a file.
fn latest<'m>(merged: &'m Merged, section: &str, name: &str) -> Option<&'m Part> {
    merged
        .settings
        .iter()
        .filter(|(path, _)| matches!(path.names(), [first, second, _] if first == section && second == name))
        .flat_map(|(_, setting)| &setting.parts)
        .rfind(|part| part.places.is_some())
}

fn mistake(part: &Part, fault: Fault) -> Option<Mistake> {
    let (source, places) = part.places.as_ref()?;
    Some(Mistake::new(source, places.span.clone(), fault))
}
