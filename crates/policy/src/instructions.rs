//! Files that agents take for instructions.
//!
//! Their text is obeyed by the next agent that opens the project, this one included, so a
//! change needs approval however generally writes are allowed. A trusted rule that names the
//! very path lifts that.

use toolgate_model::names::{folded, forgiving, is_short_for};
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
/// Pages whose names are too long for eight and three letters: they have short names too.
const LONG_PAGES: [&str; 8] = [
    "agents.local.md",
    "agents.override.md",
    "claude.local.md",
    "claude.override.md",
    "gemini.local.md",
    "gemini.override.md",
    "qwen.local.md",
    "qwen.override.md",
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

/// Whether agents take what is at this path for instructions, in any spelling that some file
/// system takes for such a name.
pub(crate) fn is_instructions(path: &str) -> bool {
    let parts = || path.split('/').filter(|part| !part.is_empty());
    let told = parts().next_back().unwrap_or_default();
    let plain: Vec<String> = parts().map(folded).collect();
    let forgiven: Vec<&str> = plain.iter().flat_map(|part| forgiving(part)).collect();
    let plain: Vec<&str> = plain.iter().map(String::as_str).collect();
    are_instructions(told, &plain) || (forgiven != plain && are_instructions(told, &forgiven))
}

fn are_instructions(told: &str, parts: &[&str]) -> bool {
    let is = |name: &str, known: &str| name == known || is_short_for(name, known);
    let known = |name: &str, list: &[&str]| list.iter().any(|entry| is(name, entry));
    let below = |pair: &[&str]| matches!(pair, [directory, next] if is(directory, ".github") && known(next, &GITHUB));
    parts.iter().any(|part| known(part, &DIRECTORIES))
        || parts.windows(2).any(below)
        || parts.last().is_some_and(|name| {
            known(name, &NAMES) || known(name, &LONG_PAGES) || is_page(told, name)
        })
}

fn is_page(told: &str, name: &str) -> bool {
    let rules = |of: &str| {
        name.strip_prefix(of)
            .is_some_and(|more| more.starts_with('-'))
    };
    if rules(".roorules") {
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
            "AGENT\u{17f}.md",
            "docs/AGENT\u{17f}.MD",
            "S\u{212a}ILL.md",
            "\u{212a}iro.md",
            ".cur\u{17f}orrules",
            ".g\u{131}thub/prompts/x.md",
            "GEM\u{130}NI.md",
            "AGENTS.md::$DATA",
            "AGENTS.md:x",
            "CLAUDE.md . .",
            "docs\\AGENTS.md",
            ".github\\prompts\\x.md",
            "CURSOR~1",
            "GITHUB~1/PROMPTS/x.md",
            ".github/COPILO~1.MD",
            "CLAUDE~1.MD",
            "WINDSU~2",
            "AGENTS~1/x",
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
            "a:AGENTS.md",
            "GITHUB~x/prompts/x.md",
            "README~1.MD",
            "docs\\readme.md",
        ] {
            assert!(!is_instructions(path), "{path:?}");
        }
    }
}
