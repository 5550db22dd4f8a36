//! What an approval is bound to.

use sha2::{Digest, Sha256};
use toolgate_model::{Access, Args, FileDigest, Lead, NeededDirectory, PlanHash, PlanRecord};

use crate::tool::hex;

/// What a plan found on disk.
#[derive(Clone, Copy, Default)]
pub(crate) struct Seen<'a> {
    /// The files shown.
    pub(crate) rests_on: &'a [FileDigest],
    /// Where links lead.
    pub(crate) leads_to: &'a [Lead],
    /// The directories that an answer could open.
    pub(crate) opens: &'a [NeededDirectory],
}

impl<'a> Seen<'a> {
    /// What a record has of it.
    pub(crate) fn by(record: &'a PlanRecord) -> Self {
        Self {
            rests_on: &record.rests_on,
            leads_to: &record.leads_to,
            opens: &record.opens,
        }
    }
}

/// Hashes the tool, its definition, the arguments, the working directory and what was found on
/// disk.
/// Every part is preceded by its length, so that no two different plans read the same.
pub(crate) fn plan_hash(
    conversation: &str,
    tool: &str,
    tool_digest: &str,
    args: &Args,
    working_dir: &str,
    seen: Seen<'_>,
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
    for file in seen.rests_on {
        part(file.path.as_bytes());
        part(file.sha256.as_deref().unwrap_or("-").as_bytes());
    }
    for lead in seen.leads_to {
        let access: &[u8] = match lead.access {
            Access::Read => b"read leads to",
            Access::Write => b"write leads to",
            Access::Delete => b"delete leads to",
        };
        part(access);
        part(lead.path.as_bytes());
        part(lead.to.as_bytes());
    }
    for directory in seen.opens {
        part(b"could open");
        part(directory.path.as_bytes());
        part(directory.to.as_bytes());
        part(&directory.device.to_le_bytes());
        part(&directory.inode.to_le_bytes());
    }
    PlanHash::new(hex(&hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(names: [&str; 4], args: &str, seen: Seen<'_>) -> PlanHash {
        let [conversation, tool, digest, working_dir] = names;
        let args = serde_json::from_str::<Args>(args).unwrap();
        plan_hash(conversation, tool, digest, &args, working_dir, seen)
    }

    #[test]
    fn every_part_counts() {
        let args = r#"{"a":1,"b":2}"#;
        let file = |path: &str, sha: Option<&str>| FileDigest {
            path: path.into(),
            sha256: sha.map(Into::into),
        };
        let on = |file: &FileDigest| {
            let rests_on = std::slice::from_ref(file);
            let seen = Seen {
                rests_on,
                ..Seen::default()
            };
            hash(["c", "t", "d", "/w"], args, seen)
        };
        let x = file("x", None);
        let seen = Seen {
            rests_on: std::slice::from_ref(&x),
            ..Seen::default()
        };
        let base = on(&x);
        assert_eq!(base, hash(["c", "t", "d", "/w"], r#"{"b":2,"a":1}"#, seen));
        for other in [
            hash(["k", "t", "d", "/w"], args, seen),
            hash(["c", "u", "d", "/w"], args, seen),
            hash(["c", "t", "e", "/w"], args, seen),
            hash(["c", "t", "d", "/w"], r#"{"a":1,"b":3}"#, seen),
            hash(["c", "t", "d", "/v"], args, seen),
            on(&file("y", None)),
            on(&file("x", Some("0"))),
            hash(["c", "t", "d", "/w"], args, Seen::default()),
            hash(["ct", "", "d", "/w"], args, seen),
        ] {
            assert_ne!(base, other);
        }
        let led = |access, path: &str, to: &str| {
            let lead = Lead {
                access,
                path: path.into(),
                to: to.into(),
            };
            let seen = Seen {
                leads_to: &[lead],
                ..Seen::default()
            };
            hash(["c", "t", "d", "/w"], args, seen)
        };
        let through = led(Access::Write, "l", "a");
        for other in [
            hash(["c", "t", "d", "/w"], args, Seen::default()),
            led(Access::Write, "l", "b"),
            led(Access::Write, "k", "a"),
            led(Access::Delete, "l", "a"),
            led(Access::Read, "l", "a"),
        ] {
            assert_ne!(through, other);
        }
        let opens = |path: &str, to: &str, device, inode| {
            let directory = NeededDirectory {
                path: path.into(),
                to: to.into(),
                device,
                inode,
            };
            let seen = Seen {
                opens: &[directory],
                ..Seen::default()
            };
            hash(["c", "t", "d", "/w"], args, seen)
        };
        let one = opens("/l", "/a", 1, 2);
        for other in [
            hash(["c", "t", "d", "/w"], args, Seen::default()),
            opens("/k", "/a", 1, 2),
            opens("/l", "/b", 1, 2),
            opens("/l", "/a", 2, 2),
            opens("/l", "/a", 1, 3),
        ] {
            assert_ne!(one, other);
        }
    }
}
