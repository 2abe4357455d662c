//! How far the percentiles of a run may lie from the true ones: from how response times vary from second to
//! second (`stats::percentile`).
//!
//! A second reading of the latency log, since what is counted in each second is what lies at or below the
//! percentile, which is known after the first.

use std::collections::HashMap;

use plan::{Basis, Stat, Threshold};
use record::schema::{IntervalMethod, IntervalMissing, PercentileInterval};
use record::{Interval, RecordError, Run};
use stats::censored::Censored;
use stats::hist::LogHistogram;
use stats::percentile::{self, Blocks, Method, Missing};

use super::read;
use super::{Cell, Figures, Part, SHARES};
use crate::limits::{INTERVAL_BLOCKS_MAX, INTERVAL_CONFIDENCE};

const SECOND_NS: u64 = 1_000_000_000;

/// The phase (`None`: the complete run), the measures whose times are taken together, and which of their times.
pub(crate) type Of = (Option<usize>, Vec<usize>, Basis);

/// An interval of a percentile.
#[derive(Debug, Clone)]
pub(super) struct Stated {
    of: Of,
    interval: PercentileInterval,
}

/// Times whose percentiles get intervals.
struct Followed {
    of: Of,
    times: Censored,
    /// Since the run's start.
    start_ns: u64,
    block_ns: u64,
    /// Percentiles, with their blocks.
    levels: Vec<(f64, Blocks)>,
}

impl Figures {
    /// Finds the intervals of the percentiles that a summary has, and of those that thresholds are about.
    ///
    /// # Errors
    /// Where the latency log cannot be read.
    pub(crate) fn find_intervals(
        &mut self,
        run: &Run,
        thresholds: &[Threshold],
    ) -> Result<(), RecordError> {
        let mut followed = self.followed(thresholds);
        let tags = self.tags();
        let mut users: HashMap<(usize, read::Part), Vec<usize>> = HashMap::new();
        for (place, one) in followed.iter().enumerate() {
            for &part in parts(one.of.2) {
                for &measure in &one.of.1 {
                    users.entry((measure, part)).or_default().push(place);
                }
            }
        }
        let wanted = |tag: &str| tags.get(tag).is_some_and(|of| users.contains_key(of));
        run.intervals_of(wanted, |interval| {
            let Some(of) = tags.get(&interval.tag) else {
                return;
            };
            let phase = self.phase_at(interval.start_ns);
            for &place in users.get(of).into_iter().flatten() {
                let one = &mut followed[place];
                if one.of.0.is_none_or(|own| own == phase) {
                    one.add(&interval, of.1);
                }
            }
        })?;
        self.intervals = followed.iter().flat_map(Followed::intervals).collect();
        Ok(())
    }

    /// The interval of a percentile, if it was looked for.
    pub(crate) fn interval(&self, of: Of, share: f64) -> Option<&PercentileInterval> {
        let of = self.only_phase_is_the_run(of);
        let found = self
            .intervals
            .iter()
            .find(|stated| stated.of == of && stated.interval.share == share);
        found.map(|stated| &stated.interval)
    }

    fn only_phase_is_the_run(&self, (phase, measures, basis): Of) -> Of {
        let several = self.info.phases.len() > 1;
        (phase.filter(|_| several), measures, basis)
    }

    fn followed(&self, thresholds: &[Threshold]) -> Vec<Followed> {
        let phases = (0..self.info.phases.len()).map(Some);
        let phases: Vec<Option<usize>> = match self.info.phases.len() {
            0 | 1 => vec![None],
            _ => phases.chain([None]).collect(),
        };
        let measures = 0..self.info.measures.len();
        let all = measures.flat_map(|m| phases.iter().map(move |&p| (p, vec![m], Basis::Response)));
        let over_regions = self.over_regions().into_iter();
        let over_regions: Vec<Vec<usize>> = over_regions.map(|over| over.measures).collect();
        let over_regions = over_regions.iter().filter(|measures| measures.len() > 1);
        let over_regions = over_regions.flat_map(|measures| {
            let phases = phases.iter();
            phases.map(|&phase| (phase, measures.clone(), Basis::Response))
        });
        let all = all.chain(over_regions);
        let tags = self.all_tags().into_iter();
        let all = all.chain(tags.map(|tag| (None, tag.measures, Basis::Response)));
        let mut shares: Vec<(Of, Vec<f64>)> = all.map(|of| (of, SHARES.to_vec())).collect();
        for threshold in thresholds {
            if let Some(part) = Part::of(self, &threshold.figure)
                && let Stat::Quantile(share) = part.stat
                && share > 0.0
                && share < 1.0
            {
                let of = self.only_phase_is_the_run((part.phase, part.measures, part.basis));
                match shares.iter_mut().find(|(other, _)| *other == of) {
                    Some((_, shares)) if shares.contains(&share) => {}
                    Some((_, shares)) => shares.push(share),
                    None => shares.push((of, vec![share])),
                }
            }
        }
        let followed = shares
            .into_iter()
            .map(|(of, shares)| self.follow(of, &shares));
        followed.flatten().collect()
    }

    /// `None` where there are no times.
    fn follow(&self, of: Of, shares: &[f64]) -> Option<Followed> {
        let (phase, ref measures, basis) = of;
        let times = times(&self.merged(phase, measures), basis);
        if times.is_empty() {
            return None;
        }
        let median = (!shares.contains(&0.5)).then_some(&0.5);
        let levels = shares.iter().chain(median).map(|&share| {
            let at = times.quantile(share).value();
            (share, Blocks::new(times.influence(at)))
        });
        let levels = levels.collect();
        let phase = phase.and_then(|phase| self.info.phases.get(phase));
        let start_ns = phase.map_or(0, |phase| phase.start_ns);
        let end_ns = phase
            .map_or(u64::MAX, |phase| phase.end_ns)
            .min(self.ended_ns());
        let seconds = end_ns.saturating_sub(start_ns).div_ceil(SECOND_NS);
        Some(Followed {
            of,
            times,
            start_ns,
            block_ns: SECOND_NS * seconds.div_ceil(INTERVAL_BLOCKS_MAX).max(1),
            levels,
        })
    }
}

/// Which histograms these times are in.
fn parts(basis: Basis) -> &'static [read::Part] {
    match basis {
        Basis::Response => &[
            read::Part::Response,
            read::Part::Failed,
            read::Part::Unanswered,
        ],
        Basis::Succeeded => &[read::Part::Response],
        Basis::Service => &[read::Part::Service],
        Basis::Lag => &[read::Part::Lag],
    }
}

fn times(cell: &Cell, basis: Basis) -> Censored {
    let known = match basis {
        Basis::Response => return cell.all_responses(),
        Basis::Succeeded => &cell.response,
        Basis::Service => &cell.service,
        Basis::Lag => &cell.lag,
    };
    Censored::new(known, &LogHistogram::new())
}

impl Followed {
    fn add(&mut self, interval: &Interval, part: read::Part) {
        let since_ns = interval.start_ns.saturating_sub(self.start_ns);
        let block = (since_ns / self.block_ns) as usize;
        // The drain after the last phase may take longer than all before.
        let block = block.min(2 * INTERVAL_BLOCKS_MAX as usize);
        for (_, blocks) in &mut self.levels {
            match part {
                read::Part::Unanswered => blocks.add_censored(block, &interval.hist),
                _ => blocks.add_known(block, &interval.hist),
            }
        }
    }

    fn intervals(&self) -> impl Iterator<Item = Stated> + '_ {
        let median = self.levels.iter().find(|(share, _)| *share == 0.5);
        let median = median.map(|(_, blocks)| blocks);
        self.levels.iter().map(move |(share, blocks)| {
            let blocks = (blocks, median);
            let found = percentile::interval(&self.times, *share, blocks, INTERVAL_CONFIDENCE);
            Stated {
                of: self.of.clone(),
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
            Missing::Censored => IntervalMissing::Unanswered,
            Missing::Short => IntervalMissing::Short,
            Missing::Dependent => IntervalMissing::Dependent,
            Missing::Few => IntervalMissing::Few,
        }),
    }
}
