//! The figures of a run that a reader wants first: how much was offered, begun and completed, how much failed, and
//! how long the step took that users wait for most often.

use record::schema::{MeasureSummary, Summary};
use serde::Serialize;

use crate::number::Number;

/// Kinds of measures, from those that users wait for most to those they wait for least.
const ORDER: [&str; 6] = ["request", "transaction", "message", "handshake", "redirect", "connect"];

/// Kinds of measures that are no operations of a step's own: a connection or a redirect is part of one, a pushed message is
/// begun by the target, a meeting is between users, a transaction consists of others, a check says how one ended, a value
/// was computed, and a step that failed of itself is none.
const NOT_OFFERED: [&str; 8] =
    ["connect", "redirect", "message", "meeting", "transaction", "check", "value", "step"];

/// The first figures of a run.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct Totals {
    /// Operations of all measures that ended, successful or failed.
    pub operations: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Failed operations as a share of all, 0..=1; `None`: there were none.
    pub error_share: Option<Number>,
    /// Operations that the end of the run interrupted: begun, and neither successful nor failed.
    pub unfinished: u64,
    /// Operations of steps that were due while load was planned, by second of that time; without connections, pushed messages
    /// and transactions. `None` if the record does not say.
    pub offered_per_s: Option<Number>,
    /// Operations of steps that began in that time, by second of it; `None` if the record does not say.
    pub begun_per_s: Option<Number>,
    /// Operations of steps that the target answered in that time, by second of it; `None` if it is not known when that was.
    pub completed_per_s: Option<Number>,
    /// Response times of the step that users wait for most often.
    pub step: Option<StepTotals>,
}

/// The response times of one step.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
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
    /// The totals of a run that has ended, or of one in progress.
    pub fn of(summary: &Summary) -> Totals {
        let measures = summary.over_regions();
        let all = || measures.iter();
        let steps = || of_steps(measures);
        let operations = all().map(|m| m.count).sum();
        let errors = all().map(|m| m.errors).sum();
        // Imported samples have operations without times.
        let is_timed = all().all(|m| m.rate_per_s > 0.0 || m.completed == 0);
        // If one step has no rate, that of all is unknown.
        let sum = |rates: Option<f64>| rates.filter(|_| is_timed).map(Number);
        Totals {
            operations,
            errors,
            error_share: (operations > 0).then(|| Number(errors as f64 / operations as f64)),
            unfinished: all().map(|m| m.begun.saturating_sub(m.count)).sum(),
            offered_per_s: sum(steps().map(|m| m.offered_per_s).sum()),
            begun_per_s: sum(steps().map(|m| m.begun_per_s).sum()),
            completed_per_s: sum(Some(steps().map(|m| m.rate_per_s).sum())),
            step: main_step(measures).and_then(step_totals),
        }
    }
}

/// The measures of these whose operations are of steps.
pub(crate) fn of_steps(measures: &[MeasureSummary]) -> impl Iterator<Item = &MeasureSummary> {
    measures.iter().filter(|m| !NOT_OFFERED.contains(&m.kind.as_str()))
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
    use record::schema::{MeasureInfo, NeverBegun, WhyNot};

    use super::*;
    use crate::figures::CompletionCounts;
    use crate::sample;

    /// 60 s of load and 20 s of drain. Of 6,000 requests and more, 60 timed out, 1,200 began in the drain, 10 were
    /// interrupted, and 300 that were due never began. They were the attempts of 3,000 blocks that are tried again.
    fn drained() -> crate::Figures {
        let mut figures = sample::figures();
        figures.info.ended_ns = 80 * sample::SECOND;
        figures.info.measures.push(MeasureInfo::new("retry", "transaction"));
        let mut figures = crate::Figures::new(figures.info, figures.series, Vec::new());
        sample::succeed(&mut figures, 0, RETRY, 3_000, 20 * sample::MS, 0);
        sample::succeed(&mut figures, 0, sample::REQUEST, 6_000, 10 * sample::MS, 0);
        sample::succeed(&mut figures, 0, sample::REQUEST, 1_200, sample::MS, 0);
        sample::fail(&mut figures, sample::REQUEST, Outcome::Timeout, 60);
        sample::fail(&mut figures, sample::REQUEST, Outcome::Unfinished, 10);
        sample::succeed(&mut figures, 0, 0, 9000, sample::MS, 0);
        figures.begun = vec![9_000, 7_270, 3_000];
        figures.never_begun = vec![NeverBegun {
            measure: sample::REQUEST as u16,
            why: WhyNot::Busy,
            operations: 300,
        }];
        figures.add_begun(0, 0, 9_000);
        figures.add_begun(0, sample::REQUEST, 6_070);
        figures.add_begun(1, sample::REQUEST, 1_200);
        let succeeded = |succeeded| CompletionCounts { succeeded, failed: 0 };
        figures.drained = vec![succeeded(0), succeeded(1_200), succeeded(600)];
        figures
    }

    const RETRY: usize = 2;

    #[test]
    fn each_rate_is_over_the_time_in_which_it_happened() {
        let summary = sample::judged(&drained());
        let totals = Totals::of(&summary);
        assert_eq!((totals.operations, totals.errors), (19_260, 60));
        assert_eq!(totals.error_share, Some(Number(60.0 / 19_260.0)));
        assert_eq!(totals.unfinished, 10);
        assert_eq!(totals.offered_per_s, Some(Number(6_370.0 / 60.0)));
        assert_eq!(totals.begun_per_s, Some(Number(6_070.0 / 60.0)));
        // Neither what was answered after the load is among them, nor the blocks, which are made of the others.
        assert_eq!(totals.completed_per_s, Some(Number(6_000.0 / 60.0)));
        let mut notes = summary.findings.iter();
        let throughput = notes.find(|finding| finding.code == "throughput").unwrap();
        assert!(throughput.text.starts_with("6,000 operations completed in 1 min: 100/s, "));
        let step = totals.step.unwrap();
        assert_eq!(step.name, "request", "although there are more connections");
        assert!((step.p50_ns as f64 / 10e6 - 1.0).abs() < 0.001, "{step:?}");

        let phase = &summary.phases[0].measures[1];
        assert_eq!((phase.begun, phase.completed), (7_270, 6_000));
        assert_eq!(phase.begun_per_s, Some(6_070.0 / 60.0));
        assert_eq!((phase.offered_per_s, phase.rate_per_s), (None, 100.0));
    }

    #[test]
    fn what_a_record_lacks_is_not_made_up() {
        let mut summary = sample::judged(&sample::figures());
        let old = Totals::of(&summary);
        assert_eq!((old.offered_per_s, old.begun_per_s), (None, None));
        assert_eq!(old.completed_per_s, Some(Number(100.0)));
        for measure in &mut summary.measures {
            measure.rate_per_s = 0.0;
        }
        let samples = Totals::of(&summary);
        assert_eq!(samples.completed_per_s, None);
        summary.measures.clear();
        let empty = Totals::of(&summary);
        assert_eq!((empty.error_share, empty.step), (None, None));
    }
}
