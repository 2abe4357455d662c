//! Backends in turn.

use stats::rng::Rng;

use super::{Policy, Request, Row};
use crate::fleet::Fleet;

pub(super) const ROW: Row = Row {
    name: "round-robin",
    about: "In turn",
    source: "RFC 1794, Brisco 1995",
    can_learn: false,
    make: || Box::<RoundRobin>::default(),
};
pub(super) const WEIGHTED: Row = Row {
    name: "weighted-round-robin",
    about: "In turn, by weight, as nginx does",
    source: "nginx, 2012",
    can_learn: true,
    make: || Box::<WeightedRoundRobin>::default(),
};

/// One after the other in their order, whatever their weights (T. Brisco, "DNS support for load balancing", RFC 1794,
/// 1995).
#[derive(Debug, Clone, Copy, Default)]
pub struct RoundRobin {
    next: usize,
}

impl Policy for RoundRobin {
    fn pick(&mut self, fleet: &Fleet, _: &Request, _: &mut Rng) -> Option<usize> {
        let count = fleet.len();
        let mut turns = (0..count).map(|step| (self.next + step) % count);
        let at = turns.find(|at| fleet.is_usable(*at))?;
        self.next = (at + 1) % count;
        Some(at)
    }
}

/// The smooth weighted round robin of nginx (I. Sysoev and others, 2012,
/// `ngx_http_upstream_round_robin.c`): every backend gains its weight in each turn, the richest is chosen and pays
/// the sum. In a cycle each has exactly its share, spread as evenly as can be.
#[derive(Debug, Clone, Default)]
pub struct WeightedRoundRobin {
    credits: Vec<f64>,
}

impl Policy for WeightedRoundRobin {
    fn pick(&mut self, fleet: &Fleet, _: &Request, _: &mut Rng) -> Option<usize> {
        self.credits.resize(fleet.len(), 0.0);
        let mut total = 0.0;
        let mut richest: Option<usize> = None;
        for at in fleet.usable() {
            total += fleet.weight(at);
            self.credits[at] += fleet.weight(at);
            if richest.is_none_or(|richest| self.credits[at] > self.credits[richest]) {
                richest = Some(at);
            }
        }
        self.credits[richest?] -= total;
        richest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::Member;
    use stats::rng::Purpose;

    fn picks(policy: &mut dyn Policy, fleet: &Fleet, count: usize) -> Vec<usize> {
        let mut rng = Rng::new(1, 0, Purpose::Balance);
        let request = Request { source: 0, now_ns: 0 };
        let pick = |_| policy.pick(fleet, &request, &mut rng).unwrap();
        (0..count).map(pick).collect()
    }

    #[test]
    fn turns_are_those_of_nginx() {
        let members = [5.0, 1.0, 1.0].map(|weight| Member { weight, ..Member::new("") });
        let fleet = Fleet::new(members.into());
        let mut policy = WeightedRoundRobin::default();
        // The example of nginx' commit: { a, a, b, a, c, a, a }.
        assert_eq!(picks(&mut policy, &fleet, 7), [0, 0, 1, 0, 2, 0, 0]);
        assert_eq!(picks(&mut policy, &fleet, 7), [0, 0, 1, 0, 2, 0, 0]);
    }

    #[test]
    fn turns_skip_what_is_down() {
        let mut fleet = Fleet::new((0..4).map(|n| Member::new(n.to_string())).collect());
        let mut policy = RoundRobin::default();
        assert_eq!(picks(&mut policy, &fleet, 5), [0, 1, 2, 3, 0]);
        fleet.set_up(1, false);
        assert_eq!(picks(&mut policy, &fleet, 4), [2, 3, 0, 2]);
    }
}
