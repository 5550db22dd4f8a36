//! Asking the person on the terminal itself, never on standard input.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal};

use futures::future::BoxFuture;
use toolgate_gate::approve::{Answer, ApprovalRequest, Approver, Choice, Remember, Unanswered};
use toolgate_model::{CallId, Risk};

use crate::out::style::{BOLD, CYAN, DIM, GREEN, RED, RESET, YELLOW};
use crate::tty::{self, Tty};

/// The person at the terminal this program was started from.
#[derive(Debug)]
pub(crate) struct Terminal;

impl Terminal {
    /// Whether somebody is there: there is a terminal and what is shown on it can be seen.
    pub(crate) fn is_there() -> bool {
        std::io::stderr().is_terminal() && Self::can_be_asked()
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
    tty.show(&question(request, crate::out::colours_wanted()))?;
    loop {
        tty.show(&choices(request))?;
        let Some(line) = tty.line()? else {
            // Who ends the input says no; a terminal that is gone cannot be written to.
            tty.show("\n")?;
            return Ok(Some(Answer::no().by("terminal")));
        };
        if let Some(answer) = understand(&line, request) {
            return Ok(Some(answer));
        }
        if line.trim() != "?" {
            tty.show("Not understood. ")?;
        }
        tty.show(HELP)?;
    }
}

/// What can be answered.
fn choices(request: &ApprovalRequest) -> String {
    let open = if could_open(request) {
        "[o] yes, and open the folders  [oc] the same for this conversation  "
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
    format!("[y]es  [n]o, or n with words for the model  {some}{open}{always}[?] help > ")
}

/// Whether there is anything that a yes could be remembered as.
fn could_remember(request: &ApprovalRequest) -> bool {
    let mut items = request.items.iter();
    items.any(|item| !item.would_remember.is_empty())
}

/// What the answers mean.
const HELP: &str = "y runs it. n does not, and words after it go to the model: n use the other file. Numbers run these calls only: 1,3. c and p, where they are offered, also remember the yes.\n";

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
            let answer = Answer::yes().opening();
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

/// The question as the person sees it. Every text in it was made harmless by the gate.
fn question(request: &ApprovalRequest, colours: bool) -> String {
    let paint = |code: &'static str| if colours { code } else { "" };
    let (bold, dim, reset) = (paint(BOLD), paint(DIM), paint(RESET));
    let mut text = format!("\n{bold}Toolgate asks{reset}\n");
    for (index, item) in request.items.iter().enumerate() {
        let risk = match item.risk {
            Risk::Low => paint(GREEN),
            Risk::Medium => paint(YELLOW),
            Risk::High => paint(RED),
        };
        text.push_str(&format!(
            "  {bold}{}{reset}  {}  {risk}{} risk{reset}\n",
            index + 1,
            item.summary,
            item.risk
        ));
        text.push_str(&format!("     {dim}{}{reset}\n", item.why));
        if let Some(reason) = &item.model_reason {
            text.push_str(&format!("     {dim}the model says: {reason}{reset}\n"));
        }
        for line in item.preview.iter().flat_map(|preview| preview.lines()) {
            let colour = match line.chars().next() {
                Some('+') => paint(GREEN),
                Some('-') => paint(RED),
                Some('@') => paint(CYAN),
                _ => "",
            };
            text.push_str(&format!("     {colour}{line}{reset}\n"));
        }
        if !item.could_open.is_empty() {
            text.push_str(&format!(
                "     {dim}[o] would open for reading: {}{reset}\n",
                item.could_open.join(", ")
            ));
        }
        if !item.would_remember.is_empty() {
            text.push_str(&format!(
                "     {dim}[c]/[p] would remember: {}{reset}\n",
                item.would_remember.join("; ")
            ));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolgate_gate::approve::ApprovalItem;
    use toolgate_model::ApprovalId;

    fn request() -> ApprovalRequest {
        let item = |id: &str| ApprovalItem {
            call_id: id.into(),
            tool: "write_file".into(),
            summary: format!("Write {id}.txt"),
            risk: Risk::Medium,
            locations: vec![],
            why: "side effects [built-in]".into(),
            model_reason: Some("because".into()),
            preview: Some("+new\n-old\n@@\n same".into()),
            could_open: Vec::new(),
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
        assert!(all.contains("[1] or [2]") && all.contains("[c]") && all.contains("[p]"));
        assert!(all.contains("n with words"), "{all}");
        let third = request.items[0].clone();
        request.items.push(third);
        assert!(choices(&request).contains("[1,3] only these"));
        request.items.truncate(1);
        request.items[0].would_remember.clear();
        let few = choices(&request);
        assert!(!few.contains("[1") && !few.contains("[c]") && !few.contains("[p]"));
        assert_eq!(understand("c", &request), None);
        assert_eq!(understand("p", &request), None);
    }

    #[test]
    fn the_question_shows_what_will_happen_and_why() {
        let plain = question(&request(), false);
        for part in [
            "Write a.txt",
            "medium risk",
            "side effects [built-in]",
            "the model says: because",
            "+new",
            "would remember",
        ] {
            assert!(plain.contains(part), "{part}: {plain}");
        }
        assert!(!plain.contains('\x1b'));
        assert!(question(&request(), true).contains(GREEN));
    }
}
