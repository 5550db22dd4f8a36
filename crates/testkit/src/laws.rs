//! How often a law is tried.

use proptest::test_runner::Config;

/// The fewest cases a law is tried with.
const FEWEST: u32 = 256;

/// The configuration of a law: at least so many cases, and as many as `PROPTEST_CASES` says
/// where that is more.
///
/// A number that a test fixes itself is not reached by the variable, so that a soak would try
/// no more than any other run.
pub fn laws(at_least: u32) -> Config {
    let asked = Config::default();
    Config {
        cases: asked.cases.max(at_least).max(FEWEST),
        ..asked
    }
}
