//! Who may talk to the server.
//!
//! ```text
//! Authorization: Bearer ─▶ the token of this start ─▶ Operator
//!                       └▶ tokens.json (digests) ───▶ Named { role, workspaces }
//! ticket of a socket ───▶ whoever asked for it
//! ```
//!
//! There is no cookie: cookies ignore ports, so any page of a local server could use one.

mod principal;
pub(crate) mod secret;
mod tickets;
mod tokens;

use std::time::Instant;

pub use principal::{OPERATOR, Principal, Role, Subject};
pub use tokens::{NewToken, Token, TokenError, Tokens};

use secret::Hashed;
pub(crate) use tickets::LIFE as TICKET_LIFE;
use tickets::Tickets;

/// Knows every secret that opens the server.
pub(crate) struct Gatekeeper {
    operator: Hashed,
    tokens: Tokens,
    tickets: Tickets,
}

impl Gatekeeper {
    pub(crate) fn new(operator: &str, tokens: Tokens) -> Self {
        Self {
            operator: secret::hashed(operator),
            tokens,
            tickets: Tickets::default(),
        }
    }

    /// Whose `Authorization` header this is.
    pub(crate) fn of_header(&self, header: &str) -> Option<Principal> {
        let (scheme, token) = header.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let hashed = secret::hashed(token.trim());
        if secret::is_same(&hashed, &self.operator) {
            return Some(Principal::Operator);
        }
        self.tokens.find(&hashed).map(Principal::from)
    }

    /// A ticket for a socket.
    pub(crate) fn ticket(&self, principal: &Principal) -> Option<String> {
        self.tickets.issue(principal.clone(), Instant::now())
    }

    /// Whose ticket this is. It is good once.
    pub(crate) fn of_ticket(&self, ticket: &str) -> Option<Principal> {
        let principal = self.tickets.take(ticket, Instant::now())?;
        self.is_good(&principal).then_some(principal)
    }

    /// Whether what opened the server still does.
    pub(crate) fn is_good(&self, principal: &Principal) -> bool {
        match principal {
            Principal::Operator => true,
            Principal::Named { id, .. } => self.tokens.is_good(id),
        }
    }

    /// The token behind a principal.
    pub(crate) fn token(&self, principal: &Principal) -> Option<Token> {
        match principal {
            Principal::Operator => None,
            Principal::Named { id, .. } => self.tokens.by_id(id),
        }
    }
}
