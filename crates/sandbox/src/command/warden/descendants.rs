//! The descendants of this process, by the parents that `/proc` names.

use std::collections::HashMap;

use rustix::process::Pid;

fn families() -> HashMap<i32, Vec<Pid>> {
    let mut families: HashMap<i32, Vec<Pid>> = HashMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let Ok(stat) = std::fs::read(entry.path().join("stat")) else {
            continue;
        };
        // The name in parentheses may hold anything; after it come state and parent.
        let text = String::from_utf8_lossy(&stat);
        let mut fields = text
            .rsplit_once(')')
            .into_iter()
            .flat_map(|(_, rest)| rest.split_whitespace());
        let alive = fields
            .next()
            .is_some_and(|state| state != "Z" && state != "X");
        if let (true, Some(Ok(parent)), Some(pid)) =
            (alive, fields.next().map(str::parse), Pid::from_raw(pid))
        {
            families.entry(parent).or_default().push(pid);
        }
    }
    families
}

fn own_number() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// The living children of this process.
pub(crate) fn children() -> Vec<Pid> {
    families().remove(&own_number()).unwrap_or_default()
}

/// The living children of this process, their children, and so on.
pub(crate) fn descendants() -> Vec<Pid> {
    let mut families = families();
    let mut found = families.remove(&own_number()).unwrap_or_default();
    let mut next = 0;
    while let Some(parent) = found.get(next) {
        let more = families.remove(&parent.as_raw_nonzero().get());
        found.extend(more.unwrap_or_default());
        next += 1;
    }
    found
}
