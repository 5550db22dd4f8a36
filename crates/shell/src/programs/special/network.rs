//! Programs that contact others: curl, wget, git.

use crate::expand::field::Field;
use crate::programs::scan::Scan;
use crate::walk::Walker;

/// Options of curl whose value may be `@file`.
const MAY_READ: &[&str] = &["-d", "-F", "-H", "-w"];

/// Databases of `getent` whose keys are looked up in the network.
const HOST_DATABASES: &[&str] = &[
    "hosts", "ahosts", "ahostsv4", "ahostsv6", "networks", "netgroup",
];

impl Walker {
    /// `getent hosts NAME`: the name is looked up, and the server for names hears of it.
    pub(super) fn look_up(&mut self, scan: &Scan) {
        let Some((database, keys)) = scan.operands.split_first() else {
            return;
        };
        if !database.is_known() {
            return self.unknown_word(database);
        }
        if HOST_DATABASES.contains(&database.text.as_str()) {
            for key in keys {
                self.connect(key);
            }
        }
    }

    /// Programs that contact the hosts among their words.
    pub(super) fn contact(&mut self, name: &str, scan: &Scan) {
        let mut hosts = scan.operands.as_slice();
        if name == "resolvectl" {
            let Some((subcommand, rest)) = hosts.split_first() else {
                return;
            };
            if matches!(
                subcommand.text.as_str(),
                "status" | "statistics" | "flush-caches"
            ) {
                return;
            }
            hosts = rest;
        }
        for word in hosts {
            match word.text.rsplit_once('@') {
                Some((_, host)) => self.connect(&word.tail(word.text.len() - host.len())),
                None => self.connect(word),
            }
        }
        if hosts.is_empty() && !scan.has("--help") && !scan.has("--version") {
            self.found.connect("*".to_owned());
        }
    }

    /// Pages that are fetched and kept for the next time.
    pub(super) fn fetch_pages(&mut self, scan: &Scan) {
        if scan.has("-v") || scan.has("-h") {
            return;
        }
        self.found.connect("*".to_owned());
        let cache = format!("{}/.cache/tldr", self.places.home());
        self.write_path(&Field::literal(cache));
    }

    pub(super) fn curl(&mut self, scan: &Scan) {
        for option in MAY_READ {
            for value in scan.values(option) {
                let behind_name = value.text.find(['=', '<']).map_or(0, |at| at + 1);
                for start in [0, behind_name] {
                    let piece = value.tail(start);
                    if piece.text.starts_with('@')
                        || (start > 0 && value.text.get(start - 1..start) == Some("<"))
                    {
                        self.read_path(&piece.tail(usize::from(piece.text.starts_with('@'))));
                        break;
                    }
                }
            }
        }
        for value in scan.values("-b") {
            if !value.text.contains('=') {
                self.read_path(value);
            }
        }
        if scan.has("-O") || scan.has("-J") {
            self.write_path(&Field::literal("."));
        }
    }

    pub(super) fn wget(&mut self, scan: &Scan) {
        let elsewhere = scan.has("-O") || scan.has("-P") || scan.has("--spider");
        if !elsewhere && !scan.operands.is_empty() {
            self.write_path(&Field::literal("."));
        }
    }

    /// The other side of a fetch or push: named by a URL, or by a name nobody sees here.
    pub(super) fn git_remote(&mut self, words: &[Field], scan: &Scan) {
        let pushes = words
            .first()
            .is_some_and(|word| matches!(word.text.as_str(), "push" | "send-pack"));
        let mut named = false;
        for word in &scan.operands {
            let text = word.text.as_str();
            if !word.is_known() {
                self.unknown_word(word);
            }
            if text.contains("::") {
                // A transport of its own, such as `ext::`, runs what follows.
                self.option_opaque("git", word);
                named = true;
            } else if text.starts_with('-') {
                // Behind `--`, and an option of whatever makes the connection.
                self.option_opaque("git", word);
            } else if text.contains("://") || is_scp_like(text) || (!named && is_path(text)) {
                self.transfer(word, pushes);
                named = true;
            }
        }
        if !named {
            self.found.connect("*".to_owned());
        }
        if words.first().is_some_and(|word| word.text == "pull") {
            self.write_tree();
        }
    }

    /// Reading settings is harmless; writing them changes what git runs later.
    pub(super) fn git_config(&mut self, arguments: &[Field]) {
        let asks = |text: &str| {
            text.starts_with("--get")
                || matches!(
                    text,
                    "--list" | "-l" | "get" | "list" | "--show-origin" | "--show-scope"
                )
        };
        let plain = |word: &&Field| !word.text.starts_with('-');
        let operands = arguments.iter().filter(plain).count();
        let file = arguments.iter().any(|word| {
            word.text.starts_with("-f")
                || word.text.starts_with("--file")
                || word.text.starts_with("--blob")
        });
        let questions = arguments.iter().any(|word| asks(&word.text)) || operands == 1;
        let edits = arguments.iter().any(|word| {
            matches!(word.text.as_str(), "-e" | "--edit" | "edit")
                || word.text.starts_with("--unset")
                || word.text.starts_with("--remove")
                || word.text.starts_with("--rename")
                || word.text.starts_with("--add")
                || word.text.starts_with("--replace")
        });
        let known = arguments.iter().all(Field::is_known);
        if questions && known && !file && !edits {
            return;
        }
        let global = arguments
            .iter()
            .any(|word| matches!(word.text.as_str(), "--global" | "--system"));
        if global {
            let home = self.places.home().to_owned();
            self.write_path(&Field::literal(format!("{home}/.gitconfig")));
        } else {
            self.write_path(&Field::literal(".git/config"));
        }
        for word in arguments {
            // Many settings are commands.
            self.probe_given("git", &word.text);
        }
        self.option_opaque("git", &Field::literal("config"));
    }
}

fn is_path(text: &str) -> bool {
    ["/", "./", "../"]
        .iter()
        .any(|start| text.starts_with(start))
}

/// `user@host:path` or `host:path`.
fn is_scp_like(text: &str) -> bool {
    text.split_once(':').is_some_and(|(host, path)| {
        host.contains(['@', '.']) && !host.contains('/') && !path.is_empty()
    })
}
