//! What goes to the warden and comes back: any bytes are read or refused, and what is read
//! is written as the same bytes, so there are no two readings of one message.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolgate_sandbox::command::{Order, Report};

fuzz_target!(|input: &[u8]| {
    let (choice, bytes) = input.split_at(input.len().min(1));
    if choice.first().is_some_and(|byte| byte % 2 == 1) {
        if let Some(report) = Report::decode(bytes) {
            assert_eq!(report.encode(), bytes);
        }
        return;
    }
    if let Ok(order) = Order::decode(bytes) {
        let written = order.encode().expect("what was read can be written");
        assert_eq!(written, bytes);
        assert_eq!(Order::decode(&written).as_ref(), Ok(&order));
        // What the sandbox relies on without looking again.
        assert!(order.argv.first().is_some_and(|program| program.starts_with(b"/")));
        assert!(order.cwd.starts_with(b"/"));
        for mask in &order.masks {
            assert!(usize::from(mask.directory) < order.directories.len());
            assert!(!mask.path.starts_with(b"/"));
            assert!(mask.path.split(|byte| *byte == b'/').all(|part| part != b".."));
        }
    }
});
