//! Charsets: any bytes under any header are text, and UTF-8 that nobody calls otherwise
//! comes back as it is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolgate_tools::web::decode;

fuzz_target!(|input: &[u8]| {
    let (length, rest) = input.split_at(input.len().min(1));
    let length = length.first().map_or(0, |byte| usize::from(*byte) % 64);
    let (header, bytes) = rest.split_at(length.min(rest.len()));
    let header = String::from_utf8_lossy(header);
    for whole in [true, false] {
        let decoded = decode(bytes, Some(&header), whole);
        // No encoding makes more than three bytes of text of one byte, and some that
        // have nothing to say make one mark of everything.
        assert!(decoded.text.len() <= bytes.len() * 3 + 3);
        let plain = decode(bytes, None, whole);
        let marked = bytes.starts_with(b"\xef\xbb\xbf");
        let declared = bytes
            .windows(7)
            .any(|part| part.eq_ignore_ascii_case(b"charset") || part.eq_ignore_ascii_case(b"encodin"));
        if let (Ok(text), false, false) = (std::str::from_utf8(bytes), marked, declared) {
            assert_eq!((plain.text.as_str(), plain.charset), (text, "UTF-8"));
        }
    }
});
