//! Content blocks for tests.

use proptest::prelude::*;
use serde_json::{Map, Value};
use toolgate_model::{ContentBlock, ResourceBody, base64};

/// A PNG of one pixel.
pub const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\
\x89\0\0\0\rIDATx\xdac\xfc\xff\x9f\xa1\x1e\0\x07\x82\x02\x7f=\xc8H\xef\0\0\0\0IEND\xaeB`\x82";

/// One valid block of each kind.
pub fn each_block() -> Vec<ContentBlock> {
    let text = ResourceBody::Text("fn main() {}".into());
    let blob = ResourceBody::Blob(base64::encode(b"\0\x01\x02").into());
    vec![
        ContentBlock::text("words"),
        ContentBlock::image("image/png", PNG),
        ContentBlock::audio("audio/wav", b"RIFF\x24\0\0\0WAVE"),
        ContentBlock::ResourceLink {
            uri: "https://example.com/a?b=c".into(),
            name: "a".into(),
            mime_type: Some("text/html".into()),
            description: Some("a page".into()),
        },
        ContentBlock::resource("file:///src/main.rs", Some("text/x-rust".into()), text),
        ContentBlock::resource("file:///a.bin", None, blob),
        ContentBlock::structured(serde_json::json!({"rows": [1, 2.5, {"a": null}]})),
    ]
}

/// Any block, valid or not, with texts of this strategy in it.
pub fn any_block(text: BoxedStrategy<String>) -> impl Strategy<Value = ContentBlock> {
    let mime_type = prop_oneof![
        Just("image/png".to_owned()),
        Just("text/plain;charset=utf-8".to_owned()),
        text.clone(),
    ]
    .boxed();
    let bytes = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..64),
        prop::collection::vec(any::<u8>(), 0..64).prop_map(|more| [PNG, more.as_slice()].concat()),
    ];
    let data = prop_oneof![
        4 => bytes.prop_map(|bytes| base64::encode(&bytes)),
        1 => text.clone(),
    ]
    .boxed();
    let uri = prop_oneof![
        text.clone().prop_map(|text| format!("file:///{text}")),
        text.clone(),
    ]
    .boxed();
    let json = any_json(text.clone());
    prop_oneof![
        text.clone().prop_map(ContentBlock::text),
        (mime_type.clone(), data.clone()).prop_map(|(mime_type, data)| ContentBlock::Image {
            mime_type,
            data: data.into(),
        }),
        (mime_type.clone(), data.clone()).prop_map(|(mime_type, data)| ContentBlock::Audio {
            mime_type,
            data: data.into(),
        }),
        (
            uri.clone(),
            text.clone(),
            prop::option::of(mime_type.clone()),
            prop::option::of(text.clone())
        )
            .prop_map(|(uri, name, mime_type, description)| {
                ContentBlock::ResourceLink {
                    uri,
                    name,
                    mime_type,
                    description,
                }
            }),
        (uri.clone(), prop::option::of(mime_type.clone()), text).prop_map(
            |(uri, mime_type, text)| ContentBlock::resource(
                uri,
                mime_type,
                ResourceBody::Text(text)
            )
        ),
        (uri, prop::option::of(mime_type), data).prop_map(|(uri, mime_type, data)| {
            ContentBlock::resource(uri, mime_type, ResourceBody::Blob(data.into()))
        }),
        json.prop_map(ContentBlock::structured),
    ]
}

fn any_json(text: BoxedStrategy<String>) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((text.clone(), inner), 0..5)
                .prop_map(|members| Value::Object(Map::from_iter(members))),
        ]
    })
}
