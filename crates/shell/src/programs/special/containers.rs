//! Commands in containers that have directories of the machine mounted.

use crate::container::Container;
use crate::expand::field::{Field, UNKNOWN};
use crate::place::join;
use crate::programs::scan::Scan;
use crate::walk::Walker;

/// Options of programs without a scan of their own that bind `SOURCE:TARGET`.
const BINDS: &[&str] = &[
    "--bind",
    "-B",
    "-b",
    "-v",
    "--volume",
    "--mount",
    "--filesystem",
];

/// Options of `bwrap` that bind the next word to the one behind it.
const BIND_PAIRS: &[&str] = &["--bind", "--bind-try", "--dev-bind", "--dev-bind-try"];

impl Walker {
    /// `docker run -v SOURCE:TARGET IMAGE command`.
    pub(super) fn contained(&mut self, words: &[Field], scan: &Scan) {
        let mut container = Container::default();
        container.privileged = ["--privileged", "--device", "--cap-add"]
            .iter()
            .any(|option| scan.has(option));
        for value in scan.values("-v") {
            self.bind(&mut container, value);
        }
        for value in scan.values("--mount") {
            self.bind_by_keys(&mut container, value);
        }
        let directory = scan.values("-w").next().map_or("/", |word| &word.text);
        let mut command = scan.operands.clone();
        if let Some(entry) = scan.values("--entrypoint").next() {
            command.insert(1.min(command.len()), entry.clone());
        }
        if scan.has("--pid") && words.iter().any(|word| word.text.contains("nsenter")) {
            // It leaves the container again.
            self.probe(&command, true);
        }
        self.probe_contained(container, directory, &command);
    }

    /// `apptainer exec --bind SOURCE:TARGET …`, `bwrap --bind SOURCE TARGET …`: where the
    /// command starts is not followed, so every word is tried.
    pub(super) fn bound(&mut self, name: &str, words: &[Field]) {
        let mut container = Container::default();
        if matches!(name, "distrobox" | "toolbox") {
            container.mount("/".to_owned(), "/run/host");
        }
        for (at, word) in words.iter().enumerate() {
            let next = words.get(at + 1);
            let text = word.text.as_str();
            if name == "bwrap" {
                let pair = next.zip(words.get(at + 2));
                if let Some((source, target)) = pair.filter(|_| BIND_PAIRS.contains(&text)) {
                    self.bind_paths(&mut container, &source.text, &target.text);
                }
                continue;
            }
            let attached = BINDS.iter().find_map(|option| {
                let rest = text.strip_prefix(option)?;
                (rest.starts_with('=') || option.len() == 2 && !rest.is_empty())
                    .then(|| word.tail(text.len() - rest.trim_start_matches('=').len()))
            });
            let value = match next {
                Some(next) if BINDS.contains(&text) => Some(next.clone()),
                _ => attached,
            };
            for value in value.iter() {
                for part in value.text.split(',') {
                    self.bind(&mut container, &Field::literal(part));
                }
                self.bind_by_keys(&mut container, value);
            }
        }
        self.probe_contained(container, "/", words);
    }

    /// `SOURCE:TARGET[:options]`.
    fn bind(&self, container: &mut Container, value: &Field) {
        let mut parts = value.text.split(':');
        let source = parts.next().unwrap_or_default();
        let target = parts.next().unwrap_or(source);
        let read_only = |options: &str| options.split(',').any(|option| option == "ro");
        if !parts.any(read_only) && source.starts_with(['/', '.', '~']) {
            self.bind_paths(container, source, target);
        }
    }

    /// `type=bind,source=SOURCE,target=TARGET`.
    fn bind_by_keys(&self, container: &mut Container, value: &Field) {
        let find = |names: &[&str]| {
            let pairs = value
                .text
                .split(',')
                .filter_map(|part| part.split_once('='));
            let mut found = pairs.filter(|(name, _)| names.contains(name));
            found.next().map(|(_, value)| value)
        };
        let source = find(&["source", "src"]);
        let target = find(&["target", "dst", "destination"]);
        let other = find(&["type"]).is_some_and(|kind| kind != "bind");
        let flags = || value.text.split(',');
        let read_only = flags().any(|flag| {
            matches!(
                flag,
                "ro" | "readonly" | "ro=true" | "readonly=true" | "readonly=1" | "ro=1"
            )
        });
        if let (Some(source), Some(target), false, false) = (source, target, other, read_only) {
            self.bind_paths(container, source, target);
        }
    }

    fn bind_paths(&self, container: &mut Container, source: &str, target: &str) {
        if source.contains(UNKNOWN) || target.contains(UNKNOWN) {
            return;
        }
        let directory = self.scope.directory.clone().unwrap_or_else(|| "/".into());
        let source = match source.strip_prefix('~') {
            Some(rest) => join("/", &format!("{}{rest}", self.places.home())),
            None => join(&directory, source),
        };
        container.mount(source, target);
    }

    /// Looks for catastrophes in a command that reaches the machine through its mounts.
    fn probe_contained(&mut self, container: Container, directory: &str, command: &[Field]) {
        if container.is_empty() || self.places.container.is_some() {
            return;
        }
        let privileged = container.privileged;
        self.places.container = Some(container);
        let away = std::mem::replace(&mut self.away, true);
        let before = self.found.catastrophe_count();
        let place = self.scope.place();
        self.scope.change_directory(Some(&join("/", directory)));
        self.scope.unmoved.clear();
        self.scope.others.clear();
        self.probe(command, true);
        for word in command.iter().skip(1) {
            if word.text.contains(' ') {
                self.probe_text(&word.text);
            }
        }
        self.scope.return_to(place);
        self.found
            .keep_catastrophes(before, |found| found.leaves_containers(privileged));
        self.away = away;
        self.places.container = None;
    }
}
