//! The numbered choices of a question in plain text.

use toolgate_app::approvals::{
    Answer, ApprovalRequest, CallKind, DirectoryAccess, NetworkAccess, Open, Remember,
};

/// What a choice means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meant {
    /// This answer.
    Answer(Answer),
    /// A no with words that are still to be typed.
    Reason,
    /// An answer to each call alone.
    Each,
}

/// The choices, those that every question has first.
pub(super) fn offered(request: &ApprovalRequest) -> Vec<(String, Meant)> {
    let items = &request.items;
    let yes = Answer::yes;
    let mut all = vec![
        ("Approve".to_owned(), Meant::Answer(yes())),
        ("Deny".to_owned(), Meant::Answer(Answer::no())),
        ("Deny with a reason".to_owned(), Meant::Reason),
    ];
    let mut offer = |words: String, answer: Answer| all.push((words, Meant::Answer(answer)));
    let rules: Vec<&str> = items
        .iter()
        .flat_map(|item| &item.would_remember)
        .map(String::as_str)
        .collect();
    let can_remember = !rules.is_empty();
    if can_remember {
        let covered = items.iter().flat_map(|item| &item.would_cover);
        let covered: Vec<&str> = covered.map(String::as_str).collect();
        let covers = match covered.is_empty() {
            true => String::new(),
            false => format!(" (covers {})", covered.join(" | ")),
        };
        for scope in [Remember::Conversation, Remember::Project] {
            let name = scope.as_str();
            let rules = rules.join("; ");
            offer(
                format!("Approve and remember for this {name}: {rules}{covers}"),
                yes().remember(scope),
            );
        }
    }
    for (kind, words) in [
        (CallKind::Edits, "Approve all edits in this conversation"),
        (
            CallKind::Commands,
            "Approve all sandboxed commands in this conversation",
        ),
    ] {
        if items.iter().any(|item| item.could_allow.contains(&kind)) {
            offer(words.to_owned(), yes().remember(kind.into()));
        }
    }
    let mut opens: Vec<(String, Open)> = Vec::new();
    let directories = items.iter().flat_map(|item| &item.could_open);
    let directories: Vec<&str> = directories.map(String::as_str).collect();
    if !directories.is_empty() {
        let directories = directories.join(", ");
        for (access, how) in [
            (DirectoryAccess::Read, "reading"),
            (DirectoryAccess::Write, "reading and writing"),
        ] {
            let open = Open {
                directories: Some(access),
                ..Open::default()
            };
            opens.push((format!("open {directories} for {how}"), open));
        }
    }
    for (network, words) in [
        (NetworkAccess::Loopback, "open a loopback network"),
        (NetworkAccess::On, "open the network"),
    ] {
        let mut items = items.iter();
        if items.any(|item| item.could_connect.contains(&network)) {
            let open = Open {
                network: Some(network),
                ..Open::default()
            };
            opens.push((words.to_owned(), open));
        }
    }
    for (words, open) in opens {
        let answer = Answer { open, ..yes() };
        offer(format!("Approve and {words}"), answer.clone());
        let answer = answer.for_conversation();
        let answer = match can_remember {
            true => answer.remember(Remember::Conversation),
            false => answer,
        };
        offer(format!("Approve and {words} for this conversation"), answer);
    }
    if items.len() > 1 {
        all.push(("Decide about each call".to_owned(), Meant::Each));
    }
    all
}
