//! Names of variables, word by word.
//!
//! A name says what it holds with its last word that is no qualifier: `JWT_PRIVATE`,
//! `DB_PASS_PROD_2` and `signingKeyBase64` hold secrets, `TOKEN_LIMIT` does not.

/// Words that name a secret.
const SECRET: &[&str] = &[
    "APIKEY",
    "AUTH",
    "BEARER",
    "COOKIE",
    "CRED",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "DSN",
    "HMAC",
    "JKS",
    "JWK",
    "JWT",
    "KEY",
    "KEYSTORE",
    "KEYTAB",
    "MNEMONIC",
    "OTP",
    "P12",
    "PASS",
    "PASSCODE",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PASSWORDS",
    "PAT",
    "PEPPER",
    "PFX",
    "PRIV",
    "PRIVATE",
    "PSK",
    "PW",
    "PWD",
    "SALT",
    "SECRET",
    "SECRETS",
    "SEED",
    "SIGNING",
    "TOKEN",
    "TOTP",
];

/// Those of them that need no word in front: `PRIVATE_PEM`, but not `AUTH_LOCAL`.
const CLEAR: &[&str] = &[
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "DSN",
    "JWT",
    "KEY",
    "KEYSTORE",
    "PASS",
    "PRIVATE",
    "SECRETS",
];

/// Ends of words that name a secret however they go on in front.
const SECRET_ENDS: &[&str] = &[
    "APIKEY",
    "CREDENTIALS",
    "DEPLOYKEY",
    "ENCRYPTIONKEY",
    "LICENSEKEY",
    "MASTERKEY",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PRIVATEKEY",
    "PRIVKEY",
    "SECRET",
    "SECRETKEY",
    "SIGNINGKEY",
    "SSHKEY",
    "TOKEN",
];

/// Words that say which one, how it is written or where it lies, and not what it is.
const QUALIFIERS: &[&str] = &[
    "A",
    "ACTIVE",
    "B",
    "B64",
    "BACKUP",
    "BASE64",
    "BLUE",
    "CI",
    "CURRENT",
    "DATA",
    "DEFAULT",
    "DEV",
    "DEVELOPMENT",
    "ENCODED",
    "FALLBACK",
    "FILE",
    "GREEN",
    "HEX",
    "JSON",
    "LIVE",
    "LOCAL",
    "MAIN",
    "NEW",
    "NEXT",
    "OLD",
    "PATH",
    "PEM",
    "PLAIN",
    "PREV",
    "PREVIOUS",
    "PRIMARY",
    "PROD",
    "PRODUCTION",
    "QA",
    "RAW",
    "READONLY",
    "RO",
    "ROTATED",
    "RW",
    "SANDBOX",
    "SECONDARY",
    "STAGE",
    "STAGING",
    "STR",
    "STRING",
    "TEST",
    "UAT",
    "VALUE",
];

/// Purposes of a seed that is no secret: tests that choose at random.
const HARMLESS_SEEDS: &[&str] = &[
    "FUZZ",
    "HASH",
    "HYPOTHESIS",
    "PYTEST",
    "QUICKCHECK",
    "RAND",
    "RANDOM",
    "RANDOMIZE",
    "RNG",
    "SHUFFLE",
    "SIM",
    "SIMULATION",
    "TEST",
    "TESTS",
    "TRAINING",
];

/// Whether the words of a name say that it holds a secret.
pub(super) fn name_a_secret(name: &str) -> bool {
    let words = words(name);
    let mut left = words.as_slice();
    while let [before @ .., last] = left {
        if !is_qualifier(last) || before.is_empty() {
            break;
        }
        left = before;
    }
    let [before @ .., last] = left else {
        return false;
    };
    let is_harmless_seed = last == "SEED"
        && before
            .last()
            .is_some_and(|for_what| has(HARMLESS_SEEDS, for_what));
    // A name of one word is on the list of names, or is not known.
    let counts = match before {
        [] if words.len() == 1 => false,
        [] => has(CLEAR, last),
        _ => has(SECRET, last),
    };
    (counts || SECRET_ENDS.iter().any(|end| last.ends_with(end))) && !is_harmless_seed
}

fn is_qualifier(word: &str) -> bool {
    let digits = word.strip_prefix('V').unwrap_or(word);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number || has(QUALIFIERS, word)
}

fn has(list: &[&str], word: &str) -> bool {
    list.contains(&word)
}

/// The words of a name, in capitals: parted by signs, and where a capital follows a small letter.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut small_before = false;
    for c in name.chars() {
        let ends = !c.is_ascii_alphanumeric() || (small_before && c.is_ascii_uppercase());
        if ends && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_ascii_alphanumeric() {
            word.push(c.to_ascii_uppercase());
        }
        small_before = c.is_ascii_lowercase();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_split_where_its_words_end() {
        for (name, wanted) in [
            ("JWT_PRIVATE", vec!["JWT", "PRIVATE"]),
            ("jwtPrivateKey", vec!["JWT", "PRIVATE", "KEY"]),
            ("npm.config-x:_auth", vec!["NPM", "CONFIG", "X", "AUTH"]),
            ("APIKey2", vec!["APIKEY2"]),
            ("__", vec![]),
        ] {
            assert_eq!(words(name), wanted, "{name}");
        }
    }
}
