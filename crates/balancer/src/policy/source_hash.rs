//! The same backend for the same client.

use stats::rng::Rng;

use super::{Policy, Request};
use crate::fleet::Fleet;
use crate::hash::{pair, unit};

/// A key of the client's address and each backend, of which the greatest wins: rendezvous hashing (Thaler and
/// Ravishankar, "Using name-based mappings to increase hit rates", 1998), with weights by `−w / ln(u)` (Schindelhauer
/// and Schomaker 2005). A backend that leaves moves its own clients alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct SourceHash;

impl Policy for SourceHash {
    fn pick(&mut self, fleet: &Fleet, request: &Request, _: &mut Rng) -> Option<usize> {
        let score = |at: usize| {
            let key = pair(request.source, fleet.backends()[at].key);
            -fleet.weight(at) / unit(key).ln()
        };
        let scored = fleet.usable().map(|at| (score(at), at));
        let best = scored.max_by(|(left, _), (right, _)| left.total_cmp(right));
        best.map(|(_, at)| at)
    }
}
