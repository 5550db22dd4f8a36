//! How a model of this wire is told to think: older ones by tokens, newer ones by effort.

use serde_json::{Map, Value, json};

use crate::request::{Effort, Reasoning, RequestError};

/// The smallest thinking budget the wire accepts.
const LEAST_BUDGET: u64 = 1_024;

/// The first version that decides by itself how much to think, and the first that takes no
/// number of tokens any more.
const ADAPTIVE: Version = (4, 6);
const ONLY_ADAPTIVE: Version = (4, 7);

type Version = (u32, u32);

/// Adds what a model has to be told so that it thinks as much as is wanted. A model whose name
/// says no version is told it as it was asked for.
pub(super) fn tell(
    reasoning: Reasoning,
    model: &str,
    max: u64,
    fields: &mut Map<String, Value>,
) -> Result<(), RequestError> {
    let version = version(model);
    let by_tokens = version.is_some_and(|version| version < ADAPTIVE);
    let by_effort = version.is_some_and(|version| version >= ONLY_ADAPTIVE);
    let thinking = match reasoning {
        Reasoning::Default => None,
        // Who cannot be told not to think does so only where told to.
        Reasoning::Off if by_effort => None,
        Reasoning::Off => Some(json!({"type": "disabled"})),
        Reasoning::On if by_tokens => enabled(Effort::Medium, max),
        Reasoning::On => Some(json!({"type": "adaptive"})),
        Reasoning::Budget(budget) if by_effort => Some(adaptive(Effort::of_budget(budget), fields)),
        Reasoning::Budget(budget) => {
            if budget < LEAST_BUDGET || budget >= max {
                return Err(RequestError::Budget {
                    budget,
                    least: LEAST_BUDGET,
                    max,
                });
            }
            Some(json!({"type": "enabled", "budget_tokens": budget}))
        }
        Reasoning::Effort(effort) if by_tokens => enabled(effort, max),
        Reasoning::Effort(effort) => Some(adaptive(effort, fields)),
    };
    if let Some(thinking) = thinking {
        fields.insert("thinking".into(), thinking);
    }
    Ok(())
}

fn adaptive(effort: Effort, fields: &mut Map<String, Value>) -> Value {
    let known = match effort {
        Effort::Minimal => Effort::Low,
        other => other,
    };
    fields.insert("output_config".into(), json!({"effort": known.as_str()}));
    json!({"type": "adaptive"})
}

/// As many tokens as come nearest to it and leave a quarter for the answer; nothing where that
/// is too little to think at all.
fn enabled(effort: Effort, max: u64) -> Option<Value> {
    let wanted = match effort {
        Effort::Minimal => LEAST_BUDGET,
        Effort::Low => 2_048,
        Effort::Medium => 8_192,
        Effort::High => 16_384,
        Effort::XHigh => 24_576,
        Effort::Max => 32_768,
    };
    let budget = wanted.min(max / 4 * 3);
    (budget >= LEAST_BUDGET).then(|| json!({"type": "enabled", "budget_tokens": budget}))
}

/// The version in a name such as `claude-3-5-haiku-20241022` or `claude-opus-4.1`.
fn version(model: &str) -> Option<Version> {
    let (_, name) = model.split_once("claude-")?;
    let number = |part: &str| part.parse().ok().filter(|_| part.len() <= 2);
    let mut parts = name.split(['-', '.', '@', ':', '/']);
    let major = parts.find_map(number)?;
    let minor = parts.next().and_then(number).unwrap_or(0);
    Some((major, minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_its_version_or_none() {
        for (model, said) in [
            ("claude-2.1", Some((2, 1))),
            ("claude-3-haiku-20240307", Some((3, 0))),
            ("claude-3-5-haiku-20241022", Some((3, 5))),
            ("claude-sonnet-4-20250514", Some((4, 0))),
            ("claude-opus-4-1-20250805", Some((4, 1))),
            ("claude-opus-4.5", Some((4, 5))),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", Some((4, 5))),
            ("anthropic/claude-opus-4.6", Some((4, 6))),
            ("claude-sonnet-5", Some((5, 0))),
            ("claude-opus-latest", None),
            ("m-1", None),
        ] {
            assert_eq!(version(model), said, "{model}");
        }
    }

    #[test]
    fn a_model_is_told_in_the_words_it_knows() {
        use Reasoning as R;
        let (old, both, new) = ("claude-sonnet-4-5", "claude-opus-4-6", "claude-opus-4-7");
        let enabled =
            |tokens: u64| json!({"thinking": {"type": "enabled", "budget_tokens": tokens}});
        let effort = |word: &str| json!({"output_config": {"effort": word}, "thinking": {"type": "adaptive"}});
        let adaptive = json!({"thinking": {"type": "adaptive"}});
        let off = json!({"thinking": {"type": "disabled"}});
        for (model, reasoning, max, told) in [
            (old, R::Default, 8_192, json!({})),
            (old, R::Off, 8_192, off.clone()),
            (old, R::On, 8_192, enabled(6_144)),
            (old, R::Effort(Effort::Minimal), 8_192, enabled(1_024)),
            (old, R::Effort(Effort::Low), 8_192, enabled(2_048)),
            (old, R::Effort(Effort::High), 64_000, enabled(16_384)),
            (old, R::Effort(Effort::XHigh), 64_000, enabled(24_576)),
            (old, R::Effort(Effort::Max), 64_000, enabled(32_768)),
            (old, R::Effort(Effort::Max), 1_000, json!({})),
            (old, R::Budget(2_000), 8_192, enabled(2_000)),
            (both, R::Off, 8_192, off.clone()),
            (both, R::On, 8_192, adaptive.clone()),
            (both, R::Budget(2_000), 8_192, enabled(2_000)),
            (both, R::Effort(Effort::High), 8_192, effort("high")),
            (new, R::Off, 8_192, json!({})),
            (new, R::On, 8_192, adaptive.clone()),
            (new, R::Budget(2_000), 1_000, effort("low")),
            (new, R::Effort(Effort::Minimal), 8_192, effort("low")),
            ("m-1", R::Off, 8_192, off),
            ("m-1", R::On, 8_192, adaptive),
            ("m-1", R::Budget(2_000), 8_192, enabled(2_000)),
            ("m-1", R::Effort(Effort::Max), 8_192, effort("max")),
        ] {
            let mut fields = Map::new();
            tell(reasoning, model, max, &mut fields).unwrap();
            assert_eq!(Value::Object(fields), told, "{model} {reasoning:?} {max}");
        }
        for budget in [1_023, 8_192] {
            let fault = tell(R::Budget(budget), old, 8_192, &mut Map::new());
            assert!(
                matches!(fault, Err(RequestError::Budget { .. })),
                "{budget}"
            );
        }
    }
}
