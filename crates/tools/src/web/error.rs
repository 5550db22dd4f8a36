//! What can go wrong on the way to a page.

use std::net::IpAddr;
use std::time::Duration;

use toolgate_model::{ErrorKind, ToolError};

use super::address::Forbidden;
use super::target::Refusal;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WebError {
    /// The URL is not fetched.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The name leads nowhere.
    #[error("`{host}` cannot be found: {problem}. Check how the name is spelled.")]
    Unknown {
        /// The name.
        host: String,
        /// What the resolver said.
        problem: String,
    },
    /// The name leads where nobody may go.
    #[error("`{host}` leads to {address}, which is {}, and is not contacted.", why.said())]
    Inward {
        /// The name.
        host: String,
        /// One of the addresses that it leads to.
        address: IpAddr,
        /// What that address is.
        why: Forbidden,
    },
    /// No connection.
    #[error("no connection to {place}: {problem}")]
    Unreachable {
        /// The host and the port.
        place: String,
        /// What went wrong.
        problem: String,
    },
    /// The connection could not be made safe.
    #[error("{place} could not prove who it is: {problem}. Nothing was asked.")]
    Unproven {
        /// The host and the port.
        place: String,
        /// What went wrong.
        problem: String,
    },
    /// The conversation broke off or was no HTTP.
    #[error("{place} did not answer as a web server does: {problem}")]
    Broken {
        /// The host and the port.
        place: String,
        /// What went wrong.
        problem: String,
    },
    /// A redirect to where nobody may go.
    #[error("{from} redirects to a place that is not contacted: {refusal}")]
    RedirectRefused {
        /// Who redirects.
        from: String,
        /// Why not.
        refusal: Refusal,
    },
    /// A redirect that takes the encryption away.
    #[error(
        "{from} redirects to {to}, which is not encrypted, and is not followed. Call web_fetch with that URL if the page is wanted all the same."
    )]
    Downgrade {
        /// Who redirects.
        from: String,
        /// Where to.
        to: String,
    },
    /// A redirect to a host that this call was not let through for.
    #[error(
        "{from} answers with {status} and leads to another host: {to} . Nothing was asked there. Call web_fetch with that URL to go on."
    )]
    Elsewhere {
        /// Who redirects.
        from: String,
        /// Where to.
        to: String,
        /// With which status.
        status: u16,
    },
    /// A redirect without end.
    #[error("{from} redirects again and again; {most} redirects were followed, the last to {last}")]
    TooManyRedirects {
        /// Where it began.
        from: String,
        /// Where it was given up.
        last: String,
        /// How many are followed.
        most: usize,
    },
    /// The time is over.
    #[error("{place} was not done after {}; ask for a smaller page or try again later", seconds(*after))]
    TooSlow {
        /// The host and the port.
        place: String,
        /// How long it had.
        after: Duration,
    },
    /// Nothing came for too long.
    #[error("{place} said nothing for {}; try again later", seconds(*after))]
    Silent {
        /// The host and the port.
        place: String,
        /// How long it had.
        after: Duration,
    },
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

impl From<WebError> for ToolError {
    fn from(error: WebError) -> Self {
        let message = error.to_string();
        match error {
            WebError::Refused(refusal) => refusal.into(),
            WebError::Inward { .. }
            | WebError::RedirectRefused { .. }
            | WebError::Downgrade { .. } => Self::new(ErrorKind::BlockedHost, message),
            WebError::Elsewhere { .. } | WebError::TooManyRedirects { .. } => {
                Self::new(ErrorKind::HttpStatus, message)
            }
            WebError::Unproven { .. } => Self::new(ErrorKind::Network, message),
            WebError::Unknown { .. } | WebError::Unreachable { .. } | WebError::Broken { .. } => {
                Self::retryable(ErrorKind::Network, message)
            }
            WebError::TooSlow { .. } => Self::retryable(ErrorKind::Timeout, message),
            WebError::Silent { .. } => Self::retryable(ErrorKind::IdleTimeout, message),
        }
    }
}
