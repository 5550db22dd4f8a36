//! Requests.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::fenced::Definition;
use crate::request::{
    Effort, Form, Pieces, Reasoning, RequestError, RequestOptions, Said, Settled,
};

/// How OpenAI Chat Completions writes requests.
pub(crate) struct OpenAiChat;

#[derive(Serialize)]
struct Assistant<'a> {
    role: &'static str,
    content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall<'a>>,
}

#[derive(Serialize)]
struct ToolCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: String,
}

#[derive(Serialize)]
struct Spoken<'a> {
    role: &'static str,
    content: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

/// Words of the user that hold images.
#[derive(Serialize)]
struct Shown<'a> {
    role: &'static str,
    content: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

impl Form for OpenAiChat {
    fn plain_names(&self) -> bool {
        true
    }

    fn fields(&self, options: &RequestOptions) -> Result<Map<String, Value>, RequestError> {
        let mut fields = Map::new();
        fields.insert("model".into(), options.model.clone().into());
        fields.insert("stream".into(), true.into());
        fields.insert("stream_options".into(), json!({"include_usage": true}));
        if let Some(max) = options.max_tokens {
            fields.insert("max_completion_tokens".into(), max.into());
        }
        let effort = match options.reasoning {
            Reasoning::Default | Reasoning::On => None,
            Reasoning::Off => Some("none"),
            Reasoning::Budget(tokens) => Some(Effort::of_budget(tokens).as_str()),
            Reasoning::Effort(effort) => Some(effort.as_str()),
        };
        if let Some(effort) = effort {
            fields.insert("reasoning_effort".into(), effort.into());
        }
        Ok(fields)
    }

    fn first_message(&self, options: &RequestOptions) -> Option<Value> {
        let system = options.system.as_ref()?;
        Some(json!({"role": "system", "content": system}))
    }

    fn definition(&self, definition: &Definition) -> Value {
        json!({
            "type": "function",
            "function": {
                "name": definition.name,
                "description": definition.description,
                "parameters": definition.schema,
            },
        })
    }

    fn user(&self, text: &str, out: &mut Pieces) -> serde_json::Result<()> {
        out.add(&Spoken {
            role: "user",
            content: text,
            tool_call_id: None,
        })
    }

    /// The wire keeps no order between text and calls; thinking does not go back.
    fn assistant(&self, said: &[Said<'_>], out: &mut Pieces) -> serde_json::Result<()> {
        let mut message = Assistant {
            role: "assistant",
            content: None,
            refusal: None,
            tool_calls: Vec::new(),
        };
        for part in said {
            match part {
                Said::Text { text, refusal } if !text.is_empty() => {
                    let place = if *refusal {
                        &mut message.refusal
                    } else {
                        &mut message.content
                    };
                    place.get_or_insert_default().push_str(text);
                }
                Said::Text { .. } | Said::Thinking { .. } => {}
                Said::Call { id, name, args } => message.tool_calls.push(ToolCall {
                    id,
                    r#type: "function",
                    function: Function {
                        name,
                        arguments: match args {
                            Some(args) => serde_json::to_string(args)?,
                            None => "{}".to_owned(),
                        },
                    },
                }),
            }
        }
        let says_nothing = message.content.is_none() && message.refusal.is_none();
        if says_nothing && message.tool_calls.is_empty() {
            return Ok(());
        }
        out.add(&message)
    }

    /// A message of a tool holds text only, so its images follow in a message of the user.
    fn results(&self, results: &[Settled<'_>], out: &mut Pieces) -> serde_json::Result<()> {
        let mut images = Vec::new();
        for settled in results {
            let mut content = Cow::Borrowed(&*settled.text);
            if !settled.pictures.is_empty() {
                let text = content.to_mut();
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push('\n');
                }
                text.push_str("[its images follow in the next message]");
                let of = format!("Images of the result of {} ({}):", settled.name, settled.id);
                images.push(Part::Text { text: of.into() });
            }
            images.extend(settled.pictures.iter().map(|picture| Part::ImageUrl {
                image_url: ImageUrl {
                    url: picture.data_url(),
                },
            }));
            out.add(&Spoken {
                role: "tool",
                content: &content,
                tool_call_id: Some(settled.id),
            })?;
        }
        if images.is_empty() {
            return Ok(());
        }
        out.add(&Shown {
            role: "user",
            content: images,
        })
    }
}
