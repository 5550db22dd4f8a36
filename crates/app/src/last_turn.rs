//! How the last turn of a conversation was held: the next one leaves out what stays the same.

use toolgate_gate::journal::{Body, Filter, Line, ReadJournal, Record};
use toolgate_model::ConversationId;

use crate::error::AppError;

/// The provider, model and preset of a turn.
pub(crate) struct LastTurn {
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) preset: Option<String>,
}

impl LastTurn {
    /// The number of the last turn that the journal has; 0 if it has none.
    pub(crate) async fn number(
        reader: &dyn ReadJournal,
        id: &ConversationId,
    ) -> Result<u64, AppError> {
        let filter = Filter {
            kind: Some("turn_started".to_owned()),
            ..Filter::of(id)
        };
        let mut last = 0;
        let each = |line: Line| {
            if let Body::Kept(record) = line.body
                && let Record::TurnStarted { turn, .. } = *record
            {
                last = turn;
            }
            true
        };
        reader.each(filter, each).await?;
        Ok(last)
    }

    /// The last turn that the journal has.
    pub(crate) async fn of(
        reader: &dyn ReadJournal,
        id: &ConversationId,
    ) -> Result<Option<Self>, AppError> {
        let filter = Filter {
            kind: Some("turn_started".to_owned()),
            ..Filter::of(id)
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
        reader.each(filter, each).await?;
        Ok(last)
    }
}
