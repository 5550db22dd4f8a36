//! Whether the value of a variable that is named like a credential looks like one.

/// Parts of names whose values are secrets however they look: people choose passwords.
const CHOSEN: &[&str] = &[
    "ACCESS_KEY",
    "ACCESSKEY",
    "API_KEY",
    "APIKEY",
    "CRED",
    "ENCRYPTION",
    "MASTER",
    "MNEMONIC",
    "PASS",
    "PRIVATE",
    "PRIVKEY",
    "PW",
    "RECOVERY",
    "SECRET",
    "SEED_PHRASE",
    "SIGNING",
    "TOKEN",
];

/// Values that stand where a password belongs in every example, and all over other text.
const EVERYDAY: &[&str] = &[
    "changeit",
    "changeme",
    "database",
    "development",
    "disabled",
    "enabled",
    "example",
    "external",
    "internal",
    "keychain",
    "localhost",
    "localtest",
    "optional",
    "password",
    "passwords",
    "placeholder",
    "postgres",
    "postgresql",
    "production",
    "required",
    "rabbitmq",
    "sandbox",
    "staging",
    "superuser",
    "testing",
    "undefined",
    "username",
];

/// Shorter values stand in the middle of ordinary words.
const LEAST_CHARS: usize = 8;

/// A value of so many characters without a blank is no word.
const LONG: usize = 20;

pub(super) fn looks_like_one(name: &str, value: &str) -> bool {
    let value = value.trim();
    let name = name.to_ascii_uppercase();
    if value.chars().count() < LEAST_CHARS || is_place(value) || is_everyday(&name, value) {
        return false;
    }
    CHOSEN.iter().any(|part| name.contains(part)) || is_made(value)
}

/// A path, or an address without somebody's name in it.
fn is_place(value: &str) -> bool {
    let is_path = ["/", "./", "../", "~/"]
        .iter()
        .any(|start| value.starts_with(start));
    // Base64 can begin with a slash, and has no more of them than chance allows.
    let parts = value.split('/').filter(|part| !part.is_empty());
    let like_names = parts.clone().count() > 0 && parts.clone().all(|part| part.len() < LONG);
    (is_path && like_names) || (value.contains("://") && !value.contains('@'))
}

fn is_everyday(name: &str, value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let is_word = lower.bytes().all(|byte| byte.is_ascii_lowercase());
    let of_name = || name.to_ascii_lowercase().contains(&lower);
    is_word && (EVERYDAY.contains(&lower.as_str()) || of_name())
}

/// Whether a program made the value, and no one who named something.
fn is_made(value: &str) -> bool {
    if value.contains(char::is_whitespace) {
        return false;
    }
    let has = |test: fn(char) -> bool| value.contains(test);
    let words = value.split(|c: char| !c.is_alphanumeric());
    let longest = words.map(|word| word.chars().count()).max();
    let is_long = longest.is_some_and(|longest| longest >= LONG);
    let is_mixed = has(|c| c.is_ascii_digit()) && has(|c| c.is_ascii_alphabetic());
    is_long || (is_mixed && longest.is_some_and(|longest| longest >= LEAST_CHARS))
}
