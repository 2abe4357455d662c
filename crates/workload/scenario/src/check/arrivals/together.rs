//! Phases side by side.

use plan::PhaseKind;

use super::{Limits, Timeline};
use crate::check::Checker;
use crate::check::fields::Fields;
use crate::document::node::Node;

/// Most concurrent phases: every start looks for the earliest of them.
const STREAMS_MAX: usize = 256;
/// Kinds of phases that cannot stand beside others, and why.
const MISPLACED: &[(&str, &str)] = &[
    ("users", "a closed population cannot run concurrently with other phases"),
    ("hold", "a `hold` has no effect beside other phases"),
    ("together", "`together` cannot be nested"),
    ("at", "a single user already starts in addition to all phases"),
    ("name", "concurrent phases share one name"),
];

impl Checker<'_> {
    /// One phase of those in a list.
    pub(super) fn together(
        &mut self,
        node: &Node,
        fields: &Fields<'_>,
        timeline: &mut Timeline<'_>,
    ) {
        let items = match node.sequence() {
            Some([]) | None => {
                self.expected(node, "a list of phases");
                &[]
            }
            Some(items) if items.len() > STREAMS_MAX => {
                let message = format!("these are more than {STREAMS_MAX} concurrent phases");
                self.diagnostics.error("too-many-phases", &node.place, message);
                &[]
            }
            Some(items) => items,
        };
        let number = timeline.draws + timeline.phases.len() + 1;
        let mut streams = Vec::with_capacity(items.len());
        let mut end_ns = timeline.end_ns;
        for (beside, item) in items.iter().enumerate() {
            if self.is_misplaced(item) {
                continue;
            }
            let draws = number * STREAMS_MAX + beside;
            let mut stream =
                Timeline::new(timeline.cast, timeline.mix.clone(), timeline.end_ns, draws << 10);
            self.phase(item, &mut stream);
            end_ns = end_ns.max(stream.end_ns);
            streams.push(stream.phases);
        }
        let name = self.phase_name("together", None, fields, timeline);
        let duration_ns = (end_ns - timeline.end_ns).max(1);
        let kind = PhaseKind::Together(streams);
        timeline.push(name, kind, duration_ns, &Limits::default());
    }

    fn is_misplaced(&mut self, item: &Node) -> bool {
        let found = MISPLACED.iter().find(|(key, _)| item.get(key).is_some());
        if let Some((key, why)) = found {
            let hint = match *key {
                "name" => "write `name` next to `together`",
                "users" => "write it as a population of its own, under `populations`",
                _ => "move it before or after them",
            };
            self.diagnostics.error("misplaced-key", &item.place, *why).hint(hint);
        }
        found.is_some()
    }
}
