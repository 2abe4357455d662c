//! Probing for latency and requests in flight.

use stats::rng::Rng;

use super::{Policy, Probe, Request, Row};
use crate::fleet::Fleet;

/// Probes for each request.
const PROBES_EACH: f64 = 3.0;
/// Probes removed for each request, the worst and the oldest in turn, beside those that are used up.
const REMOVED_EACH: f64 = 1.0;
/// Most probes that are kept.
const POOL_MAX: usize = 16;
/// Below this many, a backend is drawn.
const POOL_MIN: usize = 2;
/// How long a probe is valid, in nanoseconds.
const AGE_MAX_NS: u64 = 1_000_000_000;
/// The quantile of requests in flight above which a backend is hot: 2^(−1/4).
const HOT_QUANTILE: f64 = 0.840_896_415_253_714_6;
/// By how much the pool's content is to outlast its use (δ of the paper).
const RESERVE: f64 = 1.0;
/// Most uses of a probe, where the rule of the paper has no bound.
const USES_MAX: f64 = 10.0;
/// Answers from which that quantile is estimated.
const SEEN_MAX: usize = 128;

pub(super) const ROW: Row = Row {
    name: "prequal",
    about: "By probes of latency and requests in flight; backends answer /load",
    source: "Wydrowski and others 2024",
    can_learn: false,
    make: || Box::<Prequal>::default(),
};

/// An answer in the pool.
#[derive(Debug, Clone, Copy)]
struct PoolEntry {
    at: usize,
    probe: Probe,
    came_ns: u64,
    uses_left: u32,
}

/// Prequal (Wydrowski, Kleinberg, Rumble and Archer, "Load is not what you should balance: introducing Prequal",
/// NSDI 2024): every request triggers three probes of random backends, whose answers enter a pool. A backend in it is
/// *hot* if its requests in flight are above their 84th percentile. Of cold ones the least latency wins, of hot ones
/// alone the fewest requests in flight. Where the paper has hundreds of backends, a pool here holds at
/// most half of them, so that a fleet of five is not balanced by stale copies of itself.
#[derive(Debug, Clone, Default)]
pub struct Prequal {
    pool: Vec<PoolEntry>,
    /// Requests in flight of the last answers.
    seen: Vec<u32>,
    seen_next: usize,
    uses: u32,
    pool_max: usize,
    /// Whether the oldest is removed next, or the worst.
    removes_oldest: bool,
}

impl Prequal {
    /// Above this number of requests in flight a backend is hot.
    fn hot_above(&self) -> u32 {
        let mut seen = self.seen.clone();
        seen.sort_unstable();
        let rank = (seen.len() as f64 * HOT_QUANTILE).ceil() as usize;
        seen.get(rank.saturating_sub(1)).copied().unwrap_or(u32::MAX)
    }

    /// The best of the pool, or the worst: by whether it is hot, then by what counts there.
    fn extreme(
        &self,
        hot_above: u32,
        worst: bool,
        usable: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let key = |pooled: &PoolEntry| {
            let Probe { in_flight, latency_s } = pooled.probe;
            match in_flight > hot_above {
                true => (true, f64::from(in_flight)),
                false => (false, latency_s),
            }
        };
        let order = |left: &PoolEntry, right: &PoolEntry| {
            let left = key(left);
            let right = key(right);
            left.0.cmp(&right.0).then(left.1.total_cmp(&right.1))
        };
        let known = self.pool.iter().enumerate();
        let known = known.filter(|(_, pooled)| usable(pooled.at));
        let found = match worst {
            true => known.max_by(|(_, left), (_, right)| order(left, right)),
            false => known.min_by(|(_, left), (_, right)| order(left, right)),
        };
        found.map(|(place, _)| place)
    }

    /// Removes what each request removes.
    fn shrink(&mut self, hot_above: u32) {
        if self.pool.len() <= POOL_MIN {
            return;
        }
        self.removes_oldest = !self.removes_oldest;
        // Answers stand in the order in which they came.
        let place = match self.removes_oldest {
            true => Some(0),
            false => self.extreme(hot_above, true, |_| true),
        };
        if let Some(place) = place {
            self.pool.remove(place);
        }
    }
}

/// How often a probe may be used: b of the paper's section 4, rounded at random so that the mean is right.
fn uses(pool_max: usize, count: usize, rng: &mut Rng) -> u32 {
    let share = 1.0 - pool_max as f64 / count.max(1) as f64;
    let net = share * PROBES_EACH - REMOVED_EACH;
    let uses = match net > 0.0 {
        true => ((1.0 + RESERVE) / net).clamp(1.0, USES_MAX),
        false => USES_MAX,
    };
    let up = rng.unit() < uses.fract();
    uses as u32 + u32::from(up)
}

impl Policy for Prequal {
    fn pick(&mut self, fleet: &Fleet, request: &Request, rng: &mut Rng) -> Option<usize> {
        let now_ns = request.now_ns;
        self.pool.retain(|pooled| now_ns.saturating_sub(pooled.came_ns) <= AGE_MAX_NS);
        let hot_above = self.hot_above();
        let best = match self.pool.len() >= POOL_MIN {
            true => self.extreme(hot_above, false, |at| fleet.is_usable(at)),
            false => None,
        };
        let Some(place) = best else {
            return fleet.draw(rng);
        };
        let pooled = &mut self.pool[place];
        let at = pooled.at;
        // The request itself is in flight from now on.
        pooled.probe.in_flight = pooled.probe.in_flight.saturating_add(1);
        pooled.uses_left = pooled.uses_left.saturating_sub(1);
        if pooled.uses_left == 0 {
            self.pool.remove(place);
        }
        self.shrink(hot_above);
        Some(at)
    }

    fn probes(&mut self, fleet: &Fleet, rng: &mut Rng) -> Vec<usize> {
        let count = fleet.up_count();
        self.pool_max = (count / 2).clamp(POOL_MIN, POOL_MAX);
        self.uses = uses(self.pool_max, count, rng);
        let mut probed = Vec::with_capacity(PROBES_EACH as usize);
        for _ in 0..PROBES_EACH as usize {
            if let Some(at) = fleet.draw(rng).filter(|at| !probed.contains(at)) {
                probed.push(at);
            }
        }
        probed
    }

    fn probed(&mut self, at: usize, probe: Probe, now_ns: u64) {
        match self.seen.len() < SEEN_MAX {
            true => self.seen.push(probe.in_flight),
            false => self.seen[self.seen_next] = probe.in_flight,
        }
        self.seen_next = (self.seen_next + 1) % SEEN_MAX;
        if self.pool.len() >= self.pool_max.max(POOL_MIN) {
            self.pool.remove(0);
        }
        self.pool.push(PoolEntry { at, probe, came_ns: now_ns, uses_left: self.uses.max(1) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::Member;
    use stats::rng::Purpose;

    fn probe(in_flight: u32, latency_s: f64) -> Probe {
        Probe { in_flight, latency_s }
    }

    #[test]
    fn cold_backends_are_chosen_by_latency_and_hot_ones_by_requests() {
        let mut rng = Rng::new(1, 0, Purpose::Balance);
        let fleet = Fleet::new((0..40).map(|n| Member::new(n.to_string())).collect());
        let request = Request { source: 0, now_ns: 0 };
        let mut policy = Prequal::default();
        policy.probes(&fleet, &mut rng);
        (0..100).for_each(|_| policy.probed(39, probe(5, 9.0), 0));
        policy.pool.clear();
        policy.probed(1, probe(4, 0.2), 0);
        policy.probed(2, probe(50, 0.01), 0);
        policy.probed(3, probe(5, 0.1), 0);
        // The fastest is hot.
        assert_eq!(policy.pick(&fleet, &request, &mut rng), Some(3));
        policy.pool.clear();
        policy.probed(1, probe(60, 0.2), 0);
        policy.probed(2, probe(50, 0.3), 0);
        assert_eq!(policy.pick(&fleet, &request, &mut rng), Some(2));
        // What is old does not count.
        policy.pool.clear();
        policy.probed(1, probe(1, 0.2), 0);
        policy.probed(1, probe(1, 0.2), 0);
        let later = Request { now_ns: 2 * AGE_MAX_NS, ..request };
        policy.pick(&fleet, &later, &mut rng);
        assert!(policy.pool.is_empty());
    }

    #[test]
    fn probes_are_used_as_often_as_keeps_the_pool_full() {
        let mut rng = Rng::new(1, 0, Purpose::Balance);
        // 2 / (0.984 · 3 − 1) = 1.025.
        let many: u32 = (0..10_000).map(|_| uses(16, 1000, &mut rng)).sum();
        assert!((10_150..10_350).contains(&many), "{many}");
        // 2 / (0.6 · 3 − 1) = 2.5.
        let few: u32 = (0..10_000).map(|_| uses(2, 5, &mut rng)).sum();
        assert!((24_700..25_300).contains(&few), "{few}");
        assert_eq!(uses(2, 2, &mut rng), 10);
    }
}
