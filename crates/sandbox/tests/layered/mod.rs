//! Commands in a layer, and trees to compare.
#![allow(dead_code, unreachable_pub, clippy::indexing_slicing)]

pub mod sequences;

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use toolgate_sandbox::command::{CommandSandbox, Outcome, SandboxRules};
use toolgate_sandbox::layer::{Layer, Layering};

use crate::trial::{Place, Ran, run_spec, spec};

pub fn rules(place: &Place) -> SandboxRules {
    let mut rules = place.rules();
    rules.layers = vec![place.directory.path().join("layers")];
    rules
}

/// Runs a line in a layer, and gives what it printed and its layer.
pub fn run(sandbox: &CommandSandbox, place: &Place, line: &str) -> (Ran, Layer) {
    let mut spec = spec(line, &place.ws);
    spec.layering = Layering::Required;
    let mut ran = run_spec(sandbox, spec, Default::default());
    let layer = ran.finished.layer.take();
    let layer = layer.unwrap_or_else(|| panic!("no layer: {ran:?}"));
    (ran, layer)
}

/// The layer of a line that succeeds.
pub fn layer(sandbox: &CommandSandbox, place: &Place, line: &str) -> Layer {
    let (ran, layer) = run(sandbox, place, line);
    assert_eq!(ran.finished.outcome, Outcome::Exited(0), "{ran:?}");
    layer
}

/// A tree as far as applying has to keep it: names, types, modes, contents, link targets, and which
/// names are of one file.
pub fn tree(root: &Path) -> BTreeMap<OsString, String> {
    let mut all = BTreeMap::new();
    let mut groups = HashMap::new();
    let mode = root.metadata().expect("root").mode() & 0o7777;
    all.insert(OsString::from("."), format!("directory {mode:o}"));
    visit(root, root, &mut all, &mut groups);
    all
}

fn visit(
    root: &Path,
    directory: &Path,
    all: &mut BTreeMap<OsString, String>,
    groups: &mut HashMap<u64, OsString>,
) {
    use std::os::unix::fs::PermissionsExt;
    let mode = directory.metadata().expect("directory").permissions();
    if mode.mode() & 0o700 != 0o700 {
        let open = std::fs::Permissions::from_mode(mode.mode() | 0o700);
        std::fs::set_permissions(directory, open).expect("open");
    }
    let mut names: Vec<OsString> = std::fs::read_dir(directory)
        .expect("directory")
        .map(|entry| entry.expect("entry").file_name())
        .collect();
    names.sort();
    for name in names {
        let path = directory.join(&name);
        let stat = path.symlink_metadata().expect("entry");
        let shown = path.strip_prefix(root).expect("beneath").as_os_str();
        let mode = stat.mode() & 0o7777;
        let kind = stat.file_type();
        let text = if kind.is_symlink() {
            format!("link {:?}", std::fs::read_link(&path).expect("link"))
        } else if kind.is_dir() {
            visit(root, &path, all, groups);
            format!("directory {mode:o}")
        } else if kind.is_file() {
            let group = groups.entry(stat.ino()).or_insert_with(|| shown.to_owned());
            format!("file {mode:o} {} = {:?}", group.display(), content(&path))
        } else {
            format!("special {:o}", stat.mode())
        };
        all.insert(shown.to_owned(), text);
    }
    if mode.mode() & 0o700 != 0o700 {
        std::fs::set_permissions(directory, mode).expect("close");
    }
}

fn content(path: &Path) -> String {
    use std::os::unix::fs::PermissionsExt;
    let mode = path.metadata().expect("file").permissions();
    if mode.mode() & 0o400 == 0 {
        let open = std::fs::Permissions::from_mode(mode.mode() | 0o400);
        std::fs::set_permissions(path, open).expect("open");
    }
    let bytes = std::fs::read(path).expect("content");
    if mode.mode() & 0o400 == 0 {
        std::fs::set_permissions(path, mode).expect("close");
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What differs, for a message.
pub fn difference(
    one: &BTreeMap<OsString, String>,
    other: &BTreeMap<OsString, String>,
) -> Vec<String> {
    let mut names: Vec<_> = one.keys().chain(other.keys()).collect();
    names.sort();
    names.dedup();
    let differ = names
        .into_iter()
        .filter(|name| one.get(*name) != other.get(*name));
    let line = |name: &OsString| {
        let name_shown = String::from_utf8_lossy(name.as_bytes()).into_owned();
        format!("{name_shown}: {:?} / {:?}", one.get(name), other.get(name))
    };
    differ.map(line).collect()
}

/// What is left in the directory for layers beside the one of this process.
pub fn left(place: &Place) -> Vec<String> {
    let layers = place.directory.path().join("layers");
    let entries = std::fs::read_dir(layers).expect("layers").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("kept-")).collect();
    names.sort();
    names
}
