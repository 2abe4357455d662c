//! The backend with the fewest requests in flight for its weight.

use stats::rng::Rng;

use super::{Policy, Request, Row};
use crate::fleet::Fleet;

pub(super) const ROW: Row = Row {
    name: "least-connections",
    about: "Fewest requests in flight for the weight",
    source: "Linux Virtual Server, Zhang 1998",
    can_learn: true,
    make: || Box::new(LeastConnections),
};

/// Weighted least-connection scheduling of the Linux Virtual Server (W. Zhang 1998): the backend with the least
/// ratio of requests in flight to weight. Here a connection counts while a request is on it, so an idle user
/// does not count. Of equal ones, each is chosen in proportion to its weight.
#[derive(Debug, Clone, Copy, Default)]
pub struct LeastConnections;

impl Policy for LeastConnections {
    fn pick(&mut self, fleet: &Fleet, _: &Request, rng: &mut Rng) -> Option<usize> {
        let cost = |at| f64::from(fleet.in_flight(at)) / fleet.weight(at);
        fleet.least(rng, cost, |at| fleet.weight(at))
    }
}
