//! Elements of HTML pages: CSS selectors in `save`.

use html::Selector;
use plan::{Elements, Source};

use super::Checker;
use super::fields::Fields;
use crate::document::node::Node;

impl Checker<'_> {
    /// `css`, with what is taken of the elements.
    pub(super) fn elements(&mut self, node: &Node, fields: &Fields<'_>) -> Option<Source> {
        let selector = self.selector(node);
        let attribute = match fields.get("attr") {
            Some(node) => Some(self.word(node, "an attribute's name")?.text),
            None => None,
        };
        let all = fields.get("all").and_then(|node| self.bool(node));
        Some(Source::Elements(Box::new(Elements {
            selector: selector?,
            attribute,
            all: all.unwrap_or(false),
        })))
    }

    fn selector(&mut self, node: &Node) -> Option<Selector> {
        let word = self.word(node, "a CSS selector")?;
        match Selector::parse(&word.text) {
            Ok(selector) => Some(selector),
            Err(bad) => {
                // A selector that was put together of parameters stands nowhere.
                let place = match node.text() == Some(&*word.text) && !bad.at.is_empty() {
                    true => node.part(&bad.at),
                    false => word.place,
                };
                let message = format!("this is not a CSS selector: {}", bad.message);
                self.diagnostics.error("bad-selector", &place, message).hint(bad.hint);
                None
            }
        }
    }
}
