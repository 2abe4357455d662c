//! The first sign of overload at the load that did not hold, by the seconds of its run, compared
//! with those of the highest load that did.

use std::collections::HashSet;

use record::operations::is_of_step;
use record::{RecordError, Run};
use serde::Serialize;
use stats::hist::LogHistogram;

use judge::limits::LOOP_BUSY_MIN;

/// A figure has bent where it is above this many times its worst second at the load that held.
const TIMES_MIN: f64 = 2.0;
/// A share of errors below this is no bend.
const ERRORS_MIN: f64 = 0.01;
/// From the second on in which a sign is seen, it must be seen in this share of all that follow.
const SUSTAINED_MIN: f64 = 0.5;

/// Signs of overload. Those of the generator come first: they explain the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ts_rs::TS)]
#[serde(rename_all = "snake_case")]
pub enum Sign {
    /// The generator began operations later than it may.
    GeneratorLag,
    /// A loop of the generator used up its core.
    GeneratorCpu,
    /// Operations failed.
    Errors,
    /// The p99 of responses rose.
    Responses,
    /// More were in flight: throughput stayed below what was offered.
    Backlog,
}

const SIGNS: [Sign; 5] =
    [Sign::GeneratorLag, Sign::GeneratorCpu, Sign::Errors, Sign::Responses, Sign::Backlog];

/// When each sign was seen first at the load that did not hold.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct Bend {
    /// The load that did not hold.
    pub load: f64,
    /// The run that was looked at.
    pub run: String,
    /// The earliest first; times since the run's start.
    pub signs: Vec<(Sign, u64)>,
}

/// A second of a run.
#[derive(Debug, Clone, Copy, Default)]
struct Second {
    start_ns: u64,
    error_share: f64,
    p99_ns: u64,
    in_flight: u64,
    is_late: bool,
    is_busy: bool,
}

/// Compares the run that did not hold with the one that did.
pub(super) fn bend(load: f64, holding: Option<&Run>, breaking: &Run) -> Result<Bend, RecordError> {
    let known = match holding {
        Some(run) => seconds(run)?,
        None => Vec::new(),
    };
    let limits = Limits::of(&known);
    let all = seconds(breaking)?;
    let mut signs: Vec<(Sign, u64)> = SIGNS
        .iter()
        .filter_map(|&sign| {
            let seen: Vec<bool> = all.iter().map(|second| limits.shows(second, sign)).collect();
            Some((sign, all[sustained(&seen)?].start_ns))
        })
        .collect();
    signs.sort_by_key(|&(sign, at_ns)| (at_ns, sign));
    let name = breaking.path().file_name();
    Ok(Bend {
        load,
        run: name.map_or(String::new(), |name| name.to_string_lossy().into_owned()),
        signs,
    })
}

/// Above these a figure has bent.
struct Limits {
    errors: f64,
    /// `None`: there is no run to compare with.
    responses_ns: Option<f64>,
    in_flight: Option<f64>,
}

impl Limits {
    /// Limits by the seconds of the load that held.
    fn of(known: &[Second]) -> Limits {
        let worst = |of: fn(&Second) -> f64| known.iter().map(of).fold(0.0, f64::max);
        let compared = |limit: f64| (!known.is_empty()).then_some(limit);
        Limits {
            errors: (TIMES_MIN * worst(|second| second.error_share)).max(ERRORS_MIN),
            responses_ns: compared(TIMES_MIN * worst(|second| second.p99_ns as f64)),
            // One operation more or less is nothing.
            in_flight: compared(TIMES_MIN * worst(|second| second.in_flight as f64).max(1.0)),
        }
    }

    fn shows(&self, second: &Second, sign: Sign) -> bool {
        match sign {
            Sign::GeneratorLag => second.is_late,
            Sign::GeneratorCpu => second.is_busy,
            Sign::Errors => second.error_share > self.errors,
            Sign::Responses => self.responses_ns.is_some_and(|most| second.p99_ns as f64 > most),
            Sign::Backlog => self.in_flight.is_some_and(|most| second.in_flight as f64 > most),
        }
    }
}

/// The first second with a sign that is seen in most of those that follow.
fn sustained(seen: &[bool]) -> Option<usize> {
    (0..seen.len()).find(|&first| {
        let later = &seen[first..];
        let count = later.iter().filter(|seen| **seen).count();
        seen[first] && count as f64 >= SUSTAINED_MIN * later.len() as f64
    })
}

/// The seconds of the phases; what is drained after them is excluded.
fn seconds(run: &Run) -> Result<Vec<Second>, RecordError> {
    let info = run.info();
    let end_ns = info.phases.last().map_or(u64::MAX, |phase| phase.end_ns);
    let rows: Vec<_> = run.series()?.into_iter().filter(|row| row.start_ns < end_ns).collect();
    let main: HashSet<&str> = info
        .measures
        .iter()
        .filter(|measure| is_of_step(&measure.kind))
        .map(|measure| measure.name.as_str())
        .collect();
    let mut hists = vec![LogHistogram::new(); rows.len()];
    run.intervals(|interval| {
        let after = rows.partition_point(|row| row.start_ns <= interval.start_ns);
        if let Some(hist) = after.checked_sub(1).and_then(|place| hists.get_mut(place))
            && main.contains(interval.tag.as_str())
        {
            hist.merge(&interval.hist);
        }
    })?;
    let seconds = rows.iter().zip(&hists).map(|(row, hist)| Second {
        start_ns: row.start_ns,
        error_share: row.errors as f64 / row.errors_among().max(1) as f64,
        p99_ns: hist.quantile(0.99),
        in_flight: row.in_flight,
        is_late: row.lag_p99_ns > info.generator.lag_max_ns,
        is_busy: row.loop_busy_max >= LOOP_BUSY_MIN,
    });
    Ok(seconds.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_must_last() {
        let check = |seen: &str, expected| {
            let seen: Vec<bool> = seen.chars().map(|c| c == '+').collect();
            assert_eq!(sustained(&seen), expected);
        };
        check("", None);
        check("-----", None);
        check("+----", None);
        check("--+++", Some(2));
        check("+--+-+++", Some(0));
        check("+-----++", Some(6));
        check("----+", Some(4));
    }
}
