//! The state of a shell: every value that a command may see counts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use support::judged_rows;

#[test]
fn values_are_exact_only_where_every_way_agrees() {
    judged_rows("state.jsonl");
}
