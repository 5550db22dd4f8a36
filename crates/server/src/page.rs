//! The page: files that are part of the program.

use std::sync::Arc;

use axum::Router;

use crate::state::State;

pub(crate) fn router() -> Router<Arc<State>> {
    Router::new()
}
