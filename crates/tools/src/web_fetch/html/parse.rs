//! Text to tree, in steps small enough to stop between them.

use dom_query::Document;
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{ParseOpts, parse_document};

/// How much is parsed before asking whether to go on.
const STEP: usize = 4 * 1024;

/// The tree of a page, and whether all of the page is in it.
pub(super) fn parse(html: &str, go_on: &dyn Fn() -> bool) -> (Document, bool) {
    let options = ParseOpts {
        tree_builder: TreeBuilderOpts {
            scripting_enabled: false,
            ..TreeBuilderOpts::default()
        },
        ..ParseOpts::default()
    };
    let mut parser = parse_document(Document::default(), options);
    let mut rest = html;
    while !rest.is_empty() && go_on() {
        let (step, after) = rest.split_at(rest.floor_char_boundary(STEP));
        parser.process(StrTendril::from(step));
        rest = after;
    }
    (parser.finish(), rest.is_empty())
}
