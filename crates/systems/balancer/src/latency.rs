//! An average of latencies that rises at once and forgets slowly.

/// Time after which a latency has lost all but 1/e of its weight, in seconds.
const DECAY_S: f64 = 10.0;

/// The peak-sensitive moving average of Finagle's `PeakEwma` load metric: a latency above the average replaces
/// it, one below pulls it down as fast as time passes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PeakEwma {
    latency_s: f64,
    at_ns: u64,
    known: bool,
}

impl PeakEwma {
    /// Takes a latency in seconds that was seen at this time.
    pub fn observe(&mut self, latency_s: f64, now_ns: u64) {
        let keep = self.keep(now_ns);
        self.latency_s = match latency_s > self.latency_s * keep {
            true => latency_s,
            false => self.latency_s * keep + latency_s * (1.0 - keep),
        };
        self.at_ns = self.at_ns.max(now_ns);
        self.known = true;
    }

    /// The average at this time, in seconds; it falls towards 0 while nothing is observed, so that a backend that
    /// was slow once is tried again.
    #[must_use]
    pub fn at(&self, now_ns: u64) -> f64 {
        self.latency_s * self.keep(now_ns)
    }

    /// Whether anything was observed.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.known
    }

    fn keep(&self, now_ns: u64) -> f64 {
        let age_s = now_ns.saturating_sub(self.at_ns) as f64 / 1e9;
        (-age_s / DECAY_S).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_count_at_once_and_are_forgotten_slowly() {
        let s = |seconds: u64| seconds * 1_000_000_000;
        let mut ewma = PeakEwma::default();
        assert!(!ewma.is_known());
        ewma.observe(0.1, s(1));
        assert_eq!(ewma.at(s(1)), 0.1);
        ewma.observe(2.0, s(1));
        assert_eq!(ewma.at(s(1)), 2.0);
        assert!((ewma.at(s(11)) - 2.0 / std::f64::consts::E).abs() < 1e-12);
        ewma.observe(0.1, s(11));
        let share = (-1.0_f64).exp();
        assert!((ewma.at(s(11)) - (2.0 * share + 0.1 * (1.0 - share))).abs() < 1e-12);
    }
}
