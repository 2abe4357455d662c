//! Whether the runs of one side were made on a busier machine.
//!
//! A comparison attributes to the candidate what the runs of its side have in common. If the machine was busier in all of
//! them, that is one of these things. The record knows it from probes of hosts, and from the time in which the generator's
//! own loops waited for a core.

use std::collections::BTreeMap;

use record::schema::{Finding, SeriesRow, Severity};
use record::{Probes, Run};
use stats::mean::mean;
use stats::permute::{Permutations, choices, max_t, two_sample_t};
use stats::rng::{Purpose, Rng};

use super::{CompareError, ComparedRun, Options, Side};

/// Code of the finding.
pub(crate) const CODE: &str = "machine-drift";

/// How a probe reads a host.
const HOST: &str = "host";
/// Permutations of runs that are gone through at most.
const PERMUTATIONS_MAX: usize = 10_000;

/// A reading of a machine, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reading {
    /// Time of all cores in which they worked, for whom ever.
    Busy,
    /// Time in which a hypervisor gave the cores to others.
    Steal,
    /// Time in which the generator's loops were ready and something else ran.
    Waiting,
}

const READINGS: [Reading; 3] = [Reading::Busy, Reading::Steal, Reading::Waiting];

impl Reading {
    /// The metric of a host's probe; `None`: it comes from the series.
    fn metric(self) -> Option<&'static str> {
        match self {
            Reading::Busy => Some("cpu_busy"),
            Reading::Steal => Some("cpu_steal"),
            Reading::Waiting => None,
        }
    }

    /// Percentage points below which a difference is not worth a word.
    fn least(self) -> f64 {
        match self {
            Reading::Busy => 5.0,
            Reading::Steal => 1.0,
            Reading::Waiting => 2.0,
        }
    }

    /// The event at a place in words, before its share of the time.
    fn words(self, place: &str) -> String {
        match self {
            Reading::Busy => format!("cores of {place} were busy"),
            Reading::Steal => format!("a hypervisor withheld the cores of {place}"),
            Reading::Waiting => "the generator's loops waited for a core".to_owned(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Reading::Busy => "busy",
            Reading::Steal => "steal",
            Reading::Waiting => "waiting",
        }
    }
}

/// The readings of a run's machines while there was load: means, those of hosts by role and region.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct MachineLoad {
    readings: BTreeMap<(Reading, String), f64>,
}

impl MachineLoad {
    /// The machine of a run, between these times.
    pub(crate) fn of(run: &Run, from_ns: u64, to_ns: u64) -> Result<MachineLoad, CompareError> {
        let mut load = MachineLoad::default();
        load.add_probes(&run.probes()?, from_ns, to_ns);
        load.add_series(&run.series()?, run.info().generator.loops, from_ns, to_ns);
        Ok(load)
    }

    fn add_probes(&mut self, probes: &Probes, from_ns: u64, to_ns: u64) {
        let span = signed(from_ns)..signed(to_ns);
        for reading in READINGS {
            let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
            let is_wanted = |place: u32| {
                let info = probes.list.get(place as usize)?;
                let is_own = info.via == HOST && Some(info.metric.as_str()) == reading.metric();
                is_own.then(|| place_of(&info.role, &info.region))
            };
            for row in probes.rows.iter().filter(|row| span.contains(&row.at_ns)) {
                if let Some(place) = is_wanted(row.probe) {
                    values.entry(place).or_default().push(row.value);
                }
            }
            let means = values.into_iter().map(|(place, values)| ((reading, place), mean(&values)));
            self.readings.extend(means);
        }
    }

    fn add_series(&mut self, series: &[SeriesRow], loops: u32, from_ns: u64, to_ns: u64) {
        let rows = || series.iter().filter(|row| row.start_ns >= from_ns && row.end_ns <= to_ns);
        let length_ns: u64 = rows().map(|row| row.end_ns.saturating_sub(row.start_ns)).sum();
        let all = length_ns as f64 * f64::from(loops);
        if all > 0.0 {
            let waited: u64 = rows().map(|row| row.cpu_wait_ns).sum();
            let share = 100.0 * waited as f64 / all;
            self.readings.insert((Reading::Waiting, String::new()), share);
        }
    }
}

fn signed(at_ns: u64) -> i64 {
    i64::try_from(at_ns).unwrap_or(i64::MAX)
}

/// `servers`, `servers in sydney`.
fn place_of(role: &str, region: &str) -> String {
    match region {
        "" => role.to_owned(),
        region => format!("{role} in {region}"),
    }
}

/// A reading by run, the baseline's first.
struct Series<'a> {
    reading: Reading,
    place: &'a str,
    values: Vec<f64>,
}

/// The finding that the machine was busier for one side. By permutation of the runs and corrected for all readings, so that
/// it appears with probability α at most where the machine is the same. If too few runs allow no such test, each run of one
/// side must exceed each of the other, by twice as much.
pub(crate) fn finding(
    loads: &[MachineLoad],
    runs: &[ComparedRun],
    options: &Options,
) -> Option<Finding> {
    let baselines = runs.iter().filter(|run| run.side == Side::Baseline).count();
    let candidates = runs.len() - baselines;
    if baselines == 0 || candidates == 0 {
        return None;
    }
    let all = common(loads);
    let mut rng = Rng::new(options.seed, 1, Purpose::Choice);
    let permutations = Permutations::of_groups(baselines, candidates, PERMUTATIONS_MAX, &mut rng);
    let is_testable = least_p(baselines, candidates) <= options.alpha;
    let p = max_t(&permutations, |permutation| {
        let t =
            |one: &Series<'_>| two_sample_t(&one.values, permutation, one.reading.least() / 3.0);
        all.iter().map(|one| if runs.len() > 2 { t(one).abs() } else { 0.0 }).collect()
    });
    let mut busier: [Vec<String>; 2] = Default::default();
    let mut evidence = BTreeMap::new();
    for (one, p) in all.iter().zip(p.p_adjusted) {
        let (first, second) = one.values.split_at(baselines);
        let difference = mean(second) - mean(first);
        let least = one.reading.least();
        let differs = match is_testable {
            true => p <= options.alpha && difference.abs() >= least,
            false => is_apart(first, second) && difference.abs() >= 2.0 * least,
        };
        if differs {
            let shown = |values: &[f64]| units::share_to(mean(values) / 100.0, 2);
            busier[usize::from(difference > 0.0)].push(format!(
                "{} {} of the time instead of {}",
                one.reading.words(one.place),
                shown(second),
                shown(first)
            ));
            evidence.insert(format!("{}_points", one.reading.name()), difference);
        }
    }
    let [calmer, busier] = busier.map(|list| list.join(", "));
    let text = match (busier.is_empty(), calmer.is_empty()) {
        (true, true) => return None,
        (false, true) => format!("the machine was busier for the candidate: {busier}"),
        (true, false) => format!("the machine was calmer for the candidate: {calmer}"),
        (false, false) => {
            format!("the machine was not the same for the candidate: {busier}; but {calmer}")
        }
    };
    let text = format!(
        "{text}; what differs may be the machine's doing, unless the candidate itself needs more or \
         less of it: alternate the runs, or use `throng duet`"
    );
    let finding = judge::finding(Severity::Warning, CODE, text).done();
    Some(Finding { evidence, ..finding })
}

/// The least p-value of a permutation test.
fn least_p(first: usize, second: usize) -> f64 {
    let alike = if first == second { 2.0 } else { 1.0 };
    alike / choices(first + second, second)
}

/// True if each value of one side exceeds each of the other.
fn is_apart(first: &[f64], second: &[f64]) -> bool {
    let bounds = |values: &[f64]| {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (low, high)
    };
    let (first_low, first_high) = bounds(first);
    let (second_low, second_high) = bounds(second);
    first_high < second_low || second_high < first_low
}

/// The readings that all runs have.
fn common(loads: &[MachineLoad]) -> Vec<Series<'_>> {
    let Some((first, others)) = loads.split_first() else {
        return Vec::new();
    };
    let in_all = first.readings.iter().filter_map(|(key, &value)| {
        let others: Option<Vec<f64>> =
            others.iter().map(|load| load.readings.get(key).copied()).collect();
        let values = std::iter::once(value).chain(others?).collect();
        Some(Series { reading: key.0, place: &key.1, values })
    });
    in_all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run;

    fn load(busy: f64, waiting: f64) -> MachineLoad {
        let readings = [
            ((Reading::Busy, "servers".to_owned()), busy),
            ((Reading::Waiting, String::new()), waiting),
        ];
        MachineLoad { readings: readings.into() }
    }

    /// The finding about runs whose machine was busy by these percents.
    fn found(baseline: &[f64], candidate: &[f64]) -> Option<Finding> {
        let loads: Vec<MachineLoad> =
            baseline.iter().chain(candidate).map(|&busy| load(busy, 0.5)).collect();
        let runs: Vec<ComparedRun> = (0..loads.len())
            .map(|place| match place < baseline.len() {
                true => run("B", Side::Baseline),
                false => run("C", Side::Candidate),
            })
            .collect();
        finding(&loads, &runs, &Options::default())
    }

    #[test]
    fn a_machine_that_was_busier_for_all_runs_of_a_side_is_named() {
        let calm = [40.0, 42.0, 41.0, 39.0, 43.0];
        let busy = [70.0, 74.0, 71.0, 69.0, 72.0];
        let text = found(&calm, &busy).unwrap().text;
        let start = "the machine was busier for the candidate: cores of servers were busy ";
        assert!(text.starts_with(start), "{text}");
        let text = found(&busy, &calm).unwrap().text;
        assert!(text.starts_with("the machine was calmer for the candidate: "), "{text}");
        assert_eq!(found(&calm, &[41.0, 44.0, 40.0, 45.0, 42.0]), None);
    }

    #[test]
    fn few_runs_must_be_far_apart() {
        assert!(found(&[40.0, 42.0], &[70.0, 72.0]).is_some());
        assert!(found(&[40.0], &[70.0]).is_some());
        assert_eq!(found(&[40.0, 42.0], &[48.0, 50.0]), None);
        assert_eq!(found(&[40.0, 75.0], &[70.0, 90.0]), None, "they overlap");
    }

    /// Of 400 comparisons on a machine whose load drifts from run to run, in random order: 20 at most are expected, and 99.9 %
    /// of binomials with (400, 0.05) are below 35.
    #[test]
    fn a_machine_that_is_the_same_is_named_no_more_often_than_stated() {
        let mut rng = Rng::new(51, 0, Purpose::Value);
        let mut count = 0;
        for _ in 0..400 {
            let mut draw = || -> Vec<f64> { (0..5).map(|_| 30.0 + 60.0 * rng.unit()).collect() };
            let baseline = draw();
            let candidate = draw();
            count += u32::from(found(&baseline, &candidate).is_some());
        }
        assert!((1..35).contains(&count), "{count} of 400");
    }

    #[test]
    fn readings_are_means_while_there_was_load() {
        let mut load = MachineLoad::default();
        let row = |start_ns: u64, cpu_wait_ns: u64| SeriesRow {
            start_ns,
            end_ns: start_ns + 1_000_000_000,
            cpu_wait_ns,
            ..SeriesRow::default()
        };
        let series = [row(0, 0), row(1_000_000_000, 400_000_000), row(2_000_000_000, 0)];
        load.add_series(&series, 2, 1_000_000_000, 3_000_000_000);
        let info = |metric: &str| record::ProbeInfo {
            role: "servers".to_owned(),
            region: "sydney".to_owned(),
            source: "10.0.0.1".to_owned(),
            metric: metric.to_owned(),
            unit: "%".to_owned(),
            via: HOST.to_owned(),
        };
        let value = |at_ns: i64, probe: u32, value: f64| record::ProbeRow { at_ns, probe, value };
        let probes = Probes {
            list: vec![info("cpu_busy"), info("memory_used")],
            rows: vec![
                value(-1, 0, 99.0),
                value(10, 0, 40.0),
                value(20, 0, 60.0),
                value(20, 1, 1.0),
            ],
        };
        load.add_probes(&probes, 0, 3_000_000_000);
        let expected = MachineLoad {
            readings: [
                ((Reading::Busy, "servers in sydney".to_owned()), 50.0),
                ((Reading::Waiting, String::new()), 10.0),
            ]
            .into(),
        };
        assert_eq!(load, expected);
    }
}
