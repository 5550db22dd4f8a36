//! `tar`: old-style letters, archives that are read or written, options that run.

use crate::expand::field::Field;
use crate::programs::hosts;
use crate::walk::Walker;

/// Letters whose value is the next word, in the order in which values follow a cluster.
const WITH_VALUE: &str = "fCTXIgKNVbFLH";
/// Long options with a value that is only data.
const DATA: &[&str] = &[
    "--exclude",
    "--transform",
    "--xform",
    "--owner",
    "--group",
    "--mode",
    "--mtime",
    "--format",
    "--strip-components",
    "--blocking-factor",
    "--record-size",
    "--label",
    "--newer",
    "--after-date",
    "--checkpoint",
    "--sort",
    "--level",
    "--suffix",
    "--warning",
    "--occurrence",
    "--pax-option",
    "--quoting-style",
    "--starting-file",
    "--tape-length",
    "--sparse-version",
    "--hole-detection",
    "--backup",
    "--exclude-tag",
    "--exclude-ignore",
    "--totals",
];
/// Long options that run a program or take names from elsewhere.
const RUNNING: &[&str] = &[
    "--checkpoint-action",
    "--to-command",
    "--use-compress-program",
    "--info-script",
    "--new-volume-script",
    "--rsh-command",
    "--rmt-command",
    "--files-from",
    "--index-file",
    "--volno-file",
    "--listed-incremental",
    "--remove-files",
    "--unlink-first",
    "--recursive-unlink",
];

/// Names that stand for themselves and not for a longer one that starts so.
const PLAIN_NAMES: &[&str] = &["--file", "--checkpoint"];

/// Long options without a value that neither run nor name anything.
const PLAIN: &[&str] = &[
    "--absolute-names",
    "--acls",
    "--anchored",
    "--atime-preserve",
    "--auto-compress",
    "--block-number",
    "--bzip2",
    "--compress",
    "--delay-directory-restore",
    "--dereference",
    "--exclude-backups",
    "--exclude-caches",
    "--exclude-vcs",
    "--exclude-vcs-ignores",
    "--full-time",
    "--gunzip",
    "--gzip",
    "--hard-dereference",
    "--help",
    "--ignore-case",
    "--ignore-failed-read",
    "--ignore-zeros",
    "--keep-directory-symlink",
    "--keep-newer-files",
    "--keep-old-files",
    "--lzma",
    "--lzip",
    "--lzop",
    "--no-acls",
    "--no-anchored",
    "--no-auto-compress",
    "--no-delay-directory-restore",
    "--no-ignore-case",
    "--no-overwrite-dir",
    "--no-recursion",
    "--no-same-owner",
    "--no-same-permissions",
    "--no-selinux",
    "--no-wildcards",
    "--no-xattrs",
    "--null",
    "--numeric-owner",
    "--old-archive",
    "--one-file-system",
    "--overwrite",
    "--overwrite-dir",
    "--posix",
    "--preserve-order",
    "--preserve-permissions",
    "--recursion",
    "--same-order",
    "--same-owner",
    "--same-permissions",
    "--selinux",
    "--show-defaults",
    "--show-omitted-dirs",
    "--show-stored-names",
    "--show-transformed-names",
    "--skip-old-files",
    "--sparse",
    "--to-stdout",
    "--touch",
    "--uncompress",
    "--utc",
    "--verbatim-files-from",
    "--verbose",
    "--verify",
    "--version",
    "--wildcards",
    "--wildcards-match-slash",
    "--xattrs",
    "--xz",
    "--zstd",
];

/// Letters without a value that neither run nor name anything.
const PLAIN_LETTERS: &str = "cxtruAdvzjJZapPkmOSwhlnosBGWiR";

/// What is known about one run.
#[derive(Default)]
struct Request {
    mode: char,
    archive: Option<Field>,
    directory: Option<Field>,
    members: Vec<Field>,
}

impl Walker {
    pub(super) fn tar(&mut self, name: &str, arguments: &[Field]) {
        let mut request = Request::default();
        let mut rest = arguments;
        let mut first = true;
        while let Some((word, behind)) = rest.split_first() {
            rest = behind;
            let text = word.text.clone();
            if !word.is_known() && word.may_be_option() {
                self.unknown_word(word);
            }
            let old_style =
                std::mem::take(&mut first) && !text.starts_with('-') && !text.contains(['/', '.']);
            if text.starts_with("--") && text.len() > 2 {
                self.tar_long(name, word, &mut rest, &mut request);
            } else if old_style || (text.starts_with('-') && text.len() > 1) {
                self.tar_letters(name, word, old_style, &mut rest, &mut request);
            } else if text != "--" {
                if word.is_pattern() && word.active.first() == Some(&0) {
                    // A file may be named like an option.
                    self.option_opaque(name, word);
                }
                request.members.push(word.clone());
            }
        }
        self.tar_facts(&request);
    }

    fn tar_letters(
        &mut self,
        name: &str,
        word: &Field,
        old_style: bool,
        rest: &mut &[Field],
        request: &mut Request,
    ) {
        let letters = word.text.trim_start_matches('-');
        let start = word.text.len() - letters.len();
        for (at, letter) in letters.char_indices() {
            if "cxtruAd".contains(letter) {
                request.mode = letter;
            }
            if !WITH_VALUE.contains(letter) {
                if !PLAIN_LETTERS.contains(letter) && !letter.is_ascii_digit() {
                    self.option_opaque(name, word);
                }
                continue;
            }
            let end = at + letter.len_utf8();
            let attached = !old_style && end < letters.len();
            let value = if attached {
                Some(word.tail(start + end))
            } else {
                let value = rest.first().cloned();
                *rest = rest.get(1..).unwrap_or_default();
                value
            };
            self.tar_value(name, letter, value.unwrap_or_default(), request);
            if attached {
                return;
            }
        }
    }

    fn tar_value(&mut self, name: &str, letter: char, value: Field, request: &mut Request) {
        match letter {
            'f' => request.archive = Some(value),
            'C' => request.directory = Some(value),
            'X' => self.read_path(&value),
            'I' | 'F' => match value.exact() {
                Some(text) => {
                    let text = text.to_owned();
                    self.child_line(&text, Vec::new());
                }
                None => self.unknown_word(&value),
            },
            'T' | 'g' => self.option_opaque(name, &value),
            _ => {}
        }
    }

    fn tar_long(&mut self, name: &str, word: &Field, rest: &mut &[Field], request: &mut Request) {
        let (option, attached) = match word.text.split_once('=') {
            Some((option, _)) => (option.to_owned(), Some(word.tail(option.len() + 1))),
            None => (word.text.clone(), None),
        };
        let means = |full: &str| full.starts_with(option.as_str());
        let mut take = || {
            attached.clone().unwrap_or_else(|| {
                let value = rest.first().cloned().unwrap_or_default();
                *rest = rest.get(1..).unwrap_or_default();
                value
            })
        };
        if DATA.contains(&option.as_str()) {
            if attached.is_none()
                && !matches!(option.as_str(), "--checkpoint" | "--backup" | "--totals")
            {
                take();
            }
            return;
        }
        if !PLAIN_NAMES.contains(&option.as_str()) && RUNNING.iter().any(|full| means(full)) {
            let value = attached.clone().unwrap_or_default();
            let command = value
                .text
                .split_once("exec=")
                .map_or(value.text.as_str(), |(_, text)| text);
            if !command.is_empty() && value.is_known() {
                let command = command.to_owned();
                self.child_line(&command, Vec::new());
            }
            self.option_opaque(name, word);
            return;
        }
        match option.as_str() {
            "--file" => request.archive = Some(take()),
            "--directory" | "--cd" => request.directory = Some(take()),
            "--exclude-from" => {
                let value = take();
                self.read_path(&value);
            }
            "--create" => request.mode = 'c',
            "--extract" | "--get" => request.mode = 'x',
            "--list" | "--diff" | "--compare" | "--test-label" => request.mode = 't',
            "--append" | "--update" | "--catenate" | "--concatenate" | "--delete" => {
                request.mode = 'r'
            }
            plain if PLAIN.contains(&plain) => {}
            _ => self.option_opaque(name, word),
        }
    }

    fn tar_facts(&mut self, request: &Request) {
        if let Some(archive) = &request.archive
            && archive.text != "-"
        {
            match hosts::of_remote_path(&archive.text) {
                Some(_) => self.transfer(archive, matches!(request.mode, 'c' | 'r' | 'u' | 'A')),
                None if matches!(request.mode, 'c' | 'r' | 'u' | 'A') => self.write_path(archive),
                None => self.read_path(archive),
            }
        }
        let place = self.scope.place();
        if let Some(target) = &request.directory {
            if target.exact().is_none() {
                self.unknown_word(target);
            }
            self.scope.change_directory(target.exact());
            self.scope.unmoved.clear();
        }
        match request.mode {
            'x' => self.write_path(&Field::literal(".")),
            'c' | 'r' | 'u' => {
                for member in &request.members {
                    self.read_path(member);
                }
            }
            _ => {}
        }
        self.scope.return_to(place);
    }
}
