//! The shortest queue of all.

use stats::rng::Rng;

use super::{Policy, Request};
use crate::fleet::Fleet;

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
