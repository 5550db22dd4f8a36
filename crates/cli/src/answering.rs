//! The answers to a question on the terminal: what is offered, and what a typed line means.

use std::collections::BTreeSet;

use toolgate_app::approvals::{Answer, ApprovalRequest, CallKind, Choice, NetworkAccess, Remember};
use toolgate_model::CallId;

use crate::clean::{Clean, say};

/// Whether a line says no, with or without words.
pub(crate) fn is_no(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    ["n", "no"].contains(&word.to_ascii_lowercase().as_str())
}

/// What can be answered.
pub(crate) fn choices(request: &ApprovalRequest) -> Clean {
    let open = if could_open(request) {
        "[o] yes, and open the directories ([ow] for writing too; [oc], [owc] for this conversation)  "
    } else {
        ""
    };
    let network = match smallest_network(request) {
        Some(NetworkAccess::Loopback) => {
            "[l] yes, with a loopback network  [i] yes, with the network ([lc], [ic] for this conversation)  "
        }
        Some(NetworkAccess::On) => "[i] yes, with the network ([ic] for this conversation)  ",
        None => "",
    };
    let edits = match allows(request, CallKind::Edits) {
        true => "[e] yes to all edits in this conversation  ",
        false => "",
    };
    let commands = match allows(request, CallKind::Commands) {
        true => "[s] yes to all sandboxed commands in this conversation  ",
        false => "",
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
        "[y]es  [n]o, or n with words for the model  {}{}{}{}{}{}{}[?] help > ",
        some,
        whole,
        open,
        network,
        always,
        edits,
        commands
    )
}

/// Whether there is anything that a yes could be remembered as.
fn could_remember(request: &ApprovalRequest) -> bool {
    let mut items = request.items.iter();
    items.any(|item| !item.would_remember.is_empty())
}

/// What the answers mean.
pub(crate) const HELP: &str = "y runs it. n does not, and words after it go to the model: n use the other file. Numbers run these calls only: 1,3. A number with n denies one call and runs the others: 2n use the other file. The others are yes as well: c and p also remember it, e and s allow all edits or all sandboxed commands until the conversation ends, o opens directories, l and i the network. w shows every argument whole.\n";

/// Whether a kind of calls can be allowed as a whole.
fn allows(request: &ApprovalRequest, kind: CallKind) -> bool {
    let mut items = request.items.iter();
    items.any(|item| item.could_allow.contains(&kind))
}

/// The smallest network that can be opened, if one can.
fn smallest_network(request: &ApprovalRequest) -> Option<NetworkAccess> {
    let networks = request.items.iter().flat_map(|item| &item.could_connect);
    networks.min().copied()
}

fn could_open(request: &ApprovalRequest) -> bool {
    request.items.iter().any(|item| !item.could_open.is_empty())
}

/// What the person typed. An empty line is no answer: consent is not given by accident.
pub(crate) fn understand(line: &str, request: &ApprovalRequest) -> Option<Answer> {
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
        "e" if allows(request, CallKind::Edits) => {
            Some(by(Answer::yes().remember(Remember::Edits)))
        }
        "s" if allows(request, CallKind::Commands) => {
            Some(by(Answer::yes().remember(Remember::Commands)))
        }
        keys @ ("o" | "ow" | "oc" | "owc" | "l" | "lc" | "i" | "ic") => {
            opening(keys, request).map(by)
        }
        "c" if could_remember(request) => Some(by(Answer::yes().remember(Remember::Conversation))),
        "p" if could_remember(request) => Some(by(Answer::yes().remember(Remember::Project))),
        number if number.ends_with('n') => {
            let number: usize = number.strip_suffix('n')?.parse().ok()?;
            let denied = request.items.get(number.checked_sub(1)?)?;
            let reason = rest.trim();
            Some(by(match reason.is_empty() {
                true => only_without(request, &denied.call_id),
                false => Answer::yes().denying(denied.call_id.clone(), reason),
            }))
        }
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

/// A yes that opens directories or a network, where that is offered.
fn opening(keys: &str, request: &ApprovalRequest) -> Option<Answer> {
    let (keys, lasts) = match keys.strip_suffix('c') {
        Some(keys) => (keys, true),
        None => (keys, false),
    };
    let smallest = smallest_network(request);
    let answer = match keys {
        "o" if could_open(request) => Answer::yes().opening(),
        "ow" if could_open(request) => Answer::yes().opening_for_writing(),
        "l" if smallest == Some(NetworkAccess::Loopback) => {
            Answer::yes().connecting(NetworkAccess::Loopback)
        }
        "i" if smallest.is_some() => Answer::yes().connecting(NetworkAccess::On),
        _ => return None,
    };
    Some(match (lasts, could_remember(request)) {
        (true, true) => answer.for_conversation().remember(Remember::Conversation),
        (true, false) => answer.for_conversation(),
        (false, _) => answer,
    })
}

/// A yes to all calls but one.
fn only_without(request: &ApprovalRequest, denied: &CallId) -> Answer {
    let calls = request.items.iter().map(|item| &item.call_id);
    Answer::only(calls.filter(|call| *call != denied).cloned())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use serde_json::json;
    use toolgate_app::approvals::ApprovalItem;
    use toolgate_model::{ApprovalId, Risk};

    pub(crate) fn request() -> ApprovalRequest {
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
            ("2n use a", Some(Answer::yes().denying("b", "use a"))),
            ("2n", Some(Answer::only(["a"]))),
            ("3n x", None),
            ("e", None),
            ("s", None),
            ("o", None),
            ("i", None),
            ("l", None),
        ] {
            assert_eq!(
                understand(line, &request),
                expected.map(|answer| answer.by("terminal")),
                "{line:?}"
            );
        }
    }

    #[test]
    fn wider_answers_are_understood_where_they_are_offered() {
        let mut request = request();
        let item = &mut request.items[0];
        item.could_allow = vec![CallKind::Edits, CallKind::Commands];
        item.could_open = vec!["/srv/a".into()];
        item.could_connect = vec![NetworkAccess::Loopback, NetworkAccess::On];
        let lasting = |answer: Answer| answer.for_conversation().remember(Remember::Conversation);
        let yes = Answer::yes;
        for (line, expected) in [
            ("e", yes().remember(Remember::Edits)),
            ("s", yes().remember(Remember::Commands)),
            ("o", yes().opening()),
            ("ow", yes().opening_for_writing()),
            ("oc", lasting(yes().opening())),
            ("owc", lasting(yes().opening_for_writing())),
            ("l", yes().connecting(NetworkAccess::Loopback)),
            ("i", yes().connecting(NetworkAccess::On)),
            ("ic", lasting(yes().connecting(NetworkAccess::On))),
        ] {
            let expected = Some(expected.by("terminal"));
            assert_eq!(understand(line, &request), expected, "{line}");
        }
        let all = choices(&request);
        for key in ["[e]", "[s]", "[o]", "[ow]", "[oc]", "[l]", "[i]", "[ic]"] {
            assert!(all.as_str().contains(key), "{key}: {all:?}");
        }
        request.items[0].could_connect = vec![NetworkAccess::On];
        assert_eq!(understand("l", &request), None);
        assert!(!choices(&request).as_str().contains("[l]"));
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
}
