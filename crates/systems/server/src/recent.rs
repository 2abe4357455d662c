//! The latency that a server reports: the recent one *at about the present number of requests in flight*, as
//! Prequal's servers do (Wydrowski, Kleinberg, Rumble and Archer, "Load is not what you should balance", NSDI
//! 2024, section 4). The plain recent latency would be that of another load.

/// Answers that are remembered.
const ANSWERS: usize = 64;
/// How many of them, the nearest in requests in flight, the latency is the median of.
const NEAREST: usize = 9;

/// The last answers.
#[derive(Debug, Clone)]
pub struct Recent {
    /// Requests in flight when the request came, itself among them; and the latency in seconds.
    answers: [(u32, f64); ANSWERS],
    /// How many there ever were.
    count: usize,
}

impl Default for Recent {
    fn default() -> Self {
        Self { answers: [(0, 0.0); ANSWERS], count: 0 }
    }
}

impl Recent {
    /// Adds an answer: the requests in flight when its request came, and its latency in seconds.
    pub fn add(&mut self, in_flight: u32, latency_s: f64) {
        self.answers[self.count % ANSWERS] = (in_flight, latency_s);
        self.count += 1;
    }

    /// The median latency in seconds of the answers whose requests came at about this load; `None` before the first.
    ///
    /// Answers from more than twice the load count in proportion to it. Otherwise a server that has become idle would
    /// seem as slow as it was, would not be chosen for that, and would so never have an answer from its present load.
    #[must_use]
    pub fn latency_at(&self, in_flight: u32) -> Option<f64> {
        let mut known = self.answers[..self.count.min(ANSWERS)].to_vec();
        known.sort_by_key(|(then, _)| then.abs_diff(in_flight));
        let nearest = known.into_iter().take(NEAREST);
        let latency = |(then, latency_s): (u32, f64)| match then > in_flight.saturating_mul(2) {
            true => latency_s * f64::from(in_flight) / f64::from(then),
            false => latency_s,
        };
        let mut latencies: Vec<f64> = nearest.map(latency).collect();
        latencies.sort_by(f64::total_cmp);
        latencies.get(latencies.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latency_is_that_of_the_present_load() {
        let mut recent = Recent::default();
        assert_eq!(recent.latency_at(1), None);
        recent.add(1, 0.5);
        assert_eq!(recent.latency_at(100), Some(0.5));
        for _ in 0..20 {
            recent.add(2, 0.02);
            recent.add(50, 0.3);
        }
        assert_eq!(recent.latency_at(1), Some(0.02));
        assert_eq!(recent.latency_at(60), Some(0.3));
        // From a load unlike the present one.
        let mut busy = Recent::default();
        (0..ANSWERS).for_each(|_| busy.add(10, 1.0));
        assert_eq!(busy.latency_at(1), Some(0.1));
        assert_eq!(busy.latency_at(5), Some(1.0));
        // What is old is forgotten.
        (0..ANSWERS).for_each(|_| recent.add(1, 1.0));
        assert_eq!(recent.latency_at(60), Some(1.0));
    }
}
