//! Consent: what is typed or pasted for something else decides nothing.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use crossterm::event::KeyCode;
use support::{Driven, item, ms, request};
use toolgate_app::approvals::Answer;
use toolgate_model::ApprovalId;
use toolgate_tui::state::{Effect, Message};

/// Pseudo-random numbers, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// The question comes at 5 s and is painted up to 40 ms later; a frame follows each key.
fn typed_around(word: &str, begins: u64, each: u64, painted_after: u64) -> Driven {
    let mut driven = Driven::new(80, 24);
    let (asked, painted) = (5_000, 5_000 + painted_after);
    let mut moments: Vec<(u64, u8, char)> = vec![(asked, 0, ' '), (painted, 1, ' ')];
    for (number, c) in (0_u64..).zip(word.chars()) {
        moments.push((begins + number * each, 2, c));
    }
    moments.sort_unstable();
    for (at, what, c) in moments {
        let now = ms(at);
        match what {
            0 => driven.tell(
                Message::Questions(vec![request(vec![item("a", "rm -rf x")])]),
                now,
            ),
            1 => drop(driven.paint(now)),
            _ => {
                driven.word(&c.to_string(), now, ms(0));
                drop(driven.paint(now));
            }
        }
    }
    driven
}

#[test]
fn a_word_typed_around_the_question_never_answers_it() {
    let mut numbers = Numbers(7);
    let words = [
        "yay\n",
        "yes, always\n",
        "a y\n",
        "nay\ny\na\n",
        "cy",
        "py\n",
        "oyO\n",
    ];
    for _ in 0..1_000 {
        let word = words[usize::try_from(numbers.below(7)).unwrap()];
        let begins = 3_000 + numbers.below(5_000);
        let each = 1 + numbers.below(300);
        let driven = typed_around(word, begins, each, numbers.below(40));
        assert_eq!(driven.answers(), 0, "{word:?} at {begins} every {each} ms");
        // Nothing that was typed is lost: it was sent, queued, or is in the draft.
        let sent = driven
            .effects
            .iter()
            .filter(|effect| matches!(effect, Effect::Send(_)))
            .count();
        let ends = word.matches('\n').count();
        assert!(sent <= ends && (word.ends_with('\n') || driven.state.draft().ends_with(word)));
    }
}

#[test]
fn even_tab_and_yes_in_one_go_decide_nothing_unless_the_keyboard_was_quiet() {
    let mut numbers = Numbers(11);
    for _ in 0..1_000 {
        let begins = 4_000 + numbers.below(3_000);
        // Nobody presses two keys deliberately within 99 ms.
        let each = 1 + numbers.below(99);
        let driven = typed_around("\ty\t\ty", begins, each, 10);
        assert_eq!(driven.answers(), 0, "at {begins} every {each} ms");
    }
}

#[test]
fn a_question_is_answered_after_it_was_seen_and_the_keyboard_was_quiet() {
    let mut driven = Driven::new(80, 24);
    driven.word("draft", ms(0), ms(10));
    driven.tell(
        Message::Questions(vec![request(vec![item("a", "ls")])]),
        ms(1_000),
    );
    driven.key(KeyCode::Tab, ms(9_000));
    driven.key(KeyCode::Char('y'), ms(9_500));
    assert_eq!(driven.answers(), 0, "it was not painted");
    assert_eq!(driven.state.draft(), "drafty");
    let shown = driven.shown(ms(10_000));
    assert!(
        shown.contains("Keys go to the input.") && shown.contains("high risk"),
        "{shown}"
    );
    driven.key(KeyCode::Backspace, ms(10_400));
    driven.key(KeyCode::Tab, ms(10_800));
    driven.key(KeyCode::Char('y'), ms(11_200));
    assert_eq!(driven.answers(), 0, "the keyboard was not quiet");
    driven.key(KeyCode::Backspace, ms(11_300));
    assert!(driven.shown(ms(11_801)).contains("Tab answers it"));
    driven.key(KeyCode::Tab, ms(11_900));
    assert!(driven.shown(ms(11_901)).contains("y approve"));
    driven.key(KeyCode::Char('y'), ms(12_100));
    let answer = Answer::yes().by("terminal");
    assert_eq!(
        driven.effects,
        [Effect::Answer(ApprovalId::from_bits(1), answer)]
    );
    assert_eq!(driven.state.draft(), "draft");
}

#[test]
fn a_paste_decides_nothing_and_stays_in_the_draft() {
    let mut driven = Driven::new(80, 24);
    driven.tell(
        Message::Questions(vec![request(vec![item("a", "ls")])]),
        ms(0),
    );
    driven.paint(ms(10));
    driven.tell(Message::Paste("\ty\n".into()), ms(5_000));
    assert_eq!(
        (driven.answers(), driven.state.draft().as_str()),
        (0, "\ty\n")
    );
    driven.key(KeyCode::Tab, ms(9_000));
    driven.tell(Message::Paste("y".into()), ms(10_000));
    assert_eq!(driven.answers(), 0);
}

#[test]
fn a_question_that_is_answered_elsewhere_leaves_the_screen() {
    let mut driven = Driven::new(80, 24);
    driven.tell(
        Message::Questions(vec![request(vec![item("a", "ls")])]),
        ms(0),
    );
    assert!(driven.shown(ms(1)).contains("Approval needed"));
    driven.tell(Message::Questions(vec![]), ms(2));
    assert!(!driven.shown(ms(3)).contains("Approval needed"));
}

#[test]
fn a_command_of_400_lines_is_approved_only_after_its_middle_was_on_the_screen() {
    let mut lines: Vec<String> = (0..400).map(|number| format!("echo {number}")).collect();
    lines[200] = "rm -rf ~".into();
    let mut driven = Driven::new(80, 24);
    let question = request(vec![item("a", &lines.join("\n"))]);
    driven.tell(Message::Questions(vec![question]), ms(0));
    driven.paint(ms(1));
    driven.key(KeyCode::Tab, ms(1_000));
    let mut at = 2_000;
    let mut seen = false;
    for _ in 0..200 {
        driven.key(KeyCode::Char('y'), ms(at));
        if driven.answers() > 0 {
            break;
        }
        seen |= driven.shown(ms(at + 1)).contains("rm -rf ~");
        driven.key(KeyCode::Char(' '), ms(at + 200));
        seen |= driven.shown(ms(at + 201)).contains("rm -rf ~");
        at += 1_000;
    }
    assert_eq!((driven.answers(), seen), (1, true));
}
