//! The page for the browser: files that are part of the program.
//!
//! They are served by exact name and hold no data, so they need no token.

use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::problem::Problem;

/// A file: its name, its media type and its content.
type File = (&'static str, &'static str, &'static [u8]);

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// Includes the files of `crates/server/page`.
macro_rules! files {
    ($($name:literal $kind:ident),* $(,)?) => {
        &[$(($name, $kind, include_bytes!(concat!("../../page/", $name)))),*]
    };
}

const INDEX: &[u8] = include_bytes!("../../page/index.html");

const FILES: &[File] = files![
    "api.js" JS,
    "app.js" JS,
    "approval.js" JS,
    "base.css" CSS,
    "call.js" JS,
    "composer.js" JS,
    "conversation.js" JS,
    "diff.js" JS,
    "dom.js" JS,
    "form.js" JS,
    "frames.js" JS,
    "help.js" JS,
    "icon.svg" SVG,
    "inbox.js" JS,
    "journal.js" JS,
    "list.js" JS,
    "main.js" JS,
    "markdown.js" JS,
    "parts.css" CSS,
    "pieces.js" JS,
    "rules.js" JS,
    "settings.js" JS,
    "socket.js" JS,
    "spans.js" JS,
    "store.js" JS,
    "timeline.js" JS,
    "token.js" JS,
    "undo.js" JS,
];

/// The page.
pub(crate) async fn index() -> Response {
    ([(header::CONTENT_TYPE, HTML)], INDEX).into_response()
}

/// A file of the page.
pub(crate) async fn file(Path(name): Path<String>) -> Result<Response, Problem> {
    let found = FILES.iter().find(|(known, _, _)| *known == name);
    let (_, kind, content) =
        found.ok_or_else(|| Problem::not_found("the page has no file of this name"))?;
    Ok(([(header::CONTENT_TYPE, *kind)], *content).into_response())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_page_is_served_and_small() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/page");
        let mut there: Vec<String> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| {
                let ending = name.rsplit_once('.').map(|(_, ending)| ending);
                matches!(ending, Some("js" | "css" | "svg" | "woff2"))
            })
            .collect();
        there.sort();
        let served: Vec<&str> = FILES.iter().map(|(name, _, _)| *name).collect();
        assert_eq!(there, served);
        let bytes: usize = FILES.iter().map(|(_, _, content)| content.len()).sum();
        assert!(bytes + INDEX.len() < 200_000, "{bytes} bytes");
    }
}
