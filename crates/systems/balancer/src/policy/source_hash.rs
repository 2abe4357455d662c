//! The same backend for the same client.

use stats::rng::Rng;

use super::{Policy, Request, Row};
use crate::fleet::Fleet;
use crate::hash::{pair, unit};

pub(super) const ROW: Row = Row {
    name: "source-hash",
    about: "By the client: rendezvous hashing",
    source: "Thaler and Ravishankar 1998",
    can_learn: false,
    make: || Box::new(SourceHash),
};

/// A key of the client's address and each backend, of which the greatest wins: rendezvous hashing (Thaler and
/// Ravishankar, "Using name-based mappings to increase hit rates", 1998), with weights by `−w / ln(u)` (Schindelhauer
/// and Schomaker 2005). A backend that leaves moves its own clients alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct SourceHash;

impl Policy for SourceHash {
    fn pick(&mut self, fleet: &Fleet, request: &Request, _: &mut Rng) -> Option<usize> {
        let mut best: Option<(f64, usize)> = None;
        for at in fleet.usable() {
            let weight = fleet.weight(at);
            let u = unit(pair(request.source, fleet.key(at)));
            // −ln(u) is at least 1 − u, so most need no logarithm.
            let can_win = |best: (f64, usize)| weight / (1.0 - u) >= best.0;
            if best.is_none_or(can_win) {
                let score = -weight / u.ln();
                if best.is_none_or(|best| score >= best.0) {
                    best = Some((score, at));
                }
            }
        }
        best.map(|(_, at)| at)
    }
}
