//! A backend at random.

use stats::rng::Rng;

use super::{Policy, Request};
use crate::fleet::Fleet;

/// Each backend with probability in proportion to its weight, independently of all else. With equal weights, M/M/1
/// queues stay M/M/1 queues of their share (thinning of a Poisson process), which is what others are compared with.
#[derive(Debug, Clone, Copy, Default)]
pub struct Random;

impl Policy for Random {
    fn pick(&mut self, fleet: &Fleet, _: &Request, rng: &mut Rng) -> Option<usize> {
        fleet.draw(rng)
    }
}
