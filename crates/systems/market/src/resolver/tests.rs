use super::*;
use crate::bus::{Answer, Bus, Claim, Delivery, Subscription};
use crate::options::MarketOptions;
use crate::protocol::text_of;
use crate::tests::Slow;

/// A bus on which no event of a game can be published.
struct Deaf {
    inner: Arc<dyn Bus>,
    game: GameId,
}

impl Bus for Deaf {
    fn claim(&self, game: GameId, batch: Duration) -> Answer<'_, Claim> {
        self.inner.claim(game, batch)
    }

    fn publish(&self, game: GameId, publication: Publication) -> Answer<'_, bool> {
        match game == self.game {
            true => Box::pin(async { Err(BusError::Unavailable("deaf".to_owned())) }),
            false => self.inner.publish(game, publication),
        }
    }

    fn subscribe(&self, game: GameId) -> Box<dyn Subscription> {
        self.inner.subscribe(game)
    }
}

fn event(game: u32, number: u64, outcome: Outcome) -> Event {
    Event { game: GameId(game), number, outcome }
}

/// The types of the next `count` messages, whose numbers have no gap.
async fn types(channel: &mut dyn Subscription, count: u64) -> Vec<String> {
    let mut types = Vec::new();
    for seq in 1..=count {
        let Some(Delivery::Notice(notice)) = channel.next().await else { panic!("no notice") };
        let message: serde_json::Value = serde_json::from_str(text_of(&notice.frame)).unwrap();
        assert_eq!(message["seq"], seq);
        types.push(message["type"].as_str().unwrap().to_owned());
    }
    types
}

#[tokio::test(start_paused = true)]
async fn an_event_is_announced_once_before_what_it_settled() {
    let state = Arc::new(MarketState::new(&MarketOptions::default()));
    let mut channel = state.bus.subscribe(GameId(2));
    for (number, outcome) in [(1, Outcome::Away), (2, Outcome::None), (2, Outcome::Home)] {
        state.store.record(event(2, number, outcome)).await.unwrap();
    }
    tokio::spawn(resolve(Arc::clone(&state)));
    let types = types(&mut *channel, 4).await;
    assert_eq!(types, ["goal", "settled", "full_time", "settled"]);
    while !state.store.pending().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    assert!(state.store.unsettled().await.unwrap().is_empty());
    assert_eq!(state.metrics.pools_settled.get(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_game_that_cannot_be_settled_holds_up_no_other() {
    for hangs in [false, true] {
        let mut state = MarketState::new(&MarketOptions::default());
        let slow = Slow::new(&state.store);
        state.store = Arc::new(slow.without_settling(GameId(1), hangs));
        let state = Arc::new(state);
        let mut channel = state.bus.subscribe(GameId(2));
        for number in 1..=5 {
            for game in 1..=2 {
                let event = event(game, number, Outcome::Home);
                state.store.record(event).await.unwrap();
            }
        }
        tokio::spawn(resolve(Arc::clone(&state)));
        assert_eq!(types(&mut *channel, 10).await, ["goal", "settled"].repeat(5));
        assert_eq!(state.store.unsettled().await, Ok(vec![event(1, 1, Outcome::Home)]));
        assert_eq!(state.metrics.store_errors.get() > 0, !hangs);
    }
}

#[tokio::test(start_paused = true)]
async fn no_settlement_waits_for_the_bus_and_no_game_for_another() {
    let mut state = MarketState::new(&MarketOptions::default());
    state.bus = Arc::new(Deaf { inner: Arc::clone(&state.bus), game: GameId(1) });
    let state = Arc::new(state);
    let mut channel = state.bus.subscribe(GameId(2));
    for number in 1..=300 {
        let event = event(1, number, Outcome::Home);
        state.store.record(event).await.unwrap();
    }
    let other = event(2, 1, Outcome::Home);
    state.store.record(other).await.unwrap();
    tokio::spawn(resolve(Arc::clone(&state)));
    assert_eq!(types(&mut *channel, 2).await, ["goal", "settled"]);
    while !state.store.unsettled().await.unwrap().is_empty() {
        tokio::time::sleep(LOOK).await;
    }
    let open = state.store.open_pool(GameId(1)).await.unwrap().unwrap();
    assert_eq!(open.id.0, 1 + 300 * 4);
    assert!(state.metrics.bus_errors.get() > 0);
}
