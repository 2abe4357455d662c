//! What a market does when the server of its bus is lost.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::batch::publish_distributions;
use crate::bus::model::{GameId, Outcome, PoolId, User};
use crate::options::MarketOptions;
use crate::outside::bus::Remote;
use crate::outside::bus::testing::{Server, got, next, returns, up_to};
use crate::state::MarketState;
use crate::transactions::Prediction;

const GAME: GameId = GameId(1);

/// A market in memory whose bus is outside, with a batch of this time.
fn market(bus: &Arc<dyn Remote>, batch: Duration) -> Arc<MarketState> {
    let mut state = MarketState::new(&MarketOptions::default());
    state.bus = bus.clone();
    let state = Arc::new(state);
    let toucher = Arc::clone(&state);
    let mut returned = bus.hub().returned();
    tokio::spawn(async move {
        while returned.changed().await.is_ok() {
            for game in toucher.games() {
                toucher.touch(game);
            }
        }
    });
    tokio::spawn(publish_distributions(Arc::clone(&state), GAME, batch));
    state
}

#[tokio::test]
async fn the_newest_distribution_comes_within_a_batch_of_the_return() {
    for mut server in Server::each() {
        let batch = Duration::from_millis(500);
        let bus = server.open();
        let mut returned = bus.hub().returned();
        let state = market(&bus, batch);
        let predict = async || {
            let prediction = Prediction {
                user: User::Connection(1),
                pool: PoolId(1),
                outcome: Outcome::Home,
                amount: 1,
            };
            state.store.predict(&prediction).await.unwrap();
            state.touch(GAME);
        };
        let mut channel = bus.subscribe(GAME);
        predict().await;
        assert_eq!(next(&mut *channel).await, got(1, "distribution", Some(1)));
        server.restart(|| ());
        predict().await;
        returns(&mut returned).await;
        let start = Instant::now();
        let found = up_to(&mut *channel, 2).await;
        assert_eq!(found.last(), Some(&got(2, "distribution", Some(2))));
        // And some time for a machine that is busy.
        assert!(start.elapsed() < batch * 2, "{:?}", start.elapsed());
    }
}
