//! How a conversation was held before: who goes on with it says only what is to be different.

use toolgate_gate::journal::{Body, Filter, Line, Record};

use crate::args::{Common, RunArgs};
use crate::asked::Source;
use crate::configured;
use crate::failure::CliError;
use crate::home::Home;
use crate::kept::{Kept, nothing_of};

/// The options of a run, with what they leave out taken from the conversation's last turn:
/// workspace, provider, model and preset.
pub(super) async fn go_on(common: &Common, args: &RunArgs) -> Result<(Common, RunArgs), CliError> {
    let (common, mut args) = (common.clone(), args.clone());
    let Some(id) = &args.conversation else {
        return Ok((common, args));
    };
    let kept = match Kept::look(&common, id).await {
        Ok(Some(kept)) => kept,
        // What is not on record is told where it is taken up, unless its record would have said
        // who is asked.
        _ if args.script.is_some() || args.asked.provider.is_some() => {
            return Ok((common, args));
        }
        Ok(None) => return Err(CliError::usage(nothing_of(id))),
        Err(failure) => return Err(failure),
    };
    let common = Common {
        // It is found again where it was found, and commands that are told stay short.
        journal: common.journal.clone(),
        ..kept.common(&common)?
    };
    let Some(last) = LastTurn::of(&kept).await? else {
        return Ok((common, args));
    };
    let config =
        configured::configuration(&common, &Home::find()?, &configured::workspace(&common)?)?;
    if args.script.is_none() && args.asked.provider.is_none() {
        args.asked.provider =
            Some(last.provider.clone()).filter(|name| Source::is_known(&config, name));
    }
    if args.preset.is_none() {
        args.preset = last.preset;
        if args.asked.model.is_none() && args.asked.provider == Some(last.provider) {
            args.asked.model = Some(last.model);
        }
    }
    Ok((common, args))
}

struct LastTurn {
    provider: String,
    model: String,
    preset: Option<String>,
}

impl LastTurn {
    async fn of(kept: &Kept) -> Result<Option<Self>, CliError> {
        let filter = Filter {
            kind: Some("turn_started".to_owned()),
            ..Filter::of(&kept.conversation.id)
        };
        let mut last = None;
        let each = |line: Line| {
            if let Body::Kept(record) = line.body
                && let Record::TurnStarted {
                    provider,
                    model,
                    preset,
                    ..
                } = *record
            {
                last = Some(Self {
                    provider,
                    model,
                    preset,
                });
            }
            true
        };
        let walked = kept.reader.each(filter, each).await;
        walked.map_err(|error| CliError::internal(error.message))?;
        Ok(last)
    }
}
