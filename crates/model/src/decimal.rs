//! Whether the numbers of a JSON text mean what is kept of them.
//!
//! A number with a point or an exponent is kept as the nearest `f64`. Up to fifteen digits
//! that is no loss: the shortest way to write it down again is the number that came. With
//! more, what the user is shown and what runs could differ from what was said.

use serde_json::Number;

/// Where in a valid JSON text the first number stands that is not kept as it was written.
pub(crate) fn first_inexact(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => at = after_string(text, at),
            b'-' | b'0'..=b'9' => {
                let rest = text.get(at..).unwrap_or_default();
                let length = rest.iter().position(|byte| !is_of_number(*byte));
                let length = length.unwrap_or(rest.len());
                let number = rest.get(..length).unwrap_or_default();
                if !std::str::from_utf8(number).is_ok_and(is_kept) {
                    return Some(at);
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    None
}

fn after_string(text: &[u8], opening: usize) -> usize {
    let mut at = opening + 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

const fn is_of_number(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')
}

/// Whether a number is written down again as the number it was.
fn is_kept(number: &str) -> bool {
    if !number.contains(['.', 'e', 'E']) {
        // What does not fit an integer was refused for its size.
        return true;
    }
    let kept = number.parse().ok().and_then(Number::from_f64);
    let written = kept.and_then(|kept| Decimal::of(&kept.to_string()));
    written.is_some_and(|written| Decimal::of(number) == Some(written))
}

/// A number without its sign: digits that neither begin nor end with a zero, and the power of
/// ten of the first one.
#[derive(PartialEq)]
struct Decimal {
    digits: String,
    power: i64,
}

impl Decimal {
    /// `None` for an exponent that nobody can mean.
    fn of(number: &str) -> Option<Self> {
        let number = number.trim_start_matches('-');
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = [whole, part].concat();
        let leading = all.len() - all.trim_start_matches('0').len();
        let digits = all.trim_matches('0').to_owned();
        if digits.is_empty() {
            return Some(Self { digits, power: 0 });
        }
        let first = i64::try_from(whole.len()).ok()? - i64::try_from(leading).ok()?;
        let power = exponent.parse::<i64>().ok()?.checked_add(first)?;
        Some(Self { digits, power })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_number_is_kept_if_it_is_written_down_again_as_it_was() {
        for (text, place) in [
            ("0.1", None),
            ("-0.0", None),
            ("-0", None),
            ("0e99999999999999999999", None),
            ("1.50", None),
            ("100e-2", None),
            ("0.00012E+3", None),
            ("123456789012345e-20", None),
            ("0.30000000000000004", None),
            ("1.7976931348623157e308", None),
            ("5e-324", None),
            ("12345678901234567", None),
            ("1.0000000000000001", Some(0)),
            ("0.1000000000000000055511151231257827", Some(0)),
            ("1e-400", Some(0)),
            ("4e-324", Some(0)),
            // As near to what is kept as the one that is written.
            ("7370956767059613e-1", Some(0)),
            ("7370956767059612e-1", None),
            ("1e-99999999999999999999", Some(0)),
            (
                r#"{"a\"1.0000000000000001":"0.30000000000000001\\","b":0.5}"#,
                None,
            ),
            (r#"{"a":[1.5,-2.00000000000000001]}"#, Some(10)),
            (r#"["a\"",1.0000000000000001]"#, Some(7)),
        ] {
            assert_eq!(first_inexact(text.as_bytes()), place, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(512), ..ProptestConfig::default() })]

        #[test]
        fn a_written_number_is_exact_and_one_with_more_digits_is_not(number in any::<f64>()) {
            prop_assume!(number.is_normal());
            let text = Number::from_f64(number).unwrap().to_string();
            prop_assert!(is_kept(&text), "{text}");
            // With twenty digits more it is another number, and is kept as this one or its neighbour.
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let point = if mantissa.contains('.') { "" } else { "." };
            let longer = format!("{mantissa}{point}{}1e{exponent}", "0".repeat(20));
            prop_assert!(!is_kept(&longer), "{longer}");
        }
    }
}
