//! Conditions that decide whether the run passes.

use plan::thresholds::{FigureError, MeasureTags, Names, UNKNOWN_MEASURE};
use plan::{Figure, Measure, MeasureKind, Phase, Plan, RecordedMeasures, Threshold};

use super::Checker;
use crate::document::node::Node;
use crate::document::suggest;

impl Checker<'_> {
    /// `recorded`: what runs measure; `None` if there are no sessions to measure anything. Where they are missing,
    /// that is reported, and not of each measure that is missing with them.
    pub(super) fn thresholds(
        &mut self,
        node: &Node,
        phases: &[Phase],
        recorded: Option<&RecordedMeasures>,
    ) -> Vec<Threshold> {
        let items = match node.sequence() {
            Some(items) => items,
            None if node.is_null() => &[],
            None => std::slice::from_ref(node),
        };
        items.iter().filter_map(|item| self.threshold(item, phases, recorded)).collect()
    }

    fn threshold(
        &mut self,
        node: &Node,
        phases: &[Phase],
        recorded: Option<&RecordedMeasures>,
    ) -> Option<Threshold> {
        let word = self.word(node, "a condition")?;
        let measures = recorded.map_or(&self.measures, |recorded| &recorded.measures);
        let names = Names {
            measures: &measures.iter().map(|m| &*m.name).collect::<Vec<_>>(),
            tags: &measures.iter().map(tagged).collect::<Vec<_>>(),
            phases: &phases.iter().map(|p| &*p.name).collect::<Vec<_>>(),
        };
        match names.threshold(&word.text) {
            Ok(threshold) => Some(threshold),
            Err(error) if error.code == UNKNOWN_MEASURE && recorded.is_none() => None,
            Err(error) => {
                // The parts of a text that was filled in stand nowhere.
                let as_written = node.text() == Some(word.text.as_str());
                let place = if as_written { node.part(&error.span) } else { word.place };
                let hint = hint(&error);
                self.diagnostics.error(error.code, &place, error.message).hint_some(hint);
                None
            }
        }
    }
}

/// The names of a measure in thresholds besides its own.
fn tagged(measure: &Measure) -> MeasureTags<'_> {
    MeasureTags {
        shared_name: measure.shared_name.as_deref(),
        tags: &measure.tags,
        is_request: matches!(measure.kind, MeasureKind::Request | MeasureKind::Handshake),
    }
}

/// Advice on what to write instead: the nearest known name, or all of them.
fn hint(error: &FigureError) -> Option<String> {
    match &error.unknown {
        Some(unknown) => {
            let known = unknown.known.iter().map(String::as_str);
            suggest::hint(&unknown.name, unknown.what, known)
        }
        None => error.hint.clone(),
    }
}

/// Compiles a figure, `p98(request)` or `rate in hold`, of a run of a plan. The error says what is wrong with it, and
/// what to write instead.
pub fn figure(text: &str, plan: &Plan) -> Result<Figure, String> {
    let measures = plan.recorded().measures;
    let names = Names {
        measures: &measures.iter().map(|m| &*m.name).collect::<Vec<_>>(),
        tags: &measures.iter().map(tagged).collect::<Vec<_>>(),
        phases: &plan.phases.iter().map(|p| &*p.name).collect::<Vec<_>>(),
    };
    names.figure(text).map_err(|error| match hint(&error) {
        Some(hint) => format!("{}; {hint}", error.message),
        None => error.message,
    })
}
