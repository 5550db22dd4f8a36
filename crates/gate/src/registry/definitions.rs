//! Tools as the wires want them.

use std::str::FromStr;

use serde::Serialize;
use serde_json::{Value, json};

use super::{Alias, RegistryError, Table};

/// A tool as a model is told about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Definition {
    /// The advertised name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
    /// The canonical name behind it.
    #[serde(skip)]
    pub tool: String,
    /// Whether it only reads.
    #[serde(skip)]
    pub read_only: bool,
    /// Whether it always needs approval.
    #[serde(skip)]
    pub requires_approval: bool,
}

/// The form in which a wire takes definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireFormat {
    /// Toolgate's own.
    Toolgate,
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Ollama.
    Ollama,
    /// Model Context Protocol.
    Mcp,
}

impl WireFormat {
    /// Every form with its name.
    pub const ALL: [(&'static str, Self); 6] = [
        ("toolgate", Self::Toolgate),
        ("anthropic", Self::Anthropic),
        ("openai-chat", Self::OpenaiChat),
        ("openai-responses", Self::OpenaiResponses),
        ("ollama", Self::Ollama),
        ("mcp", Self::Mcp),
    ];
}

impl FromStr for WireFormat {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, format)| *format)
            .ok_or_else(|| {
                let known: Vec<&str> = Self::ALL.iter().map(|(known, _)| *known).collect();
                format!("{name:?} is no format; known are {}", known.join(", "))
            })
    }
}

impl Definition {
    /// The definition in the form of a wire.
    pub fn to_wire(&self, format: WireFormat) -> Value {
        let Self {
            name,
            description,
            input_schema,
            ..
        } = self;
        match format {
            WireFormat::Toolgate => json!({
                "name": name, "description": description, "input_schema": input_schema,
                "tool": self.tool, "read_only": self.read_only,
                "requires_approval": self.requires_approval,
            }),
            WireFormat::Anthropic => {
                json!({"name": name, "description": description, "input_schema": input_schema})
            }
            WireFormat::OpenaiChat | WireFormat::Ollama => json!({
                "type": "function",
                "function": {"name": name, "description": description, "parameters": input_schema},
            }),
            WireFormat::OpenaiResponses => json!({
                "type": "function", "name": name, "description": description,
                "parameters": input_schema, "strict": false,
            }),
            WireFormat::Mcp => json!({
                "name": name, "description": description, "inputSchema": input_schema,
                "annotations": {"readOnlyHint": self.read_only, "destructiveHint": !self.read_only},
            }),
        }
    }
}

/// Makes the definitions of a profile, sorted by name.
pub(super) fn make(table: &Table, profile: &str) -> Result<Vec<Definition>, RegistryError> {
    let chosen: Vec<&Alias> = if profile.is_empty() {
        Vec::new()
    } else {
        let profile = table
            .profiles
            .get(profile)
            .ok_or_else(|| RegistryError::NoSuchTool {
                name: profile.to_owned(),
            })?;
        profile
            .names
            .iter()
            .filter_map(|name| table.aliases.get(name))
            .map(|alias| &**alias)
            .collect()
    };
    let mut all: Vec<Definition> = table
        .tools
        .values()
        .filter(|entry| entry.spec().advertised)
        .map(|entry| {
            let spec = entry.spec();
            let alias = chosen.iter().find(|alias| alias.tool == spec.name);
            Definition {
                name: alias.map_or(&spec.name, |alias| &alias.name).clone(),
                description: spec.description.clone(),
                input_schema: alias.map_or_else(
                    || spec.schema.clone(),
                    |alias| respelled(&spec.schema, alias),
                ),
                tool: spec.name.clone(),
                read_only: !spec.side_effects,
                requires_approval: spec.requires_approval,
            }
        })
        .collect();
    all.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(all)
}

/// The schema as it reads under an alias: arguments in the alias's spelling, presets as defaults.
fn respelled(schema: &Value, alias: &Alias) -> Value {
    let mut schema = schema.clone();
    for spelling in alias
        .spellings
        .iter()
        .filter(|spelling| spelling.convert.is_none())
    {
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut)
            && let Some(value) = properties.remove(&spelling.canonical)
        {
            properties.insert(spelling.other.clone(), value);
        }
        if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
            for name in required
                .iter_mut()
                .filter(|name| **name == spelling.canonical.as_str())
            {
                *name = spelling.other.clone().into();
            }
        }
    }
    for (key, value) in &alias.presets {
        if let Some(property) = schema
            .pointer_mut(&format!("/properties/{key}"))
            .and_then(Value::as_object_mut)
        {
            property.insert("default".into(), value.clone());
        }
    }
    schema
}
