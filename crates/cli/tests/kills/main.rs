//! A conversation of two hundred calls is killed, at random moments and at the writes that
//! make the record durable; it is resumed, and goes on to its end. No call ever has two
//! results, and nothing ever happens twice.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "../support/program.rs"]
mod program;
mod talk;
mod victim;

use victim::{Chance, Moment, Victim};

fn given(name: &str, else_: u64) -> u64 {
    let given = std::env::var(name);
    given.map_or(else_, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is a number"))
    })
}

/// So many runs are killed; more for a soak.
fn kills() -> u64 {
    given("TOOLGATE_RUN_KILLS", 12)
}

/// One conversation is killed so many times before it may end.
const IN_A_ROW: u64 = 4;

#[test]
fn a_killed_conversation_resumes_with_one_result_per_call_and_no_effect_twice() {
    // Another seed kills at other moments.
    let seed = given("TOOLGATE_RUN_SEED", 0);
    let mut chance = Chance::new(0x5EED + seed);
    let (mut died, mut cut_off, mut unknown) = (0, 0, 0);
    let rounds = kills().div_ceil(IN_A_ROW);
    for round in 0..rounds {
        let mut victim = Victim::new();
        let first = round * IN_A_ROW;
        for number in first..(first + IN_A_ROW).min(kills()) {
            // Some of the kills anywhere, most of them where something becomes durable.
            let moment = match number % 3 {
                0 => Moment::anywhere(&mut chance),
                rest => Moment::durable(seed + number / 3 * 2 + rest - 1, &mut chance),
            };
            let choice = if chance.below(2) == 0 {
                "--keep"
            } else {
                "--discard"
            };
            let found = victim.kill(&moment, choice);
            died += u64::from(found.died);
            cut_off += u64::from(found.open > 0);
            unknown += u64::from(found.unknown > 0);
        }
        victim.ends();
        println!("{} of {} kills", (first + IN_A_ROW).min(kills()), kills());
    }
    println!(
        "{} kills: {died} met a run that went on, {cut_off} cut calls off, {unknown} left an outcome unknown",
        kills()
    );
    assert!(
        died * 2 > kills() && cut_off > 0,
        "the kills miss the work: {died}, {cut_off}, {unknown} of {}",
        kills()
    );
}
