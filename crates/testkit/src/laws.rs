//! How often a law is tried.

use proptest::test_runner::Config;

/// The fewest cases a law is tried with.
const FEWEST: u32 = 256;

/// The configuration of a law: at least so many cases, and as many as `PROPTEST_CASES` says
/// where that is more.
///
/// A runner that a test makes itself keeps to this. `proptest!` reads the variable once more,
/// after the test has said its number, and takes it also where it is less. So a variable that
/// asks for fewer cases than any law is tried with is refused rather than obeyed.
pub fn laws(at_least: u32) -> Config {
    let asked = Config::default();
    assert!(
        asked.cases >= FEWEST,
        "PROPTEST_CASES asks for {} cases; a law is tried with at least {FEWEST}",
        asked.cases
    );
    Config {
        cases: asked.cases.max(at_least),
        ..asked
    }
}
