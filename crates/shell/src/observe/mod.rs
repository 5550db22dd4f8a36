//! Commands that are known to do no more than read and print. What they read is in files: those
//! that tell about the machine or its users are not among them.
//!
//! A program counts only under its bare name, and only with options that are known not to
//! write, run or connect: for most programs the few others are listed, for `git`, `find` and
//! `sed` those that are allowed. A program that is not listed here is not known.

mod git;

use crate::walk::Walker;

use git::git;

impl Walker {
    /// Whether a program looks around in a directory that is not its usual one. Beyond the roots
    /// that is any, and git takes a directory that was made for that as a repository with
    /// programs of its own, so it counts in the root only.
    pub(crate) fn is_displaced(&self, program: &str) -> bool {
        let directory = self.scope.directory.as_deref();
        match program {
            "cd" => false,
            "git" => directory != Some(self.places.root()) || !self.scope.others.is_empty(),
            _ => !directory.is_some_and(|directory| self.places.is_inside(directory)),
        }
    }
}

/// Programs with the options that do more than read and print: letters behind one dash, and
/// words behind two.
const PROGRAMS: &[(&str, &str, &[&str])] = &[
    (":", "", &[]),
    ("[", "", &[]),
    ("b2sum", "c", &["check"]),
    ("base64", "", &[]),
    ("basename", "", &[]),
    ("cat", "", &[]),
    ("cd", "", &[]),
    ("cksum", "c", &["check"]),
    ("cmp", "", &[]),
    ("column", "", &[]),
    ("comm", "", &[]),
    ("cut", "", &[]),
    ("date", "sf", &["set", "file"]),
    // `pr` is run for pages.
    ("diff", "l", &["paginate"]),
    ("dirname", "", &[]),
    ("du", "X", &["files0-from", "exclude-from"]),
    ("echo", "", &[]),
    ("egrep", "", &[]),
    ("expand", "", &[]),
    ("false", "", &[]),
    ("fd", "lxX", &["exec", "exec-batch", "list-details"]),
    ("fdfind", "lxX", &["exec", "exec-batch", "list-details"]),
    ("fgrep", "", &[]),
    (
        "file",
        "CfmpSzZ",
        &[
            "compile",
            "files-from",
            "magic-file",
            "uncompress",
            "no-sandbox",
        ],
    ),
    ("fmt", "", &[]),
    ("fold", "", &[]),
    ("grep", "", &[]),
    ("head", "", &[]),
    ("join", "", &[]),
    (
        "jq",
        "fL",
        &[
            "from-file",
            "slurpfile",
            "rawfile",
            "argfile",
            "run-tests",
            "library-path",
        ],
    ),
    ("ls", "", &[]),
    ("md5sum", "c", &["check"]),
    ("nl", "", &[]),
    ("od", "", &[]),
    ("paste", "", &[]),
    ("printf", "v", &[]),
    ("pwd", "", &[]),
    ("readlink", "", &[]),
    ("realpath", "", &[]),
    ("rev", "", &[]),
    ("rg", "fz", &["file", "hostname-bin", "pre", "search-zip"]),
    ("seq", "", &[]),
    ("sha1sum", "c", &["check"]),
    ("sha256sum", "c", &["check"]),
    ("sha512sum", "c", &["check"]),
    ("sleep", "", &[]),
    (
        "sort",
        "oST",
        &[
            "compress-program",
            "files0-from",
            "output",
            "temporary-directory",
        ],
    ),
    ("stat", "", &[]),
    ("strings", "", &[]),
    ("sum", "", &[]),
    ("tac", "", &[]),
    // Followed files never end.
    ("tail", "fF", &["follow", "retry", "pid"]),
    ("test", "", &[]),
    ("tr", "", &[]),
    ("tree", "oR", &["fromfile", "fromtabfile"]),
    ("true", "", &[]),
    ("type", "", &[]),
    ("unexpand", "", &[]),
    ("uniq", "", &[]),
    ("wc", "", &["files0-from"]),
    ("which", "", &[]),
    ("xxd", "r", &["revert"]),
];

/// Programs that only say which version they are. Launchers that look into the workspace for a
/// toolchain (`cargo`, `rustc`, `go`, `npx`) are not among them.
const VERSIONS: &[&str] = &[
    "bash", "clang", "cmake", "g++", "gcc", "git", "jq", "make", "node", "perl", "python",
    "python3", "rg", "ruby",
];

/// Tests of `find` that look and print. All others are unknown.
const FIND: &[&str] = &[
    "-H",
    "-P",
    "-a",
    "-amin",
    "-and",
    "-anewer",
    "-atime",
    "-cmin",
    "-cnewer",
    "-ctime",
    "-daystart",
    "-depth",
    "-empty",
    "-executable",
    "-group",
    "-iname",
    "-ipath",
    "-iregex",
    "-ls",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mount",
    "-mtime",
    "-name",
    "-newer",
    "-not",
    "-o",
    "-or",
    "-path",
    "-perm",
    "-print",
    "-print0",
    "-printf",
    "-prune",
    "-quit",
    "-readable",
    "-regex",
    "-regextype",
    "-size",
    "-type",
    "-user",
    "-writable",
    "-xdev",
];

/// Whether a command is known to do no more than read and print. What it reads is among the
/// facts of its line, and it is true only where nothing on the line changes what its words mean
/// (`facts.plain`).
///
/// ```
/// let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
/// assert!(toolgate_shell::only_reads(&words("git diff --stat HEAD~1")));
/// assert!(!toolgate_shell::only_reads(&words("git diff --output=f")));
/// assert!(!toolgate_shell::only_reads(&words("cargo test")));
/// ```
pub fn only_reads(words: &[String]) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let [only @ ("--version" | "-V" | "-v")] = arguments.as_slice()
        && VERSIONS.contains(&program.as_str())
    {
        // Only some of them know the short ones, and a letter can mean something else.
        return *only == "--version";
    }
    match program.as_str() {
        "git" => git(&arguments),
        "find" => find(&arguments),
        "sed" => sed(&arguments),
        "command" => matches!(arguments.split_first(), Some((&("-v" | "-V"), [_, ..]))),
        "jq" if arguments.iter().any(|word| reaches_out(word)) => false,
        "echo" | "printf" if arguments.iter().any(|word| controls(word)) => false,
        name => PROGRAMS
            .iter()
            .find(|(known, ..)| *known == name)
            .is_some_and(|(_, letters, long)| no_option_does_more(&arguments, letters, long)),
    }
}

/// Whether no word is one of these options, spelled in any way that programs take.
fn no_option_does_more(words: &[&str], letters: &str, long: &[&str]) -> bool {
    let options = words.iter().take_while(|word| **word != "--");
    options
        .into_iter()
        .all(|word| match word.strip_prefix("--") {
            Some(name) => {
                let name = name.split('=').next().unwrap_or(name);
                // A long name may be cut where it stays the only one.
                !long.iter().any(|known| known.starts_with(name))
            }
            None => match word.strip_prefix('-') {
                Some(cluster) => !cluster.contains(|c| letters.contains(c)),
                None => true,
            },
        })
}

/// A text that is more than letters, blanks and new lines once it is printed: it could control a
/// terminal.
fn controls(text: &str) -> bool {
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let plain = match letter {
            '\\' => matches!(letters.next(), Some('n' | 't' | '\\' | '"')),
            other => !other.is_control() || matches!(other, '\n' | '\t'),
        };
        if !plain {
            return true;
        }
    }
    false
}

/// A filter of `jq` that looks at variables of the environment or at other files.
fn reaches_out(filter: &str) -> bool {
    [
        "env",
        "ENV",
        "import",
        "include",
        "modulemeta",
        "input_filename",
    ]
    .iter()
    .any(|name| filter.contains(name))
}

/// `find` with tests that look and print.
fn find(words: &[&str]) -> bool {
    words
        .iter()
        .filter(|word| word.starts_with('-') && word.len() > 1)
        .all(|word| FIND.contains(word) || is_number(word.trim_start_matches('-')))
}

/// `sed -n` with lines to print: `sed -n 1,20p file`.
fn sed(words: &[&str]) -> bool {
    let ["-n", script, files @ ..] = words else {
        return false;
    };
    let Some(range) = script.strip_suffix('p') else {
        return false;
    };
    let address = |text: &str| text == "$" || is_number(text);
    let is_range = match range.split_once(',') {
        Some((from, to)) => address(from) && address(to),
        None => address(range),
    };
    is_range && files.iter().all(|file| !file.starts_with('-'))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
