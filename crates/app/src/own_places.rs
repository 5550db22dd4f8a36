//! What of this machine is Toolgate's own: the one list that the sandbox are given.
//!
//! A tool that could change the configuration would say itself what it may do, and one that
//! could read the record would read what others were shown. So neither is a tool's to touch,
//! wherever the user keeps it, and whether it is there yet or not.

use std::path::{Component, Path, PathBuf};

use toolgate_config::Effective;
use toolgate_sandbox::paths::{OwnPlaces, PathRules};

use crate::error::AppError;
use crate::options::AppOptions;

/// What SQLite keeps beside its file.
const BESIDE_THE_RECORD: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Links that are followed before a path is called endless.
const MOST_LINKS: usize = 40;

/// The rules of the path sandbox, with what is Toolgate's own.
pub(crate) fn path_rules(
    options: &AppOptions,
    config: &Effective,
    journal: &Path,
) -> Result<PathRules, AppError> {
    let rules = config.path_rules();
    let own = own_places(options, journal)?;
    Ok(PathRules {
        own,
        home: options.environment.text("HOME").map(PathBuf::from),
        ..rules.map_err(|error| AppError::usage(error.to_string()))?
    })
}

fn own_places(options: &AppOptions, journal: &Path) -> Result<OwnPlaces, AppError> {
    let home = &options.home;
    let beside = BESIDE_THE_RECORD.iter().map(|ending| {
        let mut name = journal.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    });
    let closed = [home.data.clone(), home.trust(), home.grants()];
    let closed = closed
        .into_iter()
        .chain([journal.to_path_buf()])
        .chain(beside);
    let kept = [home.config.clone(), home.user_config()];
    let kept = kept.into_iter().chain(options.config.clone());
    let mut own = OwnPlaces::default();
    for place in closed {
        let (links, place) = followed(&place)?;
        own.kept.extend(links);
        own.closed.push(place);
    }
    for place in kept {
        let (links, place) = followed(&place)?;
        own.kept.extend(links);
        own.kept.push(place);
    }
    for places in [&mut own.closed, &mut own.kept] {
        places.sort();
        places.dedup();
    }
    Ok(own)
}

/// Where a path leads, and the links on the way: who changes one of them changes where it
/// leads. As far as nothing is there, the names are taken as they are.
fn followed(path: &Path) -> Result<(Vec<PathBuf>, PathBuf), AppError> {
    let absolute = std::path::absolute(path)
        .map_err(|error| AppError::usage(format!("{}: {error}", path.display())))?;
    let mut links = Vec::new();
    let mut place = PathBuf::from("/");
    let mut left: Vec<PathBuf> = parts(&absolute);
    while let Some(part) = left.pop() {
        if part == Path::new("..") {
            place.pop();
            continue;
        }
        place.push(part);
        let Ok(target) = std::fs::read_link(&place) else {
            continue;
        };
        if links.len() >= MOST_LINKS {
            return Err(AppError::usage(format!(
                "{}: too many links lead there",
                path.display()
            )));
        }
        links.push(place.clone());
        place.pop();
        if target.is_absolute() {
            place = PathBuf::from("/");
        }
        left.extend(parts(&target));
    }
    Ok((links, place))
}

/// The names of a path from the last to the first.
fn parts(path: &Path) -> Vec<PathBuf> {
    path.components()
        .rev()
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
        .map(|part| PathBuf::from(part.as_os_str()))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_place_is_where_its_links_lead_and_each_of_them_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("dots/toolgate")).unwrap();
        symlink("dots", top.join("settings")).unwrap();
        symlink(top.join("settings/toolgate"), top.join("mine")).unwrap();
        symlink("nowhere/at/all", top.join("dangling")).unwrap();
        symlink("round", top.join("round")).unwrap();
        for (path, links, place) in [
            ("plain/not/there", vec![], "plain/not/there"),
            ("dots/../dots/x", vec![], "dots/x"),
            ("settings/x", vec!["settings"], "dots/x"),
            (
                "mine/config.toml",
                vec!["mine", "settings"],
                "dots/toolgate/config.toml",
            ),
            ("dangling/x", vec!["dangling"], "nowhere/at/all/x"),
        ] {
            let links: Vec<PathBuf> = links.into_iter().map(|link| top.join(link)).collect();
            let found = followed(&top.join(path)).unwrap();
            assert_eq!(found, (links, top.join(place)), "{path}");
        }
        assert!(followed(&top.join("round/x")).is_err());
    }
}
