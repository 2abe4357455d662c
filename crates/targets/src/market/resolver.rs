//! The resolver: turns events into settled pools, and tells everyone.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::model::{Event, Outcome};
use super::protocol::Update;
use super::state::MarketState;
use server::reactor::Kind;

/// Settles one event after the other, until the feed ends.
pub(super) async fn resolve(state: Arc<MarketState>, mut events: mpsc::Receiver<Event>) {
    while let Some(event) = events.recv().await {
        settle(&state, event).await;
    }
}

/// Settles what `event` decides and publishes the event, then what it settled.
async fn settle(state: &MarketState, event: Event) {
    let Ok(settlement) = state.store.settle(event).await else {
        return state.metrics.store_errors.add(1);
    };
    state.metrics.pools_settled.add(1);
    let happened = match event.outcome {
        Outcome::None => Update::FullTime,
        side => Update::Goal {
            side,
            score: settlement.score,
        },
    };
    state.announce(Kind::Event, event.game, happened).await;
    let settled = Update::Settled {
        pool: settlement.pool.id,
        outcome: event.outcome,
        paid: settlement.pool.shares.total(),
        winners: settlement.winners,
        next: settlement.next,
    };
    state.announce(Kind::Event, event.game, settled).await;
    state.touch(event.game);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::bus::Delivery;
    use crate::market::model::GameId;
    use crate::market::options::MarketOptions;
    use crate::market::protocol::text_of;

    #[tokio::test]
    async fn an_event_is_told_before_what_it_settled() {
        let state = MarketState::new(&MarketOptions::default());
        let game = GameId(2);
        let mut channel = state.bus.subscribe(game);
        settle(
            &state,
            Event {
                game,
                outcome: Outcome::Away,
            },
        )
        .await;
        settle(
            &state,
            Event {
                game,
                outcome: Outcome::None,
            },
        )
        .await;
        let mut types = Vec::new();
        for seq in 1..=4 {
            let Some(Delivery::Notice(notice)) = channel.next().await else {
                panic!("no notice")
            };
            let message: serde_json::Value = serde_json::from_str(text_of(&notice.frame)).unwrap();
            assert_eq!(message["seq"], seq);
            types.push(message["type"].as_str().unwrap().to_owned());
        }
        assert_eq!(types, ["goal", "settled", "full_time", "settled"]);
        assert_eq!(state.metrics.pools_settled.get(), 2);
    }
}
