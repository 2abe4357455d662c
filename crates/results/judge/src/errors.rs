//! Failures by what they were, over the complete run. A failure counts once: a transaction fails by what failed in it.

use std::collections::{BTreeMap, BTreeSet};

use record::Outcome;
use record::schema::{ErrorCount, ErrorSummary, MeasureInfo};

use crate::figures::Figures;

/// The kind of measures whose steps are no operations.
const STEP: &str = "step";

/// The kind of measures whose failures are those of operations, or of steps, within them.
const TRANSACTION: &str = "transaction";

/// The kinds of failures, by kinds of measures: a transaction's failures of these kinds are consequences of others.
pub(crate) struct Causes<'f>(BTreeSet<&'f str>);

impl<'f> Causes<'f> {
    /// The causes among failures, each by its kind and that of its measure; `None`: the step is no operation.
    pub(crate) fn of(failures: impl Iterator<Item = (&'f str, Option<&'f str>)>) -> Causes<'f> {
        let causes = failures.filter(|(_, measure)| *measure != Some(TRANSACTION));
        Causes(causes.map(|(kind, _)| kind).collect())
    }

    /// Whether a failure of a measure of this kind says again what failed within it.
    pub(crate) fn include(&self, kind: &str, measure: Option<&str>) -> bool {
        measure == Some(TRANSACTION) && self.0.contains(kind)
    }
}

/// All failures, the most frequent first; those that are not told apart come last. Transactions in which something failed
/// in the same way are left out.
pub(crate) fn summarise(figures: &Figures) -> Vec<ErrorSummary> {
    let mut ended = BTreeMap::new();
    let mut all: Vec<ErrorSummary> = Vec::new();
    let causes = Causes::of(figures.errors.0.keys().map(|key| {
        let measure = key.measure.map(|measure| figures.kind(usize::from(measure)));
        (key.kind.as_str(), measure)
    }));
    for (key, total) in &figures.errors.0 {
        let measure = key.measure.map(usize::from);
        if causes.include(&key.kind, measure.map(|measure| figures.kind(measure))) {
            continue;
        }
        let info = measure.and_then(|measure| figures.info.measures.get(measure));
        let operations = measure.filter(|_| info.is_some_and(|info| info.kind != STEP));
        let ended = operations.map(|measure| {
            *ended.entry(measure).or_insert_with(|| figures.cell(None, measure).ended())
        });
        let mut by_phase = total.by_phase.clone();
        by_phase.resize(figures.info.phases.len(), 0);
        all.push(ErrorSummary {
            step: match (&key.own_step, info) {
                (Some(step), _) => step.clone(),
                (None, Some(info)) => info.name.clone(),
                (None, None) => String::new(),
            },
            kind: key.kind.clone(),
            detail: key.detail.clone(),
            count: total.count,
            share: ended.filter(|&n| n > 0).map(|n| total.count as f64 / n as f64),
            first_ns: total.first_ns,
            last_ns: interval_end_ns(figures, total.last_ns),
            by_phase,
            samples: total.samples.clone(),
        });
    }
    all.extend(overdue(figures));
    let is_others = |error: &ErrorSummary| error.detail.as_deref() == Some(ErrorCount::OTHERS);
    all.sort_by_key(|error| (is_others(error), std::cmp::Reverse(error.count)));
    all
}

/// Operations of a measure.
struct Overdue {
    /// Operations that the end of the run met unfinished, and that have failed.
    count: u64,
    failed: u64,
    ended: u64,
}

/// Operations that the end of the run met unfinished, and that have failed, as they had waited for longer than any answer
/// took. No second counted them. None if the record does not say what else failed.
fn overdue(figures: &Figures) -> Vec<ErrorSummary> {
    let kind = Outcome::Unfinished.name();
    let cells = (0..figures.info.measures.len()).map(|measure| {
        let cell = figures.cell(None, measure);
        let overdue = cell.errors().find(|&(own, _)| own == kind).map_or(0, |(_, count)| count);
        Overdue { count: overdue, failed: cell.failed(), ended: cell.ended() }
    });
    let counts: Vec<Overdue> = cells.collect();
    if figures.errors.0.is_empty() && counts.iter().any(|own| own.failed > own.count) {
        return Vec::new();
    }
    let measures = figures.info.measures.iter().zip(counts).filter(|(_, own)| own.count > 0);
    let measures: Vec<(&MeasureInfo, Overdue)> = measures.collect();
    let causes = Causes::of(measures.iter().map(|(info, _)| (kind, Some(info.kind.as_str()))));
    let mut all = Vec::new();
    for (info, Overdue { count, ended, .. }) in &measures {
        if causes.include(kind, Some(&info.kind)) {
            continue;
        }
        let count = *count;
        let mut by_phase = vec![0; figures.info.phases.len()];
        if let Some(last) = by_phase.last_mut() {
            *last = count;
        }
        all.push(ErrorSummary {
            step: info.name.clone(),
            kind: kind.to_owned(),
            detail: None,
            count,
            share: Some(count as f64 / (*ended).max(1) as f64),
            first_ns: figures.series.last().map_or(0, |row| row.start_ns),
            last_ns: figures.ended_ns(),
            by_phase,
            samples: Vec::new(),
        });
    }
    all
}

/// The end of the interval that begins there.
fn interval_end_ns(figures: &Figures, start_ns: u64) -> u64 {
    let place = figures.series.partition_point(|row| row.start_ns < start_ns);
    let row = figures.series.get(place).filter(|row| row.start_ns == start_ns);
    row.map_or(start_ns, |row| row.end_ns)
}

#[cfg(test)]
mod tests {
    use record::Outcome;
    use record::schema::ErrorSample;

    use super::*;
    use crate::figures::ErrorTotals;
    use crate::sample::{self, REQUEST, SECOND};

    fn count(second: u64, measure: Option<u16>, detail: &str, count: u64) -> ErrorCount {
        ErrorCount {
            start_ns: second * SECOND,
            phase: 0,
            measure,
            own_step: measure.is_none().then(|| "`set` of `x`".to_owned()),
            kind: Outcome::Status.name().to_owned(),
            detail: Some(detail.to_owned()),
            count,
        }
    }

    fn a_sample(detail: &str) -> ErrorSample {
        ErrorSample {
            at_ns: 4 * SECOND,
            measure: Some(REQUEST as u16),
            own_step: None,
            kind: Outcome::Status.name().to_owned(),
            detail: Some(detail.to_owned()),
            user: 7,
            text: "status".to_owned(),
            request: None,
            status: None,
            headers: Vec::new(),
            body: None,
        }
    }

    #[test]
    fn the_most_frequent_failure_comes_first_and_others_last() {
        let mut figures = sample::figures();
        let request = Some(REQUEST as u16);
        let counts = [
            count(4, request, "401", 2),
            count(4, request, ErrorCount::OTHERS, 900),
            count(5, request, "503", 40),
            count(9, request, "401", 8),
            count(9, None, "no number", 3),
        ];
        counts.into_iter().for_each(|count| figures.errors.add(count));
        figures.errors.add_sample(a_sample("401"));
        figures.errors.add_sample(a_sample("418"));
        let all = summarise(&figures);
        let found: Vec<_> =
            all.iter().map(|e| (e.detail.as_deref().unwrap_or_default(), e.count)).collect();
        assert_eq!(found, [("503", 40), ("401", 10), ("no number", 3), ("others", 900)]);
        let second = &all[1];
        assert_eq!((second.first_ns, second.last_ns), (4 * SECOND, 10 * SECOND));
        assert_eq!(second.step, figures.info.measures[REQUEST].name);
        assert_eq!(second.share, Some(10.0 / 6000.0));
        assert_eq!(second.by_phase.iter().sum::<u64>(), 10);
        assert_eq!(second.samples, [a_sample("401")], "none of a kind that was not counted");
        assert_eq!((all[2].step.as_str(), all[2].share), ("`set` of `x`", None));
        assert_eq!(crate::judge_figures(&figures, &[], false).errors, all);
        figures.info.measures[REQUEST].kind = STEP.to_owned();
        assert_eq!(summarise(&figures)[0].share, None, "its measure counts nothing but failures");
    }

    #[test]
    fn a_transaction_fails_by_what_failed_in_it() {
        let mut figures = sample::figures();
        let transaction = figures.info.measures.len() as u16;
        figures.info.measures.push(MeasureInfo::new("buy", TRANSACTION));
        figures.errors.add(count(4, Some(transaction), "503", 7));
        assert_eq!(summarise(&figures)[0].step, "buy", "nothing else says it");
        figures.errors.add(count(4, Some(REQUEST as u16), "503", 7));
        let all = summarise(&figures);
        assert_eq!(all.len(), 1, "{all:?}");
        assert_eq!(all[0].step, figures.info.measures[REQUEST].name);
    }

    #[test]
    fn what_was_overdue_at_the_end_is_among_the_failures() {
        let mut figures = sample::figures();
        sample::fail(&mut figures, REQUEST, Outcome::Unfinished, 50);
        sample::fail(&mut figures, REQUEST, Outcome::Status, 10);
        figures.cell_mut(0, REQUEST).unwrap().overdue = 40;
        assert!(summarise(&figures).is_empty(), "the record does not say what failed");
        figures.errors.add(count(4, Some(REQUEST as u16), "503", 10));
        let all = summarise(&figures);
        let kinds: Vec<_> = all.iter().map(|e| (e.kind.as_str(), e.count)).collect();
        assert_eq!(kinds, [("unfinished", 40), ("status", 10)]);
        let cell = figures.cell(None, REQUEST);
        assert_eq!(all.iter().map(|e| e.count).sum::<u64>(), cell.failed());
        let shares: f64 = all.iter().filter_map(|e| e.share).sum();
        assert!((shares - 50.0 / 6050.0).abs() < 1e-12);
    }

    #[test]
    fn details_within_a_time_are_added_up() {
        let mut errors = ErrorTotals::default();
        for (second, detail, n) in
            [(14, "401", 90), (15, "503", 40), (24, "503", 42), (24, "502", 4), (25, "401", 90)]
        {
            errors.add(count(second, Some(1), detail, n));
        }
        errors.add(ErrorCount { detail: None, ..count(20, Some(1), "", 3) });
        let span_ns = 15 * SECOND..25 * SECOND;
        let found = errors.counts_within(&[0, 1], &span_ns);
        assert_eq!(found, BTreeMap::from([("502", 4), ("503", 82), ("status", 3)]));
        assert!(errors.counts_within(&[0], &span_ns).is_empty());
    }

    #[test]
    fn a_phase_that_a_run_does_not_have_is_its_last() {
        let mut figures = sample::figures();
        let request = Some(REQUEST as u16);
        figures.add_error(ErrorCount { phase: u32::MAX, ..count(4, request, "401", 2) });
        let phases = figures.info.phases.len();
        assert_eq!(summarise(&figures)[0].by_phase.len(), phases);
        assert_eq!(summarise(&figures)[0].by_phase.last(), Some(&2));
    }
}
