//! Which options of a row a written name means.

use super::table::{Arity, Effect, Flag, Row};

/// The options a written name means, and whether it only abbreviates them.
pub(super) struct Meant<'r> {
    pub(super) flags: Vec<&'r Flag>,
    pub(super) abbreviated: bool,
}

/// The options a written name can mean: itself, or what it abbreviates.
pub(super) fn matching<'r>(row: &'r Row, name: &str, long: bool) -> Meant<'r> {
    let exact: Vec<&Flag> = row
        .flags()
        .filter(|flag| flag.names.contains(&name))
        .collect();
    if !exact.is_empty() || !long {
        return Meant {
            flags: exact,
            abbreviated: false,
        };
    }
    // `--config.*!`: everything that starts so is meant.
    let family: Vec<&Flag> = row
        .flags()
        .filter(|flag| flag.effect != Effect::Data)
        .filter(|flag| {
            let mut starts = flag.names.iter().filter_map(|full| full.strip_suffix('*'));
            starts.any(|start| name.starts_with(start))
        })
        .collect();
    if !family.is_empty() {
        return Meant {
            flags: family,
            abbreviated: false,
        };
    }
    let starts = |flag: &&Flag| {
        flag.names
            .iter()
            .any(|full| full.len() > 2 && full.starts_with(name))
    };
    Meant {
        flags: row.flags().filter(starts).collect(),
        abbreviated: true,
    }
}

/// The option of several letters that a word of one dash starts with, and the length of its name.
pub(super) fn glued<'r>(row: &'r Row, text: &str) -> Option<(&'r Flag, usize)> {
    row.flags().find_map(|flag| {
        let name = flag.names.iter().find(|name| {
            // `-MFfile`: a short option of two letters.
            let short = name.len() == 2 || name.chars().skip(1).all(|c| c.is_ascii_uppercase());
            let glues = short && flag.arity != Arity::None;
            // `-Wl,…` and the like: everything that starts so is meant.
            let starts = flag.arity == Arity::None && flag.effect != Effect::Data;
            (glues || starts) && text.starts_with(**name)
        })?;
        Some((flag, name.len()))
    })
}

/// Whether the row lists every option that starts like this one: `-W*`.
pub(super) fn family(row: &Row, text: &str) -> bool {
    let mut names = row.flags().flat_map(|flag| flag.names.iter());
    names.any(|name| {
        name.strip_suffix('*')
            .is_some_and(|start| text.starts_with(start))
    })
}

/// Whether a row lists `-` itself.
pub(super) fn lists_dash(row: &Row) -> bool {
    row.flags().any(|flag| flag.names.contains(&"-"))
}

/// Options that only make a program say something about itself.
pub(super) fn is_question(option: &str) -> bool {
    matches!(
        option,
        "--version" | "--help" | "-V" | "-h" | "-v" | "-m" | "-c" | "-e" | "-l" | "-i" | "--test"
    )
}
