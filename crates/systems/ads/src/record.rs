//! A record of what happened to an offer.

use super::offers::Offer;
use super::step::Step;

/// An event: the step that was taken, its offer and its time.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) offer: Offer,
    pub(super) step: Step,
    pub(super) at_ms: f64,
}
