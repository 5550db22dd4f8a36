//! The built-in deny patterns, and short forms of guarded names.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::data_names::{is_authorities, is_env_template};
use super::executed::{PROTECTED, PROTECTED_FROM_TOOLS};
use super::executed_config::PROTECTED_CONFIG;
use super::patterns::Rule;

/// Denied to the file tools, for reading and for writing.
pub(crate) const DENIED: &[Rule<'static>] = &[
    Rule::new(".ssh/"),
    Rule::new(".gnupg/"),
    Rule::new(".aws/"),
    Rule::new(".azure/"),
    Rule::new(".kube/"),
    Rule::new("**/.docker/config.json"),
    Rule::new("**/.config/gcloud/"),
    Rule::new(".netrc"),
    Rule::new(".pgpass"),
    Rule::new(".npmrc"),
    Rule::new(".pypirc"),
    Rule::new(".git-credentials"),
    Rule::new(".my.cnf"),
    Rule::new(".mylogin.cnf"),
    Rule::new(".dockercfg"),
    Rule::new(".vault-token"),
    Rule::new(".htpasswd"),
    Rule::new(".terraformrc"),
    Rule::new(".databrickscfg"),
    Rule::new(".boto"),
    Rule::new(".s3cfg"),
    Rule::new(".fetchmailrc"),
    Rule::new(".msmtprc"),
    Rule::new("**/.m2/settings*.xml"),
    Rule::new("**/.subversion/auth/"),
    Rule::new("**/.config/gh/hosts.yml"),
    Rule::new("**/.config/hub"),
    Rule::new("**/.config/rclone/"),
    Rule::new("**/.config/containers/auth.json"),
    // Remote addresses in it often carry a token; submodules have theirs further down.
    Rule::new("**/.git/**/config"),
    Rule::new("**/.git/**/config.worktree"),
    Rule::new("id_rsa*"),
    Rule::new("id_ed25519*"),
    Rule::new("id_ecdsa*"),
    Rule::new("*.pem").unless(is_authorities),
    Rule::new("*.key"),
    Rule::new("*.p12"),
    Rule::new("*.pfx"),
    Rule::new("*.keystore"),
    Rule::new(".env"),
    // Templates are made to be read and copied, and hold no values.
    Rule::new(".env.*").unless(is_env_template),
    Rule::data("*credential*"),
    Rule::data("*secret*"),
    // The 8.3 forms of the two wildcards above and of the long key names.
    Rule::new("creden~*"),
    Rule::new("id_ed2~*"),
    Rule::new("id_ecd~*"),
    // Core dumps. Files only: `core/` is a common directory of sources.
    Rule::new("core").file(),
    Rule::numbered("core.").file(),
    Rule::numbered("vgcore.").file(),
    Rule::new("*.coredump").file(),
];

/// Names that some rule spells out and that a file system with 8.3 names also answers to in
/// short form (`GIT~1`), by the stem of that form. Of two with one stem the first counts.
pub(crate) fn short_forms() -> &'static HashMap<Vec<u8>, &'static str> {
    static FORMS: OnceLock<HashMap<Vec<u8>, &'static str>> = OnceLock::new();
    FORMS.get_or_init(|| {
        let rules = DENIED.iter().map(Rule::text);
        let protected = [PROTECTED, PROTECTED_CONFIG, PROTECTED_FROM_TOOLS].into_iter();
        let all = [".git", ".gitattributes"].into_iter().chain(rules);
        let all = all.chain(protected.flatten().copied());
        let mut forms = HashMap::new();
        for name in all.flat_map(|rule| rule.split('/')) {
            if has_short_form(name) {
                forms.entry(short_stem(name)).or_insert(name);
            }
        }
        forms
    })
}

/// Whether a name of a rule is one name, and too long or too odd for eight and three.
fn has_short_form(name: &str) -> bool {
    let (stem, ending) = name.split_once('.').unwrap_or((name, ""));
    let is_odd = stem.is_empty() || stem.len() > 8 || ending.len() > 3 || ending.contains('.');
    !name.is_empty() && !name.contains(['*', '?', '[', '{']) && is_odd
}

fn short_stem(name: &str) -> Vec<u8> {
    name.trim_start_matches('.')
        .bytes()
        .take_while(|b| *b != b'.')
        .take(6)
        .map(|b| b.to_ascii_lowercase())
        .collect()
}
