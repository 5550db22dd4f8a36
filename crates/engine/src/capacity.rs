//! How much of a model's context is left for results.

use toolgate_providers::Usage;

/// A token of text is hardly ever less than this many bytes.
const BYTES_PER_TOKEN: u64 = 3;
/// What is kept free for the model's next answer, where nothing else is said.
const ANSWER_TOKENS: u64 = 8_192;
/// Of a small context no more than this part is kept for the answer, where nothing is said.
const ANSWER_PART: u64 = 4;
/// What a result may have where nobody says how much of the context is used.
const UNKNOWN_BYTES: u64 = 64 * 1024;
/// A result is never cut to less than this: less would say nothing.
const LEAST_BYTES: u64 = 1_024;

/// The size of a model's context, and how much of it the last answer showed as used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    tokens: u64,
    answer: u64,
}

impl Context {
    /// A context of so many tokens, of which an answer may take so many.
    pub fn new(tokens: u64, answer: Option<u64>) -> Self {
        Self {
            tokens,
            answer: answer.unwrap_or(ANSWER_TOKENS.min(tokens / ANSWER_PART)),
        }
    }

    /// How many bytes each of `results` results may have after an answer of this cost.
    ///
    /// Every question has something in it: an answer that read nothing comes from a provider
    /// that does not count. Then nearly the whole context would pass for free.
    pub fn capacity(self, used: Usage, results: usize) -> usize {
        let most = if used.input_tokens == 0 {
            UNKNOWN_BYTES
        } else {
            u64::MAX
        };
        let used = used.input_tokens.saturating_add(used.output_tokens);
        let left = self.tokens.saturating_sub(used).saturating_sub(self.answer);
        let count = u64::try_from(results.max(1)).unwrap_or(u64::MAX);
        let each = left.saturating_mul(BYTES_PER_TOKEN) / count;
        usize::try_from(each.min(most).max(LEAST_BYTES)).unwrap_or(usize::MAX)
    }
}

/// The context of models that are widely known, by the beginning of their names.
///
/// Whoever runs a model of another name says its size; without, results are bounded as
/// for an unknown one.
pub fn context_of(model: &str) -> Option<u64> {
    const KNOWN: [(&str, u64); 8] = [
        ("claude-", 200_000),
        ("gpt-4.1", 1_000_000),
        ("gpt-4o", 128_000),
        ("gpt-4-turbo", 128_000),
        ("gpt-5", 272_000),
        ("o1", 128_000),
        ("o3", 200_000),
        ("o4-mini", 200_000),
    ];
    let known = KNOWN.iter().find(|(start, _)| model.starts_with(start));
    known.map(|(_, tokens)| *tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(input_tokens: u64, output_tokens: u64) -> Usage {
        Usage {
            input_tokens,
            output_tokens,
            ..Usage::default()
        }
    }

    #[test]
    fn what_is_left_is_shared_by_the_results_and_never_nothing() {
        let context = Context::new(100_000, Some(10_000));
        assert_eq!(context.capacity(used(30_000, 0), 1), 180_000);
        assert_eq!(context.capacity(used(30_000, 0), 4), 45_000);
        assert_eq!(context.capacity(used(u64::MAX, 1), 4), 1_024);
        assert_eq!(context.capacity(used(90_000, 10_000), 1), 1_024);
    }

    #[test]
    fn where_nobody_counts_a_result_has_no_more_than_for_an_unknown_model() {
        let large = Context::new(1_000_000, None);
        assert_eq!(large.capacity(used(0, 0), 1), 65_536);
        assert_eq!(large.capacity(used(0, 500), 1), 65_536);
        assert!(large.capacity(used(1, 0), 1) > 65_536);
        // What is less stays less.
        let small = Context::new(8_192, Some(4_096));
        assert_eq!(small.capacity(used(0, 0), 1), 12_288);
        assert_eq!(small.capacity(used(0, 0), 4), 3_072);
    }

    #[test]
    fn an_answer_gets_what_was_said_or_a_part_of_a_small_context() {
        for (tokens, answer, left) in [
            (100_000, None, 91_808_usize),
            (8_192, None, 6_144),
            (8_192, Some(1_192), 7_000),
            (8_192, Some(8_192), 0),
        ] {
            let capacity = Context::new(tokens, answer).capacity(used(1, 0), 1);
            let expected = (left.saturating_sub(1) * 3).max(1_024);
            assert_eq!(capacity, expected, "{tokens} {answer:?}");
        }
    }

    #[test]
    fn well_known_models_have_their_context_and_others_have_none() {
        for (model, tokens) in [
            ("claude-sonnet-4-5", Some(200_000)),
            ("gpt-4.1-mini", Some(1_000_000)),
            ("gpt-4o", Some(128_000)),
            ("gpt-4-turbo-2024-04-09", Some(128_000)),
            ("gpt-5.1", Some(272_000)),
            ("o3-mini", Some(200_000)),
            ("gpt-4", None),
            ("qwen3:8b", None),
            ("my-claude-", None),
            ("", None),
        ] {
            assert_eq!(context_of(model), tokens, "{model}");
        }
    }
}
