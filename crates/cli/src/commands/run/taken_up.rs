//! A conversation that is taken up again, from its record.

use std::path::Path;

use toolgate_engine::History;
use toolgate_gate::journal::{Body, Filter, FullJournal, JournalError, Line, ReadJournal};
use toolgate_gate::session::Session;
use toolgate_model::ConversationId;

use crate::app::App;
use crate::args::Common;
use crate::clean::{Clean, say};
use crate::cut_off::{CutOff, Settled};
use crate::failure::CliError;
use crate::out::Out;

/// Takes the conversation for this process and reads it back. Whoever goes on after a crash
/// says first what becomes of the calls that it cut off.
pub(super) async fn take_up(
    common: &Common,
    app: &App,
    session: &Session,
    supplies: bool,
    out: &Out,
) -> Result<History, CliError> {
    let journal = &**app.record.durable()?;
    // Before anything is noted about it: a mistyped name leaves no trace.
    if !is_there(journal, session.id()).await.map_err(told)? {
        return Err(nothing_of(session.id()));
    }
    app.record
        .mend(app.gate.sandbox(), &app.workspace, out)
        .await;
    app.record.go_on(session, &app.workspace).await?;
    let cut_off = CutOff::look(journal, session.id()).await.map_err(told)?;
    if cut_off.waits_for_results() && !supplies {
        return Err(wanted(common, session.id(), &cut_off));
    }
    if cut_off.turn().is_some() {
        let chosen = if cut_off.is_undecided() {
            let chosen = cut_off.ask().await;
            Some(chosen.ok_or_else(|| undecided(common, session.id(), &cut_off))?)
        } else {
            out.remark("the last turn was cut off; the model is told what there is of it");
            None
        };
        let settled = cut_off.settle(journal, app.gate.sandbox(), chosen).await;
        let settled = settled.map_err(told)?;
        for line in settled.iter().flat_map(Settled::lines) {
            out.remark(line);
        }
        if let Some(told) = cut_off.given_up(chosen) {
            out.remark(&told);
        }
    }
    let history = read(journal, session.id()).await.map_err(told)?;
    if history.is_empty() {
        return Err(nothing_of(session.id()));
    }
    Ok(history)
}

fn told(error: JournalError) -> CliError {
    CliError::internal(error.message)
}

fn nothing_of(id: &ConversationId) -> CliError {
    CliError::usage(format!(
        "no turn is on record of {:?}; `toolgate journal list` shows what is",
        id.as_str()
    ))
}

/// Whether anything is on record of the conversation.
async fn is_there(journal: &dyn FullJournal, id: &ConversationId) -> Result<bool, JournalError> {
    let first = Filter {
        most: Some(1),
        ..Filter::of(id)
    };
    Ok(!journal.entries(first).await?.is_empty())
}

async fn read(journal: &dyn FullJournal, id: &ConversationId) -> Result<History, JournalError> {
    let mut history = History::default();
    let reader: &dyn ReadJournal = journal;
    let each = |line: Line| {
        let record = match line.body {
            Body::Kept(record) => Some(*record),
            Body::Pruned | Body::Unreadable(_) => None,
        };
        history.take(&line.kind, record);
        true
    };
    reader.each(Filter::of(id), each).await?;
    Ok(history)
}

/// What to type where nobody can be asked.
fn undecided(common: &Common, id: &ConversationId, cut_off: &CutOff) -> CliError {
    let command = typed_before(common);
    let command = say!("{} resume {}", command, typed(id.as_str()));
    CliError::nobody(say!(
        "the last turn was cut off before its calls had their results:\n{}\nnothing is run again; say what becomes of them, then go on:\n  {} --keep     resumes with what there is\n  {} --discard  gives the calls up",
        listed(cut_off),
        command,
        command
    ))
}

/// What to type where the person has something to answer first.
fn wanted(common: &Common, id: &ConversationId, cut_off: &CutOff) -> CliError {
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

fn listed(cut_off: &CutOff) -> Clean {
    let calls = cut_off.pictured();
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
    let shown = toolgate_gate::output::approval_text(word);
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
