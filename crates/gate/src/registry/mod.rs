//! Which tools there are.
//!
//! In: tools, aliases, profiles. Out: the tool behind a name, and definitions for
//! every wire. Schemas are compiled once, when a tool is registered; definitions
//! are made once and kept until the registry changes. Readers never wait for
//! each other, and a reader that looked a tool up keeps it whatever is registered
//! meanwhile.

mod alias;
mod definitions;
mod linked;
mod rules;
mod server_names;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use toolgate_model::nearest::nearest;
use toolgate_model::{Args, ErrorKind, ToolError};
use toolgate_policy::Scope;

pub use alias::{Alias, Profile, Rewrite};
pub use definitions::{Definition, WireFormat};
#[doc(hidden)]
pub use inventory;
pub use linked::LinkedTool;
pub use server_names::server_tool_name;

use crate::schema::{Schema, SchemaError};
use crate::sync::{RwLock, read, write};
use crate::tool::{Spelling, Tool, ToolSpec};

/// Why something was not registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The name is taken, by a tool or an alias.
    #[error("duplicate_tool: {name:?} is registered already; `replace` says that it is meant")]
    DuplicateTool {
        /// The name.
        name: String,
    },
    /// Nothing has this name.
    #[error("no tool is called {name:?}")]
    NoSuchTool {
        /// The name.
        name: String,
    },
    /// The name is not one the wires accept.
    #[error("{name:?} is no tool name: use 1 to 64 of a-z, A-Z, 0-9, _ and -")]
    BadName {
        /// The name.
        name: String,
    },
    /// The schema cannot be used.
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

/// A registered tool with what was prepared for it.
pub struct Entry {
    tool: Arc<dyn Tool>,
    schema: Schema,
    digest: String,
}

impl Entry {
    fn new(tool: Arc<dyn Tool>) -> Result<Self, RegistryError> {
        let spec = tool.spec();
        check_name(&spec.name)?;
        let schema = Schema::compile(&spec.name, &spec.schema)?;
        let digest = digest(spec);
        Ok(Self {
            tool,
            schema,
            digest,
        })
    }

    /// The tool.
    pub fn tool(&self) -> &Arc<dyn Tool> {
        &self.tool
    }

    /// What it says about itself.
    pub fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    /// SHA-256 over what it says about itself: a changed tool is another plan.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Checks canonical arguments.
    pub fn check(&self, args: &Args) -> Result<(), ToolError> {
        self.check_as(args, None)
    }

    fn check_as(&self, args: &Args, alias: Option<&Alias>) -> Result<(), ToolError> {
        let under_alias = alias.map(|alias| alias.spellings.as_slice());
        let spellings = under_alias.unwrap_or_default().iter();
        let also: Vec<&str> = spellings
            .chain(&self.spec().spellings)
            .filter(|spelling| spelling.offered && !args.contains_key(&spelling.canonical))
            .map(|spelling| spelling.other.as_str())
            .collect();
        self.schema.check(args, &also)
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry")
            .field("name", &self.spec().name)
            .finish_non_exhaustive()
    }
}

fn digest(spec: &ToolSpec) -> String {
    let mut hash = Sha256::new();
    for part in [
        spec.name.as_str(),
        &spec.description,
        &spec.schema.to_string(),
    ] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.update([
        u8::from(spec.side_effects),
        u8::from(spec.requires_approval),
    ]);
    crate::tool::hex(&hash.finalize())
}

/// Whether every wire takes this as the name of a tool.
fn is_tool_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=64).contains(&name.len()) && name.bytes().all(plain)
}

fn check_name(name: &str) -> Result<(), RegistryError> {
    if is_tool_name(name) {
        Ok(())
    } else {
        Err(RegistryError::BadName {
            name: name.to_owned(),
        })
    }
}

#[derive(Default)]
struct Table {
    tools: HashMap<String, Arc<Entry>>,
    aliases: HashMap<String, Arc<Alias>>,
    profiles: BTreeMap<String, Profile>,
    made: HashMap<String, Arc<[Definition]>>,
    /// Grows whenever a name begins to mean another tool.
    names: u64,
}

/// The tools of a program. Shared by reference; every method takes `&self`.
#[derive(Default)]
pub struct Registry {
    table: RwLock<Table>,
}

/// A call's tool and its arguments in canonical spelling.
#[derive(Debug)]
pub struct Resolved {
    /// The tool.
    pub entry: Arc<Entry>,
    /// The arguments, canonical.
    pub args: Args,
    /// The name it was called by, where that is another one.
    alias: Option<Arc<Alias>>,
}

impl Resolved {
    /// Checks the arguments, and speaks of them as the name that was called knows them.
    pub fn check(&self) -> Result<(), ToolError> {
        self.entry.check_as(&self.args, self.alias.as_deref())
    }
}

impl Registry {
    /// A registry with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// A registry with every tool that was linked in by `toolgate_gate::link_tool!`.
    pub fn with_linked() -> Result<Self, RegistryError> {
        let registry = Self::new();
        for linked in linked::all() {
            registry.register((linked.make)())?;
        }
        Ok(registry)
    }

    /// Adds a tool. A name that is taken is refused.
    pub fn register(&self, tool: Arc<dyn Tool>) -> Result<(), RegistryError> {
        let entry = Entry::new(tool)?;
        let name = entry.spec().name.clone();
        let mut table = write(&self.table);
        if table.tools.contains_key(&name) || table.aliases.contains_key(&name) {
            return Err(RegistryError::DuplicateTool { name });
        }
        table.names += 1;
        table.made.clear();
        table.tools.insert(name, Arc::new(entry));
        Ok(())
    }

    /// Puts a tool in the place of the one with its name, if there is one, and returns that.
    pub fn replace(&self, tool: Arc<dyn Tool>) -> Result<Option<Arc<Entry>>, RegistryError> {
        let entry = Entry::new(tool)?;
        let name = entry.spec().name.clone();
        let mut table = write(&self.table);
        if table.aliases.contains_key(&name) {
            return Err(RegistryError::DuplicateTool { name });
        }
        table.names += 1;
        table.made.clear();
        Ok(table.tools.insert(name, Arc::new(entry)))
    }

    /// Removes a tool and its aliases. A call that is under way keeps it.
    pub fn unregister(&self, name: &str) -> Result<Arc<Entry>, RegistryError> {
        let mut table = write(&self.table);
        let entry = table
            .tools
            .remove(name)
            .ok_or_else(|| RegistryError::NoSuchTool {
                name: name.to_owned(),
            })?;
        table.aliases.retain(|_, alias| alias.tool != name);
        table.names += 1;
        table.made.clear();
        Ok(entry)
    }

    /// Adds another name for a tool.
    pub fn alias(&self, alias: Alias) -> Result<(), RegistryError> {
        check_name(&alias.name)?;
        let mut table = write(&self.table);
        if !table.tools.contains_key(&alias.tool) {
            return Err(RegistryError::NoSuchTool { name: alias.tool });
        }
        if table.tools.contains_key(&alias.name) || table.aliases.contains_key(&alias.name) {
            return Err(RegistryError::DuplicateTool { name: alias.name });
        }
        table.made.clear();
        table.names += 1;
        table.aliases.insert(alias.name.clone(), Arc::new(alias));
        Ok(())
    }

    /// Adds a choice of which names are advertised. Every name in it has to be an alias.
    pub fn profile(&self, profile: Profile) -> Result<(), RegistryError> {
        let mut table = write(&self.table);
        if let Some(name) = profile
            .names
            .iter()
            .find(|name| !table.aliases.contains_key(*name))
        {
            return Err(RegistryError::NoSuchTool { name: name.clone() });
        }
        table.made.clear();
        table.profiles.insert(profile.name.clone(), profile);
        Ok(())
    }

    /// The tool of this name or alias.
    pub fn get(&self, name: &str) -> Option<Arc<Entry>> {
        let table = read(&self.table);
        let canonical = table
            .aliases
            .get(name)
            .map_or(name, |alias| alias.tool.as_str());
        table.tools.get(canonical).cloned()
    }

    /// The canonical name behind a name or alias; an unknown name is itself.
    pub fn canonical(&self, name: &str) -> String {
        let table = read(&self.table);
        table
            .aliases
            .get(name)
            .map_or(name, |alias| alias.tool.as_str())
            .to_owned()
    }

    /// Every tool, sorted by name.
    pub fn list(&self) -> Vec<Arc<Entry>> {
        let mut all: Vec<_> = read(&self.table).tools.values().cloned().collect();
        all.sort_by(|left, right| left.spec().name.cmp(&right.spec().name));
        all
    }

    /// The tools that a scope permits, sorted by name; all of them without one. A scope
    /// without permissions leaves the tools that only read.
    pub fn list_for_scope(&self, scope: Option<&Scope>) -> Vec<Arc<Entry>> {
        let mut all = self.list();
        if let Some(scope) = scope {
            let read_only: BTreeSet<String> = all
                .iter()
                .map(|entry| entry.spec())
                .filter(|spec| !spec.side_effects)
                .map(|spec| spec.name.clone())
                .collect();
            all.retain(|entry| {
                scope.permits(&entry.spec().name, &read_only, &|name| self.canonical(name))
            });
        }
        all
    }

    /// A number that changes with every tool and alias: rules are compiled for their names.
    pub(crate) fn names_generation(&self) -> u64 {
        read(&self.table).names
    }

    /// The names of the profiles.
    pub fn profiles(&self) -> Vec<String> {
        read(&self.table).profiles.keys().cloned().collect()
    }

    /// The definitions of the advertised tools under a profile (`""` for canonical names), sorted by name.
    pub fn definitions(&self, profile: &str) -> Result<Arc<[Definition]>, RegistryError> {
        if let Some(made) = read(&self.table).made.get(profile) {
            return Ok(Arc::clone(made));
        }
        let mut table = write(&self.table);
        let made: Arc<[Definition]> = definitions::make(&table, profile)?.into();
        table.made.insert(profile.to_owned(), Arc::clone(&made));
        Ok(made)
    }

    /// Finds the tool of a call and brings its arguments to canonical spelling.
    pub fn resolve(&self, name: &str, args: Args) -> Result<Resolved, ToolError> {
        let (entry, alias) = {
            let table = read(&self.table);
            let alias = table.aliases.get(name).cloned();
            let canonical = alias.as_ref().map_or(name, |alias| alias.tool.as_str());
            (table.tools.get(canonical).cloned(), alias)
        };
        let Some(entry) = entry else {
            return Err(self.unknown(name));
        };
        let mut args = args;
        if let Some(alias) = &alias {
            if let Some(rewrite) = alias.rewrite {
                let refused = |error| ToolError::bad_args(format!("{name}: {error}"));
                args = rewrite(args).map_err(refused)?;
            }
            respell(&mut args, &alias.spellings)?;
        }
        respell(&mut args, &entry.spec().spellings)?;
        for (key, value) in alias.iter().flat_map(|alias| alias.presets.iter()) {
            args.entry(key.clone()).or_insert_with(|| value.clone());
        }
        Ok(Resolved { entry, args, alias })
    }

    fn unknown(&self, name: &str) -> ToolError {
        let table = read(&self.table);
        let known = table
            .tools
            .keys()
            .chain(table.aliases.keys())
            .map(String::as_str);
        let hint = match nearest(name, known) {
            Some(meant) => format!("did you mean {meant:?}?"),
            None => {
                let mut names: Vec<&str> = table
                    .tools
                    .values()
                    .filter(|entry| entry.spec().advertised)
                    .map(|entry| entry.spec().name.as_str())
                    .collect();
                names.sort_unstable();
                names.truncate(30);
                format!("there are: {}", names.join(", "))
            }
        };
        let name: String = name.chars().take(80).collect();
        ToolError::new(
            ErrorKind::UnknownTool,
            format!("no tool is called {name:?}; {hint}"),
        )
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let table = read(&self.table);
        f.debug_struct("Registry")
            .field("tools", &table.tools.len())
            .field("aliases", &table.aliases.len())
            .finish_non_exhaustive()
    }
}

/// Brings arguments to canonical spelling. The same argument in two spellings is refused:
/// the user and the tool might see different ones.
fn respell(args: &mut Args, spellings: &[Spelling]) -> Result<(), ToolError> {
    for spelling in spellings {
        let Some(value) = args.remove(&spelling.other) else {
            continue;
        };
        if args.contains_key(&spelling.canonical) {
            return Err(ToolError::bad_args(format!(
                "{:?} and {:?} are the same argument; give it once",
                spelling.other, spelling.canonical
            )));
        }
        let value = match spelling.convert {
            None => value,
            Some(convert) => convert(value)
                .map_err(|error| ToolError::bad_args(format!("{}: {error}", spelling.other)))?,
        };
        args.insert(spelling.canonical.clone(), value);
    }
    Ok(())
}
