//! The messages of refusals, written for a model: what was wrong, what is there
//! instead, what to do next.

use toolgate_model::characters::seen;

use super::error::{BadPath, Escape, Failure, FileKind, PathError, Protection};

impl PathError {
    /// The text of this error.
    pub(super) fn message(&self) -> String {
        match self {
            Self::Outside { path, how } => outside(path, how),
            Self::Protected {
                path,
                resolved,
                why,
                opened_by,
            } => {
                let mut text = protected(&leading(path, resolved.as_deref()), why);
                if let Some(rule) = opened_by {
                    text.push_str(&format!(
                        " The user can open it by adding this rule to the user's configuration:\n{rule}"
                    ));
                }
                text
            }
            Self::Denied {
                path,
                resolved,
                pattern,
                opened_by,
            } => {
                let mut text = format!(
                    "{} is denied by the pattern `{pattern}`: it may hold secrets. Work without it, or ask the user.",
                    leading(path, resolved.as_deref())
                );
                if let Some(rule) = opened_by {
                    text.push_str(&format!(
                        " The user can open it by adding this rule to the user's configuration:\n{rule}"
                    ));
                }
                text
            }
            Self::Linked {
                path,
                other: Some((name, pattern)),
                ..
            } => format!(
                "`{path}` is the same file as `{name}`, which is denied by the pattern `{pattern}`: it may hold secrets. Work without it, or ask the user."
            ),
            Self::Linked {
                path,
                other: None,
                unlisted: Some(directory),
            } => format!(
                "`{path}` has several names, and one of them may be a denied file in `{directory}`, which may not be listed, so it is not read. Ask the user to make `{directory}` readable for its owner (chmod u+rx), or work without the file."
            ),
            Self::Linked {
                path,
                other: None,
                unlisted: None,
            } => format!(
                "`{path}` has several names, and not every name could be searched for a denied one, so it is not read. Copy it to a file of its own with a command, or ask the user."
            ),
            Self::Own { path, resolved } => format!(
                "{} belongs to Toolgate itself, which stores its journal and approvals there: no tool reads or changes it. Work without it.",
                leading(path, resolved.as_deref())
            ),
            Self::NotFound {
                path,
                directory,
                nearest,
            } => not_found(path, directory, nearest),
            Self::AlreadyExists { path } => format!(
                "`{path}` already exists. Use another name, or say that it is to be replaced."
            ),
            Self::NotAFile { path, kind } => match kind {
                FileKind::Directory => {
                    format!("`{path}` is a directory, not a file. List it to see what is in it.")
                }
                kind => format!(
                    "`{path}` is {kind}, not a regular file. Only regular files can be used."
                ),
            },
            Self::NotADirectory { path, part } if path == part => {
                format!("`{path}` is not a directory.")
            }
            Self::NotADirectory { path, part } => {
                format!("`{path}` cannot exist, because `{part}` is not a directory.")
            }
            Self::Permission { path } => format!(
                "Permission denied: {path} (the system does not allow reading or changing it). Work without it, or ask the user."
            ),
            Self::Bad { path, why } => bad(path, why),
            Self::TooLarge { path, limit } => {
                format!("`{path}` is larger than the limit of {limit}. Ask for a part of it.")
            }
            Self::Failed { path, what } => failed(path, *what),
        }
    }
}

fn leading(path: &str, resolved: Option<&str>) -> String {
    match resolved {
        Some(resolved) => format!("`{path}` leads to `{resolved}`, which"),
        None => format!("`{path}`"),
    }
}

fn outside(path: &str, how: &Escape) -> String {
    match how {
        Escape::DotDot => format!(
            "`{path}` has a `..` component, which is never followed. Name the path from the working directory down."
        ),
        Escape::Absolute => format!(
            "`{path}` is absolute; only paths in the working directory can be used, and it does not lie there."
        ),
        Escape::NoRoot => format!("`{path}` lies in none of the allowed directories."),
        Escape::Link { link } => format!(
            "`{path}` leads out of the allowed directories by the link `{link}`, which is not followed."
        ),
    }
}

fn protected(path: &str, why: &Protection) -> String {
    match why {
        Protection::Rule { rule } => format!(
            "{path} is protected against writing by `{rule}`: other programs run or obey its content."
        ),
        Protection::OwnConfiguration => format!(
            "{path} is protected against writing: it is Toolgate's own configuration, which decides what tools may do."
        ),
        Protection::Driver { driver } => format!(
            "{path} is protected against this content: `{driver}` makes git run the commands that are configured for that driver. Leave the attribute out."
        ),
        Protection::ReadOnlyRoot => format!("{path} lies in a directory that may only be read."),
        Protection::GitDirectory { directory, rule } => {
            let directory = if directory.is_empty() { "." } else { directory };
            format!(
                "{path} is protected against writing by `{rule}`: git uses `{directory}` as its `.git` directory and obeys the file."
            )
        }
        Protection::Repository { directory } => {
            let directory = if directory.is_empty() { "." } else { directory };
            format!(
                "{path} would make `{directory}` a bare repository, whose configuration git runs. Use another name or directory."
            )
        }
    }
}

fn not_found(path: &str, directory: &str, nearest: &[String]) -> String {
    let place = if directory.is_empty() {
        "the working directory".to_owned()
    } else {
        format!("`{directory}`")
    };
    let mut text = format!("`{path}` does not exist.");
    if nearest.is_empty() {
        text.push_str(&format!(
            " The last directory on the way that exists is {place}."
        ));
    } else {
        let names: Vec<_> = nearest.iter().map(|name| format!("`{name}`")).collect();
        text.push_str(&format!(" Near it in {place}: {}.", names.join(", ")));
    }
    if path.starts_with('~') || path.starts_with('$') {
        text.push_str(" `~` and `$NAME` are not expanded in paths.");
    }
    text
}

fn bad(path: &str, why: &BadPath) -> String {
    match why {
        BadPath::Empty => "The path is empty. Use `.` for the working directory.".to_owned(),
        BadPath::Nul => format!("`{path}` holds a NUL byte, which no path can."),
        BadPath::TooLong => {
            format!("`{path}` is too long: a name has at most 255 bytes, a path at most 4095.")
        }
        BadPath::TooDeep => format!("`{path}` has too many directories in each other."),
        BadPath::NamesADirectory => format!("`{path}` names a directory; give a file name."),
    }
}

fn failed(path: &str, what: Failure) -> String {
    match what {
        Failure::LinkLoop => {
            format!("`{path}` goes through more than 40 links, or a loop of them.")
        }
        Failure::DanglingLink => {
            format!("`{path}` is a link to something that does not exist. Name the file itself.")
        }
        Failure::Busy => {
            format!("`{path}` was changed by another process while it was opened. Try again.")
        }
        Failure::NotEmpty => format!("The directory `{path}` is not empty."),
        Failure::OtherFileSystem => format!(
            "`{path}` lies on another file system and cannot be renamed. Write the new file and delete the old one."
        ),
        Failure::System(errno) => format!("The access to `{path}` failed: {errno}."),
    }
}

/// A path for a message: readable, on one line, and not endless.
pub(crate) fn shown(path: &[u8]) -> String {
    const LONGEST: usize = 300;
    let text = String::from_utf8_lossy(path);
    let mut out = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == LONGEST {
            out.push('…');
            break;
        }
        out.extend(seen(c));
    }
    out
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn a_failure_says_what_failed_and_what_to_do() {
        for (what, wanted) in [
            (Failure::LinkLoop, "more than 40 links"),
            (Failure::DanglingLink, "Name the file itself."),
            (Failure::Busy, "Try again."),
            (Failure::NotEmpty, "is not empty"),
            (Failure::OtherFileSystem, "Write the new file"),
            (Failure::System(Errno::NOSPC), "No space left"),
        ] {
            let path = "a/b".to_owned();
            let text = PathError::Failed { path, what }.to_string();
            assert!(text.contains("`a/b`") && text.contains(wanted), "{text}");
        }
    }

    #[test]
    fn a_refusal_of_the_system_says_so_and_the_next_step() {
        let path = "a/b".to_owned();
        let text = PathError::Permission { path }.to_string();
        assert!(text.starts_with("Permission denied: a/b "), "{text}");
        assert!(text.ends_with("or ask the user."), "{text}");
    }

    #[test]
    fn an_entry_that_is_no_file_is_named_by_its_type() {
        for (kind, wanted) in [
            (FileKind::Directory, "`a` is a directory, not a file."),
            (FileKind::Link, "`a` is a link, not a regular file."),
            (FileKind::Other, "`a` is a pipe, device or socket,"),
            (FileKind::Unknown, "`a` is of unknown kind,"),
        ] {
            let path = "a".to_owned();
            let text = PathError::NotAFile { path, kind }.to_string();
            assert!(text.starts_with(wanted), "{text}");
        }
        assert_eq!(FileKind::File.to_string(), "a file");
    }

    #[test]
    fn an_entry_that_is_no_directory_is_named_once() {
        let text = |part: &str| {
            let (path, part) = ("a/b".to_owned(), part.to_owned());
            PathError::NotADirectory { path, part }.to_string()
        };
        assert_eq!(text("a/b"), "`a/b` is not a directory.");
        assert_eq!(
            text("a"),
            "`a/b` cannot exist, because `a` is not a directory."
        );
    }
}
