//! Metrics of the scenario's own: their declarations, and the step that records them.

use plan::{Metric, MetricId, Op};
use stats::metrics::MetricKind;

use super::fields::Fields;
use super::program::Program;
use super::{Checker, index};
use crate::document::node::{Entry, Node, Place};
use crate::keys::{METRIC, METRIC_KINDS};

/// Most metrics of a scenario.
const METRICS_MAX: usize = 64;
/// Most characters of a metric's name.
const NAME_CHARS_MAX: usize = 64;
/// Most characters of a unit.
const UNIT_CHARS_MAX: usize = 16;

impl Checker<'_> {
    /// `metrics: { basket: { kind: quantity, unit: euro }, orders: counter }`.
    pub(super) fn metrics(&mut self, node: &Node) {
        let Some(entries) = node.mapping() else {
            self.expected(node, "a mapping of metrics (`orders: counter`)");
            return;
        };
        if let Some(further) = entries.get(METRICS_MAX) {
            let message = format!("there are more than {METRICS_MAX} metrics");
            self.diagnostics.error("too-many", &further.key_place, message);
        }
        for entry in entries {
            self.metric_name(entry);
            if let Some((kind, unit)) = self.kind_and_unit(&entry.value) {
                self.metrics.push(Metric { name: entry.key.clone(), kind, unit });
            }
        }
    }

    fn metric_name(&mut self, entry: &Entry) {
        let name = &entry.key;
        let length = name.chars().count();
        let is_odd = |c: char| c.is_control() || matches!(c, '"' | '(' | ')');
        if length == 0 || length > NAME_CHARS_MAX || name.contains(is_odd) {
            let hint =
                format!("a name has 1 to {NAME_CHARS_MAX} characters, without quotes and brackets");
            self.diagnostics
                .error("bad-name", &entry.key_place, "this cannot be the name of a metric")
                .hint(hint);
        } else if self.measures.iter().any(|measure| measure.name == *name) {
            let message = format!("`{name}` is already the name of a measure");
            self.diagnostics
                .error("measure-conflict", &entry.key_place, message)
                .hint("give the metric another name");
        }
    }

    /// A kind, or a mapping with a kind and a unit.
    fn kind_and_unit(&mut self, node: &Node) -> Option<(MetricKind, String)> {
        if node.mapping().is_none() {
            let kind = self.choice(node, METRIC_KINDS)?;
            return Some((MetricKind::ALL[kind], String::new()));
        }
        let fields = self.fields(node, &METRIC, "a metric")?;
        let kind = fields.get("kind").and_then(|node| self.choice(node, METRIC_KINDS));
        let unit = fields.get("unit").and_then(|node| self.metric_unit(node));
        let kind = MetricKind::ALL[kind?];
        if let (MetricKind::Share, Some(_), Some(place)) = (kind, &unit, fields.key_place("unit")) {
            self.diagnostics
                .error("bad-unit", place, "a share has no unit: it is a part of all")
                .hint("remove `unit`, or write `kind: quantity`");
        }
        Some((kind, unit.unwrap_or_default()))
    }

    fn metric_unit(&mut self, node: &Node) -> Option<String> {
        let word = self.word(node, "a unit")?;
        let length = word.text.chars().count();
        let is_odd = |c: char| c.is_control() || c.is_ascii_digit() || matches!(c, '"' | '(' | ')');
        if (1..=UNIT_CHARS_MAX).contains(&length) && !word.text.contains(is_odd) {
            return Some(word.text);
        }
        let message = format!("`{}` cannot be a unit", word.text);
        let hint = format!(
            "a unit has 1 to {UNIT_CHARS_MAX} characters without digits, like bytes or EUR"
        );
        self.diagnostics.error("bad-unit", &word.place, message).hint(hint);
        None
    }

    /// The metric of this name.
    pub(super) fn metric(&self, name: &str) -> Option<MetricId> {
        let found = self.metrics.iter().position(|metric| metric.name == name);
        found.map(index)
    }

    /// A `measure` step whose name is that of a metric.
    pub(super) fn record_step(
        &mut self,
        node: &Node,
        fields: &Fields<'_>,
        metric: MetricId,
        program: &mut Program,
    ) {
        if let Some(place) = fields.key_place("unit") {
            let message = "a metric has the unit that `metrics` gives it";
            self.diagnostics.error("bad-unit", place, message).hint("remove `unit` here");
        }
        if let Some(once) = self.between.alone {
            let message = format!("a metric cannot be recorded in `{once}`");
            self.diagnostics
                .error("misplaced-step", fields.place(), message)
                .hint("metrics are those of the users: record it in a session");
        }
        if let Some(value) = self.expression(node, program) {
            program.push(Op::Record { value, metric });
        }
    }

    /// Reports a unit of a `measure` step that is no unit of time.
    pub(super) fn no_time_unit(&mut self, unit: &str, name: &str, place: &Place) {
        let message = format!("`{unit}` is no unit of time, and `{name}` is not among `metrics`");
        let is_word = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' '));
        let (name, here) = match is_word {
            true => (name, "no `unit` here"),
            false => ("size", "`as: size` instead of `unit` here"),
        };
        let hint = format!(
            "write `metrics: {{ {name}: {{ kind: quantity, unit: {unit} }} }}` beside `sessions`, and {here}"
        );
        self.diagnostics.error("bad-unit", place, message).hint(hint);
    }
}
