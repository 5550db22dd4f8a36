//! Lines of JSON: any bytes, in any chunking, give the same lines, the same
//! fault and the same end, and the lines are those of the whole text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolgate_providers::decode::{DecodeError, DecodeLimits, Ended, NdjsonDecoder};

/// Small, so that the fuzzer reaches both sides of every limit.
const LIMITS: DecodeLimits = DecodeLimits {
    max_line: 48,
    max_event: 64,
};

fn read<'a>(
    limits: DecodeLimits,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<String>, Result<Ended, DecodeError>) {
    let mut decoder = NdjsonDecoder::new(limits);
    let mut lines = Vec::new();
    for chunk in chunks {
        if let Err(fault) = decoder.push(chunk, |line| lines.push(line.to_owned())) {
            return (lines, Err(fault));
        }
    }
    let ended = decoder.finish(|line| lines.push(line.to_owned()));
    (lines, ended)
}

fuzz_target!(|input: &[u8]| {
    // The first byte chooses the chunking, the rest is the stream.
    let (choice, stream) = input.split_at(input.len().min(1));
    let whole = read(LIMITS, [stream]);
    assert!(whole.0.iter().all(|line| line.len() <= LIMITS.max_line));
    let size = choice.first().map_or(1, |byte| usize::from(*byte) + 1);
    assert_eq!(read(LIMITS, stream.chunks(size)), whole);
    assert_eq!(read(LIMITS, stream.chunks(1)), whole);

    let Ok(text) = std::str::from_utf8(stream) else {
        return;
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.split(['\n', '\r']);
    let expected: Vec<&str> = lines.filter(|line| !line.trim_ascii().is_empty()).collect();
    assert_eq!(read(DecodeLimits::default(), [stream]).0, expected);
});
