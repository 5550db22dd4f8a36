//! A conversation that goes on after a crash, for the user on the terminal.

use std::path::Path;

use toolgate_app::Conversation;
use toolgate_app::interrupted::Interrupted;
use toolgate_app::text::approval_text;
use toolgate_model::ConversationId;

use crate::args::Common;
use crate::clean::{Clean, say};
use crate::failure::CliError;
use crate::interrupted;
use crate::out::Out;

/// Takes the conversation for this process. After a crash the user says first what becomes of the
/// calls that it interrupted.
pub(super) async fn take_up(
    common: &Common,
    conversation: &Conversation,
    supplies: bool,
    out: &Out,
) -> Result<(), CliError> {
    let id = conversation.id();
    let cut_off = conversation.interrupted().await?;
    if cut_off.waits_for_results() && !supplies {
        return Err(wanted(common, id, &cut_off));
    }
    if cut_off.turn().is_none() {
        return Ok(());
    }
    let chosen = if cut_off.is_undecided() {
        let chosen = interrupted::ask(&cut_off).await;
        Some(chosen.ok_or_else(|| undecided(common, id, &cut_off))?)
    } else {
        out.remark("the last turn was cut off; the model is told what there is of it");
        None
    };
    let settled = conversation.resume(&cut_off, chosen).await?;
    for line in settled.iter().flat_map(interrupted::lines) {
        out.remark(line);
    }
    if let Some(told) = interrupted::given_up(id, &cut_off, chosen) {
        out.remark(&told);
    }
    Ok(())
}

/// What to type without a terminal.
fn undecided(common: &Common, id: &ConversationId, cut_off: &Interrupted) -> CliError {
    let command = typed_before(common);
    let command = say!("{} resume {}", command, typed(id.as_str()));
    CliError::nobody(say!(
        "the last turn was cut off before its calls had their results:\n{}\nnothing is run again; say what becomes of them, then go on:\n  {} --keep     resumes with what there is\n  {} --discard  gives the calls up",
        listed(cut_off),
        command,
        command
    ))
}

/// What to type where the user has something to answer first.
fn wanted(common: &Common, id: &ConversationId, cut_off: &Interrupted) -> CliError {
    let (command, id) = (typed_before(common), typed(id.as_str()));
    CliError::usage(say!(
        "calls of the last turn wait for results of yours:\n{}\nsupply them, or give the calls up:\n  {} run --conversation {} --results FILE\n  {} resume {} --discard",
        listed(cut_off),
        command,
        id,
        command,
        id
    ))
}

fn listed(cut_off: &Interrupted) -> Clean {
    let calls = interrupted::pictured(cut_off);
    let calls = calls.iter().map(|line| say!("  {}", line.plain()));
    Clean::join(calls, "\n")
}

/// The program with the files that were named.
fn typed_before(common: &Common) -> String {
    let mut command = String::from("toolgate");
    let files = [("--journal", &common.journal), ("--config", &common.config)];
    for (option, file) in files {
        if let Some(file) = file {
            command.push_str(&format!(" {option} {}", typed(&whole(file))));
        }
    }
    command
}

/// The file's name from wherever the command is typed.
fn whole(file: &Path) -> String {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
    file.display().to_string()
}

/// A word as a shell takes it.
fn typed(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    // A terminal does not obey what stands in a name, and no line is broken by it.
    let shown = approval_text(word);
    format!("'{}'", shown.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::typed;

    #[test]
    fn a_word_reaches_the_command_as_it_is() {
        for (word, shown) in [
            ("run_0a", "run_0a"),
            ("/a/b-c.db", "/a/b-c.db"),
            ("two words", "'two words'"),
            ("it's", r"'it'\''s'"),
            ("$(x)", "'$(x)'"),
            ("", "''"),
        ] {
            assert_eq!(typed(word), shown);
        }
    }
}
