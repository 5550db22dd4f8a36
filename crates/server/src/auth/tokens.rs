//! Named tokens, of which only digests are kept.
//!
//! The file is read again when it has changed, so that a revoked token is refused at once by a
//! server that runs. A file that cannot be read knows no token.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use toolgate_model::hex;

use super::principal::{Principal, Role};
use super::secret::{self, Hashed};
use crate::scope::ScopeText;

/// The most bytes of the file.
const MAX_BYTES: u64 = 1024 * 1024;

/// The start of every token, so that scanners for secrets find it.
const PREFIX: &str = "tgs_";

/// A token as it is kept and listed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// Its id, to revoke it by.
    pub id: String,
    /// Whose it is.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// The directories it may use.
    pub workspaces: Vec<PathBuf>,
    /// The scope of every conversation that it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<ScopeText>,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// SHA-256 of the secret, in hexadecimal.
    sha256: String,
}

/// Why tokens cannot be read or changed.
#[derive(Debug, thiserror::Error)]
#[error("{}: {message}", path.display())]
pub struct TokenError {
    path: PathBuf,
    message: String,
}

/// What a new token is to be good for.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// Whose it is.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// The directories it may use, with links resolved.
    pub workspaces: Vec<PathBuf>,
    /// The scope of every conversation that it begins.
    pub scope: Option<ScopeText>,
    /// The time, in milliseconds since 1970.
    pub now_ms: u64,
}

/// The tokens of a file.
#[derive(Debug)]
pub struct Tokens {
    path: PathBuf,
    known: Mutex<Known>,
}

/// The tokens as they were read last.
#[derive(Debug, Default)]
struct Known {
    state: Option<FileState>,
    tokens: Vec<(Hashed, Token)>,
}

/// What changes when a file is replaced or written.
#[derive(Debug, PartialEq, Eq)]
struct FileState([i64; 4]);

impl FileState {
    fn of(file: &Metadata) -> Self {
        let inode = i64::from_ne_bytes(file.ino().to_ne_bytes());
        let bytes = i64::from_ne_bytes(file.len().to_ne_bytes());
        Self([inode, bytes, file.mtime(), file.mtime_nsec()])
    }
}

impl Tokens {
    /// The tokens of this file, which need not exist.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            known: Mutex::default(),
        }
    }

    /// Every token.
    pub fn list(&self) -> Result<Vec<Token>, TokenError> {
        Ok(self.read()?.1)
    }

    /// Makes a token and returns its text, which is not kept, beside what is.
    pub fn create(&self, new: NewToken) -> Result<(String, Token), TokenError> {
        if new.name.trim().is_empty()
            || new.name.len() > 64
            || new.name.chars().any(char::is_control)
        {
            return Err(self.error("a token needs a name of 1 to 64 bytes on one line"));
        }
        let random = || secret::fresh().ok_or_else(|| self.error("the system has no randomness"));
        let (mut id, text) = (random()?, format!("{PREFIX}{}", random()?));
        id.truncate(12);
        let token = Token {
            id,
            name: new.name,
            role: new.role,
            workspaces: new.workspaces,
            scope: new.scope,
            created_ms: new.now_ms,
            sha256: hex::encode(&secret::hashed(&text)),
        };
        let _lock = self.lock()?;
        let mut all = self.list()?;
        if all.iter().any(|one| one.name == token.name) {
            let message = format!("there is a token called {:?}; revoke it first", token.name);
            return Err(self.error(message));
        }
        all.push(token.clone());
        self.write(&all)?;
        Ok((text, token))
    }

    /// Revokes the token of this id or name; whether there was one.
    pub fn revoke(&self, named: &str) -> Result<bool, TokenError> {
        let _lock = self.lock()?;
        let mut all = self.list()?;
        let before = all.len();
        all.retain(|token| token.id != named && token.name != named);
        if all.len() == before {
            return Ok(false);
        }
        self.write(&all).map(|()| true)
    }

    /// Who has this secret. Every token is compared, whichever fits.
    pub(crate) fn find(&self, secret: &Hashed) -> Option<Token> {
        self.with_known(|all| {
            let mut found = None;
            for (hashed, token) in all {
                if secret::is_same(hashed, secret) {
                    found = Some(token.clone());
                }
            }
            found
        })
    }

    /// Whether a token is still good.
    pub(crate) fn is_good(&self, id: &str) -> bool {
        self.with_known(|all| all.iter().any(|(_, token)| token.id == id))
    }

    /// The token of this id.
    pub(crate) fn by_id(&self, id: &str) -> Option<Token> {
        self.with_known(|all| {
            let found = all.iter().find(|(_, token)| token.id == id);
            found.map(|(_, token)| token.clone())
        })
    }

    fn with_known<T>(&self, look: impl FnOnce(&[(Hashed, Token)]) -> T) -> T {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let state = std::fs::metadata(&self.path).ok();
        let state = state.as_ref().map(FileState::of);
        if state.is_none() {
            *known = Known::default();
        } else if known.state != state {
            // A file that cannot be read knows no token, and is read again by the next request.
            let (state, tokens) = self.read().unwrap_or_default();
            let hashed = |token: Token| Some((unhex(&token.sha256)?, token));
            *known = Known {
                state,
                tokens: tokens.into_iter().filter_map(hashed).collect(),
            };
        }
        look(&known.tokens)
    }

    fn read(&self) -> Result<(Option<FileState>, Vec<Token>), TokenError> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok((None, Vec::new()));
            }
            Err(error) => return Err(self.error(error)),
        };
        let about = file.metadata().map_err(|error| self.error(error))?;
        if about.permissions().mode() & 0o077 != 0 {
            return Err(
                self.error("others may read or change it; chmod 600 it, and make new tokens")
            );
        }
        let mut text = Vec::new();
        (&mut file)
            .take(MAX_BYTES + 1)
            .read_to_end(&mut text)
            .map_err(|error| self.error(error))?;
        if text.len() as u64 > MAX_BYTES {
            return Err(self.error("larger than 1 MiB"));
        }
        let tokens = serde_json::from_slice(&text).map_err(|error| self.error(error))?;
        Ok((Some(FileState::of(&about)), tokens))
    }

    fn lock(&self) -> Result<File, TokenError> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(directory).map_err(|error| self.error(error))?;
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.path.with_extension("lock"));
        let lock = lock.map_err(|error| self.error(error))?;
        lock.lock().map_err(|error| self.error(error))?;
        Ok(lock)
    }

    fn write(&self, all: &[Token]) -> Result<(), TokenError> {
        let text = serde_json::to_vec_pretty(all).map_err(|error| self.error(error))?;
        crate::own_file::replace(&self.path, &text).map_err(|error| self.error(error))
    }

    fn error(&self, message: impl ToString) -> TokenError {
        TokenError {
            path: self.path.clone(),
            message: message.to_string(),
        }
    }
}

impl From<Token> for Principal {
    fn from(token: Token) -> Self {
        Self::Named {
            id: token.id,
            name: token.name,
            role: token.role,
            workspaces: token.workspaces,
        }
    }
}

fn unhex(text: &str) -> Option<Hashed> {
    hex::decode(text)?.try_into().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn new(name: &str) -> NewToken {
        NewToken {
            name: name.into(),
            role: Role::Reader,
            workspaces: vec!["/w".into()],
            scope: None,
            now_ms: 1,
        }
    }

    #[test]
    fn a_token_is_found_until_it_is_revoked_and_its_text_is_nowhere() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("server/tokens.json");
        let tokens = Tokens::at(&path);
        let (text, made) = tokens.create(new("ci")).unwrap();
        assert!(tokens.create(new("ci")).is_err());
        assert!(tokens.create(new("two\nlines")).is_err());
        let kept = std::fs::read_to_string(&path).unwrap();
        assert!(!kept.contains(text.trim_start_matches(PREFIX)), "{kept}");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        // Another process: the server that runs meanwhile.
        let server = Tokens::at(&path);
        let found = server.find(&secret::hashed(&text)).unwrap();
        assert_eq!(found, made);
        assert!(server.find(&secret::hashed("tgs_other")).is_none());
        assert!(tokens.revoke(&made.id).unwrap());
        assert!(!tokens.revoke(&made.id).unwrap());
        assert!(server.find(&secret::hashed(&text)).is_none());
        assert!(!server.is_good(&made.id));
    }

    #[test]
    fn a_file_that_others_may_read_or_that_is_damaged_knows_no_token() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("tokens.json");
        let tokens = Tokens::at(&path);
        let (text, _) = tokens.create(new("ci")).unwrap();
        let open = |mode| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        open(0o644);
        let server = Tokens::at(&path);
        assert!(server.find(&secret::hashed(&text)).is_none());
        assert!(tokens.list().unwrap_err().to_string().contains("chmod 600"));
        open(0o600);
        assert!(server.find(&secret::hashed(&text)).is_some());
        use std::io::Write;
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(b"]").unwrap();
        drop(file);
        assert!(server.find(&secret::hashed(&text)).is_none());
    }
}
