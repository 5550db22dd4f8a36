//! `toolgate journal show`: what happened in a conversation.

use serde_json::{Value, json};
use toolgate_app::App;
use toolgate_app::journal::{Filter, Lasting, ShownEntry};
use toolgate_app::text::whole_value;
use toolgate_app::time::shown;

use crate::clean::style::{BOLD, CYAN, DIM, GREEN, RED, YELLOW};
use crate::clean::{Clean, Style, say};
use crate::failure::{CliError, nothing_of};
use crate::out::Out;

/// So many lines of a result are shown where not everything is wanted.
const MOST_LINES: usize = 20;

pub(super) async fn show(app: &App, filter: Filter, full: bool, out: &Out) -> Result<u8, CliError> {
    let id = filter.conversation.clone().unwrap_or_else(|| "".into());
    // Whoever asks for entries of a kind wants them as they are.
    let full = full || filter.kind.is_some();
    let mut stopped = None;
    let mut reader = Reader::default();
    let each = |entry: ShownEntry| {
        let written = if out.json {
            out.json_line(&line(&entry))
        } else if full {
            out.text(whole(&entry))
        } else {
            reader.read(&entry).map_or(Ok(()), |text| out.text(text))
        };
        stopped = written.err();
        stopped.is_none()
    };
    let count = app.show_journal(filter, each).await?;
    match (stopped, count) {
        (Some(failure), _) => Err(failure),
        (None, 0) => Err(CliError::internal(nothing_of(&id))),
        (None, _) => {
            if reader.cut {
                out.remark(say!(
                    "Parts of results are left out; `toolgate journal show {} --full` shows them.",
                    &id
                ));
            }
            Ok(0)
        }
    }
}

fn line(ShownEntry { line, body }: &ShownEntry) -> Value {
    json!({
        "conversation": line.conversation,
        "seq": line.seq,
        "kind": line.kind,
        "call": line.call,
        "nth": line.nth,
        "at_ms": line.at_ms,
        "hash": line.hash,
        "body": body,
    })
}

/// An entry with all that it says below.
fn whole(ShownEntry { line, body }: &ShownEntry) -> Clean {
    let mut pictured = say!(
        "{}  {}  {}",
        DIM.on(say!("{:>5}  {}", line.seq, shown(line.at_ms))),
        BOLD.on(&line.kind),
        line.call
    );
    for text in whole_value(body).lines() {
        pictured.push(say!("\n       {}", DIM.on(Clean::lines(text))));
    }
    pictured
}

/// Reads entries as a user does.
#[derive(Default)]
struct Reader {
    /// Whether something was left out.
    cut: bool,
}

impl Reader {
    /// An entry in a few lines; nothing where another entry says the same.
    fn read(&mut self, entry: &ShownEntry) -> Option<Clean> {
        let ShownEntry { line, body } = entry;
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
        let head = |what: Clean| say!("{}  {}", DIM.on(shown(line.at_ms)), what);
        Some(match line.kind.as_str() {
            _ if body.get("pruned").is_some() || body.get("unreadable").is_some() => head(say!(
                "{} {}  {}",
                &line.kind,
                line.call,
                DIM.on("(its content is gone)")
            )),
            "turn_started" => head(say!(
                "{}",
                DIM.on(say!(
                    "turn {}: {} of {}",
                    number(body, "/turn"),
                    text("/model"),
                    text("/provider")
                ))
            )),
            "user_message" => say!(
                "{}{}",
                head(CYAN.on("you")),
                indented(text("/text").unwrap_or_default(), "    ")
            ),
            "assistant_message" => self.answer(body, head(CYAN.on("model"))),
            // The plan says it again, and the whole answer says what was streamed.
            "received" | "streamed" => return None,
            "planned" => planned(body, head(BOLD.on(&line.call))),
            "asked" => asked(body, head(say!("{}  asks the user", &line.call))),
            "revoked" => {
                let mut shown = head(say!("{} by {}", YELLOW.on("taken back"), text("/by")));
                shown.push(lasting(body.get("revoked")));
                shown
            }
            "answered" => {
                let (colour, word) = match body.get("approved").and_then(Value::as_bool) {
                    Some(true) => (GREEN, "approved"),
                    _ => (YELLOW, "denied"),
                };
                let reason = text("/reason").map(|reason| say!(": {}", reason));
                let mut shown = head(say!(
                    "{}  {} by {}, {}{}",
                    &line.call,
                    colour.on(word),
                    text("/by"),
                    text("/scope"),
                    reason
                ));
                let opened = body.get("opened").and_then(Value::as_array);
                for opened in opened.into_iter().flatten().filter_map(Value::as_str) {
                    shown.push(say!("\n    opens {}", opened));
                }
                shown.push(lasting(body.get("lasting")));
                shown
            }
            "started" => return None,
            "intended" => {
                let files = body.get("files").and_then(Value::as_array);
                let paths = files.into_iter().flatten();
                let paths = paths.filter_map(|file| file.get("path")?.as_str());
                let paths: Vec<Clean> = paths.map(Clean::line).collect();
                head(say!("{}  changes {}", &line.call, Clean::join(paths, ", ")))
            }
            "finished" => self.finished(body, head(BOLD.on(&line.call))),
            "turn_finished" => {
                let error = text("/error").map(|error| say!(": {}", error));
                head(DIM.on(say!(
                    "turn {} {}{}",
                    number(body, "/turn"),
                    text("/outcome"),
                    error
                )))
            }
            _ => whole(entry),
        })
    }

    fn answer(&mut self, body: &Value, head: Clean) -> Clean {
        let mut shown = head;
        if body.get("stop").and_then(Value::as_str) == Some("withdrawn") {
            shown.push(say!(
                "  {}",
                YELLOW.on("(broke off and was asked for again)")
            ));
        }
        for part in body
            .get("content")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let text = part.get("text").and_then(Value::as_str).unwrap_or_default();
            match part.get("type").and_then(Value::as_str) {
                Some("thinking") => shown.push(painted(text, "    │ ", DIM)),
                Some("text") => shown.push(indented(text, "    ")),
                _ => {}
            }
        }
        if let Some(usage) = body.get("usage") {
            let (read, wrote) = (
                number(usage, "/input_tokens"),
                number(usage, "/output_tokens"),
            );
            shown.push(say!(
                "\n    {}",
                DIM.on(say!("{} tokens in, {} out", read, wrote))
            ));
        }
        shown
    }

    fn finished(&mut self, body: &Value, head: Clean) -> Clean {
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
        let status = text("/result/status").unwrap_or_default();
        let colour = match status {
            "ok" => GREEN,
            "error" => RED,
            _ => YELLOW,
        };
        let mut shown = say!(
            "{}  {}  {}",
            head,
            colour.on(status),
            DIM.on(say!("{} ms", number(body, "/result/duration_ms")))
        );
        let content = text("/result/content").unwrap_or_default();
        let lines: Vec<&str> = content.lines().collect();
        let kept = lines.get(..MOST_LINES).unwrap_or(&lines);
        shown.push(painted(&kept.join("\n"), "    ", DIM));
        if let Some(more) = lines.len().checked_sub(MOST_LINES).filter(|more| *more > 0) {
            self.cut = true;
            shown.push(say!("\n    {}", DIM.on(say!("… {} more lines", more))));
        }
        shown
    }
}

/// What the user was told about a call beside the plan: what it does and what the sandbox would
/// refuse of it. The question stands in the entry of its last call.
fn asked(body: &Value, head: Clean) -> Clean {
    let items = body.pointer("/question/items").and_then(Value::as_array);
    let mut shown = head;
    for item in items.into_iter().flatten() {
        let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
        let mut words = Vec::new();
        for (key, before) in [("effects", ""), ("would_fail", "the sandbox refuses: ")] {
            let all = item.get(key).and_then(Value::as_array);
            let all = all.into_iter().flatten().filter_map(Value::as_str);
            words.extend(all.map(|one| say!("{}{}", before, one)));
        }
        for one in words {
            shown.push(say!(
                "\n    {}: {} risk, {}",
                text("call_id"),
                text("risk"),
                one
            ));
        }
    }
    shown
}

/// What holds until the conversation ends, a line each.
fn lasting(lasting: Option<&Value>) -> Clean {
    let lasting = lasting.cloned().unwrap_or_default();
    let lasting: Lasting = serde_json::from_value(lasting).unwrap_or_default();
    let grants = lasting.grants.iter();
    let grants = grants.map(|grant| say!("\n    {}  {}", &grant.id, grant.describe()));
    let opened = lasting.opened.in_words().into_iter();
    let opened = opened.map(|opened| say!("\n    {} for this conversation", opened));
    Clean::join(grants.chain(opened), "")
}

/// What a call would do, all of it.
fn planned(body: &Value, head: Clean) -> Clean {
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
    let action = text("/plan/decision/action").unwrap_or_default();
    let colour = match action {
        "allow" => GREEN,
        "ask" => YELLOW,
        _ => RED,
    };
    let mut shown = say!(
        "{}  {}  {}",
        head,
        text("/plan/tool"),
        BOLD.on(text("/plan/summary"))
    );
    if let Some(args) = body.pointer("/plan/call/args") {
        shown.push(indented(&whole_value(args), "    "));
    }
    if let Some(reason) = text("/plan/call/reason") {
        shown.push(say!("\n    the model says: {}", reason));
    }
    shown.push(say!(
        "\n    {}  {}",
        colour.on(action),
        DIM.on(text("/plan/decision/reason"))
    ));
    shown
}

fn number(body: &Value, pointer: &str) -> u64 {
    let number = body.pointer(pointer).and_then(Value::as_u64);
    number.unwrap_or_default()
}

fn indented(text: &str, margin: &'static str) -> Clean {
    let lines = text.trim_end().lines();
    let lines = lines.map(|line| say!("\n{}{}", margin, Clean::lines(line)));
    Clean::join(lines, "")
}

fn painted(text: &str, margin: &'static str, style: Style) -> Clean {
    let lines = text.trim_end().lines();
    let lines = lines.map(|line| say!("\n{}", style.on(say!("{}{}", margin, Clean::lines(line)))));
    Clean::join(lines, "")
}
