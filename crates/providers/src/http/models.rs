//! Which models a provider offers.

use reqwest::Method;
use serde::Deserialize;

use super::client::Client;
use crate::fault::StreamError;
use crate::fenced::head;
use crate::provider::Refused;
use crate::wire::Wire;

/// A list of models is never longer than this.
const LIST_BYTES: usize = 8 * 1024 * 1024;

/// A model that a provider offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedModel {
    /// The name to ask for it by.
    pub name: String,
    /// What the provider calls it for users, if it does.
    pub title: Option<String>,
}

/// A list that goes on for more pages than this is not read on.
const PAGES: usize = 64;

#[derive(Deserialize)]
struct Data {
    data: Vec<Listed>,
    /// Whether the list goes on behind this part of it, and after which model.
    #[serde(default)]
    has_more: bool,
    last_id: Option<String>,
}

/// A part of a list, and where the next one begins.
struct Page {
    models: Vec<ListedModel>,
    after: Option<String>,
}

#[derive(Deserialize)]
struct Listed {
    id: String,
    display_name: Option<String>,
}

#[derive(Deserialize)]
struct Tags {
    models: Vec<Tag>,
}

#[derive(Deserialize)]
struct Tag {
    name: String,
}

impl Client {
    /// Asks the provider for its models, sorted by name.
    pub async fn models(&self) -> Result<Vec<ListedModel>, Refused> {
        let listed = self.list().await;
        listed.map_err(|refused| self.endpoint().secrets().refused(refused))
    }

    async fn list(&self) -> Result<Vec<ListedModel>, Refused> {
        let mut models = Vec::new();
        let mut after = None;
        for _ in 0..PAGES {
            let mut page = self.page(after.as_deref()).await?;
            models.append(&mut page.models);
            after = page.after;
            if after.is_none() {
                break;
            }
        }
        models.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(models)
    }

    async fn page(&self, after: Option<&str>) -> Result<Page, Refused> {
        let mut url = self.endpoint().models();
        if let Some(after) = after {
            url.query_pairs_mut().append_pair("after_id", after);
        }
        let response = self.send(self.request(Method::GET, url)).await?;
        let body = self.read(response, LIST_BYTES).await?;
        read(self.endpoint().wire(), &body).map_err(|error| {
            let excerpt = head(&String::from_utf8_lossy(&body));
            Refused::from(StreamError::Malformed {
                wire: self.endpoint().wire().as_str(),
                message: format!("no list of models: {error}"),
                excerpt,
            })
        })
    }
}

fn read(wire: Wire, body: &[u8]) -> serde_json::Result<Page> {
    if wire == Wire::Ollama {
        let tags: Tags = serde_json::from_slice(body)?;
        let model = |tag: Tag| ListedModel {
            name: tag.name,
            title: None,
        };
        return Ok(Page {
            models: tags.models.into_iter().map(model).collect(),
            after: None,
        });
    }
    let data: Data = serde_json::from_slice(body)?;
    let model = |listed: Listed| ListedModel {
        name: listed.id,
        title: listed.display_name,
    };
    Ok(Page {
        models: data.data.into_iter().map(model).collect(),
        after: data.last_id.filter(|_| data.has_more),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_the_wires_send_them() {
        let openai = br#"{"object":"list","data":[{"id":"m1","object":"model","owned_by":"x"}]}"#;
        let anthropic =
            br#"{"data":[{"type":"model","id":"m2","display_name":"M 2"}],"has_more":false}"#;
        let ollama = br#"{"models":[{"name":"m3:7b","size":1}]}"#;
        let name = |wire, body: &[u8]| read(wire, body).unwrap().models.remove(0).name;
        assert_eq!(name(Wire::OpenAiChat, openai), "m1");
        assert_eq!(name(Wire::Anthropic, anthropic), "m2");
        assert_eq!(name(Wire::Ollama, ollama), "m3:7b");
        assert!(read(Wire::Ollama, openai).is_err());
    }
}
