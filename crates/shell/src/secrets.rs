//! Names of files that hold secrets.

use crate::expand::field::Field;
use crate::place::name_fits;

/// Names that hold secrets, or stand for those that do: a pattern that can
/// reach one of them is not a plain selection of files.
const SECRETS: &[&str] = &[
    ".env",
    ".env.local",
    ".env.production",
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    "id_rsa",
    "id_ed25519",
    "id_ecdsa",
    "server.pem",
    "server.key",
    "server.p12",
    "server.pfx",
    "server.keystore",
    "credentials",
    "secrets",
];

/// Whether one of a pattern's names could be one that holds secrets.
pub(crate) fn may_reach_secrets(field: &Field) -> bool {
    field.components().iter().any(|(text, pattern)| {
        let plain = matches!(text.as_str(), "*" | "**");
        *pattern && !plain && SECRETS.iter().any(|name| name_fits(text, name))
    })
}
