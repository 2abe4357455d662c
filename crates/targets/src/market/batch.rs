//! Batching: a game's distribution goes out at most once in each batch time, and only changed.
//!
//! One task a game both waits and sends, so there is no check-then-set that could race.

use std::sync::Arc;
use std::time::Duration;

use super::model::{GameId, Pool};
use super::protocol::Update;
use super::state::MarketState;
use server::reactor::Kind;

/// Publishes the distribution of `game` for ever: at once when it changes after a quiet time,
/// and then not again before `every` is over.
pub(super) async fn publish_distributions(state: Arc<MarketState>, game: GameId, every: Duration) {
    let mut last = None;
    loop {
        state.touched(game).await;
        match state.store.pools(game).await {
            Ok(pools) => {
                let open = pools.and_then(|pools| pools.first().copied());
                if open == last {
                    continue;
                }
                last = open;
                if let Some(pool) = open {
                    publish(&state, pool).await;
                }
            }
            Err(_) => state.metrics.store_errors.add(1),
        }
        tokio::time::sleep(every).await;
    }
}

async fn publish(state: &MarketState, pool: Pool) {
    let (total, shares) = (pool.shares.total(), pool.shares);
    state.metrics.broadcasts.add(1);
    let update = Update::Distribution {
        pool: pool.id,
        total,
        shares,
    };
    state.announce(Kind::State, pool.game, update).await;
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, timeout};

    use super::*;
    use crate::market::bus::{Delivery, Subscription};
    use crate::market::model::{Outcome, PoolId, User};
    use crate::market::options::MarketOptions;
    use crate::market::protocol::text_of;
    use crate::market::transactions::Prediction;

    async fn predict(state: &MarketState) {
        let prediction = Prediction {
            user: User::Connection(1),
            pool: PoolId(1),
            outcome: Outcome::Home,
            amount: 1,
        };
        state.store.predict(&prediction).await.unwrap();
        state.touch(GameId(1));
    }

    async fn next(channel: &mut dyn Subscription) -> serde_json::Value {
        match channel.next().await {
            Some(Delivery::Notice(notice)) => serde_json::from_str(text_of(&notice.frame)).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn at_most_once_a_batch_and_only_when_changed() {
        let state = Arc::new(MarketState::new(&MarketOptions::default()));
        let every = Duration::from_secs(3);
        let mut channel = state.bus.subscribe(GameId(1));
        tokio::spawn(publish_distributions(Arc::clone(&state), GameId(1), every));
        let start = Instant::now();

        predict(&state).await;
        assert_eq!(next(&mut *channel).await["total"], 1);
        assert_eq!(start.elapsed(), Duration::ZERO);

        for _ in 0..5 {
            predict(&state).await;
        }
        let second = next(&mut *channel).await;
        assert_eq!((&second["total"], &second["seq"]), (&6.into(), &2.into()));
        assert!(start.elapsed() >= every);

        // Touched, but nothing changed.
        state.touch(GameId(1));
        assert!(timeout(every * 10, channel.next()).await.is_err());
        predict(&state).await;
        let before = Instant::now();
        assert_eq!(next(&mut *channel).await["seq"], 3);
        assert_eq!(before.elapsed(), Duration::ZERO);
    }
}
