//! Conditions that decide whether the run passes.

use plan::thresholds::{
    FigureError, MeasureTags, MetricName, Names, UNKNOWN_MEASURE, UNKNOWN_PHASE,
};
use plan::{
    Abort, Comparison, Figure, Measure, MeasureKind, Metric, Phase, Plan, RecordedMeasures,
    Threshold,
};

use super::{Checker, translation};
use crate::document::node::{Entry, Node, Place};
use crate::document::suggest;
use crate::keys::ABORT;

/// The longest time that a threshold may be looked at over: all seconds of it are in memory.
const OVER_MAX_NS: u64 = 60_000_000_000;
/// The run is looked at once a second.
const LOOK_NS: u64 = 1_000_000_000;

/// The conditions of a scenario.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    pub(super) thresholds: Vec<Threshold>,
    /// Those among them that end the run.
    pub(super) aborts: Vec<Abort>,
}

/// True of a threshold that is to end the run, in the words of k6 as well; others are written as texts.
fn is_abort(item: &Node) -> bool {
    let words = ["abort", "over", "after", "threshold", "abortOnFail", "delayAbortEval"];
    words.iter().any(|word| item.get(word).is_some())
}

impl Checker<'_> {
    /// `recorded`: what runs measure; `None` if there are no sessions to measure anything. Where they are missing,
    /// that is reported, and not of each measure that is missing with them.
    pub(super) fn thresholds(
        &mut self,
        node: &Node,
        phases: &[Phase],
        recorded: Option<&RecordedMeasures>,
    ) -> Conditions {
        let items = match node.sequence() {
            Some(items) => items,
            None if node.is_null() => &[],
            None => std::slice::from_ref(node),
        };
        let mut others = items.iter().filter(|item| !is_abort(item));
        if let Some(entry) = others.find_map(|item| item.mapping()?.first()) {
            self.metrics_of_others(entry, items, phases, recorded);
            return Conditions::default();
        }
        let mut conditions = Conditions::default();
        for item in items {
            match item.mapping() {
                Some(_) => {
                    let abort = self.abort(item, phases, recorded);
                    conditions.thresholds.extend(abort.iter().map(|a| a.threshold.clone()));
                    conditions.aborts.extend(abort);
                }
                None => conditions.thresholds.extend(self.threshold(item, phases, recorded)),
            }
        }
        conditions
    }

    /// `{ abort: error_rate < 20%, over: 10s, after: 30s }`.
    fn abort(
        &mut self,
        node: &Node,
        phases: &[Phase],
        recorded: Option<&RecordedMeasures>,
    ) -> Option<Abort> {
        let fields = self.fields(node, &ABORT, "a threshold that ends the run")?;
        let written = fields.get("abort")?;
        let threshold = self.threshold(written, phases, recorded);
        let over_ns = match fields.get("over") {
            Some(node) => Some(self.over_ns(node)?),
            None => None,
        };
        let after_ns = match fields.get("after") {
            Some(node) => self.duration_or_none_ns(node)?,
            None => 0,
        };
        // Not before there is all that it is of.
        let after_ns = after_ns.max(over_ns.unwrap_or(0));
        let threshold = threshold?;
        if !self.may_end_run(&threshold, &written.place) {
            return None;
        }
        let phase = threshold.figure.phase().and_then(|phase| phases.get(phase));
        let (named, length_ns) = match phase {
            Some(phase) => ("its phase", phase.duration_ns),
            None => ("the run", phases.last().map_or(0, Phase::end_ns)),
        };
        if after_ns >= length_ns && length_ns > 0 {
            let message = format!("{named} is over before this is first looked at");
            self.diagnostics
                .warning("too-late", &written.place, message)
                .hint("shorten `after` or `over`");
        }
        Some(Abort { threshold, after_ns, over_ns })
    }

    /// Whole seconds.
    fn over_ns(&mut self, node: &Node) -> Option<u64> {
        let over_ns = self.duration_ns(node)?;
        if over_ns > OVER_MAX_NS || !over_ns.is_multiple_of(LOOK_NS) {
            self.diagnostics
                .error("bad-duration", &node.place, "`over` is a number of whole seconds, up to 1m")
                .hint("the run is looked at once a second: write 10s");
            return None;
        }
        Some(over_ns)
    }

    /// True if a run in progress knows the figure, and the threshold holds in its beginning. Reports one that cannot end
    /// a run.
    fn may_end_run(&mut self, threshold: &Threshold, place: &Place) -> bool {
        let figure = &threshold.figure;
        if !figure.is_known_while_running() {
            self.diagnostics
                .error("bad-threshold", place, "this figure is known only when the run is over")
                .hint("figures of measures and metrics can end a run, like error_rate, errors(login) or p95");
            return false;
        }
        let is_upper = match threshold.comparison {
            Comparison::Less | Comparison::LessEqual => true,
            Comparison::Equal => threshold.limit == 0.0,
            Comparison::Greater | Comparison::GreaterEqual | Comparison::NotEqual => false,
        };
        let holds_at_first = is_upper || !figure.begins_with_zero();
        if !holds_at_first {
            self.diagnostics
                .error("bad-threshold", place, "this does not hold before the run has begun")
                .hint("a count that grows ends a run only above a limit: errors < 100");
        }
        holds_at_first
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
            metrics: &self.metrics.iter().map(self::metric).collect::<Vec<_>>(),
            tags: &measures.iter().map(tagged).collect::<Vec<_>>(),
            phases: &phases.iter().map(|p| &*p.name).collect::<Vec<_>>(),
        };
        let mut meant = translation::thresholds_meant(metric, condition).into_iter();
        meant.find(|text| names.threshold(text).is_ok())
    }

    /// What to write instead of a phase that another population than the first has.
    fn hint_for_phase(&self, error: &FigureError) -> Option<String> {
        let unknown = error.unknown.as_ref().filter(|_| error.code == UNKNOWN_PHASE)?;
        self.phases_beside.contains(&unknown.name).then(|| {
            format!(
                "the phases of a run are those of its first population ({}); name the population by its tag",
                unknown.known.join(", ")
            )
        })
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
            metrics: &self.metrics.iter().map(metric).collect::<Vec<_>>(),
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
                let hint = meant.or_else(|| self.hint_for_phase(&error)).or_else(|| hint(&error));
                self.diagnostics.error(error.code, &place, error.message).hint_some(hint);
                None
            }
        }
    }
}

/// The names of a measure in thresholds besides its own.
pub(super) fn tagged(measure: &Measure) -> MeasureTags<'_> {
    MeasureTags {
        shared_name: measure.shared_name.as_deref(),
        tags: &measure.tags,
        is_request: matches!(measure.kind, MeasureKind::Request | MeasureKind::Handshake),
    }
}

/// A metric as thresholds know it.
pub(super) fn metric(metric: &Metric) -> MetricName<'_> {
    MetricName { name: &metric.name, kind: metric.kind, unit: &metric.unit }
}

/// Advice on what to write instead: the nearest known name, or all of them.
pub(super) fn hint(error: &FigureError) -> Option<String> {
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
        metrics: &plan.metrics.iter().map(metric).collect::<Vec<_>>(),
        tags: &measures.iter().map(tagged).collect::<Vec<_>>(),
        phases: &plan.phases.iter().map(|p| &*p.name).collect::<Vec<_>>(),
    };
    names.figure(text).map_err(|error| match hint(&error) {
        Some(hint) => format!("{}; {hint}", error.message),
        None => error.message,
    })
}
