//! Programs that make one path lead to another: `ln`, `cp -s`, `mount --bind`, and `mv` of a link.

use crate::expand::field::{Field, UNKNOWN};
use crate::place::join;
use crate::programs::scan::Scan;
use crate::walk::Walker;

impl Walker {
    /// Notes the links that a command makes or moves.
    pub(super) fn make_links(&mut self, name: &str, scan: &Scan) {
        let given = |letter: &str, long: &str| {
            scan.has(letter)
                || scan
                    .options
                    .iter()
                    .any(|option| option.len() > 3 && long.starts_with(option.as_ref()))
        };
        let symbolic = given("-s", "--symbolic");
        let moves = match name {
            "cp" | "gcp" => {
                let links = given("-s", "--symbolic-link") || given("-l", "--link");
                !links
            }
            "mv" | "gmv" => true,
            _ => false,
        };
        let Some(directory) = self.scope.directory.clone() else {
            return;
        };
        let directory: &str = &directory;
        let known = |field: &&Field| !field.text.contains(UNKNOWN) && !field.text.is_empty();
        let into = scan.values("-t").next();
        let (sources, target) = match (into, scan.operands.as_slice()) {
            (Some(into), sources) => (sources, Some(into)),
            (None, [only]) => (std::slice::from_ref(only), None),
            (None, [sources @ .., last]) => (sources, Some(last)),
            (None, []) => return,
        };
        let target = target.filter(known);
        let at = join(directory, target.map_or(".", |field| field.text.as_str()));
        for source in sources.iter().filter(known) {
            let text = source.text.trim_end_matches('/');
            let base = text.rsplit('/').next().unwrap_or(text);
            let places = [at.clone(), join(&at, base)];
            let own = join(directory, &source.text);
            for place in places {
                if moves {
                    for behind in self.places_behind(&own) {
                        self.add_link(place.clone(), behind);
                    }
                    continue;
                }
                // A symbolic link's text counts from the directory it stands in.
                let from_link = symbolic && matches!(name, "ln" | "gln") && !scan.has("-r");
                let parent = place.rsplit_once('/').map_or("/", |(parent, _)| parent);
                if from_link {
                    self.add_link(place.clone(), join(parent, &source.text));
                } else {
                    self.add_link(place.clone(), own.clone());
                }
            }
        }
    }

    /// `mount --bind`: the second path is the first one.
    pub(super) fn mount(&mut self, words: &[Field], scan: &Scan) {
        let binds = words.iter().any(|word| {
            word.text.contains("bind")
                || matches!(word.text.as_str(), "-B" | "-R" | "-M" | "--move")
        });
        if let ([.., source, at], Some(directory), true) = (
            scan.operands.as_slice(),
            self.scope.directory.clone(),
            binds,
        ) {
            self.add_link(join(&directory, &at.text), join(&directory, &source.text));
        }
    }
}
