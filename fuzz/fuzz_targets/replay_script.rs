//! Recorded conversations: any text is a script or says why not; a script is
//! written and read back as the same, plays to an end, and renders for every wire.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolgate_model::json::JsonLimits;
use toolgate_providers::replay::Script;
use toolgate_providers::{StreamDecoder, StreamEvent, Wire};
use toolgate_testkit::Render;

fuzz_target!(|text: &str| {
    let Ok(script) = Script::from_toml(text) else {
        return;
    };
    let again = script.to_toml().expect("what was read can be written");
    assert_eq!(Script::from_toml(&again).as_ref(), Ok(&script));
    for step in &script.steps {
        let played = step.play(JsonLimits::default(), 1);
        let last = played.beats.last().and_then(|beat| beat.events.last());
        assert!(matches!(last, Some(StreamEvent::End(_))));
        for wire in Wire::ALL {
            let mut decoder = StreamDecoder::new(wire, Default::default());
            decoder.push(&step.render(wire));
            decoder.finish();
            assert!(decoder.is_over());
        }
    }
});
