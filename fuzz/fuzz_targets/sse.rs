//! Server-sent events: any bytes, in any chunking, give the same events, the
//! same fault and the same end, and nothing larger than the limits comes out.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolgate_providers::decode::{DecodeError, DecodeLimits, Ended, SseDecoder};

/// Small, so that the fuzzer reaches both sides of every limit.
const LIMITS: DecodeLimits = DecodeLimits {
    max_line: 48,
    max_event: 64,
};

type Read = (Vec<(String, String)>, Result<Ended, DecodeError>);

fn read<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Read {
    let mut decoder = SseDecoder::new(LIMITS);
    let mut events = Vec::new();
    for chunk in chunks {
        let pushed = decoder.push(chunk, |event| {
            let named = if event.name == "message" {
                0
            } else {
                event.name.len()
            };
            assert!(named + event.data.len() <= LIMITS.max_event);
            events.push((event.name.to_owned(), event.data.to_owned()));
        });
        if let Err(fault) = pushed {
            return (events, Err(fault));
        }
    }
    (events, Ok(decoder.finish()))
}

fuzz_target!(|input: &[u8]| {
    // The first byte chooses the chunking, the rest is the stream.
    let (choice, stream) = input.split_at(input.len().min(1));
    let whole = read([stream]);
    let size = choice.first().map_or(1, |byte| usize::from(*byte) + 1);
    assert_eq!(read(stream.chunks(size)), whole);
    assert_eq!(read(stream.chunks(1)), whole);

    // What came out, written again, is read as the same.
    let mut again = String::new();
    for (name, data) in &whole.0 {
        again.push_str(&format!("event: {name}\n"));
        data.split('\n')
            .for_each(|line| again.push_str(&format!("data: {line}\n")));
        again.push('\n');
    }
    let mut decoder = SseDecoder::new(DecodeLimits::default());
    let mut events = Vec::new();
    let pushed = decoder.push(again.as_bytes(), |event| {
        events.push((event.name.to_owned(), event.data.to_owned()));
    });
    assert_eq!(pushed, Ok(()));
    assert_eq!(events, whole.0);
});
