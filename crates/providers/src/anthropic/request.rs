//! Requests.

use serde::Serialize;
use serde_json::{Map, Value, json};
use toolgate_model::{Args, Picture};

use super::thinking;
use crate::event::Seal;
use crate::fenced::Definition;
use crate::request::{Form, Pieces, RequestError, RequestOptions, Said, Settled};

/// The wire demands a number, and every model that is still served takes this one.
const MAX_TOKENS: u64 = 8_192;

/// How Anthropic Messages writes requests.
pub(crate) struct Anthropic;

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: &'a Args,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: ResultContent<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum ResultContent<'a> {
    Text(&'a str),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: &'a str },
    Image { source: Source<'a> },
}

#[derive(Serialize)]
struct Source<'a> {
    r#type: &'static str,
    media_type: &'static str,
    data: &'a str,
}

impl<'a> From<&Picture<'a>> for Part<'a> {
    fn from(picture: &Picture<'a>) -> Self {
        Self::Image {
            source: Source {
                r#type: "base64",
                media_type: picture.kind.media_type(),
                data: picture.data,
            },
        }
    }
}

fn result_content<'a>(settled: &'a Settled<'_>) -> ResultContent<'a> {
    let text: &str = &settled.text;
    if settled.pictures.is_empty() {
        // An error that says nothing is refused.
        let silent = settled.failed && text.trim().is_empty();
        return ResultContent::Text(if silent { "failed" } else { text });
    }
    // Blank text is refused beside images.
    let text = Some(text).filter(|text| !text.trim().is_empty());
    let text = text.map(|text| Part::Text { text });
    let pictures = settled.pictures.iter().map(Part::from);
    ResultContent::Parts(text.into_iter().chain(pictures).collect())
}

impl Form for Anthropic {
    fn plain_names(&self) -> bool {
        true
    }

    fn plain_ids(&self) -> bool {
        true
    }

    /// The wire refuses anything but text where `is_error` is set.
    fn images_in_errors(&self) -> bool {
        false
    }

    fn fields(&self, options: &RequestOptions) -> Result<Map<String, Value>, RequestError> {
        let max = options.max_tokens.unwrap_or(MAX_TOKENS);
        let mut fields = Map::new();
        fields.insert("model".into(), options.model.clone().into());
        fields.insert("max_tokens".into(), max.into());
        fields.insert("stream".into(), true.into());
        if let Some(system) = &options.system {
            fields.insert("system".into(), system.clone().into());
        }
        if options.cache {
            fields.insert("cache_control".into(), json!({"type": "ephemeral"}));
        }
        thinking::tell(options.reasoning, &options.model, max, &mut fields)?;
        Ok(fields)
    }

    fn definition(&self, definition: &Definition) -> Value {
        json!({
            "name": definition.name,
            "description": definition.description,
            "input_schema": definition.schema,
        })
    }

    /// A history with calls needs the tools it called; they stay known and cannot be called.
    fn without_tools(&self) -> Option<Map<String, Value>> {
        let choice = ("tool_choice".to_owned(), json!({"type": "none"}));
        Some(Map::from_iter([choice]))
    }

    fn user(&self, text: &str, out: &mut Pieces) -> serde_json::Result<()> {
        out.add(&Message {
            role: "user",
            content: vec![Block::Text { text }],
        })
    }

    fn assistant(&self, said: &[Said<'_>], out: &mut Pieces) -> serde_json::Result<()> {
        let none = Args::new();
        let content: Vec<Block<'_>> = said
            .iter()
            .filter_map(|part| match part {
                // Blank text is refused.
                Said::Text { text, .. } => {
                    (!text.trim().is_empty()).then_some(Block::Text { text })
                }
                Said::Thinking { text, seal } => match seal {
                    Some(Seal::Signature(signature)) => Some(Block::Thinking {
                        thinking: text,
                        signature,
                    }),
                    Some(Seal::Redacted(data)) => Some(Block::RedactedThinking { data }),
                    // Thinking of another wire, or cut off before its signature, is refused.
                    Some(Seal::Item(_)) | None => None,
                },
                Said::Call { id, name, args } => Some(Block::ToolUse {
                    id,
                    name,
                    input: args.unwrap_or(&none),
                }),
            })
            .collect();
        // Thinking alone says nothing that could be answered.
        let says_something = |block: &Block<'_>| {
            !matches!(
                block,
                Block::Thinking { .. } | Block::RedactedThinking { .. }
            )
        };
        if !content.iter().any(says_something) {
            return Ok(());
        }
        out.add(&Message {
            role: "assistant",
            content,
        })
    }

    fn results(&self, results: &[Settled<'_>], out: &mut Pieces) -> serde_json::Result<()> {
        let content = results
            .iter()
            .map(|settled| Block::ToolResult {
                tool_use_id: settled.id,
                content: result_content(settled),
                is_error: settled.failed,
            })
            .collect();
        out.add(&Message {
            role: "user",
            content,
        })
    }
}
