//! Content blocks of results: checked, sanitized, redacted, bounded, nothing lost.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::io::Read;

use futures::FutureExt;
use futures::executor::block_on;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use toolgate_gate::output::{BlockLimits, Redactor};
use toolgate_gate::session::{KeptInMemory, Session};
use toolgate_gate::tool::Output;
use toolgate_model::{ContentBlock, OutputHandle, ResourceBody, ToolResult, base64};
use toolgate_testkit::{Act, Bench, PNG, Rig, Scripted, any_block, each_block, laws, paused};

const SECRET: &str = "correct horse battery";
const EVIL: &str = "a\u{1b}[31mb\u{1b}]0;title\u{7}c\u{202e}d\u{200b}e";
const CLEAN: &str = "abcde";

const SMALL: BlockLimits = BlockLimits {
    max_block_bytes: 400,
    max_total_bytes: 900,
    max_blocks: 4,
};

fn bench(output: Output, limits: BlockLimits) -> Bench {
    Rig::new()
        .tool(Scripted::new("t").does(Act::Give(output)))
        .redactor(Redactor::new([("DB_PASSWORD", SECRET)]).unwrap())
        .settings(|settings| settings.blocks = limits)
        .build()
}

async fn settled(output: Output) -> ToolResult {
    let bench = bench(output, BlockLimits::default());
    bench.one("t", json!({})).await
}

fn with(blocks: impl IntoIterator<Item = ContentBlock>) -> Output {
    blocks.into_iter().fold(Output::plain(""), Output::block)
}

/// The text that a note says is kept.
fn kept(bench: &Bench, note: &str) -> String {
    let (_, after) = note.split_once("read_output ").expect(note);
    let handle = OutputHandle::new(after.split(' ').next().unwrap());
    let mut text = String::new();
    let outputs = bench.session.outputs();
    let opened = outputs.open(bench.session.id(), &handle);
    let mut kept = opened.now_or_never().flatten().expect("kept");
    kept.read_to_string(&mut text).unwrap();
    text
}

fn note(result: &ToolResult) -> &str {
    match result.blocks.as_slice() {
        [ContentBlock::Text { text }] => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn valid_blocks_pass_and_the_text_holds_what_they_say() {
    paused(async {
        let result = settled(with(each_block())).await;
        assert_eq!(result.blocks, each_block());
        assert_eq!(
            result.content,
            "words\n[resource a <https://example.com/a?b=c> text/html: a page]\nfn main() {}\n\
             {\"rows\":[1,2.5,{\"a\":null}]}"
        );
        assert!(result.metadata.is_empty() && !result.truncated);
        let json = serde_json::to_string(&result).unwrap();
        assert_eq!(serde_json::from_str::<ToolResult>(&json).unwrap(), result);
    });
}

#[test]
fn a_text_that_says_it_already_does_not_say_it_twice() {
    paused(async {
        let rows = json!({"rows": [1, 2]});
        let pretty = format!("{rows:#}");
        let output = Output::self_bounded(pretty.clone()).structured(rows.clone());
        let result = settled(output).await;
        assert_eq!(result.content, pretty);
        assert_eq!(result.blocks, [ContentBlock::structured(rows)]);
        let output = Output::plain("one\ntwo\n").block(ContentBlock::text("two"));
        assert_eq!(settled(output).await.content, "one\ntwo\n");
        let output = Output::plain("one").block(ContentBlock::text("two"));
        assert_eq!(settled(output).await.content, "one\ntwo");
    });
}

#[test]
fn a_result_of_an_image_alone_shows_what_it_is() {
    paused(async {
        let result = settled(with([ContentBlock::image("image/png", PNG)])).await;
        assert_eq!(result.content, "");
        assert_eq!(
            result.display,
            format!("image image/png, {} bytes", PNG.len())
        );
    });
}

#[test]
fn texts_of_blocks_are_sanitized_and_redacted() {
    paused(async {
        let said = format!("{EVIL} {SECRET}");
        let clean = format!("{CLEAN} [redacted:env]");
        let link = ContentBlock::ResourceLink {
            uri: "https://example.com/correct%20horse".into(),
            name: said.clone(),
            mime_type: None,
            description: Some(said.clone()),
        };
        let json =
            json!({"list": [said], said.clone(): {"deep": said}, "password": "Tr0ub4dor&3xyz"});
        let result = settled(with([
            ContentBlock::text(&said),
            link,
            ContentBlock::resource("x:1", None, ResourceBody::Text(said.clone())),
            ContentBlock::structured(json),
        ]))
        .await;
        let written = serde_json::to_string(&result).unwrap();
        assert!(
            !written.contains(SECRET) && !written.contains("Tr0ub4dor"),
            "{written}"
        );
        assert!(
            !written.contains("\\u001b") && !written.contains('\u{202e}'),
            "{written}"
        );
        let ContentBlock::ResourceLink {
            name, description, ..
        } = &result.blocks[1]
        else {
            panic!("{result:?}")
        };
        assert_eq!((name, description.as_ref()), (&clean, Some(&clean)));
        let ContentBlock::Structured { json } = &result.blocks[3] else {
            panic!("{result:?}")
        };
        assert_eq!(json["list"], json!([clean]));
        assert_eq!(json[&clean], json!({"deep": clean}));
        assert!(result.metadata["redacted_in_blocks"].as_u64().unwrap() >= 6);
    });
}

#[test]
fn names_in_json_are_redacted_however_plain_they_are() {
    paused(async {
        let redactor = Redactor::new([("TOKEN", "PlainTokenValue42")]).unwrap();
        let output = Output::plain("").structured(json!({"PlainTokenValue42": 1}));
        let bench = Rig::new()
            .tool(Scripted::new("t").does(Act::Give(output)))
            .redactor(redactor)
            .build();
        let result = bench.one("t", json!({})).await;
        let expected = ContentBlock::structured(json!({"[redacted:env]": 1}));
        assert_eq!(result.blocks, [expected]);
    });
}

#[test]
fn invalid_blocks_become_notes() {
    paused(async {
        let png = base64::encode(PNG);
        let image = |mime_type: &str, data: &str| ContentBlock::Image {
            mime_type: mime_type.into(),
            data: data.into(),
        };
        let link = |uri: &str| ContentBlock::link(uri, "n");
        let mut deep = json!(1);
        for _ in 0..64 {
            deep = json!([deep]);
        }
        let blob = |data: &str| ResourceBody::Blob(data.into());
        for (block, why) in [
            (
                image("png", &png),
                "[an image left out: `png` is not a media type]",
            ),
            (
                image("image/png\u{1b}[2J", &png),
                "[an image left out: `image/png\\u{1b}[2J` is not a media type]",
            ),
            (
                image("image/png", "iVBOR"),
                "[an image left out: its data is not base64: its length 5 is not a multiple of 4]",
            ),
            (
                ContentBlock::Audio {
                    mime_type: "audio/wav".into(),
                    data: "====".into(),
                },
                "[audio left out: its data is not base64: byte 0 is not base64]",
            ),
            (
                link("not an address"),
                "[a link left out: `not an address` is not an address]",
            ),
            (
                link("https://a/\nb"),
                "[a link left out: `https://a/\\nb` is not an address]",
            ),
            (
                ContentBlock::resource("x:1", Some("-/-".into()), blob("")),
                "[a resource left out: `-/-` is not a media type]",
            ),
            (
                ContentBlock::resource("x:1", None, blob("a b=")),
                "[a resource left out: its data is not base64: byte 1 is not base64]",
            ),
            (
                ContentBlock::structured(deep),
                "[JSON left out: it is more than 64 levels deep]",
            ),
            (
                ContentBlock::structured(json!({"a": 1, "a\u{200b}": 2})),
                "[JSON left out: two of its names are the same without what may not be shown]",
            ),
        ] {
            let result = settled(with([block])).await;
            assert_eq!(note(&result), why);
            assert_eq!(result.content, why);
            assert_eq!(result.metadata["blocks_left_out"], 1);
        }
    });
}

#[test]
fn the_type_of_an_image_comes_from_its_bytes() {
    paused(async {
        let named = settled(with([ContentBlock::image("image/jpeg", PNG)])).await;
        assert_eq!(named.blocks, [ContentBlock::image("image/png", PNG)]);
        let svg = ContentBlock::image("image/svg+xml", b"<svg onload='x()'/>");
        let bench = bench(with([svg]), BlockLimits::default());
        let result = bench.one("t", json!({})).await;
        assert_eq!(
            note(&result),
            "[image image/svg+xml, 19 bytes, left out: its bytes are not PNG, JPEG, GIF or WebP; \
             read_output out_1 returns it as base64]"
        );
        let whole = kept(&bench, note(&result));
        assert_eq!(
            base64::decode(whole.trim_end()).unwrap(),
            b"<svg onload='x()'/>"
        );
    });
}

#[test]
fn bytes_with_a_known_secret_are_left_out_and_not_kept() {
    paused(async {
        let wide: Vec<u8> = SECRET.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for secret in [SECRET.as_bytes(), &wide] {
            let bytes = [PNG, secret].concat();
            let blob = ResourceBody::Blob(base64::encode(&bytes).into());
            for block in [
                ContentBlock::image("image/png", &bytes),
                ContentBlock::audio("audio/wav", &bytes),
                ContentBlock::resource("x:1", None, blob),
            ] {
                let result = settled(with([block])).await;
                let note = note(&result);
                assert!(
                    note.ends_with("left out: it holds a secret of the environment]"),
                    "{note}"
                );
            }
        }
    });
}

#[test]
fn blocks_over_a_limit_are_kept_and_named() {
    paused(async {
        let large = [PNG, &[7; 400]].concat();
        let bench_of = |output| bench(output, SMALL);
        let bench = bench_of(with([ContentBlock::image("image/png", &large)]));
        let result = bench.one("t", json!({})).await;
        let bytes = large.len();
        assert_eq!(
            note(&result),
            format!(
                "[image image/png, {bytes} bytes, left out: more than the limit of 400 bytes of a \
                 block; read_output out_1 returns it as base64]"
            )
        );
        let whole = kept(&bench, note(&result));
        assert!(whole.lines().all(|line| line.len() <= 76));
        assert_eq!(base64::decode(&whole.replace('\n', "")).unwrap(), large);

        let json = json!({"text": "x".repeat(500)});
        let bench = bench_of(Output::plain("").structured(json.clone()));
        let result = bench.one("t", json!({})).await;
        let whole = kept(&bench, note(&result));
        assert_eq!(serde_json::from_str::<Value>(&whole).unwrap(), json);

        // Three blocks fit together, and the fourth does not.
        let image = ContentBlock::image("image/png", &[PNG, &[7; 140]].concat());
        let bench = bench_of(with(vec![image.clone(); 4]));
        let result = bench.one("t", json!({})).await;
        assert_eq!(result.blocks[..3], vec![image; 3]);
        assert!(
            result
                .content
                .contains("more than the limit of 900 bytes of all blocks leaves")
        );
        assert_eq!(result.metadata["blocks_left_out"], 1);

        let many: Vec<ContentBlock> = (0..9).map(|n| ContentBlock::text(n.to_string())).collect();
        let bench = bench_of(with(many.clone()));
        let result = bench.one("t", json!({})).await;
        assert_eq!(result.blocks.len(), 5);
        assert_eq!(result.metadata["blocks_left_out"], 5);
        let rest = kept(&bench, &result.content);
        let rest: Vec<ContentBlock> = rest
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(rest, many[4..]);
    });
}

#[test]
fn long_texts_are_cut_in_the_middle_and_kept() {
    paused(async {
        let long: String = (0..30_000).map(|n| format!("line {n}\n")).collect();
        let bench = bench(with([ContentBlock::text(&long)]), BlockLimits::default());
        let result = bench.one("t", json!({})).await;
        let text = note(&result);
        assert!(
            text.len() <= 100 * 1024 && text.starts_with("line 0\n"),
            "{}",
            text.len()
        );
        assert!(text.contains("out_1") && text.ends_with("line 29999\n"));
        assert!(result.truncated && result.output_handle.is_some());
    });
}

#[test]
fn a_block_that_cannot_be_kept_says_so() {
    paused(async {
        let large = [PNG, &[7; 400]].concat();
        let output = with([ContentBlock::image("image/png", &large)]);
        let session =
            Session::new("c").keeping_in(std::sync::Arc::new(KeptInMemory::with_quota(9)));
        let gate = bench(output.clone(), SMALL).gate;
        let mut result = ToolResult::ok("1".into(), "t", "");
        result.blocks = output.blocks;
        let result = gate.clean(&session, result).await;
        assert!(note(&result).ends_with("of a block]"), "{result:?}");
        let why = result.metadata["output_not_kept"].as_str().unwrap();
        assert!(why.contains("quota of 9"), "{why}");
    });
}

#[test]
fn failed_calls_keep_their_blocks() {
    paused(async {
        let mut output = with([ContentBlock::image("image/png", PNG)]);
        output.error = Some(toolgate_model::ToolError::failed("half of the page"));
        let result = settled(output).await;
        assert_eq!(result.content, "t failed: half of the page");
        assert_eq!(result.blocks, [ContentBlock::image("image/png", PNG)]);
    });
}

/// Whatever comes in: nothing harmful, nothing too large, nothing without a trace, and the same
/// again when it is settled again.
#[test]
fn any_blocks_settle_within_the_laws() {
    let text = prop_oneof![
        any::<String>(),
        "[ -~]{0,30}",
        Just(EVIL.to_owned()),
        Just(format!("x {SECRET} y")),
    ]
    .boxed();
    let blocks = prop::collection::vec(any_block(text), 0..8);
    let gate = bench(Output::plain(""), SMALL).gate;
    let session = Session::new("c");
    let ran = TestRunner::new(laws(512)).run(&blocks, |blocks| {
        let mut result = ToolResult::ok("1".into(), "t", "text");
        let count = blocks.len();
        result.blocks = blocks;
        let result = block_on(gate.clean(&session, result));
        let json = serde_json::to_string(&result).unwrap();
        prop_assert!(!json.contains(SECRET), "{}", json);
        prop_assert!(
            !json.contains("\\u001b") && !json.contains('\u{202e}'),
            "{}",
            json
        );
        prop_assert_eq!(result.blocks.len(), count.min(SMALL.max_blocks + 1));
        for block in &result.blocks {
            let is_note = matches!(block, ContentBlock::Text { .. });
            prop_assert!(is_note || block.size() <= SMALL.max_block_bytes);
            if let Some(text) = block.as_text() {
                prop_assert!(
                    result.content.contains(&*text),
                    "{:?} in {}",
                    block,
                    result.content
                );
            }
            if matches!(block, ContentBlock::Image { .. }) {
                prop_assert!(block.picture().is_some());
            }
        }
        prop_assert_eq!(&serde_json::from_str::<ToolResult>(&json).unwrap(), &result);
        if count <= SMALL.max_blocks {
            let again = block_on(gate.clean(&session, result.clone()));
            prop_assert_eq!(again.blocks, result.blocks);
            prop_assert_eq!(again.content, result.content);
        }
        Ok(())
    });
    if let Err(error) = ran {
        panic!("{error}");
    }
}
