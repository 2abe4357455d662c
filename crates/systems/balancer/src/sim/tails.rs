//! How often queues are how long.

/// For each length, the number of workers with at least this many requests, and its integral over time.
#[derive(Debug)]
pub(super) struct Tails {
    workers: usize,
    levels: Vec<Level>,
    since_ns: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Level {
    count: u64,
    /// Integral of the count over time, up to the last change.
    integral_ns: u128,
    changed_ns: u64,
}

impl Level {
    fn change(&mut self, by: i64, now_ns: u64) {
        self.integral_ns += u128::from(self.count) * u128::from(now_ns - self.changed_ns);
        self.changed_ns = now_ns;
        self.count = self.count.saturating_add_signed(by);
    }
}

impl Tails {
    pub(super) fn new(workers: usize) -> Self {
        Self { workers, levels: Vec::new(), since_ns: 0 }
    }

    /// Forgets everything but the queues as they are.
    pub(super) fn reset(&mut self, now_ns: u64) {
        self.since_ns = now_ns;
        for level in &mut self.levels {
            (level.integral_ns, level.changed_ns) = (0, now_ns);
        }
    }

    /// A queue has one more than `before`.
    pub(super) fn rose(&mut self, before: u32, now_ns: u64) {
        let at = before as usize;
        if at >= self.levels.len() {
            let fresh = Level { changed_ns: now_ns, ..Level::default() };
            self.levels.resize(at + 1, fresh);
        }
        self.levels[at].change(1, now_ns);
    }

    /// A queue has one less: it is of length `after` now.
    pub(super) fn fell(&mut self, after: u32, now_ns: u64) {
        self.levels[after as usize].change(-1, now_ns);
    }

    /// The mean shares of workers with at least 0, 1, 2, … requests.
    pub(super) fn shares(&mut self, now_ns: u64) -> Vec<f64> {
        let all = (now_ns - self.since_ns) as f64 * self.workers as f64;
        let shares = self.levels.iter_mut().map(|level| {
            level.change(0, now_ns);
            level.integral_ns as f64 / all
        });
        std::iter::once(1.0).chain(shares).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_integrals_over_time() {
        let mut tails = Tails::new(2);
        tails.rose(0, 5);
        tails.reset(10);
        tails.rose(1, 20);
        tails.rose(0, 20);
        tails.fell(1, 30);
        tails.fell(0, 40);
        // At least one: 1 worker from 10 to 20, 2 to 40, 1 to 50; at least two: 1 from 20 to 30.
        assert_eq!(tails.shares(50), [1.0, 60.0 / 80.0, 10.0 / 80.0]);
    }
}
