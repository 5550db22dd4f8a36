//! Requests.

use serde::Serialize;
use serde_json::{Map, Value, json};
use toolgate_model::{Args, ImageKind};

use crate::fenced::Definition;
use crate::request::{
    Effort, Form, Pieces, Reasoning, RequestError, RequestOptions, Said, Settled,
};

/// How Ollama's chat writes requests.
pub(crate) struct Ollama;

#[derive(Serialize)]
struct Assistant<'a> {
    role: &'static str,
    content: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    thinking: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall<'a>>,
}

#[derive(Serialize)]
struct ToolCall<'a> {
    id: &'a str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a Args,
}

#[derive(Serialize)]
struct Spoken<'a> {
    role: &'static str,
    content: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
    /// Newer servers tell results of one tool apart by this; older ones read over it.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    /// Base64.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<&'a str>,
}

impl Form for Ollama {
    fn plain_names(&self) -> bool {
        false
    }

    /// The server decodes no GIF.
    fn image_kinds(&self) -> &'static [ImageKind] {
        &[ImageKind::Png, ImageKind::Jpeg, ImageKind::Webp]
    }

    fn fields(&self, options: &RequestOptions) -> Result<Map<String, Value>, RequestError> {
        let mut fields = Map::new();
        fields.insert("model".into(), options.model.clone().into());
        fields.insert("stream".into(), true.into());
        let mut inner = Map::new();
        if let Some(max) = options.max_tokens {
            inner.insert("num_predict".into(), max.into());
        }
        if let Some(context) = options.context_tokens {
            inner.insert("num_ctx".into(), context.into());
        }
        if !inner.is_empty() {
            fields.insert("options".into(), Value::Object(inner));
        }
        let think = match options.reasoning {
            Reasoning::Default => None,
            Reasoning::Off => Some(json!(false)),
            Reasoning::On | Reasoning::Budget(_) => Some(json!(true)),
            Reasoning::Effort(effort) => Some(json!(level(effort))),
        };
        if let Some(think) = think {
            fields.insert("think".into(), think);
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
            tool_name: None,
            tool_call_id: None,
            images: Vec::new(),
        })
    }

    /// The wire keeps no order between text, thinking and calls.
    fn assistant(&self, said: &[Said<'_>], out: &mut Pieces) -> serde_json::Result<()> {
        let none = Args::new();
        let mut message = Assistant {
            role: "assistant",
            content: String::new(),
            thinking: String::new(),
            tool_calls: Vec::new(),
        };
        for part in said {
            match part {
                Said::Text { text, .. } => message.content.push_str(text),
                // What another wire sealed goes back to that wire only.
                Said::Thinking { text, seal: None } => message.thinking.push_str(text),
                Said::Thinking { .. } => {}
                Said::Call { id, name, args } => message.tool_calls.push(ToolCall {
                    id,
                    function: Function {
                        name,
                        arguments: args.unwrap_or(&none),
                    },
                }),
            }
        }
        if message.content.is_empty() && message.tool_calls.is_empty() {
            return Ok(());
        }
        out.add(&message)
    }

    fn results(&self, results: &[Settled<'_>], out: &mut Pieces) -> serde_json::Result<()> {
        results.iter().try_for_each(|settled| {
            out.add(&Spoken {
                role: "tool",
                content: &settled.text,
                tool_name: Some(settled.name),
                tool_call_id: Some(settled.id),
                images: settled.pictures.iter().map(|one| one.data).collect(),
            })
        })
    }
}

const fn level(effort: Effort) -> &'static str {
    match effort {
        Effort::Minimal | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High | Effort::XHigh | Effort::Max => "high",
    }
}
