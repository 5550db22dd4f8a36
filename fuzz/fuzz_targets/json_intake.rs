//! JSON from outside: what the strict reader takes, everybody downstream reads
//! the same; what is not JSON, it never takes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use toolgate_model::json::{JsonLimits, depth, parse};

/// Small, so that the fuzzer reaches both sides of every limit.
const LIMITS: JsonLimits = JsonLimits {
    max_bytes: 1024,
    max_depth: 8,
};

fuzz_target!(|text: &[u8]| {
    let lenient = serde_json::from_slice::<Value>(text);
    let Ok(value) = parse(text, LIMITS) else {
        return;
    };
    assert!(text.len() <= LIMITS.max_bytes);
    assert!(depth(&value) <= LIMITS.max_depth);
    assert_eq!(lenient.ok().as_ref(), Some(&value));
    let again = serde_json::to_vec(&value).expect("a value has a text");
    // Written out, a number can be longer than it was.
    let limits = JsonLimits {
        max_bytes: usize::MAX,
        ..LIMITS
    };
    assert_eq!(parse(&again, limits).as_ref(), Ok(&value));
});
