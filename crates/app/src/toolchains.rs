//! Toolchains of the user that commands see without configuration, for reading.
//!
//! ```text
//!  PATH of the user ──▶ entries in the home directory ──▶ the toolchain around each ──▶ grants
//!                       that are directories of programs
//! ```
//!
//! The source is the environment that the user started the program with, and nothing of a
//! workspace. An entry in a root is no toolchain: commands can change what is there. What is
//! denied in a toolchain is masked like in every grant.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use toolgate_sandbox::command::seen_by_all;
use toolgate_sandbox::paths::PathSandbox;

/// Toolchains that are of use as a whole: the directory of the home directory that an entry of
/// `PATH` lies in, and what commands get then.
const KNOWN: &[(&str, &[&str])] = &[
    (".asdf", &[".asdf"]),
    (".bun/bin", &[".bun/bin"]),
    (".cargo/bin", &[".cargo/bin", ".rustup"]),
    (".deno/bin", &[".deno/bin"]),
    (".dotnet", &[".dotnet"]),
    (".ghcup/bin", &[".ghcup/bin", ".ghcup/ghc"]),
    (
        ".local/bin",
        &[
            ".local/bin",
            ".local/lib",
            ".local/pipx/venvs",
            ".local/share/pipx/venvs",
            ".local/share/uv/python",
            ".local/share/uv/tools",
        ],
    ),
    (".local/share/mise", &[".local/share/mise"]),
    (".pyenv", &[".pyenv"]),
    (".rbenv", &[".rbenv"]),
    (".sdkman/candidates", &[".sdkman/candidates"]),
    (".volta", &[".volta/bin", ".volta/tools"]),
    ("go/bin", &["go/bin"]),
];

/// Names of directories that hold programs. Any other entry of `PATH` may hold anything.
const PROGRAMS: [&str; 4] = ["bin", "sbin", "shims", ".bin"];

/// What lies beside `bin` in the directory of a toolchain, such as a version of Node.
const BESIDE: [&str; 4] = ["include", "lib", "libexec", "share"];

/// Directories that are never a toolchain by themselves, whatever lies beside `bin` in them.
const SHARED: [&str; 2] = [".local", ".config"];

/// The toolchains of a user.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Toolchains {
    /// Directories that commands may read, without links.
    pub(crate) directories: Vec<PathBuf>,
    /// `PATH` with the real names of those entries; none if it stays as it is.
    pub(crate) path: Option<OsString>,
}

impl Toolchains {
    /// The toolchains in the entries of `PATH`.
    pub(crate) fn of(path: Option<&OsStr>, home: Option<&Path>, paths: &PathSandbox) -> Self {
        let (Some(path), Some(home)) = (path, home) else {
            return Self::default();
        };
        let Ok(home) = home.canonicalize() else {
            return Self::default();
        };
        let Ok(owner) = home.metadata().map(|stat| stat.uid()) else {
            return Self::default();
        };
        let of = User { home, owner, paths };
        let mut directories: Vec<PathBuf> = Vec::new();
        let mut is_renamed = false;
        let entries: Vec<PathBuf> = std::env::split_paths(path)
            .map(|entry| match of.toolchain(&entry) {
                Some((real, found)) => {
                    directories.extend(found);
                    is_renamed |= real != entry;
                    real
                }
                None => entry,
            })
            .collect();
        directories.sort();
        directories.dedup();
        let path = std::env::join_paths(entries).ok().filter(|_| is_renamed);
        Self { directories, path }
    }
}

struct User<'a> {
    home: PathBuf,
    owner: u32,
    paths: &'a PathSandbox,
}

impl User<'_> {
    /// The real name of an entry, and the directories of its toolchain.
    fn toolchain(&self, entry: &Path) -> Option<(PathBuf, Vec<PathBuf>)> {
        if !entry.is_absolute() || seen_by_all(entry) {
            return None;
        }
        let real = entry.canonicalize().ok()?;
        if seen_by_all(&real) || !self.is_trusted(&real) {
            return None;
        }
        let rel = real.strip_prefix(&self.home).ok()?;
        let known = KNOWN.iter().find(|(place, _)| rel.starts_with(place));
        let directories: Vec<PathBuf> = match known {
            Some((_, directories)) => {
                let directories = directories.iter().map(|name| self.home.join(name));
                let there = directories.filter_map(|directory| directory.canonicalize().ok());
                there
                    .filter(|directory| self.is_trusted(directory))
                    .collect()
            }
            None => vec![self.around(&real)?],
        };
        let sees = directories
            .iter()
            .any(|directory| real.starts_with(directory));
        sees.then_some((real, directories))
    }

    /// The directory of an unknown toolchain: that around `bin` if it looks like one, or `bin`.
    fn around(&self, real: &Path) -> Option<PathBuf> {
        let name = real.file_name()?.to_str()?;
        if !PROGRAMS.contains(&name) {
            return None;
        }
        let above = real.parent()?;
        let is_shared = SHARED.iter().any(|name| above == self.home.join(name));
        let is_whole = name == "bin"
            && !is_shared
            && self.is_trusted(above)
            && BESIDE.iter().any(|name| above.join(name).is_dir());
        Some(if is_whole { above } else { real }.to_path_buf())
    }

    /// Whether a directory is the user's own, beneath the home directory, not writable for
    /// everybody, apart from every root, and not denied.
    fn is_trusted(&self, directory: &Path) -> bool {
        let Ok(stat) = directory.metadata() else {
            return false;
        };
        let roots = self.paths.roots();
        let meets = |root: &Path| root.starts_with(directory) || directory.starts_with(root);
        stat.is_dir()
            && (stat.uid() == self.owner || stat.uid() == 0)
            && stat.mode() & 0o002 == 0
            && directory.starts_with(&self.home)
            && directory != self.home
            && !roots.iter().any(|root| meets(root.path()))
            && self.paths.may_be_opened(directory)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use toolgate_sandbox::paths::PathRules;

    use super::*;

    #[test]
    fn entries_of_path_in_the_home_directory_are_toolchains_if_they_hold_programs() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().canonicalize().unwrap();
        let home = base.join("home");
        for directory in [
            "home/ws/bin",
            "home/.cargo/bin",
            "home/.rustup/toolchains",
            "home/.local/bin",
            "home/.local/lib",
            "home/.nvm/versions/node/v20/bin",
            "home/.nvm/versions/node/v20/lib",
            "home/.pyenv/shims",
            "home/.sdkman/candidates/java/17/bin",
            "home/go/bin",
            "home/bin",
            "home/lib",
            "home/notes",
            "home/open/bin",
            "home/.aws/bin",
            "home/secrets/bin",
            "other/bin",
        ] {
            std::fs::create_dir_all(base.join(directory)).unwrap();
        }
        symlink("17", home.join(".sdkman/candidates/java/current")).unwrap();
        symlink(base.join("other/bin"), home.join("out")).unwrap();
        let everybody = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(home.join("open/bin"), everybody).unwrap();
        let sandbox = PathSandbox::open(&PathRules::new(home.join("ws"))).unwrap();
        for (entry, wanted) in [
            (".cargo/bin", vec![".cargo/bin", ".rustup"]),
            (".local/bin", vec![".local/bin", ".local/lib"]),
            (".nvm/versions/node/v20/bin", vec![".nvm/versions/node/v20"]),
            (".pyenv/shims", vec![".pyenv"]),
            (
                ".sdkman/candidates/java/current/bin",
                vec![".sdkman/candidates"],
            ),
            ("go/bin", vec!["go/bin"]),
            // Beside it lies the whole home directory.
            ("bin", vec!["bin"]),
            ("", vec![]),
            ("notes", vec![]),
            ("open/bin", vec![]),
            (".aws/bin", vec![]),
            ("secrets/bin", vec![]),
            ("ws/bin", vec![]),
            ("out", vec![]),
            ("missing/bin", vec![]),
            ("../other/bin", vec![]),
        ] {
            let path = home.join(entry).into_os_string();
            let found = Toolchains::of(Some(&path), Some(&home), &sandbox);
            let wanted: Vec<PathBuf> = wanted.iter().map(|name| home.join(name)).collect();
            assert_eq!(found.directories, wanted, "{entry}");
        }
        let path = home.join(".sdkman/candidates/java/current/bin");
        let found = Toolchains::of(Some(path.as_os_str()), Some(&home), &sandbox);
        let real = home.join(".sdkman/candidates/java/17/bin");
        assert_eq!(found.path.as_deref(), Some(real.as_os_str()));
        // A link to the home directory is the home directory.
        let alias = base.join("alias");
        symlink(&home, &alias).unwrap();
        let path = alias.join("go/bin");
        let found = Toolchains::of(Some(path.as_os_str()), Some(&alias), &sandbox);
        assert_eq!(found.directories, [home.join("go/bin")]);
    }
}
