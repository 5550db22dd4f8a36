//! Whatever stands in a file: no panic, and what is read can be used.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::string_slice,
    missing_docs
)]

mod support;

use proptest::prelude::*;
use support::workspace;
use toolgate_config::{ConfigError, Effective, Project, Source, Sources};
use toolgate_policy::Policy;

const PAGE: &str = include_str!("../../../docs/configuration.md");

/// The full example of the documentation.
fn example() -> &'static str {
    let (_, rest) = PAGE.split_once("```toml\n").unwrap();
    rest.split_once("```").unwrap().0
}

fn holds(bytes: Vec<u8>, trusted: bool) {
    let Ok(source) = Source::new("any.toml", bytes) else {
        return;
    };
    let sources = Sources {
        workspace: workspace(),
        project: Some(Project {
            source: source.clone(),
            trusted,
        }),
        ..Sources::default()
    };
    match Effective::load(&sources) {
        Ok(effective) => {
            for row in effective.show() {
                assert!(!row.to_string().contains('\n'));
            }
            let rules = effective.rules();
            Policy::compile(rules.settings, &rules.layers, &str::to_owned).unwrap();
            effective.path_rules().unwrap();
            assert!(!trusted || effective.ignored().is_empty());
        }
        Err(ConfigError::SettingErrors(mistakes)) => {
            assert!(!mistakes.all().is_empty());
            let lines = u32::try_from(source.text().split('\n').count()).unwrap();
            for mistake in mistakes.all() {
                let (line, column) = mistake.place();
                assert!(line >= 1 && line <= lines && column >= 1);
            }
            let drawn = mistakes.to_string();
            assert!(
                drawn.chars().all(|c| c == '\n' || !c.is_control()),
                "{drawn:?}"
            );
        }
        Err(other) => panic!("{other}"),
    }
}

/// Pieces of files, to be put together in any order.
const PIECES: &[&str] = &[
    "[tools]\n",
    "[tools.",
    "]",
    "[[tools.rules]]\n",
    "tool = \"*\"\n",
    "action = ",
    "\"deny\"\n",
    "mode",
    " = ",
    "\"",
    "'''",
    "\"\"\"",
    "{",
    "}",
    "[",
    "]\n",
    ",",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "=",
    "#",
    "1",
    "-1",
    "0x",
    "1e400",
    "nan",
    "true",
    "2024-01-01",
    "presets.",
    "\u{feff}",
    "\u{202e}",
    "\\u001b",
    "\\",
    "日本",
    "reads = [\"src/**\"]\n",
    "[providers.x]\n",
    "kind = \"ollama\"\n",
    "denied_patterns = [\"[\"]\n",
    "when = [{ param = \"a\", operator = \"matches\", value = \"(\" }]\n",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 384, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        trusted: bool,
    ) {
        holds(bytes, trusted);
    }

    #[test]
    fn any_pieces_of_files_are_read_or_refused(
        pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..40),
        trusted: bool,
    ) {
        holds(pieces.concat().into_bytes(), trusted);
    }

    #[test]
    fn any_damage_to_a_good_file_is_read_or_refused(
        at: prop::sample::Index,
        cut in 0_usize..40,
        put in ".{0,8}",
        trusted: bool,
    ) {
        let chars: Vec<char> = example().chars().collect();
        let at = at.index(chars.len());
        let mut damaged: String = chars.iter().take(at).collect();
        damaged.push_str(&put);
        damaged.extend(chars.iter().skip(at + cut));
        holds(damaged.into_bytes(), trusted);
    }
}

#[test]
fn deep_nesting_is_refused_and_not_followed() {
    for (open, close) in [("[", "]"), ("{a=", "}"), ("a.", "b=1")] {
        let deep = format!("x = {}{}", open.repeat(100_000), close.repeat(100_000));
        holds(deep.into_bytes(), false);
        holds(open.repeat(300_000).into_bytes(), false);
    }
}

#[test]
fn a_large_file_is_read_in_reasonable_time() {
    let rules =
        "[[tools.rules]]\ntool = \"a\"\naction = \"deny\"\nwrites = [\"a/b\"]\n".repeat(3_000);
    holds(rules.into_bytes(), false);
    let list = format!("tools.approval.denylist = [{}]\n", "\"a\",".repeat(200_000));
    holds(list.into_bytes(), false);
}

#[test]
fn a_hostile_file_cannot_demand_endless_work() {
    let expression = "{ param = 'a', operator = 'matches', value = '(\\w{50}){50}' }";
    let rule = format!("[[tools.rules]]\ntool = '*'\naction = 'deny'\nwhen = [{expression}]\n");
    let schema = "{ type = 'object', properties = { a = { pattern = '(\\w{50}){50}' } } }";
    let definition = format!("name = 'x'\ndescription = 'y'\nparameters = {schema}\n");
    for text in [
        rule.repeat(8_000),
        format!("[[tools.definitions]]\n{definition}").repeat(8_000),
        "unknown_key_of_some_length_that_is_near_to_nothing = 1\n[a]\n".repeat(15_000),
        (0..20_000)
            .map(|n| format!("unknown_key_of_some_length_{n} = 1\n"))
            .collect(),
        (0..20_000)
            .map(|n| format!("[presets.p{n}]\nmodel = 'x'\n"))
            .collect(),
    ] {
        holds(text.into_bytes(), false);
    }
}
