//! Files that agents take for instructions.
//!
//! Their text is obeyed by the next agent that opens the project, this one included, so a
//! change needs approval however generally writes are allowed. A trusted rule that names the
//! very path lifts that.

use toolgate_model::characters::is_invisible;
use toolgate_model::{Access, Action};

use crate::answer::Cause;
use crate::atom::Atom;
use crate::index::Rule;

/// Stems of `NAME.md` that name an agent or all of them, in any case.
const STEMS: [&str; 4] = ["agents", "claude", "gemini", "qwen"];
/// Stems that are also ordinary words: they count only with a capital, as agents look for them.
const CAPITAL_STEMS: [&str; 10] = [
    "agent", "amazonq", "codex", "copilot", "crush", "droid", "jules", "kiro", "skill", "warp",
];
/// Whole names, in any directory.
const NAMES: [&str; 10] = [
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".roorules",
    ".kilocoderules",
    ".rules",
    ".goosehints",
    ".augment-guidelines",
    ".openhands_instructions",
    "replit.md",
];
/// Directories of instructions, in any directory.
const DIRECTORIES: [&str; 2] = [".agents", ".agent"];
/// What counts in a `.github` directory.
const GITHUB: [&str; 6] = [
    "copilot-instructions.md",
    "instructions",
    "prompts",
    "chatmodes",
    "agents",
    "skills",
];

/// Whether agents take what is at this path for instructions.
pub(crate) fn is_instructions(path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !part.is_empty()).peekable();
    while let Some(part) = parts.next() {
        let name = folded(part);
        let next = parts.peek();
        let in_github = |next: &&str| GITHUB.contains(&folded(next).as_str());
        if DIRECTORIES.contains(&name.as_str())
            || (name == ".github" && next.is_some_and(in_github))
        {
            return true;
        }
        if next.is_none() {
            return is_name(part, &name);
        }
    }
    false
}

fn is_name(told: &str, name: &str) -> bool {
    let rules = |of: &str| {
        name.strip_prefix(of)
            .is_some_and(|more| more.starts_with('-'))
    };
    if NAMES.contains(&name) || rules(".roorules") {
        return true;
    }
    // `AGENTS.md`, `CLAUDE.local.md`, `AGENTS.override.md`.
    let Some((stem, ending)) = name.split_once('.') else {
        return false;
    };
    let is_page = matches!(ending, "md" | "mdc" | "local.md" | "override.md");
    let has_capital = told.chars().any(char::is_uppercase);
    is_page && (STEMS.contains(&stem) || (has_capital && CAPITAL_STEMS.contains(&stem)))
}

/// A name without case, without what is not seen and without what some systems cut off.
fn folded(name: &str) -> String {
    let seen = name.chars().filter(|c| !is_invisible(*c));
    let lower: String = seen.flat_map(char::to_lowercase).collect();
    lower.trim_end_matches(['.', ' ']).to_owned()
}

impl Rule {
    /// Whether it names this very path for this touch.
    fn names(&self, access: Access, path: &str) -> bool {
        let patterns = match access {
            Access::Read => &self.reads,
            Access::Write => &self.writes,
            Access::Delete => &self.deletes,
        };
        let mut literals = patterns
            .iter()
            .flatten()
            .filter_map(|p| p.literal.as_deref());
        literals.any(|literal| literal == path)
    }
}

/// What an allow becomes where a change of instructions needs approval.
pub(crate) fn guard<'p>(
    atom: &Atom<'_>,
    rule: Option<&'p Rule>,
    answer: (Action, Cause<'p>),
) -> (Action, Cause<'p>) {
    let (access, place) = match atom {
        Atom::Write(place) => (Access::Write, place),
        Atom::Delete(place) => (Access::Delete, place),
        _ => return answer,
    };
    let named = rule.is_some_and(|rule| rule.names(access, &place.tidy));
    if answer.0 != Action::Allow || named || !is_instructions(&place.tidy) {
        return answer;
    }
    (Action::Ask, Cause::Instructions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_known_by_their_names() {
        for path in [
            "AGENTS.md",
            "agents.md",
            "pkg/a/AGENTS.md",
            "AGENTS.override.md",
            "CLAUDE.md",
            "CLAUDE.local.md",
            "GEMINI.md",
            "QWEN.md",
            "docs/CLAUDE.md",
            "/srv/p/CLAUDE.md",
            "AGENT.md",
            "WARP.md",
            "SKILL.md",
            ".cursorrules",
            ".windsurfrules",
            ".roorules-code",
            ".goosehints",
            ".github/copilot-instructions.md",
            ".github/instructions/rust.instructions.md",
            ".github/prompts/x.prompt.md",
            ".agents/skills/x/SKILL.md",
            "AGENTS.md.",
            "AGEN\u{200b}TS.md",
            "CLAUDE\u{3164}.md",
        ] {
            assert!(is_instructions(path), "{path:?}");
        }
        for path in [
            "README.md",
            "docs/agent.md",
            "docs/warp.md",
            "src/agents.rs",
            "agents/README.md",
            "AGENTS.md/x",
            "AGENTS.txt",
            "my-AGENTS.md",
            "CONTRIBUTING.md",
            ".github/workflows/ci.yml",
            "github/prompts/x.md",
            "prompts/x.md",
            ".rules.d/x",
            "claude.rs",
        ] {
            assert!(!is_instructions(path), "{path:?}");
        }
    }
}
