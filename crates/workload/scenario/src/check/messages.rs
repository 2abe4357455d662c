//! Messages that the server pushes.

use crate::keys::{MESSAGE, STAMPS};
use plan::expr::Template;
use plan::{Acknowledgement, MeasureId, MeasureKind, MessageNumber, PushedMessage, SentAt, Source};

use super::Checker;
use super::channels::list_of;
use super::fields::Fields;
use super::pointers::is_place;
use super::program::Program;
use crate::document::node::{Entry, Node, Place};

impl Checker<'_> {
    pub(super) fn messages(&mut self, node: &Node) -> Vec<PushedMessage> {
        let Some(entries) = node.mapping() else {
            self.expected(node, "a mapping of message names");
            return Vec::new();
        };
        entries.iter().filter_map(|entry| self.message(entry)).collect()
    }

    fn message(&mut self, entry: &Entry) -> Option<PushedMessage> {
        let called = format!("message `{}`", entry.key);
        let fields = self.fields(&entry.value, &MESSAGE, &called)?;
        // Messages come to no step of a session, so that no variables stand in their conditions.
        let when = self.matches(fields.get("when"), &Program::default());
        if let Some(node) = fields.get("when").filter(|n| n.mapping().is_some_and(<[_]>::is_empty))
        {
            self.diagnostics
                .error("empty", &node.place, "without a condition, every message matches")
                .hint("add a condition: { /type: update }");
        }
        let unit_ns = self.time_unit_ns(&fields);
        let from = fields.get("sent_at").and_then(|node| self.place_of_number(node));
        let correct = self.corrects(&fields, from.is_some());
        let measure = self.measure_from(&fields, "as", &entry.key, MeasureKind::Message);
        let sent_at = from.map(|from| SentAt {
            from,
            unit_ns,
            correct,
            ahead: self.part(measure, "ahead", &entry.value.place),
        });
        let numbered = self.numbered(&fields, measure, sent_at.is_some());
        let ack = self.acknowledgement(&fields)?;
        Some(PushedMessage { name: entry.key.clone(), when, sent_at, ack, numbered, measure })
    }

    /// The answer to the message, if its sender wants one.
    fn acknowledgement(&mut self, fields: &Fields<'_>) -> Option<Acknowledgement> {
        let Some(node) = fields.get("ack") else {
            return Some(Acknowledgement::With(Template::fixed("[]")));
        };
        if node.text() == Some("false") {
            return Some(Acknowledgement::Never);
        }
        let arguments = match node.sequence() {
            Some(_) => self.json(node, &Program::default()),
            None => self.json(&list_of(node), &Program::default()),
        };
        arguments.map(Acknowledgement::With)
    }

    /// The place of the message's number, with the measures that follow from it.
    fn numbered(
        &mut self,
        fields: &Fields<'_>,
        measure: MeasureId,
        stamped: bool,
    ) -> Option<MessageNumber> {
        let Some(seq) = fields.get("seq") else {
            for key in ["key", "numbers"] {
                if let Some(place) = fields.key_place(key) {
                    let problem = format!("`{key}` needs a `seq`");
                    self.diagnostics.error("misplaced-key", place, problem);
                }
            }
            return None;
        };
        let numbers = fields.get_or_default("numbers");
        let own = numbers.and_then(|node| self.choice(&node, &["shared", "own"]));
        let from = self.place_of_number(seq)?;
        self.has_numbers = true;
        let sequence = match fields.get("key") {
            Some(key) => Some(self.place_of_number(key)?),
            None => None,
        };
        let several_regions = self.regions.len() > 1;
        let mut part = |part: &str| self.part(measure, part, &seq.place);
        Some(MessageNumber {
            from,
            sequence,
            shared: own.is_none_or(|place| place == 0),
            lost: part("lost"),
            duplicated: part("duplicated"),
            out_of_order: part("out_of_order"),
            unreadable: part("unreadable"),
            unaccounted: part("unaccounted"),
            silent: part("silent"),
            first: stamped.then(|| part("first")),
            last: part("last"),
            reached: (stamped && several_regions).then(|| part("reached")),
            apart: several_regions.then(|| part("apart")),
        })
    }

    /// Whether stamps are corrected.
    fn corrects(&mut self, fields: &Fields<'_>, stamped: bool) -> bool {
        let Some(node) = fields.get("stamps") else {
            return false;
        };
        if !stamped {
            let problem = "`stamps` needs a `sent_at`";
            self.diagnostics.error("misplaced-key", &node.place, problem);
        }
        let stamps = self.fields(node, &STAMPS, "`stamps`");
        let correct = stamps.and_then(|stamps| stamps.get("correct").cloned());
        correct.is_some_and(|node| self.bool(&node).unwrap_or(false))
    }

    /// A measure of a part of a message's measure.
    fn part(&mut self, of: MeasureId, part: &str, place: &Place) -> MeasureId {
        let name = format!("{}.{part}", self.measures[of.index()].name);
        self.measure(&name, MeasureKind::Message, place)
    }

    fn place_of_number(&mut self, node: &Node) -> Option<Source> {
        match node.text() {
            Some(text) if text.contains('@') && !is_place(text) => {
                self.number_at(text, &node.place)
            }
            _ => self.pointer(node).map(Source::Pointer),
        }
    }
}
