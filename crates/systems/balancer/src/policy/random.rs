//! A backend at random.

use stats::rng::Rng;

use super::{Policy, Request, Row};
use crate::fleet::Fleet;

pub(super) const ROW: Row = Row {
    name: "random",
    about: "At random, by weight",
    source: "Kleinrock 1975",
    can_learn: true,
    make: || Box::new(Random),
};

/// Each backend with probability in proportion to its weight, independently of all else. A Poisson process that is split
/// at random becomes independent Poisson processes (L. Kleinrock, "Queueing Systems", volume 1, 1975, section 2.4), so
/// every backend is a queue of its own, which is what others are compared with.
#[derive(Debug, Clone, Copy, Default)]
pub struct Random;

impl Policy for Random {
    fn pick(&mut self, fleet: &Fleet, _: &Request, rng: &mut Rng) -> Option<usize> {
        fleet.draw(rng)
    }
}
