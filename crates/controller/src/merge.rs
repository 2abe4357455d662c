//! The loops' intervals added up to one row a second.

use std::collections::BTreeMap;

use engine::measure::{Delta, Example, MeasureDelta};
use record::Outcome;
use record::schema::{MeasureTally, PhaseTally, SeriesRow, Tally};
use scenario::plan::MeasureId;
use stats::hist::LogHistogram;

/// One interval over all loops.
#[derive(Debug)]
pub(crate) struct Interval {
    pub(crate) row: SeriesRow,
    pub(crate) measures: BTreeMap<MeasureId, MeasureDelta>,
    pub(crate) examples: Vec<Example>,
    /// Sessions that closed populations began anew.
    pub(crate) users_repeated: u64,
    /// Unasked messages whose stamp lay in the future.
    pub(crate) stamps_ahead: u64,
    lag: LogHistogram,
}

/// Gathers the loops' intervals until all have told theirs.
#[derive(Debug)]
pub(crate) struct Merger {
    open: BTreeMap<u64, Interval>,
    /// By loop: where its last interval began; `None`: it has told none. Ended loops stand at the
    /// end of time.
    told: Vec<Option<u64>>,
}

impl Merger {
    pub(crate) fn new(loops_count: u32) -> Merger {
        Merger {
            open: BTreeMap::new(),
            told: vec![None; loops_count as usize],
        }
    }

    /// Takes one loop's interval.
    pub(crate) fn add(&mut self, delta: Delta) {
        self.told[delta.worker as usize] = Some(delta.start_ns);
        self.open
            .entry(delta.start_ns)
            .or_insert_with(|| Interval::new(&delta))
            .add(delta);
    }

    /// A loop has ended.
    pub(crate) fn end(&mut self, worker: u16) {
        self.told[worker as usize] = Some(u64::MAX);
    }

    /// The next interval that all loops have told, in order.
    pub(crate) fn next(&mut self) -> Option<Interval> {
        let (&start_ns, _) = self.open.first_key_value()?;
        let complete = self
            .told
            .iter()
            .all(|told| told.is_some_and(|at| at >= start_ns));
        if !complete {
            return None;
        }
        let (_, mut interval) = self.open.pop_first()?;
        interval.close();
        Some(interval)
    }
}

impl Interval {
    fn new(delta: &Delta) -> Interval {
        let row = SeriesRow {
            start_ns: delta.start_ns,
            end_ns: delta.end_ns,
            phase: delta.phase,
            ..SeriesRow::default()
        };
        Interval {
            row,
            measures: BTreeMap::new(),
            examples: Vec::new(),
            users_repeated: 0,
            stamps_ahead: 0,
            lag: LogHistogram::new(),
        }
    }

    fn add(&mut self, delta: Delta) {
        let row = &mut self.row;
        row.end_ns = row.end_ns.max(delta.end_ns);
        row.users += delta.gauges.users;
        row.connections += delta.gauges.connections;
        row.in_flight += delta.gauges.in_flight;
        row.users_started += delta.counts.users_started;
        row.users_finished += delta.counts.users_finished;
        row.users_refused += delta.counts.users_refused;
        row.users_held += delta.counts.users_held;
        row.users_connected += delta.counts.users_connected;
        row.connects_retried += delta.counts.connects_retried;
        row.sends += delta.counts.sends;
        row.done += delta.counts.done;
        row.errors += delta.counts.errors;
        row.bytes_out += delta.counts.bytes_out;
        row.bytes_in += delta.counts.bytes_in;
        row.unmatched += delta.counts.unmatched;
        row.cpu_loops_ns += delta.cpu.used_ns;
        row.cpu_wait_ns += delta.cpu.waited_ns;
        let length_ns = delta.end_ns.saturating_sub(delta.start_ns).max(1);
        let busy = 1.0 - delta.cpu.idle_ns as f64 / length_ns as f64;
        row.loop_busy_max = row.loop_busy_max.max(busy.clamp(0.0, 1.0));
        self.users_repeated += delta.counts.users_repeated;
        self.stamps_ahead += delta.counts.stamps_ahead;
        self.examples.extend(delta.examples);
        self.lag.merge(&delta.lag);
        for measure in delta.measures {
            match self.measures.get_mut(&measure.measure) {
                Some(sum) => {
                    for (sum, n) in sum.outcomes.iter_mut().zip(measure.outcomes) {
                        *sum += n;
                    }
                    sum.response.merge(&measure.response);
                    sum.service.merge(&measure.service);
                    sum.lag.merge(&measure.lag);
                }
                None => {
                    self.measures.insert(measure.measure, measure);
                }
            }
        }
    }

    fn close(&mut self) {
        if !self.lag.is_empty() {
            self.row.lag_p50_ns = self.lag.quantile(0.5);
            self.row.lag_p99_ns = self.lag.quantile(0.99);
            self.row.lag_max_ns = self.lag.max();
        }
    }
}

/// How operations ended so far, by phase and measure.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    counts: BTreeMap<(u32, MeasureId), BTreeMap<Outcome, u64>>,
}

impl Outcomes {
    pub(crate) fn add(&mut self, interval: &Interval) {
        for (&measure, delta) in &interval.measures {
            let counts = self
                .counts
                .entry((interval.row.phase, measure))
                .or_default();
            for (&outcome, &n) in Outcome::ALL.iter().zip(&delta.outcomes) {
                if n > 0 {
                    *counts.entry(outcome).or_default() += n;
                }
            }
        }
    }

    /// As the record keeps it.
    pub(crate) fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for (&(phase, measure), counts) in &self.counts {
            let outcomes = counts
                .iter()
                .map(|(o, &n)| (o.name().to_owned(), n))
                .collect();
            let entry = MeasureTally { measure, outcomes };
            match tally.phases.last_mut() {
                Some(last) if last.phase == phase => last.measures.push(entry),
                _ => tally.phases.push(PhaseTally {
                    phase,
                    measures: vec![entry],
                }),
            }
        }
        tally
    }
}
