//! Every mistake is shown with its place. `data/mistakes/NAME.toml` is a file with
//! mistakes and `NAME.txt` what a person is shown; `UPDATE_EXPECTED=1` writes the latter anew.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use support::{Texts, profiles, source, workspace};
use toolgate_config::{ConfigError, Effective, SettingErrorKind, SettingErrors, Sources};

fn corpus() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/mistakes");
    let mut files: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    files.sort();
    files
}

fn mistakes_of(text: &str) -> SettingErrors {
    let sources = Sources {
        workspace: workspace(),
        user: Some(source("toolgate.toml", text)),
        profiles: Some(profiles()),
        ..Sources::default()
    };
    match Effective::load(&sources) {
        Err(ConfigError::SettingErrors(mistakes)) => mistakes,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("no mistake was found in {text:?}"),
    }
}

#[test]
fn every_mistake_of_the_corpus_is_drawn_as_expected() {
    let update = std::env::var_os("UPDATE_EXPECTED").is_some();
    let mut differences = String::new();
    let corpus = corpus();
    assert!(corpus.len() >= 80, "{}", corpus.len());
    for file in corpus {
        let drawn = mistakes_of(&fs::read_to_string(&file).unwrap()).to_string();
        let expected = file.with_extension("txt");
        if update {
            fs::write(&expected, &drawn).unwrap();
        } else if fs::read_to_string(&expected).unwrap_or_default() != drawn {
            writeln!(differences, "--- {}\n{drawn}", expected.display()).unwrap();
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

#[test]
fn nothing_that_a_terminal_would_obey_reaches_a_picture() {
    for file in corpus() {
        let drawn = mistakes_of(&fs::read_to_string(&file).unwrap()).to_string();
        let odd = drawn
            .chars()
            .find(|c| c.is_control() && *c != '\n' || matches!(c, '\u{202a}'..='\u{202e}'));
        assert_eq!(odd, None, "{}", file.display());
    }
}

#[test]
fn carets_stand_under_what_they_mean() {
    for file in corpus() {
        let mistakes = mistakes_of(&fs::read_to_string(&file).unwrap());
        for mistake in mistakes.all() {
            let picture = mistake.picture(false);
            let lines: Vec<&str> = picture.lines().collect();
            let at = lines
                .iter()
                .position(|line| line.trim_end().ends_with('^'))
                .expect("a caret");
            let text = lines.get(at - 1).unwrap();
            let bar = |line: &str| line.find('|').unwrap();
            assert_eq!(bar(text), bar(lines.get(at).unwrap()), "{picture}");
            assert!(
                picture.lines().all(|line| line.trim_end() == line),
                "{picture:?}"
            );
        }
    }
}

#[test]
fn colours_are_there_only_if_asked_for_and_change_nothing_else() {
    let mistakes = mistakes_of("[tools]\nmode = 3\n");
    let plain = mistakes.pictures(false);
    let coloured = mistakes.pictures(true);
    assert!(!plain.contains('\u{1b}'));
    assert!(coloured.contains("\u{1b}[1;31m"));
    let mut stripped = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        stripped.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    stripped.push_str(rest);
    assert_eq!(stripped, plain);
}

#[test]
fn mistakes_of_all_files_are_reported_together_in_the_order_of_the_layers() {
    let texts = Texts {
        user: "[tools]\nmode = 1\n",
        project: "[tools]\nmoed = 1\n",
        config: "[tools\n",
        ..Texts::default()
    };
    let Err(ConfigError::SettingErrors(mistakes)) = texts.load() else {
        panic!("no mistakes")
    };
    let files: Vec<&str> = mistakes
        .all()
        .iter()
        .map(|mistake| mistake.file())
        .collect();
    assert_eq!(files, ["user.toml", "toolgate.toml", "config.toml"]);
    assert!(matches!(
        mistakes.all().first().unwrap().fault,
        SettingErrorKind::WrongType { .. }
    ));
    assert_eq!(mistakes.all().first().unwrap().place(), (2, 8));
}

#[test]
fn a_thousand_mistakes_are_counted_and_the_first_are_drawn() {
    let text: String = (0..400).map(|n| format!("unknown_{n} = 1\n")).collect();
    let mistakes = mistakes_of(&text);
    assert_eq!(mistakes.all().len(), 400);
    let drawn = mistakes.to_string();
    assert!(
        drawn.contains("and 350 more")
            && drawn.ends_with("400 mistakes in the configuration; nothing was run\n")
    );
    assert!(mistakes_of(&"= = =\n".repeat(20_000)).all().len() <= 1000);
}

#[test]
fn a_profile_is_looked_for_in_every_file_and_only_where_they_are_known() {
    let layers = |wrong: &'static str| {
        let empty = Texts::default();
        [
            Texts {
                user: wrong,
                ..empty.clone()
            },
            Texts {
                project: wrong,
                ..empty.clone()
            },
            Texts {
                config: wrong,
                ..empty
            },
        ]
    };
    for texts in layers("[tools]\nprofile = \"clasic\"\n") {
        assert!(texts.load().is_ok(), "{texts:?}");
        let known = Sources {
            profiles: Some(profiles()),
            ..texts.sources()
        };
        let drawn = Effective::load(&known).unwrap_err().to_string();
        assert!(drawn.contains("did you mean `classic`?"), "{drawn}");
        assert!(drawn.contains(".toml:2:11"), "{drawn}");
    }
    for texts in layers("[presets.a]\nprofile = \"classic\"\n") {
        let known = Sources {
            profiles: Some(profiles()),
            ..texts.sources()
        };
        assert!(Effective::load(&known).is_ok(), "{texts:?}");
    }
}
