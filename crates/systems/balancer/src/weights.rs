//! Weights learned from what backends report of their work, by the rule of gRPC's proposal A58 (`weighted_round_robin`,
//! 2023).
//!
//! A backend's weight is `requests per second / (utilization + failed share × penalty)`: what it would do if it were
//! busy all the time. Three things differ from A58. Backends report counts since their start, of which rates are made
//! here, so the number of balancers that query does not matter. Failed requests are not counted as served. A weight is at
//! least a hundredth of the median, so that a backend that failed all requests still gets the few by which it is seen
//! to recover.

use std::time::Duration;

/// Smallest and greatest weight, as multiples of the median.
const BOUNDS: (f64, f64) = (0.01, 100.0);
/// Backends with known weights from which on these are used, as in A58.
const KNOWN_MIN: usize = 2;

/// How weights are learned. The defaults are those of A58; it leaves the smoothing to backends.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LearnOptions {
    /// Time between two reports of a backend, above 0.
    pub every: Duration,
    /// Time after which work has lost all but 1/e of its influence, above 0.
    pub memory: Duration,
    /// How long a backend must have reported before its weight counts, after its start and after a gap.
    pub blackout: Duration,
    /// How long a weight is valid without a report of further requests.
    pub expiry: Duration,
    /// Factor by which the share of failed requests is added to the utilization.
    pub error_penalty: f64,
}

impl Default for LearnOptions {
    fn default() -> Self {
        Self {
            every: Duration::from_secs(1),
            memory: Duration::from_secs(10),
            blackout: Duration::from_secs(10),
            expiry: Duration::from_secs(180),
            error_penalty: 1.0,
        }
    }
}

/// Work of a backend since its start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorkReport {
    /// Requests worked on.
    pub done: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Time spent on those worked on, in seconds, added up over all that were worked on at once.
    pub work_s: f64,
    /// Requests that it can work on at once, 1 or more.
    pub concurrency: u32,
}

impl WorkReport {
    /// Whether a process that reported `other` before may report this.
    fn follows(&self, other: &WorkReport) -> bool {
        self.done >= other.done && self.failed >= other.failed && self.work_s >= other.work_s
    }
}

/// Estimates for one backend. Sums lose influence as time passes.
#[derive(Debug, Clone, Copy, Default)]
struct BackendEstimate {
    last: Option<(WorkReport, u64)>,
    /// Since when it has reported without a gap.
    since_ns: u64,
    /// When it last reported further requests.
    informed_ns: u64,
    done: f64,
    failed: f64,
    work_s: f64,
    time_s: f64,
    /// Time in which requests could have been worked on, added up over all at once.
    server_s: f64,
}

impl BackendEstimate {
    fn report(&mut self, report: WorkReport, now_ns: u64, options: &LearnOptions) {
        let before = self.last.filter(|(last, at_ns)| {
            report.follows(last) && now_ns.saturating_sub(*at_ns) <= ns(options.expiry)
        });
        let Some((last, at_ns)) = before else {
            *self = Self { last: Some((report, now_ns)), since_ns: now_ns, ..Self::default() };
            return;
        };
        let gap_s = now_ns.saturating_sub(at_ns) as f64 / 1e9;
        let keep = (-gap_s / options.memory.as_secs_f64()).exp();
        let done = report.done - last.done;
        let failed = report.failed - last.failed;
        for (sum, more) in [
            (&mut self.done, done as f64),
            (&mut self.failed, failed as f64),
            (&mut self.work_s, report.work_s - last.work_s),
            (&mut self.time_s, gap_s),
            (&mut self.server_s, gap_s * f64::from(report.concurrency)),
        ] {
            *sum = *sum * keep + more;
        }
        if done + failed > 0 {
            self.informed_ns = now_ns;
        }
        self.last = Some((report, now_ns));
    }

    /// The weight in requests a second, if there is one to rely on.
    fn weight(&self, now_ns: u64, options: &LearnOptions) -> Option<f64> {
        let within = |since_ns: u64, time: Duration| now_ns.saturating_sub(since_ns) <= ns(time);
        let (_, at_ns) = self.last?;
        let requests = self.done + self.failed;
        let is_valid = within(at_ns, options.expiry)
            && within(self.informed_ns, options.expiry)
            && now_ns.saturating_sub(self.since_ns) >= ns(options.blackout)
            && requests > 0.0;
        if !is_valid {
            return None;
        }
        let utilization = self.work_s / self.server_s;
        let cost = utilization + self.failed / requests * options.error_penalty;
        let weight = self.done / self.time_s / cost;
        weight.is_finite().then_some(weight)
    }
}

/// Learns the weights of the backends of one list.
#[derive(Debug, Clone)]
pub(crate) struct Learner {
    options: LearnOptions,
    backends: Vec<BackendEstimate>,
}

impl Learner {
    /// Knows nothing yet.
    pub(crate) fn new(options: LearnOptions, count: usize) -> Self {
        Self { options, backends: vec![BackendEstimate::default(); count] }
    }

    /// Takes over the estimates of a backend in another list.
    pub(crate) fn take_over(&mut self, at: usize, other: &Learner, there: usize) {
        self.backends[at] = other.backends[there];
    }

    pub(crate) fn reported(&mut self, at: usize, report: WorkReport, now_ns: u64) {
        self.backends[at].report(report, now_ns, &self.options);
    }

    /// The weights, with the mean of those listed; `None` as long as too little is known.
    pub(crate) fn weights(&self, listed: &[f64], now_ns: u64) -> Option<Vec<f64>> {
        let known = self.backends.iter();
        let known: Vec<Option<f64>> =
            known.map(|backend| backend.weight(now_ns, &self.options)).collect();
        let count = known.iter().flatten().count();
        let mut positive: Vec<f64> = known.iter().flatten().copied().collect();
        positive.retain(|weight| *weight > 0.0);
        if count < KNOWN_MIN || positive.is_empty() {
            return None;
        }
        positive.sort_by(f64::total_cmp);
        let median = positive[positive.len() / 2];
        let bounded = |weight: f64| weight.clamp(BOUNDS.0 * median, BOUNDS.1 * median);
        let mean = known.iter().flatten().copied().map(bounded).sum::<f64>() / count as f64;
        let weights: Vec<f64> = known.iter().map(|weight| weight.map_or(mean, bounded)).collect();
        let scale = listed.iter().sum::<f64>() / weights.iter().sum::<f64>();
        Some(weights.iter().map(|weight| weight * scale).collect())
    }
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// A backend that works for these seconds on a request, and gets this many of them a second, of which some fail.
    #[derive(Clone, Copy)]
    struct Model(f64, u64, u64);

    fn report(Model(each_s, done, failed): Model, seconds: u64) -> WorkReport {
        WorkReport {
            done: done * seconds,
            failed: failed * seconds,
            work_s: each_s * (done * seconds) as f64,
            concurrency: 2,
        }
    }

    fn after(models: &[Model], seconds: u64) -> Learner {
        let mut learner = Learner::new(LearnOptions::default(), models.len());
        for second in 0..=seconds {
            for (at, model) in models.iter().enumerate() {
                learner.reported(at, report(*model, second), second * S);
            }
        }
        learner
    }

    #[track_caller]
    fn near(weights: Option<Vec<f64>>, expected: &[f64]) {
        let weights = weights.expect("weights are known");
        for (weight, expected) in weights.iter().zip(expected) {
            assert!((weight / expected - 1.0).abs() < 1e-9, "{weights:?}");
        }
    }

    #[test]
    fn weights_are_what_backends_could_do_and_keep_the_mean() {
        // Requests do not matter, the time that one takes does.
        let models = [Model(0.04, 5, 0), Model(0.02, 5, 0), Model(0.01, 50, 0)];
        near(after(&models, 20).weights(&[7.0; 3], 20 * S), &[3.0, 6.0, 12.0]);
        // Weights need not add up to 1.
        near(after(&models, 20).weights(&[1.0, 2.0, 4.0], 20 * S), &[1.0, 2.0, 4.0]);
    }

    #[test]
    fn weights_count_after_the_blackout_and_not_when_they_are_old() {
        let models = [Model(0.04, 5, 0), Model(0.02, 5, 0), Model(0.01, 0, 0)];
        let learner = after(&models, 10);
        assert_eq!(learner.weights(&[1.0; 3], 10 * S - 1), None);
        // Of the third nothing is known: it gets the mean of the others.
        near(learner.weights(&[1.5; 3], 10 * S), &[1.0, 2.0, 1.5]);
        assert!(learner.weights(&[1.0; 3], 190 * S).is_some());
        assert_eq!(learner.weights(&[1.0; 3], 190 * S + 1), None);
    }

    #[test]
    fn a_restart_begins_a_blackout() {
        let mut learner = after(&[Model(0.04, 5, 0), Model(0.02, 5, 0)], 20);
        learner.reported(0, report(Model(0.04, 5, 0), 1), 21 * S);
        // One known weight is not enough.
        assert_eq!(learner.weights(&[1.0; 2], 21 * S), None);
        for second in 2..=11 {
            learner.reported(0, report(Model(0.04, 5, 0), second), (20 + second) * S);
        }
        near(learner.weights(&[1.5; 2], 31 * S), &[1.0, 2.0]);
    }

    #[test]
    fn failing_backends_get_less_weight() {
        let good = Model(0.04, 10, 0);
        // Utilization 0.2, half of it for half of the requests, beside a share of failures of 0.5.
        let models = [good, Model(0.04, 5, 5), Model(0.04, 0, 1000), good];
        let weights = after(&models, 20).weights(&[1.0; 4], 20 * S).unwrap();
        let of_good = |at: usize| weights[at] / weights[0];
        assert!((of_good(1) - 5.0 / 0.6 / 50.0).abs() < 1e-9, "{weights:?}");
        assert!((of_good(2) - 0.01).abs() < 1e-9, "{weights:?}");
        // No backend is better than another if all fail.
        let failing = [Model(0.04, 0, 5), Model(0.04, 0, 5)];
        assert_eq!(after(&failing, 20).weights(&[1.0; 2], 20 * S), None);
    }

    #[test]
    fn reports_without_sense_change_little() {
        // Whoever claims to work in no time has no utilization to divide by, or a bounded weight.
        let models =
            [Model(0.04, 10, 0), Model(0.04, 10, 0), Model(0.0, 10, 0), Model(1e-12, 10, 0)];
        let weights = after(&models, 20).weights(&[1.0; 4], 20 * S).unwrap();
        assert!((weights[3] / weights[0] - 100.0).abs() < 1e-6, "{weights:?}");
        assert!(weights.iter().all(|weight| weight.is_finite()), "{weights:?}");
    }
}
