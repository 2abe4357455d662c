//! The figures of a run that a reader wants first: how much was offered, begun and completed, how much failed, and
//! how long the step took that users wait for most often.

use record::Outcome;
use record::operations::{is_of_step, is_own_failure};
use record::schema::{MeasureSummary, OperationsSummary, Summary};
use serde::Serialize;

use crate::number::Number;

/// Kinds of measures, from those that users wait for most to those they wait for least.
const ORDER: [&str; 6] = ["request", "transaction", "message", "handshake", "redirect", "connect"];

/// The first figures of a run.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct Totals {
    /// Operations of steps that ended, successful or failed.
    pub operations: u64,
    /// Operations of steps that failed, and `own_failures`.
    pub errors: u64,
    /// Failures that are no operation's: steps, conditions, times and meetings that failed of themselves.
    pub own_failures: u64,
    /// `errors` as a share of `operations` and `own_failures`, 0..=1; `None`: there were none.
    pub error_share: Option<Number>,
    /// Operations of steps that the end of the run interrupted: begun, and neither successful nor failed.
    pub unfinished: u64,
    /// Operations of steps that were due while load was planned, by second of that time. `None` if the record does not say.
    pub offered_per_s: Option<Number>,
    /// Operations of steps that began in that time, by second of it; `None` if the record does not say.
    pub begun_per_s: Option<Number>,
    /// Operations of steps that the target answered in that time, by second of it; `None` if it is not known when that was.
    pub completed_per_s: Option<Number>,
    /// Operations of steps that it answered after that time, in the drain.
    pub drained: u64,
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
        let operations = operations(measures);
        Totals {
            operations: operations.count,
            errors: operations.errors,
            own_failures: operations.own_failures,
            error_share: operations.error_rate.map(Number),
            unfinished: operations.unfinished,
            offered_per_s: operations.offered_per_s.map(Number),
            begun_per_s: operations.begun_per_s.map(Number),
            completed_per_s: operations.completed_per_s.map(Number),
            drained: operations.drained,
            step: main_step(measures).and_then(step_totals),
        }
    }
}

/// The operations of steps among these measures of the complete run: each word for them has one count and one rate, from
/// here.
pub fn operations(measures: &[MeasureSummary]) -> OperationsSummary {
    let steps = || measures.iter().filter(|measure| is_of_step(&measure.kind));
    let sum = |of: fn(&MeasureSummary) -> u64| steps().map(of).sum::<u64>();
    let count = sum(|m| m.count);
    let own_failures = measures.iter().map(own_failures).sum::<u64>();
    let errors = sum(|m| m.errors) + own_failures;
    let among = count + own_failures;
    // Imported samples have operations without times.
    let is_timed = measures.iter().all(|m| m.rate_per_s > 0.0 || m.completed == 0);
    // If one step has no rate, that of all is unknown.
    let rate = |of: fn(&MeasureSummary) -> Option<f64>| {
        steps().map(of).sum::<Option<f64>>().filter(|_| is_timed)
    };
    OperationsSummary {
        begun: sum(|m| m.begun),
        count,
        completed: sum(|m| m.completed),
        drained: sum(|m| m.drained),
        unfinished: sum(|m| m.begun.saturating_sub(m.count)),
        errors,
        own_failures,
        error_rate: (among > 0).then(|| errors as f64 / among as f64),
        offered_per_s: rate(|m| m.offered_per_s),
        begun_per_s: rate(|m| m.begun_per_s),
        completed_per_s: rate(|m| Some(m.rate_per_s)),
    }
}

/// The failures of a measure that are no operation's.
fn own_failures(measure: &MeasureSummary) -> u64 {
    let own = measure.errors_by_kind.iter().filter(|(name, _)| {
        let outcome = Outcome::from_name(name);
        outcome.is_some_and(|outcome| is_own_failure(&measure.kind, outcome))
    });
    own.map(|(_, n)| n).sum()
}

/// The response times of a step; `None`: there are none.
pub(crate) fn step_totals(measure: &MeasureSummary) -> Option<StepTotals> {
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
        assert_eq!((totals.operations, totals.errors), (7_260, 60));
        assert_eq!(totals.error_share, Some(Number(60.0 / 7_260.0)));
        assert_eq!((totals.unfinished, totals.drained), (10, 1_200));
        assert_eq!(totals.offered_per_s, Some(Number(6_370.0 / 60.0)));
        assert_eq!(totals.begun_per_s, Some(Number(6_070.0 / 60.0)));
        // Neither what was answered after the load is among them, nor the blocks, which are made of the others.
        assert_eq!(totals.completed_per_s, Some(Number(6_000.0 / 60.0)));
        let mut notes = summary.findings.iter();
        let throughput = notes.find(|finding| finding.code == "throughput").unwrap();
        let text = "6,000 operations completed in 1 min: 100/s, and 1,200 in the drain; ";
        assert!(throughput.text.starts_with(text), "{}", throughput.text);
        let step = totals.step.unwrap();
        assert_eq!(step.name, "request", "although there are more connections");
        assert!((step.p50_ns as f64 / 10e6 - 1.0).abs() < 0.001, "{step:?}");

        let phase = &summary.phases[0].measures[1];
        assert_eq!((phase.begun, phase.completed), (7_270, 6_000));
        assert_eq!(phase.begun_per_s, Some(6_070.0 / 60.0));
        assert_eq!((phase.offered_per_s, phase.rate_per_s), (None, 100.0));
    }

    /// The rate of a closed load, too, is that of its time: what users get in the drain would make it greater or smaller.
    #[test]
    fn a_closed_load_has_the_rate_of_its_time() {
        let mut figures = drained();
        figures.info.phases[0].kind = "closed".to_owned();
        let summary = sample::judged(&figures);
        assert_eq!(Totals::of(&summary).completed_per_s, Some(Number(100.0)));
        let rate = |measures: &[MeasureSummary]| measures[1].rate_per_s;
        assert_eq!((rate(&summary.measures), rate(&summary.phases[0].measures)), (100.0, 100.0));
    }

    #[test]
    fn blocks_of_attempts_have_a_rate_beside_that_of_their_operations() {
        let mut figures = drained();
        figures.retried = vec![0, 700, 700];
        let summary = sample::judged(&figures);
        let mut notes = summary.findings.iter();
        let throughput = notes.find(|finding| finding.code == "throughput").unwrap();
        let text = "6,000 operations completed in 1 min: 100/s (blocks of attempts: 40.0/s), ";
        assert!(throughput.text.starts_with(text), "{}", throughput.text);
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
