//! The figures of a run that a reader wants first: how much was offered, how much was completed, how much
//! failed, and how long the step took that users wait for most often.

use record::schema::{MeasureSummary, Summary};
use serde::Serialize;

use crate::number::Number;
use crate::summary::per_second;

/// Kinds of measures, from those that users wait for most to those they wait for least.
const ORDER: [&str; 6] = [
    "request",
    "transaction",
    "message",
    "handshake",
    "redirect",
    "connect",
];

/// Kinds of measures that are no operations of a step's own: a connection or a redirect is part of one, a pushed message is
/// begun by the target, a transaction consists of others, and a value was computed.
const NOT_OFFERED: [&str; 5] = ["connect", "redirect", "message", "transaction", "value"];

/// The first figures of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Totals {
    /// Operations of all measures that ended, successful or failed.
    pub operations: u64,
    /// Those of them that failed.
    pub errors: u64,
    /// Failed operations as a share of all, 0..=1; `None`: there were none.
    pub error_share: Option<Number>,
    /// Operations of steps that began, by second, without connections, pushed messages and transactions;
    /// `None` if the record does not say.
    pub offered_per_s: Option<Number>,
    /// Those of them that ended, by second; `None` if it is not known when they ended.
    pub completed_per_s: Option<Number>,
    /// Response times of the step that users wait for most often.
    pub step: Option<StepTotals>,
}

/// The response times of one step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepTotals {
    /// The name of its measure.
    pub name: String,
    /// Median.
    pub p50_ns: u64,
    /// 95th percentile.
    pub p95_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Percentiles above this share are lower bounds.
    pub bound_above: Option<Number>,
}

impl Totals {
    /// The totals of a run that ended `ended_ns` after its start, or has come that far.
    pub fn of(summary: &Summary, ended_ns: u64) -> Totals {
        let measures = summary.over_regions();
        let all = || measures.iter();
        let steps = || all().filter(|m| !NOT_OFFERED.contains(&m.kind.as_str()));
        let operations = all().map(|m| m.count).sum();
        let errors = all().map(|m| m.errors).sum();
        let begun: u64 = steps().map(|m| m.begun).sum();
        let ended: u64 = steps().map(|m| m.count).sum();
        // Imported samples have operations without times.
        let is_timed = ended_ns > 0 && all().any(|m| m.rate_per_s > 0.0);
        let rate = |count| Number(per_second(count, ended_ns as f64 / 1e9));
        Totals {
            operations,
            errors,
            error_share: (operations > 0).then(|| Number(errors as f64 / operations as f64)),
            // Records of old versions lack the number of operations begun.
            offered_per_s: (is_timed && begun >= ended).then(|| rate(begun)),
            completed_per_s: is_timed.then(|| rate(ended)),
            step: main_step(measures).and_then(step_totals),
        }
    }

    /// The same with this many operations begun, for a run in progress, whose measures have only those ended.
    pub(crate) fn with_begun(self, begun: u64, ended_ns: u64) -> Totals {
        let offered = Number(per_second(begun, ended_ns as f64 / 1e9));
        Totals {
            offered_per_s: self.completed_per_s.map(|_| offered),
            ..self
        }
    }
}

fn step_totals(measure: &MeasureSummary) -> Option<StepTotals> {
    let response = measure.response.as_ref()?;
    Some(StepTotals {
        name: measure.name.clone(),
        p50_ns: response.p50_ns,
        p95_ns: response.p95_ns,
        p99_ns: response.p99_ns,
        bound_above: response.bound_above.map(Number),
    })
}

/// The step that users wait for most often: requests before transactions, messages and connections.
pub(crate) fn main_step(measures: &[MeasureSummary]) -> Option<&MeasureSummary> {
    let rank = |m: &MeasureSummary| ORDER.iter().position(|kind| *kind == m.kind);
    let measured = measures.iter().filter(|m| m.response.is_some());
    measured.min_by_key(|m| (rank(m).unwrap_or(ORDER.len()), std::cmp::Reverse(m.count)))
}

#[cfg(test)]
mod tests {
    use record::Outcome;

    use super::*;
    use crate::sample;

    #[test]
    fn rates_are_of_steps_and_times_of_the_one_waited_for_most() {
        let mut figures = sample::figures();
        sample::fail(&mut figures, sample::REQUEST, Outcome::Timeout, 60);
        sample::succeed(&mut figures, 0, 0, 9000, sample::MS, 0);
        let mut summary = sample::judged(&figures);
        // Ten requests were not over at the end.
        summary.measures[1].begun += 10;
        let totals = Totals::of(&summary, 60 * sample::SECOND);
        assert_eq!((totals.operations, totals.errors), (15_060, 60));
        assert_eq!(totals.error_share, Some(Number(60.0 / 15_060.0)));
        assert_eq!(totals.completed_per_s, Some(Number(101.0)));
        assert_eq!(totals.offered_per_s, Some(Number(6_070.0 / 60.0)));
        let step = totals.step.unwrap();
        assert_eq!(step.name, "request", "although there are more connections");
        assert!((step.p50_ns as f64 / 10e6 - 1.0).abs() < 0.001, "{step:?}");
    }

    #[test]
    fn what_a_record_lacks_is_not_made_up() {
        let mut summary = sample::judged(&sample::figures());
        for measure in &mut summary.measures {
            measure.begun = 0;
        }
        let old = Totals::of(&summary, 60 * sample::SECOND);
        assert_eq!(
            (old.offered_per_s, old.completed_per_s),
            (None, Some(Number(100.0)))
        );
        for measure in &mut summary.measures {
            measure.rate_per_s = 0.0;
        }
        let samples = Totals::of(&summary, 60 * sample::SECOND);
        assert_eq!(samples.completed_per_s, None);
        summary.measures.clear();
        let empty = Totals::of(&summary, 0);
        assert_eq!((empty.error_share, empty.step), (None, None));
    }
}
