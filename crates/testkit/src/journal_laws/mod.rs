//! The laws of a journal, for any implementation.
//!
//! ```text
//! a function   ──▶ Store ──open──▶ Arc<dyn FullJournal>   a holder, as a process is one
//!                    └────open──▶ Arc<dyn FullJournal>   another one, on the same entries
//! ```
//!
//! An implementation says how a store is made and opened, and [`journal_laws!`](macro@crate::journal_laws)
//! makes a test of each law. The laws are written down in `toolgate_gate::journal`.
//!
//! ```
//! use std::sync::Arc;
//! use toolgate_gate::journal::FullJournal;
//! use toolgate_journal::MemoryJournal;
//! use toolgate_testkit::journal_laws::{self, Store};
//!
//! struct InMemory(MemoryJournal);
//!
//! impl Store for InMemory {
//!     fn open(&self) -> Arc<dyn FullJournal> {
//!         Arc::new(self.0.another())
//!     }
//! }
//!
//! let store = InMemory(MemoryJournal::new());
//! journal_laws::a_batch_is_written_whole_and_in_order(&store);
//! ```

// A law fails by panicking, like any test.
#![allow(clippy::indexing_slicing)]

mod errors;
mod model;
mod parts;
mod recovering;
mod writing;

use std::sync::Arc;

use toolgate_gate::journal::FullJournal;

pub use errors::{
    a_batch_that_is_offered_again_is_written_once, a_key_with_other_entries_is_rejected,
    a_lost_answer_is_unknown_and_offered_again, an_entry_that_cannot_follow_is_rejected,
    conversations_share_no_fate,
};
pub use model::any_sequence_agrees_with_the_model;
pub use recovering::{
    a_conversation_is_held_by_one_and_named_to_others, a_cut_off_call_gets_its_one_result,
    a_half_made_change_is_brought_to_an_end, pruning_keeps_the_chain_and_what_open_calls_need,
};
pub use writing::{
    a_batch_is_written_whole_and_in_order, a_closed_store_has_everything_when_it_is_opened_again,
    batches_offered_at_once_have_no_gaps, reading_can_be_narrowed_and_paged,
    results_with_blocks_are_read_back_identically,
};

/// Where entries are kept, empty when it is made.
pub trait Store {
    /// A new holder of the same entries, as another process would be. One that is dropped has
    /// given its conversations back.
    fn open(&self) -> Arc<dyn FullJournal>;

    /// A holder that loses the answer to its next commit: it is written, or it is not, as
    /// `written` says, and whoever asked is not told. Nothing where that cannot be arranged.
    fn losing_an_answer(&self, written: bool) -> Option<Arc<dyn FullJournal>> {
        let _ = written;
        None
    }
}

/// Makes a test of each law from a function that makes an empty [`Store`].
///
/// ```text
/// toolgate_testkit::journal_laws!(InMemory::new);
/// ```
#[macro_export]
macro_rules! journal_laws {
    ($make:expr) => {
        $crate::journal_laws!(@each $make,
            a_batch_is_written_whole_and_in_order,
            batches_offered_at_once_have_no_gaps,
            a_closed_store_has_everything_when_it_is_opened_again,
            reading_can_be_narrowed_and_paged,
            results_with_blocks_are_read_back_identically,
            an_entry_that_cannot_follow_is_rejected,
            conversations_share_no_fate,
            a_batch_that_is_offered_again_is_written_once,
            a_key_with_other_entries_is_rejected,
            a_lost_answer_is_unknown_and_offered_again,
            a_conversation_is_held_by_one_and_named_to_others,
            a_cut_off_call_gets_its_one_result,
            a_half_made_change_is_brought_to_an_end,
            pruning_keeps_the_chain_and_what_open_calls_need,
        );

        #[test]
        fn any_sequence_agrees_with_the_model() {
            $crate::journal_laws::any_sequence_agrees_with_the_model(&$make);
        }
    };
    (@each $make:expr, $($law:ident,)*) => {
        $(
            #[test]
            fn $law() {
                $crate::journal_laws::$law(&$make());
            }
        )*
    };
}
