//! Batching: a game's distribution goes out at most once in each batch time, and only changed.
//!
//! One task a game both waits and sends; among processes, whoever claims the batch sends.

use std::sync::Arc;
use std::time::Duration;

use super::options::Listing;
use super::state::MarketState;
use super::transactions::StoreError;
use crate::bus::messages::Update;
use crate::bus::model::GameId;
use crate::bus::{Claim, Publication};

/// Result of an attempt to publish.
enum Attempt {
    Published,
    /// The last distribution was the same.
    Unchanged,
    /// It is to be tried again after this.
    Later(Duration),
}

/// Publishes the distribution of `game` for ever: at once when it changes after a quiet time,
/// and then not again before `batch` is over.
pub(crate) async fn publish_distributions(state: Arc<MarketState>, game: GameId, batch: Duration) {
    loop {
        state.touched(game).await;
        let pause = match publish(&state, game, batch).await {
            Attempt::Unchanged => continue,
            Attempt::Published => batch,
            Attempt::Later(pause) => {
                state.touch(game);
                pause
            }
        };
        tokio::time::sleep(pause).await;
    }
}

async fn publish(state: &MarketState, game: GameId, batch: Duration) -> Attempt {
    match state.bus.claim(game, batch).await {
        Ok(Claim::Won) => {}
        Ok(Claim::Held(pause)) => return Attempt::Later(pause),
        Err(_) => {
            state.metrics.bus_errors.add(1);
            return Attempt::Later(batch);
        }
    }
    publish_unclaimed(state, game).await.unwrap_or(Attempt::Later(batch))
}

/// Publishes the distribution of `game` now, without a claim. Failures are counted.
pub(crate) async fn publish_at_once(state: &MarketState, game: GameId) {
    // What failed is published with the next prediction.
    let _ = publish_unclaimed(state, game).await;
}

/// `None` after a failure, which is counted.
async fn publish_unclaimed(state: &MarketState, game: GameId) -> Option<Attempt> {
    let update = match distribution(state, game).await {
        Ok(Some(update)) => update,
        Ok(None) => return Some(Attempt::Unchanged),
        Err(_) => {
            state.metrics.store_errors.add(1);
            return None;
        }
    };
    let listed = match &update {
        Update::Distribution { pool, last_prediction: Some(last), .. } => Some((*pool, *last)),
        _ => None,
    };
    let publication = Publication::State { update, bytes_min: state.broadcast_bytes_min };
    match state.bus.publish(game, publication).await {
        Ok(true) => {
            state.metrics.broadcasts.add(1);
            if let Some((pool, last)) = listed {
                state.saw_listed(game, pool, last);
            }
            Some(Attempt::Published)
        }
        Ok(false) => Some(Attempt::Unchanged),
        Err(_) => {
            state.metrics.bus_errors.add(1);
            None
        }
    }
}

/// The distribution of the open pool of `game`.
async fn distribution(state: &MarketState, game: GameId) -> Result<Option<Update>, StoreError> {
    let Some(pool) = state.store.open_pool(game).await? else {
        return Ok(None);
    };
    let listed = match state.distribution {
        Listing::Lean => None,
        Listing::Full => {
            let before = state.last_listed(game, pool.id);
            let new = state.store.predictions_after(pool.id, before).await?;
            if new.is_empty() && before > 0 {
                // What was published last says the same.
                return Ok(None);
            }
            Some((new.last().map_or(before, |placed| placed.id), new))
        }
    };
    let last_prediction = listed.as_ref().map(|(last, _)| *last);
    Ok(Some(Update::Distribution {
        pool: pool.id,
        total: pool.shares.total(),
        shares: pool.shares,
        predictions: listed.map(|(_, new)| new.into()),
        last_prediction,
    }))
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, timeout};

    use super::*;
    use crate::bus::model::{Outcome, PoolId, User};
    use crate::bus::{Delivery, Subscription};
    use crate::options::MarketOptions;
    use crate::protocol::text_of;
    use crate::transactions::Prediction;

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
