//! Intervals of percentiles: bounds within which the true ones lie, from how response times vary from second to
//! second (`stats::percentile`), or in a short run from stretch to stretch.
//!
//! A second reading of the latency log, since what is counted in each second is what lies at or below the
//! percentile, which is known after the first. Runs and phases of less than a minute have few seconds, but few rows, too:
//! there the stretches are shorter, and what is counted in them are the rows.

use std::collections::HashMap;

use plan::{Basis, Stat, Threshold};
use record::schema::{IntervalMethod, IntervalMissing, PercentileInterval};
use record::{Interval, Measurement, Outcome, RecordError, Run};
use stats::censored::CensoredTimes;
use stats::hist::LogHistogram;
use stats::percentile::{self, Blocks, Method, MissingEnd};

use super::read::{TimeKind, TimeTag};
use super::{Cell, Figures, MeasureFigure, SHARES};
use crate::limits::{
    INTERVAL_BLOCKS_MAX, INTERVAL_CONFIDENCE, INTERVAL_ROWS_MAX, INTERVAL_ROWS_SHARE_MIN,
    INTERVAL_STRETCH_NS_MIN, INTERVAL_STRETCHES,
};

const SECOND_NS: u64 = 1_000_000_000;

/// Times whose percentiles get intervals.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Population {
    /// `None`: the complete run.
    pub(crate) phase: Option<usize>,
    /// The measures whose times are taken together.
    pub(crate) measures: Vec<usize>,
    pub(crate) basis: Basis,
}

impl Population {
    fn responses(phase: Option<usize>, measures: Vec<usize>) -> Population {
        Population { phase, measures, basis: Basis::Response }
    }
}

/// The interval of one percentile of a population.
#[derive(Debug, Clone)]
pub(super) struct PopulationInterval {
    population: Population,
    interval: PercentileInterval,
}

/// A population while the latency log is read for its intervals.
struct PopulationBlocks {
    population: Population,
    times: CensoredTimes,
    /// Since the run's start.
    start_ns: u64,
    length_ns: u64,
    block_ns: u64,
    /// Percentiles, with their blocks.
    levels: Vec<(f64, Blocks)>,
}

/// The times of a population that lasts for less than a minute, from rows, by stretches of its time.
struct Stretches {
    /// Since the run's start.
    start_ns: u64,
    stretch_ns: u64,
    known: Vec<LogHistogram>,
    censored: Vec<LogHistogram>,
    /// True if a row stands for several operations.
    is_sampled: bool,
}

impl Figures {
    /// Finds the intervals of the percentiles that a summary has, and of those that thresholds are about.
    ///
    /// # Errors
    /// The latency log cannot be read.
    pub(crate) fn find_intervals(
        &mut self,
        run: &Run,
        thresholds: &[Threshold],
    ) -> Result<(), RecordError> {
        let mut followed = self.followed(thresholds);
        let tags = self.tags();
        // The populations that the times of a tag belong to.
        let mut users: HashMap<TimeTag, Vec<usize>> = HashMap::new();
        for (number, one) in followed.iter().enumerate() {
            for &kind in kinds(one.population.basis) {
                for &measure in &one.population.measures {
                    let tag = TimeTag { measure, kind };
                    users.entry(tag).or_default().push(number);
                }
            }
        }
        let wanted = |name: &str| tags.get(name).is_some_and(|tag| users.contains_key(tag));
        run.intervals_of(wanted, |interval| {
            let Some(tag) = tags.get(&interval.tag) else {
                return;
            };
            let phase = self.phase_at(interval.start_ns);
            for &number in users.get(tag).into_iter().flatten() {
                let one = &mut followed[number];
                if one.population.phase.is_none_or(|own| own == phase) {
                    one.add(&interval, tag.kind);
                }
            }
        })?;
        self.divide_short(run, &users, &mut followed);
        self.intervals = followed.iter().flat_map(PopulationBlocks::intervals).collect();
        Ok(())
    }

    /// Replaces the seconds of short populations by shorter stretches, from their rows. Seconds stay where rows are
    /// missing, cannot be read, or are too many.
    fn divide_short(
        &self,
        run: &Run,
        users: &HashMap<TimeTag, Vec<usize>>,
        followed: &mut [PopulationBlocks],
    ) {
        let mut short: Vec<Option<Stretches>> = followed.iter().map(Stretches::of).collect();
        let of_run = followed.iter().filter(|one| one.population.phase.is_none());
        let of_measures = of_run.filter(|one| one.population.measures.len() == 1);
        let operations: u64 = of_measures.map(|one| one.times.count()).sum();
        if operations > INTERVAL_ROWS_MAX || short.iter().all(Option::is_none) {
            return;
        }
        // Rows are many: of each measure, the kinds that short populations follow.
        let mut of_measure: Vec<Vec<(TimeKind, usize)>> = vec![vec![]; self.info.measures.len()];
        for (tag, numbers) in users {
            let numbers = numbers.iter().filter(|&&number| short[number].is_some());
            of_measure[tag.measure].extend(numbers.map(|&number| (tag.kind, number)));
        }
        let read = run.requests(|batch| {
            for row in batch {
                let Some(kind) = kind_of(row.outcome) else {
                    continue;
                };
                let phase = self.phase_at(row.done_ns);
                let followers = of_measure.get(usize::from(row.measure)).into_iter().flatten();
                for &(_, number) in followers.filter(|&&(followed, _)| followed == kind) {
                    let own = followed[number].population.phase;
                    if let Some(stretches) = &mut short[number]
                        && own.is_none_or(|own| own == phase)
                    {
                        stretches.add(row, kind);
                    }
                }
            }
        });
        // A damaged file of rows takes nothing from what the log says.
        if read.is_err() {
            return;
        }
        for (one, stretches) in followed.iter_mut().zip(short) {
            if let Some(stretches) = stretches.filter(|found| found.are_of(&one.times)) {
                one.divide(&stretches);
            }
        }
    }

    /// The interval of a percentile, if it was looked for.
    pub(crate) fn interval(
        &self,
        population: &Population,
        share: f64,
    ) -> Option<&PercentileInterval> {
        let phase = self.phase_but_the_run(population.phase);
        let is_it = |found: &&PopulationInterval| {
            found.population.phase == phase
                && found.population.measures == population.measures
                && found.population.basis == population.basis
                && found.interval.share == share
        };
        let found = self.intervals.iter().find(is_it);
        found.map(|found| &found.interval)
    }

    /// `None` of the only phase of a run: its times are those of the run.
    fn phase_but_the_run(&self, phase: Option<usize>) -> Option<usize> {
        phase.filter(|_| self.info.phases.len() > 1)
    }

    fn followed(&self, thresholds: &[Threshold]) -> Vec<PopulationBlocks> {
        let phases = (0..self.info.phases.len()).map(Some);
        let phases: Vec<Option<usize>> = match self.info.phases.len() {
            0 | 1 => vec![None],
            _ => phases.chain([None]).collect(),
        };
        let measures = 0..self.info.measures.len();
        let all = measures.flat_map(|m| {
            let phases = phases.iter();
            phases.map(move |&phase| Population::responses(phase, vec![m]))
        });
        let over_regions = self.over_regions().into_iter();
        let over_regions: Vec<Vec<usize>> = over_regions.map(|over| over.measures).collect();
        let over_regions = over_regions.iter().filter(|measures| measures.len() > 1);
        let over_regions = over_regions.flat_map(|measures| {
            let phases = phases.iter();
            phases.map(|&phase| Population::responses(phase, measures.clone()))
        });
        let all = all.chain(over_regions);
        let tags = self.all_tags().into_iter();
        let all = all.chain(tags.map(|tag| Population::responses(None, tag.measures)));
        let all = all.map(|population| (population, SHARES.to_vec()));
        let mut shares: Vec<(Population, Vec<f64>)> = all.collect();
        for threshold in thresholds {
            if let Some(part) = MeasureFigure::of(self, &threshold.figure)
                && let Stat::Quantile(share) = part.stat
                && share > 0.0
                && share < 1.0
            {
                let population = Population {
                    phase: self.phase_but_the_run(part.phase),
                    measures: part.measures,
                    basis: part.basis,
                };
                match shares.iter_mut().find(|(other, _)| *other == population) {
                    Some((_, shares)) if shares.contains(&share) => {}
                    Some((_, shares)) => shares.push(share),
                    None => shares.push((population, vec![share])),
                }
            }
        }
        let followed =
            shares.into_iter().map(|(population, shares)| self.follow(population, &shares));
        followed.flatten().collect()
    }

    /// `None` where there are no times.
    fn follow(&self, population: Population, shares: &[f64]) -> Option<PopulationBlocks> {
        let cell = self.merged(population.phase, &population.measures);
        let times = times(&cell, population.basis);
        if times.is_empty() {
            return None;
        }
        let median = (!shares.contains(&0.5)).then_some(&0.5);
        let levels = shares.iter().chain(median);
        let levels = levels.map(|&share| (share, blocks_at(&times, share))).collect();
        let phase = population.phase.and_then(|phase| self.info.phases.get(phase));
        let start_ns = phase.map_or(0, |phase| phase.start_ns);
        let end_ns = phase.map_or(u64::MAX, |phase| phase.end_ns).min(self.ended_ns());
        let length_ns = end_ns.saturating_sub(start_ns);
        let seconds = length_ns.div_ceil(SECOND_NS);
        Some(PopulationBlocks {
            population,
            times,
            start_ns,
            length_ns,
            block_ns: SECOND_NS * seconds.div_ceil(INTERVAL_BLOCKS_MAX).max(1),
            levels,
        })
    }
}

/// The histograms that these times are in.
fn kinds(basis: Basis) -> &'static [TimeKind] {
    match basis {
        Basis::Response => &[TimeKind::Response, TimeKind::Failed, TimeKind::Unanswered],
        Basis::Succeeded => &[TimeKind::Response],
        Basis::Service => &[TimeKind::Service],
        Basis::Lag => &[TimeKind::Lag],
    }
}

/// The response time that an operation's row is of; `None` of what says nothing about the target.
fn kind_of(outcome: Outcome) -> Option<TimeKind> {
    match outcome {
        Outcome::Ok => Some(TimeKind::Response),
        _ if outcome.is_answered_failure() => Some(TimeKind::Failed),
        _ if outcome.is_unanswered() => Some(TimeKind::Unanswered),
        _ => None,
    }
}

/// Blocks at a percentile of times, without any time so far.
fn blocks_at(times: &CensoredTimes, share: f64) -> Blocks {
    Blocks::new(times.influence(times.quantile(share).value()))
}

fn times(cell: &Cell, basis: Basis) -> CensoredTimes {
    let known = match basis {
        Basis::Response => return cell.all_responses(),
        Basis::Succeeded => &cell.response,
        Basis::Service => &cell.service,
        Basis::Lag => &cell.lag,
    };
    CensoredTimes::new(known, &LogHistogram::new())
}

impl Stretches {
    /// `None` of a population that has seconds enough.
    fn of(population: &PopulationBlocks) -> Option<Stretches> {
        let is_short = population.length_ns < INTERVAL_STRETCHES * SECOND_NS;
        is_short.then(|| Stretches {
            start_ns: population.start_ns,
            stretch_ns: (population.length_ns / INTERVAL_STRETCHES).max(INTERVAL_STRETCH_NS_MIN),
            known: Vec::new(),
            censored: Vec::new(),
            is_sampled: false,
        })
    }

    fn add(&mut self, row: &Measurement, kind: TimeKind) {
        let since_ns = row.done_ns.saturating_sub(self.start_ns);
        let stretch = (since_ns / self.stretch_ns) as usize;
        // The drain after the last phase may take longer than all before.
        let stretch = stretch.min(2 * INTERVAL_STRETCHES as usize);
        let times = match kind {
            TimeKind::Unanswered => &mut self.censored,
            _ => &mut self.known,
        };
        if times.len() <= stretch {
            times.resize(stretch + 1, LogHistogram::new());
        }
        times[stretch].record(row.response_ns());
        self.is_sampled |= row.weight != 1;
    }

    /// True if these are all of the times, but for some that ended at the borders of a phase.
    fn are_of(&self, times: &CensoredTimes) -> bool {
        let stretches = self.known.iter().chain(&self.censored);
        let count: u64 = stretches.map(LogHistogram::count).sum();
        !self.is_sampled && count as f64 >= INTERVAL_ROWS_SHARE_MIN * times.count() as f64
    }
}

impl PopulationBlocks {
    fn add(&mut self, interval: &Interval, kind: TimeKind) {
        let since_ns = interval.start_ns.saturating_sub(self.start_ns);
        let block = (since_ns / self.block_ns) as usize;
        // The drain after the last phase may take longer than all before.
        let block = block.min(2 * INTERVAL_BLOCKS_MAX as usize);
        for (_, blocks) in &mut self.levels {
            match kind {
                TimeKind::Unanswered => blocks.add_censored(block, &interval.hist),
                _ => blocks.add_known(block, &interval.hist),
            }
        }
    }

    fn divide(&mut self, stretches: &Stretches) {
        for (share, blocks) in &mut self.levels {
            *blocks = blocks_at(&self.times, *share);
            for (stretch, times) in stretches.known.iter().enumerate() {
                blocks.add_known(stretch, times);
            }
            for (stretch, times) in stretches.censored.iter().enumerate() {
                blocks.add_censored(stretch, times);
            }
        }
    }

    fn intervals(&self) -> impl Iterator<Item = PopulationInterval> + '_ {
        let median = self.levels.iter().find(|(share, _)| *share == 0.5);
        let median = median.map(|(_, blocks)| blocks);
        self.levels.iter().map(move |(share, blocks)| {
            let found =
                percentile::interval(&self.times, *share, blocks, median, INTERVAL_CONFIDENCE);
            PopulationInterval {
                population: self.population.clone(),
                interval: stated(*share, &found),
            }
        })
    }
}

fn stated(share: f64, found: &percentile::Interval) -> PercentileInterval {
    PercentileInterval {
        share,
        method: found.method.map(|method| match method {
            Method::Independent => IntervalMethod::OrderStatistics,
            Method::Dependent => IntervalMethod::EffectiveSize,
        }),
        effective: found.size,
        low_ns: found.low,
        high_ns: found.high.map(stats::censored::Quantile::value),
        high_is_bound: found.high.is_some_and(stats::censored::Quantile::is_bound),
        missing: found.missing.map(|missing| match missing {
            MissingEnd::Censored => IntervalMissing::Unanswered,
            MissingEnd::Short => IntervalMissing::Short,
            MissingEnd::Dependent => IntervalMissing::Dependent,
            MissingEnd::Few => IntervalMissing::Few,
        }),
    }
}
