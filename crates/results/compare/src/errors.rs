//! Failures by what they were: which are new, gone, more or fewer on the candidate's side.
//!
//! As for the figures of measures, the run is the unit. The failures are tested together with these, so that the chance of
//! any false finding in the complete comparison stays what it is.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};

use record::schema::{Finding, RunInfo, Severity, Summary, failure_name};

use super::decide::{Component, of_failures, of_single_runs};
use super::unit::Occurrence;
use super::{Change, ComparedRun, ErrorChange, ErrorTrend, Options, Rule};
use stats::multiple;

/// Different failures that are compared at most, those that are most frequent in all runs together: each test takes power
/// from the others.
const TESTED_MAX: usize = 40;
/// Failures or runs that a sentence names.
const NAMES_MAX: usize = 5;

/// A kind of failures that a run tells apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ErrorKey {
    step: String,
    kind: String,
    detail: Option<String>,
}

/// The failures of one run, as far as they are compared.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunErrors {
    counts: BTreeMap<ErrorKey, u64>,
    /// Operations that ended, by step.
    ended: BTreeMap<String, u64>,
    /// False if operations failed and the record does not say how.
    is_known: bool,
}

impl RunErrors {
    /// The failures of the complete run or of the compared phase. Those of a part of a phase are not known.
    pub(crate) fn of(summary: &Summary, info: &RunInfo, options: &Options) -> RunErrors {
        let is_wanted =
            |step: &String| options.only.as_ref().is_none_or(|only| only.contains(step));
        let phase = options.phase.as_ref().map(|name| {
            let place = info.phases.iter().position(|phase| &phase.name == name);
            place.unwrap_or(info.phases.len())
        });
        let measures = match phase {
            Some(place) => summary.phases.get(place).map(|phase| (&phase.measures, &phase.totals)),
            None => Some((&summary.measures, &summary.totals)),
        };
        let measures = measures.into_iter().flat_map(|(own, totals)| own.iter().chain(totals));
        let failed: u64 = measures.clone().map(|measure| measure.errors).sum();
        let count = |by_phase: &[u64], all: u64| match phase {
            Some(place) => by_phase.get(place).copied().unwrap_or(0),
            None => all,
        };
        let mut counts = BTreeMap::new();
        for error in summary.errors.iter().filter(|error| is_wanted(&error.step)) {
            let key = ErrorKey {
                step: error.step.clone(),
                kind: error.kind.clone(),
                detail: error.detail.clone(),
            };
            *counts.entry(key).or_default() += count(&error.by_phase, error.count);
        }
        RunErrors {
            is_known: options.compares_all() && (failed == 0 || !summary.errors.is_empty()),
            ended: measures.map(|measure| (measure.name.clone(), measure.count)).collect(),
            counts,
        }
    }
}

/// Failures of one kind in all runs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Occurrences {
    key: ErrorKey,
    by_run: Vec<Occurrence>,
}

/// The failures that are compared, the most frequent first; none if a run does not say what failed.
pub(crate) fn occurrences(runs: &[RunErrors]) -> Vec<Occurrences> {
    if runs.iter().any(|run| !run.is_known) {
        return Vec::new();
    }
    let keys: BTreeSet<&ErrorKey> = runs.iter().flat_map(|run| run.counts.keys()).collect();
    let mut all: Vec<Occurrences> = keys.into_iter().map(|key| in_runs(key, runs)).collect();
    // Runs of both sides count alike, so that the choice favours no difference.
    let total = |one: &Occurrences| one.by_run.iter().map(|run| run.failed).sum::<u64>();
    all.retain(|one| total(one) > 0);
    all.sort_by_key(|one| Reverse(total(one)));
    all.truncate(TESTED_MAX);
    all
}

fn in_runs(key: &ErrorKey, runs: &[RunErrors]) -> Occurrences {
    let is_operation = runs.iter().any(|run| run.ended.contains_key(&key.step));
    let occurrence = |run: &RunErrors| Occurrence {
        failed: run.counts.get(key).copied().unwrap_or(0),
        ended: is_operation.then(|| run.ended.get(&key.step).copied().unwrap_or(0)),
    };
    Occurrences { key: key.clone(), by_run: runs.iter().map(occurrence).collect() }
}

/// The failures as the tests take them, the runs of the `baselines` first.
pub(crate) fn components(
    all: &[Occurrences],
    baselines: usize,
    rule: Rule,
    options: &Options,
) -> Vec<Component> {
    all.iter().map(|one| of_failures(&one.by_run, baselines, rule, options)).collect()
}

/// The changes of single runs, which have no common test with the figures of windows. Corrected by Holm.
pub(crate) fn single_runs(components: Vec<Component>, options: &Options) -> Vec<Change> {
    let changes: Vec<Change> = components.into_iter().map(of_single_runs).collect();
    let p: Vec<f64> = changes.iter().map(|change| change.p).collect();
    let corrected = changes.into_iter().zip(multiple::holm(&p));
    corrected
        .map(|(change, p_adjusted)| {
            let seen = p_adjusted <= options.alpha;
            let beyond = change.relative.is_none_or(|share| share.abs() > options.tolerance);
            Change { p_adjusted, seen, counts: seen && beyond, ..change }
        })
        .collect()
}

/// The failures that differ from side to side, with what was decided: those that count first, then rises, then the greatest
/// difference.
pub(crate) fn changes(all: Vec<Occurrences>, decided: Vec<Change>) -> Vec<ErrorChange> {
    let mut found: Vec<ErrorChange> =
        all.into_iter().zip(decided).filter_map(|(one, change)| of(one, &change)).collect();
    let size = |error: &ErrorChange| (error.candidate - error.baseline).abs();
    found.sort_by(|a, b| {
        let first = |error: &ErrorChange| (error.counts, error.seen, error.trend.is_rise());
        let by_size = a.is_share.cmp(&b.is_share).then(size(a).total_cmp(&size(b)));
        first(b).cmp(&first(a)).then(by_size.reverse())
    });
    found
}

fn of(one: Occurrences, change: &Change) -> Option<ErrorChange> {
    let baseline = change.baseline?;
    let candidate = change.candidate?;
    let trend = match baseline.total_cmp(&candidate) {
        Ordering::Equal => return None,
        Ordering::Less if baseline == 0.0 => ErrorTrend::New,
        Ordering::Less => ErrorTrend::More,
        Ordering::Greater if candidate == 0.0 => ErrorTrend::Gone,
        Ordering::Greater => ErrorTrend::Fewer,
    };
    let is_share = one.by_run.first().is_some_and(|run| run.ended.is_some());
    let ErrorKey { step, kind, detail } = one.key;
    Some(ErrorChange {
        name: format!("{} at {step}", failure_name(&kind, detail.as_deref())),
        step,
        kind,
        detail,
        is_share,
        baseline,
        candidate,
        trend,
        p: change.p,
        p_adjusted: change.p_adjusted,
        seen: change.seen,
        counts: change.counts,
    })
}

/// Failures that rose, in words: `status 503 at checkout from 0 % to 4.20 %, timeout at cart from 1.00 % to 2.00 % and 2 more`.
pub(crate) fn in_words<'a>(errors: impl Iterator<Item = &'a ErrorChange>) -> String {
    let all: Vec<String> = errors
        .map(|error| {
            let [from, to] = [error.baseline, error.candidate].map(|value| error.shown(value));
            format!("{} from {from} to {to}", error.name)
        })
        .collect();
    let shown = all[..all.len().min(NAMES_MAX)].join(", ");
    match all.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The findings about failures that differ, and about runs that do not say what failed.
pub(crate) fn findings(
    errors: &[ErrorChange],
    of_runs: &[RunErrors],
    runs: &[ComparedRun],
    options: &Options,
) -> Vec<Finding> {
    let mut found = Vec::new();
    let counting = |is_rise: bool| {
        errors.iter().filter(move |error| error.counts && error.trend.is_rise() == is_rise)
    };
    if counting(true).next().is_some() {
        let text = format!("failures rose: {}", in_words(counting(true)));
        found.push(judge::finding(Severity::Warning, "errors-rose", text).done());
    }
    if counting(false).next().is_some() {
        let text = format!("failures fell: {}", in_words(counting(false)));
        found.push(judge::finding(Severity::Good, "errors-fell", text).done());
    }
    let unknown: Vec<&str> = runs
        .iter()
        .zip(of_runs)
        .filter(|(_, errors)| !errors.is_known)
        .map(|(run, _)| run.label.as_str())
        .collect();
    if options.skip_ns == 0 && !unknown.is_empty() {
        let more = unknown.len().saturating_sub(NAMES_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let text = format!(
            "failures are not compared by what they were: the records of {}{more} do not say",
            unknown[..unknown.len().min(NAMES_MAX)].join(", ")
        );
        found.push(judge::finding(Severity::Note, "errors-unknown", text).done());
    }
    found
}

#[cfg(test)]
mod tests;
