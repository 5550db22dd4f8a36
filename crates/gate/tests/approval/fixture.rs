//! Gates and calls that several topics share.

use serde_json::json;
use toolgate_model::Call;
use toolgate_testkit::{Bench, Rig, Scripted, call};

pub(crate) fn writes() -> Bench {
    Rig::new()
        .tool(Scripted::new("write").side_effects())
        .tool(Scripted::new("read"))
        .build()
}

pub(crate) fn write(id: &str) -> Call {
    call(id, "write", json!({}))
}
