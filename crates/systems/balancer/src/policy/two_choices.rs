//! The better of a few at random.

use stats::rng::Rng;

use super::{Policy, Request, Row};
use crate::fleet::Fleet;

/// Most backends that are compared.
const CHOICES_MAX: usize = 8;
/// Draws of a choice that may repeat earlier ones, before it goes without.
const REPEATS_MAX: usize = 16;
/// Costs by latency that differ by less than this share are equal, and the first draw counts: otherwise the backend whose
/// latency was observed earlier, and has decayed for longer, would always be preferred, whatever the weights.
const TIE: f64 = 0.01;
/// Cost of a backend of which no latency is known though it has requests in flight, in seconds: it is not sent a flood
/// before its first answer.
const UNKNOWN_S: f64 = 1e6;

pub(super) const ROW: Row = Row {
    name: "two-choices",
    about: "The better of two at random by requests in flight",
    source: "Mitzenmacher 2001",
    can_learn: true,
    make: || Box::new(TwoChoices::new(2, Load::InFlight)),
};
pub(super) const PEAK_EWMA: Row = Row {
    name: "peak-ewma",
    about: "The better of two at random by latency",
    source: "Finagle",
    can_learn: true,
    make: || Box::new(TwoChoices::new(2, Load::PeakEwma)),
};

/// Measure of load by which the drawn backends are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// Requests in flight for the weight.
    InFlight,
    /// The peak average of latencies times the requests in flight with the new one, as in Finagle's `P2CPeakEwma`. Those in
    /// flight count for the weight relative to the mean weight: a backend of twice the weight bears twice as many. The
    /// latency itself does not, since backends are drawn by their weights already.
    PeakEwma,
}

/// The power of d choices: of d different backends drawn by their weights, the one with the least load; of equal
/// ones the first. With d = 2 queues are exponentially shorter than with one (M. Mitzenmacher, "The power of two
/// choices in randomized load balancing", 2001; Vvedenskaya, Dobrushin and Karpelevich 1996).
#[derive(Debug, Clone, Copy)]
pub struct TwoChoices {
    choices: usize,
    load: Load,
}

impl TwoChoices {
    /// The policy of `choices` choices, from 1 to 8.
    #[must_use]
    pub fn new(choices: usize, load: Load) -> Self {
        let choices = choices.clamp(1, CHOICES_MAX);
        Self { choices, load }
    }

    fn cost(self, fleet: &Fleet, at: usize, now_ns: u64) -> f64 {
        let in_flight = f64::from(fleet.in_flight(at));
        match self.load {
            Load::InFlight => in_flight / fleet.weight(at),
            Load::PeakEwma => {
                let latency = &fleet.backends()[at].latency;
                match latency.is_known() {
                    true => {
                        let mean = fleet.weights() / fleet.up_count().max(1) as f64;
                        let in_flight = in_flight * mean / fleet.weight(at);
                        latency.at(now_ns) * (in_flight + 1.0)
                    }
                    false if in_flight > 0.0 => UNKNOWN_S + in_flight,
                    false => 0.0,
                }
            }
        }
    }
}

impl Policy for TwoChoices {
    fn pick(&mut self, fleet: &Fleet, request: &Request, rng: &mut Rng) -> Option<usize> {
        let cost = |at| self.cost(fleet, at, request.now_ns);
        let tie = match self.load {
            Load::InFlight => 0.0,
            Load::PeakEwma => TIE,
        };
        let first = fleet.draw(rng)?;
        let mut drawn = [first; CHOICES_MAX];
        let mut best = (first, cost(first));
        for count in 1..self.choices {
            let other = (0..REPEATS_MAX)
                .filter_map(|_| fleet.draw(rng))
                .find(|at| !drawn[..count].contains(at));
            let Some(other) = other else {
                break;
            };
            drawn[count] = other;
            let cost = cost(other);
            if cost < best.1 * (1.0 - tie) {
                best = (other, cost);
            }
        }
        Some(best.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::Member;
    use stats::rng::Purpose;

    #[test]
    fn of_two_the_less_loaded_is_chosen() {
        let mut rng = Rng::new(1, 0, Purpose::Balance);
        let request = Request { source: 0, now_ns: 0 };
        let mut fleet = Fleet::new(vec![Member::new("a"), Member::new("b")]);
        fleet.began(0);
        let mut policy = TwoChoices::new(2, Load::InFlight);
        assert!((0..100).all(|_| policy.pick(&fleet, &request, &mut rng) == Some(1)));
        // Of which nothing is known yet, but for one that has a request.
        let mut policy = TwoChoices::new(2, Load::PeakEwma);
        assert!((0..100).all(|_| policy.pick(&fleet, &request, &mut rng) == Some(1)));
        fleet.backend_mut(0).latency.observe(0.01, 0);
        fleet.backend_mut(1).latency.observe(0.03, 0);
        assert!((0..100).all(|_| policy.pick(&fleet, &request, &mut rng) == Some(0)));
        (0..3).for_each(|_| fleet.began(0));
        assert!((0..100).all(|_| policy.pick(&fleet, &request, &mut rng) == Some(1)));
    }
}
