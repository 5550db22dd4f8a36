//! Secrets of 256 random bits, and their comparison in constant time.

use sha2::{Digest, Sha256};
use toolgate_model::hex;

/// How many characters a secret has.
const LENGTH: usize = 64;

/// The digest that is kept of a secret.
pub(crate) type Hashed = [u8; 32];

/// A fresh secret in hexadecimal; nothing if the system has no randomness.
pub(crate) fn fresh() -> Option<String> {
    let mut bytes = [0_u8; LENGTH / 2];
    getrandom::fill(&mut bytes).ok()?;
    Some(hex::encode(&bytes))
}

/// The digest of a secret. Secrets are random, so one round is enough.
pub(crate) fn hashed(secret: &str) -> Hashed {
    Sha256::digest(secret.as_bytes()).into()
}

/// Compares in a time that does not depend on where two digests differ.
pub(crate) fn is_same(left: &Hashed, right: &Hashed) -> bool {
    let difference = left
        .iter()
        .zip(right)
        .fold(0_u8, |sum, (left, right)| sum | (left ^ right));
    std::hint::black_box(difference) == 0
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_long_and_never_repeat() {
        let (one, other) = (fresh().unwrap(), fresh().unwrap());
        assert_eq!(one.len(), LENGTH);
        assert_ne!(one, other);
        assert!(is_same(&hashed(&one), &hashed(&one)));
        assert!(!is_same(&hashed(&one), &hashed(&other)));
    }
}
