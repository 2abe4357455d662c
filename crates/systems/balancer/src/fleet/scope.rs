//! Scopes of a choice: all backends, those of the balancer's region, or those of the others. Policies need
//! not know of them.

use super::Slot;

/// Backends that a choice is made among.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    All,
    Own,
    Others,
}

/// Backends of one scope that are up.
#[derive(Debug, Clone, Default)]
pub(super) struct ScopeMembers {
    /// Places in the fleet.
    pub(super) places: Vec<u32>,
    /// Their weights, added up.
    sums: Vec<f64>,
    /// For each of as many equal parts of the sum, where the search in it begins.
    guide: Vec<u32>,
    pub(super) in_flight: u64,
}

impl ScopeMembers {
    pub(super) fn weights(&self) -> f64 {
        self.sums.last().copied().unwrap_or(0.0)
    }

    /// Requests in flight per unit of weight.
    fn load(&self) -> f64 {
        self.in_flight as f64 / self.weights()
    }

    fn add(&mut self, at: usize, slot: &Slot) {
        let sum = self.weights() + slot.weight;
        self.places.push(at as u32);
        self.sums.push(sum);
        self.in_flight += u64::from(slot.in_flight);
    }

    /// The place that has this share of the sum of weights below it, by indexed search (Chen and Asau 1974): in a step or
    /// two, however many there are.
    pub(super) fn at_share(&self, share: f64) -> Option<usize> {
        let part = (share * self.guide.len() as f64) as usize;
        let begin = *self.guide.get(part)? as usize;
        let sought = share * self.weights();
        let mut rest = self.places.iter().zip(&self.sums).skip(begin);
        let found = rest.find(|(_, sum)| **sum > sought);
        // Sums are rounded.
        let at = found.map(|(at, _)| at).or(self.places.last());
        at.map(|at| *at as usize)
    }

    fn fill_guide(&mut self) {
        let count = self.sums.len();
        let total = self.weights();
        let mut nth = 0;
        for part in 0..count {
            let sought = total * part as f64 / count as f64;
            while nth + 1 < count && self.sums[nth] <= sought {
                nth += 1;
            }
            self.guide.push(nth as u32);
        }
    }

    fn clear(&mut self) {
        self.places.clear();
        self.sums.clear();
        self.guide.clear();
        self.in_flight = 0;
    }
}

/// All scopes, and the one in force.
#[derive(Debug, Clone)]
pub(super) struct Scopes {
    spill_at: Option<f64>,
    now: Scope,
    each: [ScopeMembers; 3],
}

impl Scopes {
    /// Without a load at which requests spill over, there are no regions.
    pub(super) fn new(spill_at: Option<f64>) -> Self {
        Self { spill_at, now: Scope::All, each: Default::default() }
    }

    pub(super) fn rebuild(&mut self, slots: &[Slot]) {
        self.each.iter_mut().for_each(ScopeMembers::clear);
        for (at, slot) in slots.iter().enumerate().filter(|(_, slot)| slot.up) {
            for scope in self.scopes_of(slot.is_own) {
                self.each[*scope as usize].add(at, slot);
            }
        }
        self.each.iter_mut().for_each(ScopeMembers::fill_guide);
    }

    /// The scopes that a backend is in.
    fn scopes_of(&self, is_own: bool) -> &'static [Scope] {
        match (self.spill_at, is_own) {
            (None, _) => &[Scope::All],
            (_, true) => &[Scope::All, Scope::Own],
            (_, false) => &[Scope::All, Scope::Others],
        }
    }

    pub(super) fn began(&mut self, is_own: bool) {
        for scope in self.scopes_of(is_own) {
            self.each[*scope as usize].in_flight += 1;
        }
    }

    pub(super) fn ended(&mut self, is_own: bool) {
        for scope in self.scopes_of(is_own) {
            self.each[*scope as usize].in_flight -= 1;
        }
    }

    /// A backend that is up has another number of requests in flight.
    pub(super) fn changed(&mut self, is_own: bool, before: u32, after: u32) {
        for scope in self.scopes_of(is_own) {
            let in_flight = &mut self.each[*scope as usize].in_flight;
            *in_flight = *in_flight + u64::from(after) - u64::from(before);
        }
    }

    pub(super) fn now(&self) -> &ScopeMembers {
        &self.each[self.now as usize]
    }

    pub(super) fn has(&self, is_own: bool) -> bool {
        match self.now {
            Scope::All => true,
            Scope::Own => is_own,
            Scope::Others => !is_own,
        }
    }

    pub(super) fn set(&mut self, scope: Scope) {
        self.now = scope;
    }

    /// The balancer's region while its load is below the limit, otherwise the others while theirs is, otherwise all of
    /// them; each only if it has a backend with room.
    pub(super) fn narrow(&mut self, has_room: impl Fn(usize) -> bool) {
        let Some(spill_at) = self.spill_at else {
            return;
        };
        let takes = |scope: &Scope| {
            let scoped = &self.each[*scope as usize];
            scoped.load() < spill_at && scoped.places.iter().any(|at| has_room(*at as usize))
        };
        let found = [Scope::Own, Scope::Others].into_iter().find(takes);
        self.now = found.unwrap_or(Scope::All);
    }
}
