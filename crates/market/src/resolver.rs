//! The resolver: turns events into settled pools, and announces them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use super::state::MarketState;
use super::transactions::{Settlement, StoreError};
use bus::messages::Update;
use bus::model::{Event, Outcome};
use bus::{BusError, Publication};

/// How often the resolver looks for events that others recorded.
const LOOK: Duration = Duration::from_millis(50);
/// How long it waits after a failure.
const PAUSE: Duration = Duration::from_millis(250);

/// Why events stay pending for now.
#[derive(Debug, PartialEq, Eq)]
enum Failure {
    Store(StoreError),
    Bus(BusError),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<BusError> for Failure {
    fn from(error: BusError) -> Self {
        Self::Bus(error)
    }
}

/// Events that were settled and not announced yet, and what that came to.
type Settled = HashMap<Event, Settlement>;

/// Settles one event after the other, for ever. What fails stays pending, and is tried again.
pub(crate) async fn resolve(state: Arc<MarketState>) {
    let mut settled = Settled::new();
    loop {
        match resolve_pending(&state, &mut settled).await {
            Ok(0) => drop(tokio::time::timeout(LOOK, state.recorded.notified()).await),
            Ok(_) => {}
            Err(failure) => {
                let metrics = &state.metrics;
                match failure {
                    Failure::Store(_) => metrics.store_errors.add(1),
                    Failure::Bus(_) => metrics.bus_errors.add(1),
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Settles the events that are pending, then announces them, and returns their number. No settlement waits for the
/// bus: until it is settled, a pool takes predictions of what has happened already.
async fn resolve_pending(state: &MarketState, settled: &mut Settled) -> Result<usize, Failure> {
    let events = state.store.pending().await?;
    // Another process may have announced the rest.
    settled.retain(|event, _| events.contains(event));
    for &event in &events {
        if let Entry::Vacant(new) = settled.entry(event) {
            new.insert(state.store.settle(event).await?);
        }
    }
    for &event in &events {
        announce(state, event, settled[&event]).await?;
        state.store.announced(event).await?;
    }
    Ok(events.len())
}

/// Publishes the event, then what it settled.
async fn announce(
    state: &MarketState,
    event: Event,
    settlement: Settlement,
) -> Result<(), BusError> {
    let happened = match event.outcome {
        Outcome::None => Update::FullTime,
        side => Update::Goal {
            side,
            score: settlement.score,
        },
    };
    let settled = Update::Settled {
        pool: settlement.pool.id,
        outcome: event.outcome,
        paid: settlement.pool.shares.total(),
        winners: settlement.winners,
        next: settlement.next,
    };
    let publication = Publication::Event {
        number: event.number,
        updates: vec![happened, settled],
    };
    if state.bus.publish(event.game, publication).await? {
        state.metrics.pools_settled.add(1);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::MarketOptions;
    use crate::protocol::text_of;
    use bus::Delivery;
    use bus::model::GameId;

    #[tokio::test]
    async fn an_event_is_announced_once_before_what_it_settled() {
        let state = MarketState::new(&MarketOptions::default());
        let game = GameId(2);
        let mut channel = state.bus.subscribe(game);
        for (number, outcome) in [(1, Outcome::Away), (2, Outcome::None), (2, Outcome::Home)] {
            let event = Event {
                game,
                number,
                outcome,
            };
            state.store.record(event).await.unwrap();
        }
        let mut settled = Settled::new();
        assert_eq!(resolve_pending(&state, &mut settled).await, Ok(2));
        assert_eq!(resolve_pending(&state, &mut settled).await, Ok(0));
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
