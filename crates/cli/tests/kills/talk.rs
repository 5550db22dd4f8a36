//! What the scripted model does: two hundred calls whose effects can be counted.

use serde_json::{Value, json};

/// So many batches of [`BATCH`] calls.
pub(crate) const BATCHES: u64 = 25;
pub(crate) const BATCH: u64 = 8;

/// The files that calls insert lines into, before this line.
pub(crate) const END: &str = "== end ==";
pub(crate) const LOG: &str = "log.txt";
pub(crate) const EDITED: &str = "edited.txt";
pub(crate) const PATCHED: [&str; 2] = ["left.txt", "right.txt"];
/// The directory of files that calls make.
pub(crate) const MADE: &str = "made";

/// What a call does to the workspace, so that doing it twice shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    None,
    /// A line in the log, appended by a command.
    Logged,
    /// A line in one file.
    Edited,
    /// A line in both files of a patch.
    Patched,
    /// A file of its own.
    Made,
}

/// The call of this place in a batch.
fn nth(place: u64) -> (&'static str, Effect) {
    match place {
        0 | 2 | 3 => ("read_file", Effect::None),
        1 => ("edit_file", Effect::Edited),
        4 => ("apply_patch", Effect::Patched),
        5 => ("write_file", Effect::Made),
        _ => ("run_command", Effect::Logged),
    }
}

/// What the call of this id does.
pub(crate) fn effect(id: &str) -> Effect {
    let place = id.rsplit('c').next().unwrap().parse().unwrap();
    nth(place).1
}

fn arguments(place: u64, id: &str) -> Value {
    match (nth(place).0, place) {
        ("read_file", 0) => json!({"path": EDITED}),
        ("read_file", 2) => json!({"path": PATCHED[0]}),
        ("read_file", _) => json!({"path": PATCHED[1]}),
        ("edit_file", _) => {
            json!({"path": EDITED, "edits": [{"target": END, "replacement": format!("{id}\n{END}")}]})
        }
        ("apply_patch", _) => {
            let change = |name| format!("F {name}\nR\n{END}\n.\n{id}\n{END}\n.\n");
            json!({"patch": format!("LP1\n{}END\n", PATCHED.map(change).concat())})
        }
        ("write_file", _) => json!({"path": format!("{MADE}/{id}"), "content": id}),
        _ => json!({"command": format!("echo {id} >> {LOG}")}),
    }
}

/// A script of so many batches, then a last word. Ids begin with the name of the round.
pub(crate) fn script(round: u64, batches: u64) -> String {
    let mut text = String::new();
    for batch in 0..batches {
        text.push_str(&format!("[[steps]]\ntext = \"Batch {batch}.\"\n"));
        for place in 0..BATCH {
            let id = format!("r{round}b{batch}c{place}");
            let args = Value::String(arguments(place, &id).to_string());
            // What JSON writes as a string reads the same in TOML.
            text.push_str(&format!(
                "[[steps.calls]]\nid = \"{id}\"\nname = \"{}\"\nargs_json = {args}\n",
                nth(place).0
            ));
        }
    }
    text.push_str("[[steps]]\ntext = \"All done.\"\n");
    text
}
