//! The shortest queue of all.

use stats::rng::Rng;

use super::{Policy, Request, Row};
use crate::fleet::Fleet;

pub(super) const ROW: Row = Row {
    name: "shortest-queue",
    about: "Fewest requests in flight, whatever the weight",
    source: "Winston 1977",
    can_learn: false,
    make: || Box::new(ShortestQueue),
};

/// Join the shortest queue (W. Winston, "Optimality of the shortest line discipline", 1977; best for equal servers
/// and exponential work). Weights mean nothing; equal queues are equally likely. The queue is what *this*
/// balancer has in flight.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShortestQueue;

impl Policy for ShortestQueue {
    fn pick(&mut self, fleet: &Fleet, _: &Request, rng: &mut Rng) -> Option<usize> {
        fleet.least(rng, |at| fleet.in_flight(at), |_| 1.0)
    }
}
