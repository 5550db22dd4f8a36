//! What an approval is bound to.

use sha2::{Digest, Sha256};
use toolgate_model::{Access, Args, FileDigest, Lead, PlanHash};

use crate::tool::hex;

/// Hashes the tool, its definition, the arguments, the working folder, the files shown and
/// where links lead.
/// Every part is preceded by its length, so that no two different plans read the same.
pub(crate) fn plan_hash(
    conversation: &str,
    tool: &str,
    tool_digest: &str,
    args: &Args,
    working_dir: &str,
    rests_on: &[FileDigest],
    leads_to: &[Lead],
) -> PlanHash {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(b"toolgate plan 1");
    part(conversation.as_bytes());
    part(tool.as_bytes());
    part(tool_digest.as_bytes());
    // Keys of a JSON object are kept sorted, so equal arguments are equal bytes.
    part(serde_json::to_string(args).unwrap_or_default().as_bytes());
    part(working_dir.as_bytes());
    for file in rests_on {
        part(file.path.as_bytes());
        part(file.sha256.as_deref().unwrap_or("-").as_bytes());
    }
    for lead in leads_to {
        let access: &[u8] = match lead.access {
            Access::Read => b"read leads to",
            Access::Write => b"write leads to",
            Access::Delete => b"delete leads to",
        };
        part(access);
        part(lead.path.as_bytes());
        part(lead.to.as_bytes());
    }
    PlanHash::new(hex(&hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_counts() {
        let args = |text: &str| serde_json::from_str::<Args>(text).unwrap();
        let file = |path: &str, sha: Option<&str>| FileDigest {
            path: path.into(),
            sha256: sha.map(Into::into),
        };
        let base = plan_hash(
            "c",
            "t",
            "d",
            &args(r#"{"a":1,"b":2}"#),
            "/w",
            &[file("x", None)],
            &[],
        );
        assert_eq!(
            base,
            plan_hash(
                "c",
                "t",
                "d",
                &args(r#"{"b":2,"a":1}"#),
                "/w",
                &[file("x", None)],
                &[],
            )
        );
        for other in [
            plan_hash(
                "k",
                "t",
                "d",
                &args(r#"{"a":1,"b":2}"#),
                "/w",
                &[file("x", None)],
                &[],
            ),
            plan_hash(
                "c",
                "u",
                "d",
                &args(r#"{"a":1,"b":2}"#),
                "/w",
                &[file("x", None)],
                &[],
            ),
            plan_hash(
                "c",
                "t",
                "e",
                &args(r#"{"a":1,"b":2}"#),
                "/w",
                &[file("x", None)],
                &[],
            ),
            plan_hash(
                "c",
                "t",
                "d",
                &args(r#"{"a":1,"b":3}"#),
                "/w",
                &[file("x", None)],
                &[],
            ),
            plan_hash(
                "c",
                "t",
                "d",
                &args(r#"{"a":1,"b":2}"#),
                "/v",
                &[file("x", None)],
                &[],
            ),
            plan_hash(
                "c",
                "t",
                "d",
                &args(r#"{"a":1,"b":2}"#),
                "/w",
                &[file("y", None)],
                &[],
            ),
            plan_hash(
                "c",
                "t",
                "d",
                &args(r#"{"a":1,"b":2}"#),
                "/w",
                &[file("x", Some("0"))],
                &[],
            ),
            plan_hash("c", "t", "d", &args(r#"{"a":1,"b":2}"#), "/w", &[], &[]),
            plan_hash(
                "ct",
                "",
                "d",
                &args(r#"{"a":1,"b":2}"#),
                "/w",
                &[file("x", None)],
                &[],
            ),
        ] {
            assert_ne!(base, other);
        }
        let led = |access, path: &str, to: &str| {
            let lead = Lead {
                access,
                path: path.into(),
                to: to.into(),
            };
            plan_hash("c", "t", "d", &args(r#"{"a":1,"b":2}"#), "/w", &[], &[lead])
        };
        let through = led(Access::Write, "l", "a");
        for other in [
            plan_hash("c", "t", "d", &args(r#"{"a":1,"b":2}"#), "/w", &[], &[]),
            led(Access::Write, "l", "b"),
            led(Access::Write, "k", "a"),
            led(Access::Delete, "l", "a"),
            led(Access::Read, "l", "a"),
        ] {
            assert_ne!(through, other);
        }
    }
}
