//! Messages that arrive unasked.

use super::Checker;
use super::program::Program;
use crate::keys::MESSAGE;
use crate::node::{Entry, Node};
use crate::plan::{MeasureKind, SentAt, Unasked};

impl Checker<'_> {
    pub(super) fn messages(&mut self, node: &Node) -> Vec<Unasked> {
        let Some(entries) = node.mapping() else {
            self.expected(node, "a mapping of message names");
            return Vec::new();
        };
        entries
            .iter()
            .filter_map(|entry| self.message(entry))
            .collect()
    }

    fn message(&mut self, entry: &Entry) -> Option<Unasked> {
        let called = format!("message `{}`", entry.key);
        let fields = self.fields(&entry.value, &MESSAGE, &called)?;
        // Messages come to no step of a session, so that no variables stand in their conditions.
        let when = self.matches(fields.get("when"), &Program::default());
        if let Some(node) = fields
            .get("when")
            .filter(|n| n.mapping().is_some_and(<[_]>::is_empty))
        {
            self.told
                .error(
                    "empty",
                    &node.place,
                    "without a condition every message is this one",
                )
                .hint("say what tells it apart: { /type: update }");
        }
        let unit_ns = match fields.get_or_default("unit") {
            Some(node) => self.choice(&node, &["s", "ms", "us", "ns"]),
            None => None,
        };
        let unit_ns = [1e9, 1e6, 1e3, 1.0][unit_ns.unwrap_or(1)];
        let pointer = fields.get("sent_at").and_then(|node| self.pointer(node));
        let sent_at = pointer.map(|pointer| SentAt { pointer, unit_ns });
        let measure = self.measure_from(&fields, "as", &entry.key, MeasureKind::Message);
        Some(Unasked {
            name: entry.key.clone(),
            when,
            sent_at,
            measure,
        })
    }
}
