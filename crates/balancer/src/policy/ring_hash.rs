//! Consistent hashing on a ring, with bounds on the load.

use stats::rng::Rng;

use super::{Policy, Request};
use crate::fleet::Fleet;
use crate::hash::{mix, pair};

/// How far above its share a backend's requests in flight may be.
const BOUND: f64 = 1.25;
/// Points on the ring if all are up, to a factor of two.
const POINTS: f64 = (1 << 17) as f64;
/// The same for each backend, of which there may be many.
const POINTS_EACH: f64 = 128.0;

/// Consistent hashing (Karger and others 1997) with bounded loads (Mirrokni, Thorup and Zadimoghaddam, "Consistent
/// hashing with bounded loads", 2018): a client belongs to the first backend clockwise of its point whose requests in
/// flight are below 1.25 times its share, rounded up. Shares follow the weights as well as points do: with v points of a
/// backend to about 1/√v of the share.
#[derive(Debug, Clone, Default)]
pub struct RingHash {
    version: u64,
    /// Points and their backends, in order.
    ring: Vec<(u64, u32)>,
}

impl RingHash {
    fn rebuild(&mut self, fleet: &Fleet) {
        self.version = fleet.version();
        self.ring.clear();
        // Powers of two, so that a member more or less rarely changes how many points the others have; if it does, they
        // keep those that they had, or half of them.
        let count = fleet.len().next_power_of_two() as f64;
        let weights = fleet.backends().iter().map(|backend| backend.member.weight);
        let scale = weights.sum::<f64>().log2().ceil().exp2();
        let each = POINTS.max(count * POINTS_EACH) / scale;
        for at in 0..fleet.len() {
            if !fleet.is_up(at) {
                continue;
            }
            // At most a weight's share of the points, rounded up.
            let points = (each * fleet.weight(at)).ceil() as u64;
            let places = (0..points).map(|n| (pair(fleet.key(at), n), at as u32));
            self.ring.extend(places);
        }
        self.ring.sort_unstable();
    }
}

impl Policy for RingHash {
    fn pick(&mut self, fleet: &Fleet, request: &Request, _: &mut Rng) -> Option<usize> {
        if self.version != fleet.version() {
            self.rebuild(fleet);
        }
        let total = (fleet.all_in_flight() + 1) as f64 * BOUND / fleet.weights();
        let has_room =
            |at: usize| f64::from(fleet.in_flight(at)) < (total * fleet.weight(at)).ceil();
        let place = mix(request.source);
        let begin = self.ring.partition_point(|(point, _)| *point < place);
        let (before, after) = self.ring.split_at(begin);
        let mut clockwise = after.iter().chain(before).map(|(_, at)| *at as usize);
        let mut first_usable = None;
        let found = clockwise.find(|at| {
            let usable = fleet.is_usable(*at);
            if usable && first_usable.is_none() {
                first_usable = Some(*at);
            }
            usable && has_room(*at)
        });
        // All that are usable may be above the bound if others, which are not, hold what is in flight.
        found.or(first_usable)
    }
}
