//! Why a line cannot be judged, and why one must not run.

use std::fmt;

use toolgate_model::characters::code_points;

use crate::place::Grave;
use crate::unknown_places::shown;

/// Why something about a line is only known when it runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Opacity {
    /// The text is not what this parser, or any shell, reads.
    Unreadable {
        /// What stopped the reading.
        fault: String,
    },
    /// A character that a person cannot see or that rearranges the others.
    Deceptive {
        /// The character.
        character: char,
    },
    /// Nothing in the line is a command.
    NoCommand,
    /// A word that is only known at run time.
    Expansion {
        /// The word as written.
        word: String,
    },
    /// A program whose name is only known at run time.
    Program {
        /// The word as written.
        word: String,
    },
    /// Code in another language, or from a place that was not read.
    Code {
        /// The program that would run it.
        program: String,
    },
    /// An option or operand that makes a program do more than its name says.
    Option {
        /// The program.
        program: String,
        /// The word.
        word: String,
    },
    /// A setting that changes what later commands do.
    Setting {
        /// What is set.
        name: String,
    },
    /// The directory that relative paths start from is not known.
    Directory,
    /// A pattern that can reach files that hold secrets.
    Pattern {
        /// The pattern.
        word: String,
    },
    /// A program or subcommand whose letters look like others.
    Lookalike {
        /// The word as written.
        word: String,
    },
    /// A name of digits that can stand for the content of any file.
    Object {
        /// The name.
        word: String,
    },
    /// Something the shell understands and this analysis does not follow.
    Construct {
        /// How it looks.
        what: String,
    },
}

impl fmt::Display for Opacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { fault } => write!(f, "the line cannot be read: {fault}"),
            Self::Deceptive { character } => {
                write!(
                    f,
                    "the line holds the invisible character U+{:04X}",
                    u32::from(*character)
                )
            }
            Self::NoCommand => f.write_str("no command was found in the line"),
            Self::Expansion { word } => write!(f, "`{word}` is only known when it runs"),
            Self::Program { word } => {
                write!(f, "which program `{word}` means is only known when it runs")
            }
            Self::Code { program } => write!(f, "`{program}` runs code that was not analysed"),
            Self::Option { program, word } => {
                write!(f, "`{word}` lets `{program}` do what cannot be foreseen")
            }
            Self::Setting { name } => {
                write!(f, "setting `{name}` changes what later commands do")
            }
            Self::Directory => f.write_str("the working directory is not known at this point"),
            Self::Pattern { word } => write!(f, "the pattern `{word}` can reach secrets"),
            Self::Lookalike { word } => write!(
                f,
                "`{word}` is written with {}",
                code_points(word).unwrap_or_default()
            ),
            Self::Object { word } => write!(
                f,
                "`{word}` can be the content of any file; `{word}^{{commit}}` is a commit"
            ),
            Self::Construct { what } => write!(f, "`{what}` is not followed"),
        }
    }
}

/// What a line would do that no rule may allow.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Catastrophe {
    Removes { path: String, grave: Grave },
    Overwrites { path: String, grave: Grave },
    RemovesFromInput,
    Attributes { path: String },
    Device { path: String },
    Kernel { what: String },
    Power { program: String },
    Disk { program: String },
    ForkBomb { name: String },
    EveryProcess,
    Unchecked { why: &'static str },
}

impl Catastrophe {
    /// Whether it happens to the machine too, if it happens in a container.
    pub(crate) fn leaves_containers(&self, privileged: bool) -> bool {
        match self {
            Self::RemovesFromInput | Self::EveryProcess | Self::Power { .. } => false,
            Self::Disk { .. } => privileged,
            _ => true,
        }
    }
}

impl fmt::Display for Catastrophe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Removes { path, grave } => {
                write!(
                    f,
                    "removes {} (`{}`); name the files to remove one by one",
                    described(*grave),
                    shown(path)
                )
            }
            Self::Overwrites { path, grave } => {
                write!(f, "overwrites {} (`{}`)", described(*grave), shown(path))
            }
            Self::RemovesFromInput => f.write_str(
                "removes whole directories that are named by input nobody has seen; \
                 list them first, then name them",
            ),
            Self::Attributes { path } => {
                write!(
                    f,
                    "changes owner or mode of a whole system or a home (`{}`)",
                    shown(path)
                )
            }
            Self::Device { path } => write!(f, "writes to the device `{path}`"),
            Self::Kernel { what } => write!(f, "changes settings of the kernel (`{what}`)"),
            Self::Power { program } => write!(f, "`{program}` stops or restarts the machine"),
            Self::Disk { program } => write!(f, "`{program}` overwrites a disk or file system"),
            Self::ForkBomb { name } => write!(f, "`{name}` starts itself without end"),
            Self::EveryProcess => f.write_str("ends every process"),
            Self::Unchecked { why } => write!(f, "{why}: more than can be checked; split the line"),
        }
    }
}

fn described(grave: Grave) -> &'static str {
    match grave {
        Grave::Everything => "the whole file system",
        Grave::System => "a directory of the system",
        Grave::Home => "a home directory",
        Grave::Workspace => "the workspace or a directory above it",
    }
}
