//! Single values: text, numbers with units, words.

use plan::expr::{Escape, Template, TemplatePart};
use units::parse::{self, UnitError};

use super::Checker;
use super::names::Names;
use crate::document::node::{Node, Place};
use crate::expression::template;

/// A scalar with its parameters filled in.
#[derive(Debug)]
pub(crate) struct Word {
    pub(crate) text: String,
    /// The word's place: in the file, or in the override whose parameter it holds.
    pub(crate) place: Place,
    pub(crate) quoted: bool,
}

impl Checker<'_> {
    /// Reports that something else was expected.
    pub(crate) fn expected(&mut self, node: &Node, what: &str) {
        let message = format!("expected {what}, found {}", node.described());
        let holds_others = what.starts_with("a mapping") || what.starts_with("a list");
        let hint = (node.is_null() && holds_others)
            .then(|| "indent what belongs to the key deeper than the key".to_owned());
        self.diagnostics.error("wrong-kind", &node.place, message).hint_some(hint);
    }

    /// A scalar's text with parameters and the environment filled in. `what`: what is expected,
    /// for the message.
    pub(crate) fn word(&mut self, node: &Node, what: &str) -> Option<Word> {
        let Some(scalar) = node.scalar().filter(|_| !node.is_null()) else {
            self.expected(node, what);
            return None;
        };
        let place = node.place.clone();
        if !scalar.text.contains("${") {
            return Some(Word { text: scalar.text.clone(), place, quoted: scalar.quoted });
        }
        let names = Names::new(self, None);
        let filled = template(&scalar.text, Escape::None, &names);
        let place = names.overridden.take().unwrap_or(place);
        let filled = match filled {
            Ok(filled) => filled,
            Err(error) => {
                self.expression_error(node, &error);
                return None;
            }
        };
        match fixed_text(&filled) {
            // Only what is wholly an expression keeps its type.
            Some(text) => Some(Word { text, place, quoted: false }),
            None => {
                let message = "this is not the same for every user";
                self.diagnostics
                    .error("not-constant", &node.place, message)
                    .hint("only parameters (`params`) and env('NAME') are allowed here");
                None
            }
        }
    }

    /// A scalar read by `parse`.
    pub(crate) fn unit<T>(
        &mut self,
        node: &Node,
        code: &'static str,
        what: &str,
        parse: impl Fn(&str) -> Result<T, UnitError>,
    ) -> Option<T> {
        let word = self.word(node, what)?;
        match parse(&word.text) {
            Ok(value) => Some(value),
            Err(error) => {
                self.diagnostics.error(code, &word.place, error.message).hint(error.hint);
                None
            }
        }
    }

    /// Nanoseconds, more than 0 and at most [`DURATION_MAX_S`].
    pub(super) fn duration_ns(&mut self, node: &Node) -> Option<u64> {
        self.unit(node, "bad-duration", "a duration", |text| {
            let seconds = parse::duration(text)?;
            positive_ns(seconds).ok_or_else(|| UnitError {
                message: format!("`{text}` is out of range"),
                hint: "write more than 0 and at most 366d".to_owned(),
            })
        })
    }

    /// A duration that may be 0.
    pub(super) fn duration_or_none_ns(&mut self, node: &Node) -> Option<u64> {
        self.unit(node, "bad-duration", "a duration", |text| {
            let seconds = parse::duration(text)?;
            let none = (seconds == 0.0).then_some(0);
            none.or_else(|| positive_ns(seconds)).ok_or_else(|| UnitError {
                message: format!("`{text}` is out of range"),
                hint: "write 0s to 366d".to_owned(),
            })
        })
    }

    /// A rate per second, 0 to [`RATE_MAX_PER_S`].
    pub(super) fn rate(&mut self, node: &Node) -> Option<f64> {
        self.unit(node, "bad-rate", "a rate", rate_in_range)
    }

    pub(super) fn count(&mut self, node: &Node) -> Option<u64> {
        self.unit(node, "bad-count", "a whole number", parse::count)
    }

    pub(super) fn number(&mut self, node: &Node) -> Option<f64> {
        self.unit(node, "bad-number", "a number", parse::number)
    }

    /// A weight: a number, at least 0.
    pub(super) fn weight(&mut self, node: &Node) -> Option<f64> {
        self.unit(node, "bad-number", "a weight", |text| {
            parse::number(text).and_then(|weight| {
                if (0.0..=1e12).contains(&weight) {
                    return Ok(weight);
                }
                Err(UnitError {
                    message: format!("the weight `{text}` is out of range"),
                    hint: "a weight is a number from 0, like 3 or 0.5".to_owned(),
                })
            })
        })
    }

    pub(super) fn bool(&mut self, node: &Node) -> Option<bool> {
        self.unit(node, "bad-word", "true or false", |text| match text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(UnitError {
                message: format!("`{text}` is neither true nor false"),
                hint: "write `true` or `false`".to_owned(),
            }),
        })
    }

    /// One of some words, by its index.
    pub(crate) fn choice(&mut self, node: &Node, words: &[&str]) -> Option<usize> {
        let word = self.word(node, "a word")?;
        let found = words.iter().position(|w| *w == word.text);
        if found.is_none() {
            let message = format!("`{}` is not known here", word.text);
            let written = word.text.as_str();
            let introduction = "write one of";
            self.unknown(
                "bad-word",
                &word.place,
                message,
                written,
                introduction,
                words.iter().copied(),
            );
        }
        found
    }

    /// One value, or the values of a list.
    pub(crate) fn one_or_more<'n>(&self, node: &'n Node) -> &'n [Node] {
        node.sequence().unwrap_or(std::slice::from_ref(node))
    }
}

/// Longest duration of a phase or timeout, in seconds: 366 days.
pub(super) const DURATION_MAX_S: f64 = 366.0 * 86_400.0;

fn positive_ns(seconds: f64) -> Option<u64> {
    let ns = parse::seconds_to_ns(seconds).filter(|&ns| ns > 0)?;
    (seconds <= DURATION_MAX_S).then_some(ns)
}

/// A rate per second, within the limit.
pub(super) fn rate_in_range(text: &str) -> Result<f64, UnitError> {
    parse::rate_at_most(text, plan::RATE_MAX_PER_S)
}

/// The text of a template that needs no user.
pub(super) fn fixed_text(template: &Template) -> Option<String> {
    let mut text = String::new();
    for part in &template.parts {
        match part {
            TemplatePart::Text(piece) => text.push_str(piece),
            TemplatePart::Bytes(_) | TemplatePart::Expr(..) => return None,
        }
    }
    Some(text)
}
