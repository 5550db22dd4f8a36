//! Requests.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::event::Seal;
use crate::fenced::Definition;
use crate::request::{
    Effort, Form, Pieces, Reasoning, RequestError, RequestOptions, Said, Settled,
};

/// How OpenAI Responses writes requests.
pub(crate) struct OpenAiResponses;

#[derive(Serialize)]
struct Spoken<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    FunctionCall {
        call_id: &'a str,
        name: &'a str,
        arguments: String,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: Output<'a>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Output<'a> {
    Text(&'a str),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    InputText { text: &'a str },
    InputImage { image_url: String },
}

impl Form for OpenAiResponses {
    fn messages_field(&self) -> &'static str {
        "input"
    }

    fn plain_names(&self) -> bool {
        true
    }

    fn fields(&self, options: &RequestOptions) -> Result<Map<String, Value>, RequestError> {
        let mut fields = Map::new();
        fields.insert("model".into(), options.model.clone().into());
        fields.insert("stream".into(), true.into());
        // What the conversation is stands in the journal, not at the provider.
        fields.insert("store".into(), false.into());
        if let Some(system) = &options.system {
            fields.insert("instructions".into(), system.clone().into());
        }
        if let Some(max) = options.max_tokens {
            fields.insert("max_output_tokens".into(), max.into());
        }
        let effort = match options.reasoning {
            Reasoning::Default => return Ok(fields),
            Reasoning::Off => {
                fields.insert("reasoning".into(), json!({"effort": "none"}));
                return Ok(fields);
            }
            Reasoning::On => None,
            Reasoning::Budget(tokens) => Some(Effort::of_budget(tokens)),
            Reasoning::Effort(effort) => Some(effort),
        };
        let mut reasoning = json!({"summary": "auto"});
        if let (Some(effort), Some(inner)) = (effort, reasoning.as_object_mut()) {
            inner.insert("effort".into(), effort.as_str().into());
        }
        fields.insert("reasoning".into(), reasoning);
        // Models that do not think refuse this, so it is asked for only where thinking is.
        fields.insert("include".into(), json!(["reasoning.encrypted_content"]));
        Ok(fields)
    }

    fn definition(&self, definition: &Definition) -> Value {
        json!({
            "type": "function",
            "name": definition.name,
            "description": definition.description,
            "parameters": definition.schema,
            "strict": false,
        })
    }

    fn user(&self, text: &str, out: &mut Pieces) -> serde_json::Result<()> {
        out.add(&Spoken {
            role: "user",
            content: text,
        })
    }

    fn assistant(&self, said: &[Said<'_>], out: &mut Pieces) -> serde_json::Result<()> {
        // Reasoning belongs to the item that follows it, and is refused without one.
        let mut reasoning = None;
        for part in said {
            match part {
                Said::Text { text, .. } if !text.is_empty() => {
                    write_reasoning(&mut reasoning, out)?;
                    out.add(&Spoken {
                        role: "assistant",
                        content: text,
                    })?;
                }
                Said::Thinking {
                    seal: Some(Seal::Item(item)),
                    ..
                    // Nothing is stored, so what is not here in full cannot be found there.
                } if item.contains_key("encrypted_content") => reasoning = Some(item),
                Said::Text { .. } | Said::Thinking { .. } => {}
                Said::Call { id, name, args } => {
                    write_reasoning(&mut reasoning, out)?;
                    out.add(&Item::FunctionCall {
                        call_id: id,
                        name,
                        arguments: match args {
                            Some(args) => serde_json::to_string(args)?,
                            None => "{}".to_owned(),
                        },
                    })?;
                }
            }
        }
        Ok(())
    }

    fn results(&self, results: &[Settled<'_>], out: &mut Pieces) -> serde_json::Result<()> {
        results.iter().try_for_each(|settled| {
            out.add(&Item::FunctionCallOutput {
                call_id: settled.id,
                output: output(settled),
            })
        })
    }
}

fn write_reasoning(
    item: &mut Option<&Map<String, Value>>,
    out: &mut Pieces,
) -> serde_json::Result<()> {
    item.take().map_or(Ok(()), |item| out.add(item))
}

fn output<'a>(settled: &'a Settled<'_>) -> Output<'a> {
    let text: &str = &settled.text;
    if settled.pictures.is_empty() {
        return Output::Text(text);
    }
    let text = Some(text).filter(|text| !text.is_empty());
    let text = text.map(|text| Part::InputText { text });
    let pictures = settled.pictures.iter().map(|picture| Part::InputImage {
        image_url: picture.data_url(),
    });
    Output::Parts(text.into_iter().chain(pictures).collect())
}
