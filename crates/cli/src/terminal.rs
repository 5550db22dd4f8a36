//! Asking the person on the terminal itself, never on standard input.

use std::collections::BTreeSet;
use std::io;

use futures::future::BoxFuture;
use toolgate_app::approvals::{
    Answer, ApprovalItem, ApprovalRequest, Approver, Choice, Remember, Unanswered,
};
use toolgate_app::text::whole_args;
use toolgate_model::{CallId, Risk};

use crate::clean::style::{BOLD, DIM, GREEN, PLAIN, RED, YELLOW};
use crate::clean::{Clean, Style, say};
use crate::difference::coloured;
use crate::out::Out;
use crate::pages::{self, Line, Read};
use crate::tty::{self, Tty};

/// The person at the terminal this program was started from.
#[derive(Debug)]
pub(crate) struct Terminal;

impl Terminal {
    /// Whether somebody is there: there is a terminal and what is shown on it can be seen.
    pub(crate) fn is_there() -> bool {
        Out::stderr_is_seen() && Self::can_be_asked()
    }

    /// Whether there is a terminal at all, for a person who wants to be asked on it.
    pub(crate) fn can_be_asked() -> bool {
        tty::is_there()
    }
}

impl Approver for Terminal {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
    ) -> BoxFuture<'a, Result<Answer, Unanswered>> {
        let request = request.clone();
        Box::pin(async move {
            let asked = tty::ask(move |tty| converse(&request, tty)).await;
            asked.ok().flatten().ok_or(Unanswered::NobodyThere)
        })
    }
}

fn converse(request: &ApprovalRequest, tty: &mut Tty) -> io::Result<Option<Answer>> {
    let colours = crate::out::colours_wanted();
    let choices = choices(request);
    let (_, columns) = tty.size();
    let below = Line::of(PLAIN, &choices).rows(columns).len() + 1;
    let no = |line: &str| is_no(line) || line.trim().eq_ignore_ascii_case("q");
    let mut lines = question(request);
    if tty.follows_expired() {
        lines.insert(1, Line::of(YELLOW, EXPIRED));
    }
    let read = pages::read(
        tty,
        &lines,
        (below, colours),
        "[n]o, or n with words for the model",
        no,
    )?;
    if let Read::Stopped(line) = read {
        let answer = line.and_then(|line| understand(&line, request));
        return gone_or(answer.unwrap_or_else(|| Answer::no().by("terminal")), tty);
    }
    // A yes to something that only looked like a question is no yes to this one, so the choices
    // appear after the call, and nothing that was typed before them counts.
    if !tty.settle()? {
        return gone_or(Answer::no().by("terminal"), tty);
    }
    loop {
        tty.show(&choices)?;
        let Some(line) = tty.line()? else {
            return gone_or(Answer::no().by("terminal"), tty);
        };
        if let Some(answer) = understand(&line, request) {
            return Ok(Some(answer));
        }
        match line.trim() {
            "w" | "W" => {
                let back = |line: &str| line.trim().eq_ignore_ascii_case("q");
                pages::read(tty, &all(request), (below, colours), "[q] back", back)?;
                continue;
            }
            "?" => {}
            _ => tty.show("Not understood. ")?,
        }
        tty.show(HELP)?;
    }
}

/// An answer after which the cursor stands in a line of its own. Who ends the input says no; a
/// terminal that is gone cannot be written to.
fn gone_or(answer: Answer, tty: &mut Tty) -> io::Result<Option<Answer>> {
    tty.show("\n")?;
    Ok(Some(answer))
}

/// Whether a line says no, with or without words.
fn is_no(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    ["n", "no"].contains(&word.to_ascii_lowercase().as_str())
}

/// What can be answered.
fn choices(request: &ApprovalRequest) -> Clean {
    let open = if could_open(request) {
        "[o] yes, and open the directories  [oc] the same for this conversation  "
    } else {
        ""
    };
    let some = match request.items.len() {
        0 | 1 => "",
        2 => "[1] or [2] only this one  ",
        _ => "[1,3] only these  ",
    };
    let always = if could_remember(request) {
        "[c] yes for this conversation  [p] yes for this project  "
    } else {
        ""
    };
    let whole = if request.items.iter().any(|item| item.preview_cut) {
        "[w] show the whole call  "
    } else {
        ""
    };
    say!(
        "[y]es  [n]o, or n with words for the model  {}{}{}{}[?] help > ",
        some,
        whole,
        open,
        always
    )
}

/// Whether there is anything that a yes could be remembered as.
fn could_remember(request: &ApprovalRequest) -> bool {
    let mut items = request.items.iter();
    items.any(|item| !item.would_remember.is_empty())
}

const EXPIRED: &str = "The time for the question before this one is over; this is another one.";

/// What the answers mean.
const HELP: &str = "y runs it. n does not, and words after it go to the model: n use the other file. Numbers run these calls only: 1,3. c and p, where they are offered, also remember the yes. w shows every argument whole.\n";

fn could_open(request: &ApprovalRequest) -> bool {
    request.items.iter().any(|item| !item.could_open.is_empty())
}

/// What the person typed. An empty line is no answer: consent is not given by accident.
fn understand(line: &str, request: &ApprovalRequest) -> Option<Answer> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let by = |answer: Answer| answer.by("terminal");
    match word.to_ascii_lowercase().as_str() {
        "y" | "yes" => Some(by(Answer::yes())),
        "n" | "no" => {
            let answer = by(Answer::no());
            Some(if rest.trim().is_empty() {
                answer
            } else {
                answer.because(rest.trim())
            })
        }
        "o" if could_open(request) => Some(by(Answer::yes().opening())),
        "oc" if could_open(request) => {
            let answer = Answer::yes().opening().for_conversation();
            Some(by(answer.remember(Remember::Conversation)))
        }
        "c" if could_remember(request) => Some(by(Answer::yes().remember(Remember::Conversation))),
        "p" if could_remember(request) => Some(by(Answer::yes().remember(Remember::Project))),
        _ => {
            let mut chosen: BTreeSet<CallId> = BTreeSet::new();
            for number in line.split([',', ' ']).filter(|part| !part.is_empty()) {
                let index = number.parse::<usize>().ok()?.checked_sub(1)?;
                chosen.insert(request.items.get(index)?.call_id.clone());
            }
            (!chosen.is_empty()).then(|| {
                by(Answer {
                    choice: Choice::Only(chosen),
                    ..Answer::yes()
                })
            })
        }
    }
}

/// The question as the user sees it: a title for each call, and below it all of the call. No
/// line of a call can pass for one of the question's own.
fn question(request: &ApprovalRequest) -> Vec<Line> {
    let mut lines = vec![Line::default(), Line::of(BOLD, "Toolgate asks")];
    for (number, item) in (1_usize..).zip(&request.items) {
        lines.push(title(number, item));
        lines.extend(whole(&item.whole));
        lines.push(below(DIM, &item.why));
        if let Some(reason) = &item.model_reason {
            lines.push(below(DIM, say!("the model says: {}", reason)));
        }
        for line in item.preview.iter().flat_map(|preview| preview.lines()) {
            let text = Clean::lines(line);
            lines.push(Line::of(DIM, "     \u{2502} ").and(coloured(line), text));
        }
        if item.preview_cut {
            lines.push(below(
                YELLOW,
                "This is not all of it: [w] shows the whole call.",
            ));
        }
        if !item.could_open.is_empty() {
            let directories = item.could_open.join(", ");
            lines.push(below(
                DIM,
                say!("[o] would open for reading: {}", directories),
            ));
        }
        if !item.would_remember.is_empty() {
            let grants = item.would_remember.join("; ");
            lines.push(below(DIM, say!("[c]/[p] would remember: {}", grants)));
        }
    }
    lines
}

/// Every argument of every call.
fn all(request: &ApprovalRequest) -> Vec<Line> {
    let mut lines = Vec::new();
    for (number, item) in (1_usize..).zip(&request.items) {
        lines.push(title(number, item));
        lines.extend(whole(&whole_args(&item.args)));
    }
    lines
}

fn title(number: usize, item: &ApprovalItem) -> Line {
    let risk = match item.risk {
        Risk::Low => GREEN,
        Risk::Medium => YELLOW,
        Risk::High => RED,
    };
    Line::of(BOLD, say!("  {}", number))
        .and(PLAIN, say!("  {}  ", item.summary))
        .and(risk, say!("{} risk", item.risk))
}

fn whole(text: &str) -> impl Iterator<Item = Line> + '_ {
    text.lines().map(|line| below(PLAIN, Clean::lines(line)))
}

fn below(style: Style, text: impl Into<Clean>) -> Line {
    Line::of(PLAIN, "     ").and(style, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use toolgate_model::ApprovalId;

    fn request() -> ApprovalRequest {
        let item = |id: &str| ApprovalItem {
            call_id: id.into(),
            tool: "write_file".into(),
            summary: format!("Write {id}.txt"),
            whole: format!("path: {id}.txt\n"),
            args: json!({"path": format!("{id}.txt"), "content": "new"})
                .as_object()
                .unwrap()
                .clone(),
            risk: Risk::Medium,
            facts: toolgate_model::Facts::none(),
            locations: vec![],
            why: "side effects [built-in]".into(),
            model_reason: Some("because".into()),
            preview: Some("+new\n-old\n@@\n same".into()),
            preview_cut: false,
            effects: Vec::new(),
            would_fail: Vec::new(),
            could_open: Vec::new(),
            could_connect: Vec::new(),
            would_cover: Vec::new(),
            could_allow: Vec::new(),
            would_remember: vec!["write_file: write \"a\"".into()],
            plan_hash: "h".into(),
        };
        ApprovalRequest {
            id: ApprovalId::from_bits(1),
            conversation: "c".into(),
            items: vec![item("a"), item("b")],
            expires_after: None,
        }
    }

    #[test]
    fn answers_are_understood_and_nothing_is_a_yes_by_accident() {
        let request = request();
        for (line, expected) in [
            ("y\n", Some(Answer::yes())),
            ("YES", Some(Answer::yes())),
            ("n", Some(Answer::no())),
            (
                "n use b instead\n",
                Some(Answer::no().because("use b instead")),
            ),
            ("c", Some(Answer::yes().remember(Remember::Conversation))),
            ("p", Some(Answer::yes().remember(Remember::Project))),
            ("2", Some(Answer::only(["b"]))),
            ("1, 2", Some(Answer::only(["a", "b"]))),
            ("3", None),
            ("0", None),
            ("", None),
            ("yeah", None),
            ("1 x", None),
        ] {
            assert_eq!(
                understand(line, &request),
                expected.map(|answer| answer.by("terminal")),
                "{line:?}"
            );
        }
    }

    #[test]
    fn only_what_can_be_answered_is_offered() {
        let mut request = request();
        let all = choices(&request);
        let all = all.as_str();
        assert!(all.contains("[1] or [2]") && all.contains("[c]") && all.contains("[p]"));
        assert!(all.contains("n with words"), "{all}");
        let third = request.items[0].clone();
        request.items.push(third);
        assert!(choices(&request).as_str().contains("[1,3] only these"));
        assert!(!all.contains("[w]"));
        request.items[2].preview_cut = true;
        assert!(choices(&request).as_str().contains("[w]"));
        request.items.truncate(1);
        request.items[0].would_remember.clear();
        let few = choices(&request);
        let few = few.as_str();
        assert!(!few.contains("[1") && !few.contains("[c]") && !few.contains("[p]"));
        assert_eq!(understand("c", &request), None);
        assert_eq!(understand("p", &request), None);
    }

    #[test]
    fn the_question_shows_what_will_happen_and_why() {
        let rows = |columns| -> Vec<Clean> {
            let lines = question(&request());
            lines.iter().flat_map(|line| line.rows(columns)).collect()
        };
        let coloured = Clean::join(rows(200), "\n");
        let plain = coloured.plain();
        let plain = plain.as_str();
        for part in [
            "Write a.txt",
            "path: a.txt",
            "medium risk",
            "side effects [built-in]",
            "the model says: because",
            "+new",
            "would remember",
        ] {
            assert!(plain.contains(part), "{part}: {plain}");
        }
        assert!(!plain.contains('\x1b'));
        assert!(coloured.as_str().contains(GREEN.on("+new").as_str()));
    }
}
