//! Conditions that decide whether the run passes.

use plan::thresholds::{FigureError, MeasureTags, Names, UNKNOWN_MEASURE};
use plan::{Figure, Measure, MeasureKind, Phase, Plan, RecordedMeasures, Threshold};

use super::{Checker, translation};
use crate::document::node::{Entry, Node};
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
        if let Some(entry) = items.iter().find_map(|item| item.mapping()?.first()) {
            self.metrics_of_others(entry, items, phases, recorded);
            return Vec::new();
        }
        items.iter().filter_map(|item| self.threshold(item, phases, recorded)).collect()
    }

    /// Reports thresholds that are mappings, as k6 and Artillery have them, of which `first` is the first entry.
    fn metrics_of_others(
        &mut self,
        first: &Entry,
        items: &[Node],
        phases: &[Phase],
        recorded: Option<&RecordedMeasures>,
    ) {
        let entries = items.iter().flat_map(|item| item.mapping().unwrap_or_default());
        let conditions = entries.flat_map(translation::conditions_of);
        let meant: Option<Vec<String>> = conditions
            .map(|one| self.threshold_meant(&one.metric, &one.text, phases, recorded))
            .collect();
        let hint = match meant.filter(|meant| !meant.is_empty()) {
            Some(meant) => format!("write `{}`", translation::list(&meant)),
            None => {
                "write each as a text: `thresholds: [ p95 < 300ms, error_rate < 1% ]`".to_owned()
            }
        };
        self.diagnostics
            .error(
                "wrong-kind",
                &first.key_place,
                "thresholds are a list of conditions, found a mapping",
            )
            .hint(hint);
    }

    /// The threshold that a condition of another tool stands for; `metric` may be empty.
    fn threshold_meant(
        &self,
        metric: &str,
        condition: &str,
        phases: &[Phase],
        recorded: Option<&RecordedMeasures>,
    ) -> Option<String> {
        let measures = recorded.map_or(&self.measures, |recorded| &recorded.measures);
        let names = Names {
            measures: &measures.iter().map(|m| &*m.name).collect::<Vec<_>>(),
            tags: &measures.iter().map(tagged).collect::<Vec<_>>(),
            phases: &phases.iter().map(|p| &*p.name).collect::<Vec<_>>(),
        };
        let mut meant = translation::thresholds_meant(metric, condition).into_iter();
        meant.find(|text| names.threshold(text).is_ok())
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
                let meant = self.threshold_meant("", &word.text, phases, recorded);
                let meant = meant.map(|meant| format!("write `{meant}`"));
                let hint = meant.or_else(|| hint(&error));
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
