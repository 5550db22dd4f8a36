//! Which drivers a `.gitattributes` names.
//!
//! An attribute such as `filter=x` makes git run the commands that its configuration gives
//! for the driver `x`. The configuration is protected by its name; the attribute that
//! chooses files for it is in an ordinary file, so its content decides.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::os::fd::BorrowedFd;

use rustix::fs::{Mode, OFlags};

use super::fold::Folded;
use crate::paths::resolve::Want;

/// The file whose content decides.
const NAME: &[u8] = b".gitattributes";

/// A longer file is not looked at and counts as naming a driver.
const LONGEST: usize = 1 << 20;

/// Attributes whose value is the name of a driver.
const ATTRIBUTES: [&str; 3] = ["filter", "diff", "merge"];

/// Drivers that git has built in, and `lfs`, which runs nothing but git-lfs.
const HARMLESS: [(&str, &[&str]); 3] = [
    ("filter", &["lfs"]),
    ("merge", &["lfs", "text", "binary", "union"]),
    (
        "diff",
        &[
            "lfs", "text", "binary", "default", "ada", "bash", "bibtex", "cpp", "csharp", "css",
            "dts", "elixir", "fortran", "fountain", "golang", "html", "ini", "java", "kotlin",
            "markdown", "matlab", "objc", "pascal", "perl", "php", "python", "ruby", "rust",
            "scheme", "swift", "tex",
        ],
    ),
];

/// Whether attributes name a driver that git does not have built in.
pub(crate) fn names_driver(content: &[u8]) -> bool {
    drivers(content).is_none_or(|drivers| !drivers.is_empty())
}

/// Whether rules take a name for that of a file of attributes.
pub(crate) fn is_attributes(name: &[u8]) -> bool {
    let folded = Folded::of(&[name]);
    let mut forms = folded.forms();
    forms.any(|form| form.last().is_some_and(|last| **last == *NAME))
}

/// New attributes on their way to a file.
#[derive(Debug, Default)]
pub(crate) struct Attributes {
    content: Vec<u8>,
}

impl Attributes {
    /// Takes more of the content, and no more than is looked at.
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        let free = (LONGEST + 1).saturating_sub(self.content.len());
        self.content
            .extend_from_slice(bytes.get(..free).unwrap_or(bytes));
    }

    /// The first driver that the file which is replaced does not name.
    pub(crate) fn new_driver(&self, replaced: Option<(BorrowedFd<'_>, &[u8])>) -> Option<String> {
        if !names_driver(&self.content) {
            return None;
        }
        let old = replaced.map(|(directory, name)| read(directory, name));
        new_driver(&old.unwrap_or_default(), &self.content)
    }
}

/// The attributes in a file; nothing where there is none that can be read.
pub(crate) fn read(directory: BorrowedFd<'_>, name: &[u8]) -> Vec<u8> {
    let flags = Want::Read.flags() | OFlags::NOFOLLOW;
    let mut content = Vec::new();
    if let Ok(fd) = rustix::fs::openat(directory, name, flags, Mode::empty()) {
        let most = LONGEST as u64 + 1;
        if File::from(fd).take(most).read_to_end(&mut content).is_err() {
            content.clear();
        }
    }
    content
}

/// The first driver that new attributes name and old ones do not.
fn new_driver(old: &[u8], new: &[u8]) -> Option<String> {
    let before = drivers(old);
    match drivers(new) {
        // Unreadable content cannot be compared; rewriting it as it is changes nothing.
        None => (old != new).then(|| "unknown".to_owned()),
        Some(after) => {
            let before = before.unwrap_or_default();
            after.difference(&before).next().cloned()
        }
    }
}

/// The drivers as `attribute=driver`; nothing if the content cannot be read as attributes.
pub(crate) fn drivers(content: &[u8]) -> Option<BTreeSet<String>> {
    if content.len() > LONGEST || content.contains(&0) {
        return None;
    }
    let text = std::str::from_utf8(content).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.split('\n').map(|line| line.trim_start_matches(BLANK));
    let found = lines
        .filter(|line| !line.starts_with('#'))
        .flat_map(|line| words(line).filter_map(driver));
    Some(found.collect())
}

/// The characters that git takes for blank in a line of attributes.
const BLANK: [char; 4] = [' ', '\t', '\r', '\n'];

/// Every word of a line that git can read as an attribute.
///
/// A pattern in quotes ends at its closing quote, unless the quoting is wrong; then it ends
/// at the first blank. Both readings count.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let plain = line.split_once(BLANK).map(|(_, rest)| rest);
    let quoted = after_quotes(line);
    let all = plain.into_iter().chain(quoted);
    all.flat_map(|rest| rest.split(BLANK))
}

/// The rest of a line after a pattern in quotes.
fn after_quotes(line: &str) -> Option<&str> {
    let inside = line.strip_prefix('"')?;
    let mut escaped = false;
    let end = inside.find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })?;
    inside.get(end + 1..)
}

/// The driver that one word names.
fn driver(word: &str) -> Option<String> {
    let (name, value) = word.split_once('=')?;
    let attribute = ATTRIBUTES
        .iter()
        .find(|attribute| attribute.eq_ignore_ascii_case(name))?;
    let mut harmless = HARMLESS.iter().filter(|(of, _)| of == attribute);
    let is_harmless = harmless.any(|(_, values)| values.contains(&value));
    (!is_harmless).then(|| format!("{attribute}={value}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn everyday_attributes_name_no_driver() {
        for content in [
            "",
            "# *.c filter=evil\n\t # filter=evil\n",
            "* text=auto eol=lf\n*.sh text eol=lf\n*.bat text eol=crlf\r\n",
            "*.png binary\n*.jpg -text -diff -merge\n*.c filter diff merge\n",
            "*.psd filter=lfs diff=lfs merge=lfs -text\n",
            "*.rs diff=rust\n*.py diff=python\n*.html diff=html text\n*.go diff=golang\n",
            "CHANGELOG.md merge=union\nCargo.lock merge=binary\nx merge=text\n",
            "*.md -filter=evil !diff=evil\n",
            "docs/* linguist-documentation export-ignore\n*.txt working-tree-encoding=UTF-16\n",
            "[attr]generated -diff linguist-generated=true\n",
            "a whitespace=trailing-space ident\n",
            "filter=evil text\n",
            "\"a file\" text\n",
            "*.c my-filter=evil xdiff=evil\n",
        ] {
            assert!(!names_driver(content.as_bytes()), "{content:?}");
        }
    }

    #[test]
    fn a_driver_is_found_wherever_git_finds_it() {
        for content in [
            "* filter=evil",
            "*.c\tdiff=evil\n",
            "a text merge=evil -x\n",
            "# comment\n\n  *.c  filter=evil\r\n",
            "[attr]harmless filter=evil\n* harmless\n",
            "[attr] harmless diff=evil\n",
            "\"a b\" filter=evil\n",
            "\"a\"filter=evil\n",
            "\"a\\\" b\" filter=evil\n",
            "\"never closed filter=evil\n",
            "\u{feff}* filter=evil\n",
            "a\rfilter=evil",
            "* filter=",
            "* filter=LFS",
            "* filter=rust",
            "* merge=rust",
            "* diff=union",
            "* FILTER=evil",
            "* -filter filter=evil",
        ] {
            assert!(names_driver(content.as_bytes()), "{content:?}");
        }
        for content in [
            b"* text\0".to_vec(),
            b"\xff text".to_vec(),
            vec![b'#'; LONGEST + 1],
        ] {
            assert!(names_driver(&content));
        }
        assert!(!names_driver(&vec![b'#'; LONGEST]));
    }

    #[test]
    fn only_a_driver_that_was_not_named_before_is_new() {
        for (old, new, found) in [
            ("", "* text", None),
            ("", "* filter=x", Some("filter=x")),
            ("* filter=x", "* text\n*.c filter=x", None),
            ("* filter=x", "* diff=x", Some("diff=x")),
            ("* filter=x", "* filter=x merge=y", Some("merge=y")),
            ("* filter=x", "", None),
            ("\0", "\0", None),
            ("\0", "\0\0", Some("unknown")),
            ("* filter=x", "\0", Some("unknown")),
            ("\0", "* text", None),
            ("\0", "* filter=x", Some("filter=x")),
        ] {
            let answer = new_driver(old.as_bytes(), new.as_bytes());
            assert_eq!(answer.as_deref(), found, "{old:?} {new:?}");
        }
    }

    proptest! {
        #![proptest_config(toolgate_testkit::laws(256))]

        #[test]
        fn a_line_more_never_hides_a_driver(
            before in "[ -~\n\t\"]{0,60}",
            after in "[ -~\n\t\"]{0,60}",
            attribute in prop::sample::select(ATTRIBUTES.to_vec()),
            pattern in "[a-z*.]{1,8}",
        ) {
            let content = format!("{before}\n{pattern} text {attribute}=evil\n{after}");
            prop_assert!(names_driver(content.as_bytes()));
        }

        #[test]
        fn attributes_without_a_driver_name_none(
            lines in prop::collection::vec("[a-z*./]{1,8}( -?(text|eol=lf|binary|diff|diff=rust|filter=lfs))*", 0..8)
        ) {
            prop_assert!(!names_driver(lines.join("\n").as_bytes()));
        }
    }
}
