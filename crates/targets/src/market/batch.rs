//! Batching: a game's distribution goes out at most once in each batch time, and only changed.
//!
//! One task a game both waits and sends, so there is no check-then-set that could race.

use std::sync::Arc;
use std::time::Duration;

use super::hub::Hub;
use super::model::{GameId, Pool};
use super::protocol::News;
use server::reactor::Kind;

/// Publishes the distribution of `game` for ever: at once when it changes after a quiet time,
/// and then not again before `every` is over.
pub(super) async fn publish_distributions(hub: Arc<Hub>, game: GameId, every: Duration) {
    let mut last = None;
    loop {
        hub.touched(game).await;
        match hub.store.pools(game).await {
            Ok(pools) => {
                let open = pools.and_then(|pools| pools.first().copied());
                if open == last {
                    continue;
                }
                last = open;
                if let Some(pool) = open {
                    publish(&hub, pool).await;
                }
            }
            Err(_) => hub.metrics.store_errors.add(1),
        }
        tokio::time::sleep(every).await;
    }
}

async fn publish(hub: &Hub, pool: Pool) {
    let (total, shares) = (pool.shares.total(), pool.shares);
    hub.metrics.broadcasts.add(1);
    let news = News::Distribution {
        pool: pool.id,
        total,
        shares,
    };
    hub.announce(Kind::State, pool.game, news).await;
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

    async fn predict(hub: &Hub) {
        let prediction = Prediction {
            user: User::Connection(1),
            pool: PoolId(1),
            outcome: Outcome::Home,
            amount: 1,
        };
        hub.store.predict(&prediction).await.unwrap();
        hub.touch(GameId(1));
    }

    async fn next(channel: &mut dyn Subscription) -> serde_json::Value {
        match channel.next().await {
            Some(Delivery::Notice(notice)) => serde_json::from_str(text_of(&notice.frame)).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn at_most_once_a_batch_and_only_when_changed() {
        let hub = Arc::new(Hub::new(&MarketOptions::default()));
        let every = Duration::from_secs(3);
        let mut channel = hub.bus.subscribe(GameId(1));
        tokio::spawn(publish_distributions(Arc::clone(&hub), GameId(1), every));
        let start = Instant::now();

        predict(&hub).await;
        assert_eq!(next(&mut *channel).await["total"], 1);
        assert_eq!(start.elapsed(), Duration::ZERO);

        for _ in 0..5 {
            predict(&hub).await;
        }
        let second = next(&mut *channel).await;
        assert_eq!((&second["total"], &second["seq"]), (&6.into(), &2.into()));
        assert!(start.elapsed() >= every);

        // Touched, but nothing changed.
        hub.touch(GameId(1));
        assert!(timeout(every * 10, channel.next()).await.is_err());
        predict(&hub).await;
        let before = Instant::now();
        assert_eq!(next(&mut *channel).await["seq"], 3);
        assert_eq!(before.elapsed(), Duration::ZERO);
    }
}
