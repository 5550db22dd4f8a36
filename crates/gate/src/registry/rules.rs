//! Rules in the words of the tools that are there.

use toolgate_policy::{KnownTool, LayerSpec, Policy, PolicyError, Settings};

use super::{Entry, Registry, Table, read};

impl Registry {
    /// Compiles rules. One that names an alias means its tool, and a condition on another
    /// spelling of an argument means the argument: calls are compared in canonical form.
    pub fn policy(&self, settings: Settings, layers: &[LayerSpec]) -> Result<Policy, PolicyError> {
        let mut layers = layers.to_vec();
        {
            let table = read(&self.table);
            let rules = layers.iter_mut().flat_map(|layer| &mut layer.rules);
            for rule in rules {
                for condition in &mut rule.when {
                    if let Some(canonical) = table.argument(rule.tool.trim(), &condition.param) {
                        condition.param = canonical;
                    }
                }
            }
        }
        Policy::compile(settings, &layers, &|name| self.canonical(name))
    }

    /// What rules can be about.
    pub fn known_tools(&self) -> Vec<KnownTool> {
        self.list().iter().map(|entry| known(entry)).collect()
    }
}

impl Table {
    /// The argument that another spelling of it stands for, where the value means the same.
    fn argument(&self, tool: &str, written: &str) -> Option<String> {
        let alias = self.aliases.get(tool);
        let entry = self
            .tools
            .get(alias.map_or(tool, |alias| alias.tool.as_str()))?;
        let spellings = alias.map_or(&[][..], |alias| &alias.spellings);
        let mut spellings = spellings.iter().chain(&entry.spec().spellings);
        spellings
            .find(|spelling| spelling.other == written && spelling.convert.is_none())
            .map(|spelling| spelling.canonical.clone())
    }
}

fn known(entry: &Entry) -> KnownTool {
    let spec = entry.spec();
    let properties = spec.schema.get("properties");
    let properties = properties.and_then(serde_json::Value::as_object);
    let closed = spec.schema.get("additionalProperties") == Some(&false.into());
    KnownTool {
        name: spec.name.clone(),
        params: properties
            .filter(|_| closed)
            .map(|properties| properties.keys().cloned().collect()),
        side_effects: spec.side_effects,
        runs_commands: spec.category == toolgate_model::Category::Exec,
    }
}
