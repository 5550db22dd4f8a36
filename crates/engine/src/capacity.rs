//! How much of a model's context is left for results.

use toolgate_providers::Usage;

/// A token of text is hardly ever less than this many bytes.
const BYTES_PER_TOKEN: u64 = 3;
/// What is kept free for the model's next answer, where nothing else is said.
const ANSWER_TOKENS: u64 = 8_192;
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
            answer: answer.unwrap_or(ANSWER_TOKENS),
        }
    }

    /// How many bytes each of `results` results may have after an answer of this cost.
    pub fn capacity(self, used: Usage, results: usize) -> usize {
        let used = used.input_tokens.saturating_add(used.output_tokens);
        let left = self.tokens.saturating_sub(used).saturating_sub(self.answer);
        let count = u64::try_from(results.max(1)).unwrap_or(u64::MAX);
        let each = left.saturating_mul(BYTES_PER_TOKEN) / count;
        usize::try_from(each.max(LEAST_BYTES)).unwrap_or(usize::MAX)
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
        assert_eq!(Context::new(8_192, None).capacity(used(0, 0), 0), 1_024);
    }
}
