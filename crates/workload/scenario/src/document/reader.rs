//! Small documents besides the scenario: mappings with known keys, and values that are checked.

use rust_decimal::Decimal;
use units::parse::{self, UnitError};

use crate::document::diagnostic::{Collector, Diagnostic};
use crate::document::node::{Entry, Node, Place};
use crate::document::{suggest, yaml};

/// A document being read, and its diagnostics.
#[derive(Debug)]
pub struct DocumentReader<'t> {
    /// Problems found so far.
    pub diagnostics: Collector<'t>,
}

/// A mapping whose keys are known.
#[derive(Debug)]
pub struct Map<'n> {
    entries: &'n [Entry],
    /// The mapping's place.
    pub place: &'n Place,
}

impl<'n> Map<'n> {
    /// The value of a key, if one was written.
    pub fn get(&self, key: &str) -> Option<&'n Node> {
        let found = self.entries.iter().find(|entry| entry.key == key);
        found.map(|entry| &entry.value).filter(|node| !node.is_null())
    }
}

impl<'t> DocumentReader<'t> {
    /// The document's tree; `None` after a syntax error, which is reported.
    pub fn open(text: &'t str) -> (Option<Node>, DocumentReader<'t>) {
        let mut diagnostics = Collector::new(text, &[]);
        let root = yaml::parse(text, &mut diagnostics);
        (root, DocumentReader { diagnostics })
    }

    /// The value, where nothing was wrong, and all diagnostics.
    pub fn close<T>(self, value: Option<T>) -> (Option<T>, Vec<Diagnostic>) {
        let sound = !self.diagnostics.has_errors();
        (value.filter(|_| sound), self.diagnostics.finish())
    }

    /// A mapping with these keys, the first `required` of which must be there.
    pub fn map<'n>(
        &mut self,
        node: &'n Node,
        called: &str,
        keys: &[&str],
        required: usize,
    ) -> Option<Map<'n>> {
        let entries = self.entries(node, called)?;
        for entry in entries {
            if !keys.contains(&entry.key.as_str()) {
                let message = format!("unknown key `{}` in {called}", entry.key);
                let hint = suggest::hint(&entry.key, "the keys here are", keys.iter().copied());
                self.diagnostics.error("unknown-key", &entry.key_place, message).hint_some(hint);
            }
        }
        let map = Map { entries, place: &node.place };
        for key in &keys[..required] {
            if map.get(key).is_none() {
                let message = format!("`{key}` is missing in {called}");
                self.diagnostics.error("missing-key", &node.place, message);
            }
        }
        Some(map)
    }

    /// The entries of a mapping with any keys.
    pub fn entries<'n>(&mut self, node: &'n Node, called: &str) -> Option<&'n [Entry]> {
        let entries = node.mapping();
        if entries.is_none() {
            self.expected(node, &format!("a mapping ({called})"));
        }
        entries
    }

    /// The items of a list.
    pub fn items<'n>(&mut self, node: &'n Node, called: &str) -> &'n [Node] {
        match node.sequence() {
            Some(items) => items,
            None => {
                self.expected(node, &format!("a list ({called})"));
                &[]
            }
        }
    }

    /// A single value's text.
    pub fn text<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n str> {
        let text = node.text().filter(|text| !text.is_empty());
        if text.is_none() {
            self.expected(node, what);
        }
        text
    }

    /// One of these words.
    pub fn word<T: Copy>(&mut self, node: &Node, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(node, "a word")?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let hint = suggest::hint(text, "write one of", words.iter().map(|(word, _)| *word));
        self.diagnostics
            .error("bad-word", &node.place, format!("`{text}` is not known here"))
            .hint_some(hint);
        None
    }

    /// A decimal number of 0 or more, digit by digit as it is written.
    pub fn decimal(&mut self, node: &Node, what: &str) -> Option<Decimal> {
        let text = self.text(node, what)?;
        let digits = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        match text.parse::<Decimal>() {
            Ok(number) if digits => Some(number),
            _ => {
                self.diagnostics
                    .error("bad-number", &node.place, format!("`{text}` is not {what}"))
                    .hint("write digits, with a decimal point if needed, like 0.00019");
                None
            }
        }
    }

    /// A finite number.
    pub fn number(&mut self, node: &Node, what: &str) -> Option<f64> {
        let text = self.text(node, what)?;
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        if number.is_none() {
            let message = format!("`{text}` is not {what}");
            self.diagnostics.error("bad-number", &node.place, message);
        }
        number
    }

    /// A duration above 0, in seconds.
    pub fn seconds(&mut self, node: &Node) -> Option<f64> {
        let seconds = self.parsed(node, "a duration", "bad-duration", parse::duration)?;
        if seconds <= 0.0 {
            let message = "a duration above 0 is needed here";
            self.diagnostics.error("bad-duration", &node.place, message);
            return None;
        }
        Some(seconds)
    }

    /// A value in one of the notations of [`units::parse`]; `code` is that of the error.
    pub fn parsed<T>(
        &mut self,
        node: &Node,
        what: &str,
        code: &'static str,
        parse: impl FnOnce(&str) -> Result<T, UnitError>,
    ) -> Option<T> {
        let text = self.text(node, what)?;
        match parse(text) {
            Ok(value) => Some(value),
            Err(UnitError { message, hint }) => {
                self.diagnostics.error(code, &node.place, message).hint(hint);
                None
            }
        }
    }

    /// Reports that something else stands here.
    pub fn expected(&mut self, node: &Node, what: &str) {
        let message = format!("expected {what}, found {}", node.described());
        self.diagnostics.error("wrong-kind", &node.place, message);
    }
}
