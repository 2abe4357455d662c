//! Values of probes at the same moments.
//!
//! Each source is queried by a thread of its own, so that two of them have no moment in common but by chance, and one may
//! be queried more often than another. Where all probes of a meter were read at the same moments, as those of one source
//! and of imported results are, their values are taken as they are. Else the moments are those of the probe that was
//! read most rarely, and the others are joined to them by what they measure:
//!
//! - A value over an interval, such as a rate, holds since the reading before it: it is carried over that time, and a
//!   moment has the mean over the time since the moment before.
//! - A value of an instant, such as memory in use, is interpolated between the readings around the moment.
//!
//! Neither bridges a time in which a source did not answer.

use std::collections::BTreeMap;

use record::probes::ProbeInfo;
use serde::Serialize;

use super::Subject;

/// Moments that all probes have in common are those of their readings if they are this share of them at least: between
/// independent sources, one in a hundred thousand is the same by chance.
const COMMON_SHARE_MIN: f64 = 0.1;
/// A time without readings is bridged up to this many times the usual one, in halves: one query may fail.
const GAP_HALF_STEPS_MAX: i64 = 5;

/// How values came to moments at which their source was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ts_rs::TS)]
#[serde(rename_all = "snake_case")]
pub enum Joining {
    /// Each holds since the reading before it.
    Carried,
    /// Between two readings.
    Interpolated,
    /// Some of its metrics by the one, some by the other.
    Mixed,
}

/// The readings of one probe.
#[derive(Debug)]
struct Readings {
    /// Times and values, in order.
    values: Vec<(i64, f64)>,
    /// The usual time between two of them; 0: there is none.
    step_ns: i64,
    /// A value is of the time since the one before.
    is_over_interval: bool,
}

/// All readings of a run's probes.
#[derive(Debug)]
pub(super) struct AllReadings {
    probes: Vec<Readings>,
    /// Readings up to then have moments.
    end_ns: i64,
}

/// A moment of a timeline, and the time before it that it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) since_ns: i64,
    pub(super) at_ns: i64,
}

/// The moments at which probes have values.
#[derive(Debug)]
pub(super) struct Timeline {
    pub(super) moments: Vec<Moment>,
    /// The probe at whose readings they are; `None`: all probes were read at them.
    pub(super) of_probe: Option<usize>,
}

impl AllReadings {
    /// The readings of a run; those of its first `window_s` have moments.
    pub(super) fn of(run: &Subject, window_s: Option<f64>) -> AllReadings {
        let list = &run.probes.list;
        let mut values: Vec<Vec<(i64, f64)>> = vec![Vec::new(); list.len()];
        for row in &run.probes.rows {
            if let Some(values) = values.get_mut(row.probe as usize) {
                values.push((row.at_ns, row.value));
            }
        }
        let probes = values.into_iter().zip(list).map(|(mut values, info)| {
            values.sort_by_key(|&(at_ns, _)| at_ns);
            values.dedup_by_key(|&mut (at_ns, _)| at_ns);
            let step_ns = median_step_ns(&values);
            Readings { values, step_ns, is_over_interval: is_over_interval(info) }
        });
        let end_ns = match window_s {
            Some(seconds) => (seconds * 1e9) as i64 - 1,
            None => run.figures.ended_ns().cast_signed(),
        };
        AllReadings { probes: probes.collect(), end_ns }
    }

    /// The moments at which these probes can be compared.
    pub(super) fn timeline(&self, probes: &[usize]) -> Timeline {
        let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
        for &probe in probes {
            for (at_ns, _) in self.in_window(probe) {
                *counts.entry(at_ns).or_default() += 1;
            }
        }
        let common = counts.into_iter().filter(|&(_, count)| count == probes.len());
        let common = common.map(|(at_ns, _)| Moment { since_ns: at_ns, at_ns });
        let common: Vec<Moment> = common.collect();
        let most = probes.iter().map(|&probe| self.in_window(probe).count()).max().unwrap_or(0);
        if common.len() as f64 >= COMMON_SHARE_MIN * most as f64 {
            return Timeline { moments: common, of_probe: None };
        }
        // The first of those that were read most rarely.
        let rarest = probes.iter().copied().rev().max_by_key(|&probe| self.probes[probe].step_ns);
        let moments = rarest.map_or(Vec::new(), |probe| {
            let step_ns = self.probes[probe].step_ns;
            let mut before_ns = None;
            let moments = self.in_window(probe).map(|(at_ns, _)| {
                let since_ns = before_ns.replace(at_ns).unwrap_or(at_ns - step_ns);
                Moment { since_ns, at_ns }
            });
            moments.collect()
        });
        Timeline { moments, of_probe: rarest }
    }

    fn in_window(&self, probe: usize) -> impl Iterator<Item = (i64, f64)> {
        let values = self.probes[probe].values.iter().copied();
        values.filter(|&(at_ns, _)| (0..=self.end_ns).contains(&at_ns))
    }

    /// The value of a probe at a moment of a timeline; `None`: it is not known.
    pub(super) fn value(&self, timeline: &Timeline, probe: usize, moment: Moment) -> Option<f64> {
        let readings = &self.probes[probe];
        if timeline.of_probe.is_none() || timeline.of_probe == Some(probe) {
            return readings.at(moment.at_ns);
        }
        match readings.is_over_interval {
            true => readings.mean(moment),
            false => readings.interpolated(moment.at_ns),
        }
    }

    /// How the values of these probes came to the moments; `None`: they were read at them.
    pub(super) fn joining(&self, timeline: &Timeline, probes: &[usize]) -> Option<Joining> {
        timeline.of_probe?;
        let is_read = |readings: &Readings| {
            timeline.moments.iter().all(|moment| readings.at(moment.at_ns).is_some())
        };
        let joined = probes.iter().map(|&probe| &self.probes[probe]);
        let joined = joined.filter(|readings| !is_read(readings));
        let kinds = joined.map(|readings| match readings.is_over_interval {
            true => Joining::Carried,
            false => Joining::Interpolated,
        });
        kinds.reduce(|one, other| if one == other { one } else { Joining::Mixed })
    }
}

impl Readings {
    /// The longest time between two readings that is bridged.
    fn gap_ns(&self) -> i64 {
        self.step_ns.saturating_mul(GAP_HALF_STEPS_MAX) / 2
    }

    fn at(&self, at_ns: i64) -> Option<f64> {
        let place = self.values.binary_search_by_key(&at_ns, |&(at_ns, _)| at_ns).ok()?;
        Some(self.values[place].1)
    }

    /// The value at a moment, on the line between the readings before and after it. The last one is carried for as long
    /// as one usually is.
    fn interpolated(&self, at_ns: i64) -> Option<f64> {
        let after = self.values.partition_point(|&(read_ns, _)| read_ns < at_ns);
        let next = self.values.get(after);
        if let Some(&(read_ns, value)) = next
            && read_ns == at_ns
        {
            return Some(value);
        }
        let (before_ns, before) = self.values[after.checked_sub(1)?];
        match next {
            Some(&(next_ns, next)) if next_ns - before_ns <= self.gap_ns() => {
                let share = (at_ns - before_ns) as f64 / (next_ns - before_ns) as f64;
                Some(before + share * (next - before))
            }
            None if at_ns - before_ns <= self.step_ns => Some(before),
            Some(_) | None => None,
        }
    }

    /// The mean over the time that a moment stands for, of values that hold since the reading before them. The last one
    /// is carried for as long as one usually is.
    fn mean(&self, moment: Moment) -> Option<f64> {
        let Moment { since_ns, at_ns } = moment;
        let first = self.values.partition_point(|&(read_ns, _)| read_ns <= since_ns);
        let mut until_ns = since_ns;
        let mut sum = 0.0;
        for place in first..self.values.len() {
            let (read_ns, value) = self.values[place];
            let before_ns = match place.checked_sub(1) {
                Some(before) => self.values[before].0,
                None => read_ns - self.step_ns,
            };
            if before_ns > until_ns || read_ns - before_ns > self.gap_ns() {
                return None;
            }
            if until_ns == since_ns && read_ns >= at_ns {
                // One value holds for all of it.
                return Some(value);
            }
            let end_ns = read_ns.min(at_ns);
            sum += value * (end_ns - until_ns) as f64;
            until_ns = end_ns;
            if until_ns == at_ns {
                return Some(sum / (at_ns - since_ns) as f64);
            }
        }
        let &(last_ns, last) = self.values.last()?;
        let is_near = at_ns - last_ns <= self.step_ns;
        is_near.then(|| (sum + last * (at_ns - until_ns) as f64) / (at_ns - since_ns) as f64)
    }
}

/// The median of the times between two readings; 0 of fewer than two.
fn median_step_ns(values: &[(i64, f64)]) -> i64 {
    let mut steps: Vec<i64> = values.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    steps.sort_unstable();
    steps.get(steps.len() / 2).copied().unwrap_or(0)
}

/// True if a value says what happened since the reading before it: rates, and shares of CPU time and of the time of a
/// disk. The others are of the instant at which they were read.
fn is_over_interval(info: &ProbeInfo) -> bool {
    let metric = info.metric.to_ascii_lowercase();
    let is_time = metric.starts_with("cpu") || metric == "disk_busy" || metric == "probe_cpu";
    info.unit.ends_with("/s") || (info.unit == "%" && is_time && metric != "cpu_limit")
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn readings(values: &[(i64, f64)]) -> Readings {
        let values: Vec<(i64, f64)> = values.iter().map(|&(at, value)| (at * S, value)).collect();
        Readings { step_ns: median_step_ns(&values), values, is_over_interval: true }
    }

    #[test]
    fn an_instant_lies_on_the_line_between_its_neighbours() {
        // A query at 4 failed; from 6 to 20 the source was away.
        let found = readings(&[(2, 10.0), (3, 20.0), (5, 40.0), (6, 50.0), (20, 90.0)]);
        assert_eq!(found.step_ns, 2 * S);
        let at = |at: f64| found.interpolated((at * 1e9) as i64);
        assert_eq!(at(2.25), Some(12.5));
        assert_eq!(at(4.0), Some(30.0));
        assert_eq!(at(5.0), Some(40.0));
        assert_eq!((at(1.9), at(7.0)), (None, None));
        // The last one is carried for a step.
        assert_eq!((at(22.0), at(22.1)), (Some(90.0), None));
    }

    #[test]
    fn a_rate_holds_since_the_reading_before_it() {
        let found = readings(&[(1, 10.0), (2, 20.0), (3, 30.0), (4, 40.0), (9, 90.0)]);
        let mean = |since: f64, at: f64| {
            let [since_ns, at_ns] = [since, at].map(|s| (s * 1e9) as i64);
            found.mean(Moment { since_ns, at_ns })
        };
        assert_eq!(mean(1.0, 2.0), Some(20.0));
        assert_eq!(mean(1.25, 1.75), Some(20.0));
        // Three quarters of a second with 20, a quarter with 30.
        assert_eq!(mean(1.25, 2.25), Some(22.5));
        // A source that is queried more often: 20, 30 and 40.
        assert_eq!(mean(1.0, 4.0), Some(30.0));
        // The first one holds for a usual step.
        assert_eq!((mean(0.5, 1.0), mean(-0.5, 1.0)), (Some(10.0), None));
        // Nobody answered for five seconds.
        assert_eq!(mean(3.5, 4.5), None);
        assert_eq!((mean(9.0, 10.0), mean(9.5, 10.5)), (Some(90.0), None));
    }

    #[test]
    fn what_a_metric_is_of_follows_from_its_unit_and_name() {
        let is_over = |metric: &str, unit: &str| {
            is_over_interval(&ProbeInfo {
                role: String::new(),
                region: String::new(),
                source: String::new(),
                metric: metric.to_owned(),
                unit: unit.to_owned(),
                via: String::new(),
            })
        };
        assert!(is_over("net_sent", "B/s") && is_over("cpu_busy", "%"));
        assert!(is_over("CPUUtilization", "%") && is_over("disk_busy", "%"));
        assert!(!is_over("memory_used", "%") && !is_over("memory_resident", "B"));
        assert!(!is_over("cpu_limit", "%") && !is_over("cores", "1"));
    }
}
