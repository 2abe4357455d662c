//! The backends as a balancer knows them: what every policy chooses by.

use stats::rng::Rng;

use crate::hash::hash_text;
use crate::latency::PeakEwma;

/// Draws before the backends that have room are sought one by one.
const DRAWS_MAX: usize = 8;

/// A backend as its operator describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// What it is hashed by: its address, most often. Unique among the members of a fleet.
    pub name: String,
    /// Its share of requests, in proportion to those of the others; above 0.
    pub weight: f64,
    /// Most requests that it is given at once.
    pub limit: u32,
}

impl Member {
    /// A member of weight 1 without a limit.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            weight: 1.0,
            limit: u32::MAX,
        }
    }
}

/// A backend in a fleet.
#[derive(Debug, Clone)]
pub(crate) struct Backend {
    pub(crate) member: Member,
    /// Hash of its name: the same in every balancer, whatever the other members are.
    pub(crate) key: u64,
    /// The weight at present: less than its member's in a slow start.
    pub(crate) weight: f64,
    /// Whether it may be given requests: healthy and not ejected.
    pub(crate) up: bool,
    /// Not for the request at hand, which has tried it.
    excluded: bool,
    pub(crate) in_flight: u32,
    pub(crate) latency: PeakEwma,
}

/// The backends that a policy chooses among.
#[derive(Debug, Clone)]
pub struct Fleet {
    backends: Vec<Backend>,
    /// Weights of the backends that are up, added up; of the others, those before them.
    cumulative: Vec<f64>,
    in_flight: u64,
    version: u64,
}

impl Fleet {
    /// A fleet of which every member is up.
    #[must_use]
    pub fn new(members: Vec<Member>) -> Self {
        let backends = members.into_iter().map(|member| Backend {
            key: hash_text(&member.name),
            weight: member.weight,
            member,
            up: true,
            excluded: false,
            in_flight: 0,
            latency: PeakEwma::default(),
        });
        let mut fleet = Self {
            backends: backends.collect(),
            cumulative: Vec::new(),
            in_flight: 0,
            version: 0,
        };
        fleet.changed();
        fleet
    }

    /// Number of backends, also of those that are down. Policies name a backend by its place among them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.backends.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.backends.is_empty()
    }

    pub(crate) fn backends(&self) -> &[Backend] {
        &self.backends
    }

    pub(crate) fn backend_mut(&mut self, at: usize) -> &mut Backend {
        &mut self.backends[at]
    }

    /// Changes when weights change, or what is up: tables of policies follow from these alone.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Whether a backend may be given the request at hand.
    #[must_use]
    pub fn is_usable(&self, at: usize) -> bool {
        let backend = &self.backends[at];
        backend.up && !backend.excluded && backend.in_flight < backend.member.limit
    }

    /// Its share of requests, in proportion to those of the others.
    #[must_use]
    pub fn weight(&self, at: usize) -> f64 {
        self.backends[at].weight
    }

    /// Sum of the weights of what is up.
    #[must_use]
    pub fn weights(&self) -> f64 {
        self.cumulative.last().copied().unwrap_or(0.0)
    }

    /// Requests that this balancer has given it and that it has not answered.
    #[must_use]
    pub fn in_flight(&self, at: usize) -> u32 {
        self.backends[at].in_flight
    }

    /// The sum over all backends.
    #[must_use]
    pub fn all_in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Places of the backends that may be given the request at hand.
    pub fn usable(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.len()).filter(|at| self.is_usable(*at))
    }

    /// A usable backend, each with probability in proportion to its weight.
    pub fn draw(&self, rng: &mut Rng) -> Option<usize> {
        for _ in 0..DRAWS_MAX {
            let at = self.draw_up(rng)?;
            if self.is_usable(at) {
                return Some(at);
            }
        }
        let total: f64 = self.usable().map(|at| self.weight(at)).sum();
        let mut left = rng.unit() * total;
        let mut last = None;
        for at in self.usable() {
            last = Some(at);
            left -= self.weight(at);
            if left < 0.0 {
                break;
            }
        }
        last
    }

    /// One that is up.
    fn draw_up(&self, rng: &mut Rng) -> Option<usize> {
        let total = self.weights();
        if total <= 0.0 {
            return None;
        }
        let sought = rng.unit() * total;
        // What is down adds nothing, so the first above the number sought is up.
        let at = self.cumulative.partition_point(|sum| *sum <= sought);
        (at < self.len()).then_some(at)
    }

    /// The usable backend of the least cost; of several, each with probability in proportion to its weight.
    pub fn least<C: PartialOrd>(
        &self,
        rng: &mut Rng,
        cost: impl Fn(usize) -> C,
        weight: impl Fn(usize) -> f64,
    ) -> Option<usize> {
        let mut best: Option<(usize, C)> = None;
        let mut ties = 0.0;
        for at in self.usable() {
            let cost = cost(at);
            match &best {
                Some((_, least)) if cost > *least => {}
                Some((_, least)) if cost == *least => {
                    // Reservoir sampling (Chao 1982): each of the equal ones by its weight.
                    ties += weight(at);
                    if rng.unit() * ties < weight(at) {
                        best = Some((at, cost));
                    }
                }
                _ => {
                    ties = weight(at);
                    best = Some((at, cost));
                }
            }
        }
        best.map(|(at, _)| at)
    }

    pub(crate) fn began(&mut self, at: usize) {
        self.backends[at].in_flight += 1;
        self.in_flight += 1;
    }

    pub(crate) fn ended(&mut self, at: usize) {
        self.backends[at].in_flight -= 1;
        self.in_flight -= 1;
    }

    /// Leaves these out of choices until [`include_all`](Self::include_all).
    pub(crate) fn exclude(&mut self, tried: &[usize]) {
        for at in tried {
            self.backends[*at].excluded = true;
        }
    }

    pub(crate) fn include_all(&mut self, tried: &[usize]) {
        for at in tried {
            self.backends[*at].excluded = false;
        }
    }

    /// Takes a backend up or down.
    pub fn set_up(&mut self, at: usize, up: bool) {
        if std::mem::replace(&mut self.backends[at].up, up) != up {
            self.changed();
        }
    }

    /// Whether it is up.
    #[must_use]
    pub fn is_up(&self, at: usize) -> bool {
        self.backends[at].up
    }

    /// Gives a backend the share of its member's weight that is between 0 and 1.
    pub(crate) fn set_share(&mut self, at: usize, share: f64) {
        let backend = &mut self.backends[at];
        let weight = backend.member.weight * share;
        if std::mem::replace(&mut backend.weight, weight) != weight {
            self.changed();
        }
    }

    fn changed(&mut self) {
        self.version += 1;
        let mut sum = 0.0;
        let sums = self.backends.iter().map(|backend| {
            if backend.up {
                sum += backend.weight;
            }
            sum
        });
        self.cumulative = sums.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::rng::Purpose;

    fn three() -> Fleet {
        let weights = [1.0, 2.0, 5.0];
        let members = weights.map(|weight| Member {
            weight,
            limit: 1,
            ..Member::new(format!("b{weight}"))
        });
        Fleet::new(members.into())
    }

    #[test]
    fn draws_skip_what_is_down_full_or_excluded() {
        let mut rng = Rng::new(1, 0, Purpose::Balance);
        let mut fleet = three();
        fleet.set_up(2, false);
        assert_eq!(fleet.weights(), 3.0);
        fleet.began(1);
        assert!((0..100).all(|_| fleet.draw(&mut rng) == Some(0)));
        fleet.exclude(&[0]);
        assert_eq!(fleet.draw(&mut rng), None);
        fleet.include_all(&[0]);
        fleet.ended(1);
        let ones = (0..3000)
            .filter(|_| fleet.draw(&mut rng) == Some(1))
            .count();
        assert!((1900..2100).contains(&ones), "{ones}");
        assert_eq!(Fleet::new(Vec::new()).draw(&mut rng), None);
    }

    #[test]
    fn equal_costs_are_shared_by_weight() {
        let mut rng = Rng::new(1, 0, Purpose::Balance);
        let fleet = three();
        let mut counts = [0; 3];
        for _ in 0..8000 {
            let at = fleet.least(&mut rng, |_| 0, |at| fleet.weight(at));
            counts[at.unwrap()] += 1;
        }
        for (count, expected) in counts.into_iter().zip([1000.0, 2000.0, 5000.0]) {
            assert!(
                (f64::from(count) / expected - 1.0).abs() < 0.1,
                "{counts:?}"
            );
        }
        assert_eq!(fleet.least(&mut rng, |at| 9 - at, |_| 1.0), Some(2));
    }
}
