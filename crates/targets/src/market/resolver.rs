//! The resolver: turns events into settled pools, and tells everyone.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::hub::Hub;
use super::model::{Event, Outcome};
use super::protocol::News;
use server::reactor::Kind;

/// Settles one event after the other, until the feed ends.
pub(super) async fn resolve(hub: Arc<Hub>, mut events: mpsc::Receiver<Event>) {
    while let Some(event) = events.recv().await {
        settle(&hub, event).await;
    }
}

/// Settles what `event` decides and publishes the event, then what it settled.
async fn settle(hub: &Hub, event: Event) {
    let Ok(settlement) = hub.store.settle(event).await else {
        return hub.metrics.store_errors.add(1);
    };
    hub.metrics.pools_settled.add(1);
    let happened = match event.outcome {
        Outcome::None => News::FullTime,
        side => News::Goal {
            side,
            score: settlement.score,
        },
    };
    hub.announce(Kind::News, event.game, happened).await;
    let settled = News::Settled {
        pool: settlement.pool.id,
        outcome: event.outcome,
        paid: settlement.pool.shares.total(),
        winners: settlement.winners,
        next: settlement.next,
    };
    hub.announce(Kind::News, event.game, settled).await;
    hub.touch(event.game);
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
        let hub = Hub::new(&MarketOptions::default());
        let game = GameId(2);
        let mut channel = hub.bus.subscribe(game);
        settle(
            &hub,
            Event {
                game,
                outcome: Outcome::Away,
            },
        )
        .await;
        settle(
            &hub,
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
        assert_eq!(hub.metrics.pools_settled.get(), 2);
    }
}
