//! Which variables of the environment hold secrets, by their names.

/// Names that end like this.
const ENDINGS: [&str; 5] = ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PASS"];
/// Names that have this in them.
const PARTS: [&str; 4] = ["PASSWD", "CREDENTIAL", "APIKEY", "PRIVATE"];
/// Names that are exactly this.
const NAMES: [&str; 5] = ["PGPASSWORD", "DATABASE_URL", "PASSWORD", "SECRET", "TOKEN"];

/// Names and values whose values must not be shown.
pub(crate) fn of_environment() -> Vec<(String, String)> {
    let all = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    all.filter(|(name, _)| is_secret(name)).collect()
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    NAMES.contains(&name.as_str())
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || PARTS.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_secrets_from_the_rest() {
        for name in [
            "OPENAI_API_KEY",
            "github_token",
            "MY_SECRET",
            "PGPASSWORD",
            "X_PASSWD_Y",
            "AWS_CREDENTIALS",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["PATH", "HOME", "KEYBOARD", "TOKENIZERS", "LANG"] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
