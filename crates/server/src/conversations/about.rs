//! What the server remembers of a conversation beside its journal: whose it is, and what it may.
//!
//! One file each. A file that cannot be read keeps the conversation closed: without it, its scope
//! would be forgotten.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toolgate_app::Scope;
use toolgate_model::{ConversationId, hex};

use crate::auth::secret;
use crate::own_file;
use crate::problem::Problem;
use crate::scope::ScopeText;

/// The most bytes of a file.
const MAX_BYTES: u64 = 256 * 1024;

/// How many requests are remembered.
const REQUESTS: usize = 32;

/// What the server remembers of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct About {
    /// The conversation.
    pub(crate) id: String,
    /// The id of the token that began it.
    pub(crate) owner: Option<String>,
    /// The directory it is about; without one its tools are off.
    pub(crate) workspace: Option<PathBuf>,
    /// Who answers.
    pub(crate) provider: Option<String>,
    /// Which model.
    pub(crate) model: Option<String>,
    /// How the model works.
    pub(crate) preset: Option<String>,
    /// How much is done without a question.
    pub(crate) trust: Option<String>,
    /// What it is permitted: all of them hold.
    pub(crate) scopes: Vec<ScopeText>,
    /// When it was made, in milliseconds since 1970.
    pub(crate) created_ms: u64,
    /// Requests of clients, and the turns that they began.
    pub(crate) requests: Vec<(String, u64)>,
}

impl About {
    /// The scopes, as the pipeline takes them.
    pub(crate) fn scopes(&self) -> Result<Vec<Scope>, Problem> {
        let scopes = self.scopes.iter().map(ScopeText::scope);
        scopes.collect::<Result<_, _>>().map_err(Problem::bad)
    }

    /// The turn that a request began.
    pub(crate) fn turn_of(&self, request: &str) -> Option<u64> {
        let found = self.requests.iter().find(|(known, _)| known == request);
        found.map(|(_, turn)| *turn)
    }

    /// Notes which turn a request begins.
    pub(crate) fn note(&mut self, request: &str, turn: u64) {
        self.requests.retain(|(known, _)| known != request);
        if self.requests.len() >= REQUESTS {
            self.requests.remove(0);
        }
        self.requests.push((request.to_owned(), turn));
    }
}

/// Where the files are.
#[derive(Clone, Debug)]
pub(crate) struct Abouts(PathBuf);

impl Abouts {
    pub(crate) fn at(directory: PathBuf) -> Self {
        Self(directory)
    }

    /// Ids are names of clients: the file's name is made from the digest.
    fn path(&self, id: &ConversationId) -> PathBuf {
        let name = hex::encode(&secret::hashed(id.as_str()));
        self.0.join(format!("{name}.json"))
    }

    /// What is remembered of a conversation; nothing if it was not begun here.
    pub(crate) fn read(&self, id: &ConversationId) -> Result<Option<About>, Problem> {
        let path = self.path(id);
        match read(&path) {
            Ok(about) => Ok(about.filter(|about| about.id == id.as_str())),
            Err(error) => Err(Problem::internal(format!("{}: {error}", path.display()))),
        }
    }

    pub(crate) fn write(&self, about: &About) -> Result<(), Problem> {
        let path = self.path(&about.id.as_str().into());
        let text =
            serde_json::to_vec(about).map_err(|error| Problem::internal(error.to_string()))?;
        own_file::replace(&path, &text)
            .map_err(|error| Problem::internal(format!("{}: {error}", path.display())))
    }

    pub(crate) fn remove(&self, id: &ConversationId) -> Result<(), Problem> {
        let path = self.path(id);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Problem::internal(format!("{}: {error}", path.display())))
            }
            _ => Ok(()),
        }
    }
}

fn read(path: &Path) -> Result<Option<About>, String> {
    let size = match std::fs::metadata(path) {
        Ok(file) => file.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if size > MAX_BYTES {
        return Err(format!("larger than {MAX_BYTES} bytes"));
    }
    let text = std::fs::read(path).map_err(|error| error.to_string())?;
    serde_json::from_slice(&text).map_err(|error| error.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_of_clients_reach_no_file_but_their_own() {
        let place = tempfile::tempdir().unwrap();
        let abouts = Abouts::at(place.path().join("conversations"));
        for id in ["c", "../../escape", "a/b", "", "\u{0}", "ü"] {
            let about = About {
                id: id.to_owned(),
                owner: Some("o".to_owned()),
                ..About::default()
            };
            abouts.write(&about).unwrap();
            assert_eq!(abouts.read(&id.into()).unwrap(), Some(about));
        }
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
        abouts.remove(&"c".into()).unwrap();
        abouts.remove(&"c".into()).unwrap();
        assert_eq!(abouts.read(&"c".into()).unwrap(), None);
        std::fs::write(abouts.path(&"a/b".into()), "{").unwrap();
        assert!(abouts.read(&"a/b".into()).is_err());
    }

    #[test]
    fn the_last_requests_are_remembered() {
        let mut about = About::default();
        for turn in 1..=40 {
            about.note(&format!("r{turn}"), turn);
        }
        about.note("r40", 41);
        assert_eq!(about.turn_of("r1"), None);
        assert_eq!(about.turn_of("r40"), Some(41));
        assert_eq!(about.requests.len(), REQUESTS);
    }
}
