//! Counts of each worker: its errors and its lag may not be those of the others.

use engine::measure::Delta;
use plan::{MeasureKind, Plan};
use record::Outcome;
use record::schema::{WorkerInfo, WorkerTally};
use stats::hist::LogHistogram;

/// Counts by worker.
#[derive(Debug, Default)]
pub(super) struct ByWorker {
    workers: Vec<WorkerCounts>,
    /// The worker of each loop.
    of_loop: Vec<usize>,
    /// True for each measure of the plan that is of exchanges: the others count the same operations once more.
    is_exchange: Vec<bool>,
}

#[derive(Debug, Clone, Default)]
struct WorkerCounts {
    ended: u64,
    errors: u64,
    lag: LogHistogram,
    busy_max: f64,
}

impl ByWorker {
    pub(super) fn new(plan: &Plan, workers: &[WorkerInfo]) -> ByWorker {
        let of_loop = workers.iter().enumerate();
        let of_loop =
            of_loop.flat_map(|(number, worker)| std::iter::repeat_n(number, worker.loops as usize));
        let is_exchange = plan.measures.iter().map(|measure| {
            matches!(
                measure.kind,
                MeasureKind::Connect | MeasureKind::Request | MeasureKind::Handshake
            )
        });
        ByWorker {
            workers: vec![WorkerCounts::default(); workers.len()],
            of_loop: of_loop.collect(),
            is_exchange: is_exchange.collect(),
        }
    }

    /// Counts an interval of a loop.
    pub(super) fn note(&mut self, delta: &Delta) {
        let worker = self.of_loop.get(usize::from(delta.loop_id));
        let Some(one) = worker.and_then(|worker| self.workers.get_mut(*worker)) else {
            return;
        };
        let is_exchange = |at: usize| self.is_exchange.get(at).copied().unwrap_or(false);
        let exchanges = delta.measures.iter();
        for measure in exchanges.filter(|measure| is_exchange(measure.measure.index())) {
            for (outcome, n) in Outcome::ALL.iter().zip(measure.outcomes) {
                one.ended += n;
                one.errors += if outcome.is_error() { n } else { 0 };
            }
        }
        one.lag.merge(&delta.lag);
        let length_ns = delta.end_ns.saturating_sub(delta.start_ns).max(1);
        let busy = 1.0 - delta.cpu.idle_ns as f64 / length_ns as f64;
        one.busy_max = one.busy_max.max(busy.clamp(0.0, 1.0));
    }

    /// The counts as the record keeps them.
    pub(super) fn tally(&self) -> Vec<WorkerTally> {
        let all = self.workers.iter().map(|one| WorkerTally {
            ended: one.ended,
            errors: one.errors,
            lag_p99_ns: match one.lag.is_empty() {
                true => 0,
                false => one.lag.quantile(0.99),
            },
            busy_max_percent: (one.busy_max * 100.0).round() as u32,
        });
        all.collect()
    }
}

#[cfg(test)]
mod tests {
    use engine::measure::{LoopCpu, MeasureDelta, OUTCOMES};
    use plan::MeasureId;

    use super::*;

    fn worker(first: u32, loops: u32) -> WorkerInfo {
        WorkerInfo { loops_first: first, loops, ..WorkerInfo::default() }
    }

    fn delta(plan: &Plan, loop_id: u16, ok: u64, refused: u64, idle_ns: u64) -> Delta {
        let exchange = plan.measures.iter().position(|m| m.kind == MeasureKind::Request);
        let mut outcomes = [0; OUTCOMES];
        outcomes[Outcome::Ok as usize] = ok;
        outcomes[Outcome::Refused as usize] = refused;
        let mut lag = LogHistogram::new();
        lag.record(1_000 * u64::from(loop_id + 1));
        let measure = MeasureId(exchange.unwrap() as u16);
        let requests = MeasureDelta {
            due: ok + refused,
            begun: ok + refused,
            outcomes,
            ..MeasureDelta::new(measure)
        };
        Delta {
            measures: vec![requests],
            lag,
            cpu: LoopCpu { idle_ns, ..LoopCpu::default() },
            ..Delta::new(loop_id, 0, 1_000)
        }
    }

    #[test]
    fn loops_count_for_their_worker() {
        let text =
            "target: http://h/\nsessions: { s: [ { get: / } ] }\narrivals: [ { hold: 1s } ]\n";
        let plan = crate::testing::plan(text);
        let mut by = ByWorker::new(&plan, &[worker(0, 2), worker(2, 1)]);
        by.note(&delta(&plan, 0, 5, 1, 900));
        by.note(&delta(&plan, 1, 5, 0, 400));
        by.note(&delta(&plan, 2, 0, 3, 1_000));
        by.note(&delta(&plan, 9, 7, 7, 0));
        let found = by.tally();
        let counts: Vec<_> =
            found.iter().map(|w| (w.ended, w.errors, w.busy_max_percent)).collect();
        assert_eq!(counts, [(11, 1, 60), (3, 3, 0)]);
        assert!(found[1].lag_p99_ns > found[0].lag_p99_ns && found[0].lag_p99_ns >= 2_000);
    }
}
