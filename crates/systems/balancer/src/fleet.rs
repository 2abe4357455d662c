//! The backends as a balancer knows them: what every policy chooses by.

mod scope;

use stats::rng::Rng;

use crate::hash::hash_text;
use crate::latency::PeakEwma;
use scope::{Scope, Scopes};

/// Draws before the backends that have room are sought one by one.
const DRAWS_MAX: usize = 8;

/// A backend as its operator describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Name by which the member is hashed: its address, most often. Unique among the members of a fleet.
    pub name: String,
    /// Weight: the share of requests, in proportion to the weights of the others; above 0.
    pub weight: f64,
    /// Most requests that it is given at once.
    pub limit: u32,
    /// Region of the member, if that is known.
    pub region: Option<String>,
}

impl Member {
    /// A member of weight 1 without a limit.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), weight: 1.0, limit: u32::MAX, region: None }
    }
}

/// Region of a balancer, and when it uses backends that are elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct Locality {
    /// Region of the balancer.
    pub region: String,
    /// Requests in flight per unit of weight, above 0, at which a region takes no more if another one can. Infinity: a
    /// region takes all requests as long as one of its backends is usable.
    pub spill_at: f64,
}

/// Data of a backend that are rarely needed.
#[derive(Debug, Clone)]
pub(crate) struct Backend {
    pub(crate) member: Member,
    pub(crate) latency: PeakEwma,
    /// The weight that was learned, instead of its member's.
    learned: Option<f64>,
    /// The part of its weight that it has in a slow start.
    share: f64,
}

/// Data of a backend that every choice needs, in few bytes.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// Hash of its name: the same in every balancer, whatever the other members are.
    key: u64,
    /// The weight at present: less than its member's in a slow start.
    weight: f64,
    in_flight: u32,
    limit: u32,
    /// Whether it may be given requests: healthy and not ejected.
    up: bool,
    /// Not for the request at hand, which has tried it.
    excluded: bool,
    /// Whether it is in the balancer's region.
    is_own: bool,
}

impl Slot {
    fn has_room(&self) -> bool {
        self.up && !self.excluded && self.in_flight < self.limit
    }
}

/// The backends that a policy chooses among.
#[derive(Debug, Clone)]
pub struct Fleet {
    backends: Vec<Backend>,
    slots: Vec<Slot>,
    scopes: Scopes,
    version: u64,
}

impl Fleet {
    /// A fleet of which every member is up.
    #[must_use]
    pub fn new(members: Vec<Member>) -> Self {
        Self::around(members, None)
    }

    /// The same around a balancer that prefers its own region.
    #[must_use]
    pub fn around(members: Vec<Member>, locality: Option<&Locality>) -> Self {
        let slot = |member: &Member| Slot {
            key: hash_text(&member.name),
            weight: member.weight,
            in_flight: 0,
            limit: member.limit,
            up: true,
            excluded: false,
            is_own: locality.is_some_and(|own| member.region.as_ref() == Some(&own.region)),
        };
        let slots = members.iter().map(slot).collect();
        let backends = members.into_iter().map(|member| Backend {
            member,
            latency: PeakEwma::default(),
            learned: None,
            share: 1.0,
        });
        let mut fleet = Self {
            backends: backends.collect(),
            slots,
            scopes: Scopes::new(locality.map(|own| own.spill_at)),
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
        self.scopes.has(self.slots[at].is_own) && self.slots[at].has_room()
    }

    pub(crate) fn key(&self, at: usize) -> u64 {
        self.slots[at].key
    }

    /// Weight: the share of requests, in proportion to the weights of the others.
    #[must_use]
    pub fn weight(&self, at: usize) -> f64 {
        self.slots[at].weight
    }

    /// Sum of the weights of what is up in the scope of the choice at hand.
    #[must_use]
    pub fn weights(&self) -> f64 {
        self.scopes.now().weights()
    }

    /// Number of backends that are up in that scope.
    #[must_use]
    pub fn up_count(&self) -> usize {
        self.scopes.now().places.len()
    }

    /// Requests that this balancer has given it and that it has not answered.
    #[must_use]
    pub fn in_flight(&self, at: usize) -> u32 {
        self.slots[at].in_flight
    }

    /// The sum over what is up in the scope of the choice at hand.
    #[must_use]
    pub fn all_in_flight(&self) -> u64 {
        self.scopes.now().in_flight
    }

    /// Places of the backends that may be given the request at hand.
    pub fn usable(&self) -> impl Iterator<Item = usize> + '_ {
        let places = self.scopes.now().places.iter();
        let places = places.map(|at| *at as usize);
        places.filter(|at| self.slots[*at].has_room())
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

    /// Draws a backend that is up.
    fn draw_up(&self, rng: &mut Rng) -> Option<usize> {
        self.scopes.now().at_share(rng.unit())
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
        let mut count = 0;
        for at in self.usable() {
            let cost = cost(at);
            match &best {
                Some((_, least)) if cost > *least => {}
                Some((_, least)) if cost == *least => {
                    ties += weight(at);
                    count += 1;
                }
                _ => {
                    (ties, count) = (weight(at), 1);
                    best = Some((at, cost));
                }
            }
        }
        let (first, least) = best?;
        if count == 1 {
            return Some(first);
        }
        // One draw for all of them.
        let mut left = rng.unit() * ties;
        let mut tied = self.usable().skip_while(|at| *at < first);
        tied.find(|at| {
            let is_tied = cost(*at) == least;
            left -= if is_tied { weight(*at) } else { 0.0 };
            is_tied && left < 0.0
        })
        // Sums are rounded.
        .or(Some(first))
    }

    pub(crate) fn began(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        slot.in_flight += 1;
        if slot.up {
            self.scopes.began(slot.is_own);
        }
    }

    pub(crate) fn ended(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        slot.in_flight -= 1;
        if slot.up {
            self.scopes.ended(slot.is_own);
        }
    }

    /// Takes over what was known of a backend in another fleet.
    pub(crate) fn take_over(&mut self, at: usize, in_flight: u32, latency: PeakEwma) {
        let slot = &mut self.slots[at];
        let before = slot.in_flight;
        let is_own = slot.is_own;
        slot.in_flight = in_flight;
        if slot.up {
            self.scopes.changed(is_own, before, in_flight);
        }
        self.backends[at].latency = latency;
    }

    /// Leaves these out of choices until [`include_all`](Self::include_all).
    pub(crate) fn exclude(&mut self, tried: &[usize]) {
        for at in tried {
            self.slots[*at].excluded = true;
        }
    }

    pub(crate) fn include_all(&mut self, tried: &[usize]) {
        for at in tried {
            self.slots[*at].excluded = false;
        }
    }

    /// Takes a backend up or down.
    pub fn set_up(&mut self, at: usize, up: bool) {
        if std::mem::replace(&mut self.slots[at].up, up) != up {
            self.changed();
        }
    }

    /// Whether it is up.
    #[must_use]
    pub fn is_up(&self, at: usize) -> bool {
        self.slots[at].up
    }

    /// Whether it is in the balancer's region; never, if the balancer has none.
    #[must_use]
    pub fn is_own(&self, at: usize) -> bool {
        self.slots[at].is_own
    }

    /// Whether it may be given the request at hand, in whatever scope.
    pub(crate) fn has_room(&self, at: usize) -> bool {
        self.slots[at].has_room()
    }

    /// Narrows the choices that follow to where the next request belongs, until [`widen`](Self::widen).
    pub(crate) fn narrow(&mut self) {
        let slots = &self.slots;
        self.scopes.narrow(|at| slots[at].has_room());
    }

    pub(crate) fn widen(&mut self) {
        self.scopes.set(Scope::All);
    }

    /// Gives a backend the share of its weight that is between 0 and 1.
    pub(crate) fn set_share(&mut self, at: usize, share: f64) {
        if std::mem::replace(&mut self.backends[at].share, share) != share {
            self.reweigh();
        }
    }

    /// Gives all backends learned weights; `None`: those of their members.
    pub(crate) fn set_learned(&mut self, weights: Option<&[f64]>) {
        let mut is_changed = false;
        for (at, backend) in self.backends.iter_mut().enumerate() {
            let learned = weights.map(|weights| weights[at]);
            is_changed |= std::mem::replace(&mut backend.learned, learned) != learned;
        }
        if is_changed {
            self.reweigh();
        }
    }

    fn reweigh(&mut self) {
        for (slot, backend) in self.slots.iter_mut().zip(&self.backends) {
            slot.weight = backend.learned.unwrap_or(backend.member.weight) * backend.share;
        }
        self.changed();
    }

    fn changed(&mut self) {
        self.version += 1;
        self.scopes.rebuild(&self.slots);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::rng::Purpose;

    fn three() -> Fleet {
        let weights = [1.0, 2.0, 5.0];
        let members =
            weights.map(|weight| Member { weight, limit: 1, ..Member::new(format!("b{weight}")) });
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
        let ones = (0..3000).filter(|_| fleet.draw(&mut rng) == Some(1)).count();
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
            assert!((f64::from(count) / expected - 1.0).abs() < 0.1, "{counts:?}");
        }
        assert_eq!(fleet.least(&mut rng, |at| 9 - at, |_| 1.0), Some(2));
    }
}
