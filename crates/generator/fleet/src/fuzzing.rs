//! The fuzzers' way to what agents, runs and controllers say of themselves. Not part of the crate's interface.

use crate::cards::{AgentCard, RunCard, json, parse};

/// Reads `data` as cards of both kinds: each is read or left out, and what was read comes back as it is.
pub fn cards(data: &[u8]) {
    if let Some(card) = parse::<AgentCard>(data) {
        card.fits("1.0.0");
        if let Some(again) = parse(&json(&card)) {
            assert_eq!(card, again);
        }
    }
    if let Some(card) = parse::<RunCard>(data)
        && let Some(again) = parse(&json(&card))
    {
        assert_eq!(card, again);
    }
}

#[test]
fn no_card_panics() {
    testkit::replay::replay("cards", 200, cards);
}
