//! The event server: what happens in the games, drawn from a seed or replayed from a record.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::replay::Replay;
use super::state::MarketState;
use super::transactions::StoreError;
use crate::bus::model::{Event, GameId, Outcome};
use server::Draws;

/// Share of the goals that the home side scores.
const HOME_SHARE: f64 = 0.55;
/// Matches end at this rate relative to goals: four goals a match on average.
const ENDS_PER_GOAL: f64 = 0.25;

/// How long the feed waits after a failure of the store.
const PAUSE: Duration = Duration::from_millis(250);

/// The endless story of one game.
#[derive(Debug)]
pub(crate) struct Story {
    game: GameId,
    /// Mean time between any two events, goals and ends of matches alike.
    mean: Duration,
    draws: Draws,
    /// The number of the event that was drawn last.
    number: u64,
}

impl Story {
    /// Goals of `game` are `goal_every` apart on average, independently of each other.
    pub(crate) fn new(seed: u64, game: GameId, goal_every: Duration) -> Self {
        let mean = goal_every.div_f64(1.0 + ENDS_PER_GOAL);
        // The game's number goes through the generator once, so that neighbours differ fully.
        let draws = Draws::new(seed ^ Draws::new(u64::from(game.0)).bits());
        Self { game, mean, draws, number: 0 }
    }

    /// The next event, and its distance from the one before.
    pub(crate) fn next(&mut self) -> (Duration, Event) {
        let gap = self.mean.mul_f64(-(1.0 - self.draws.unit()).ln());
        let which = self.draws.unit() * (1.0 + ENDS_PER_GOAL);
        let outcome = if which < HOME_SHARE {
            Outcome::Home
        } else if which < 1.0 {
            Outcome::Away
        } else {
            Outcome::None
        };
        self.number += 1;
        (gap, Event { game: self.game, number: self.number, outcome })
    }
}

/// Records a story in real time, for ever. It goes on behind what is recorded already.
pub(crate) async fn record_story(state: Arc<MarketState>, mut story: Story) {
    let last = until_stored(&state, || state.store.last_event(story.game)).await;
    while story.number < last {
        story.next();
    }
    loop {
        let (gap, event) = story.next();
        tokio::time::sleep(gap).await;
        until_stored(&state, || state.store.record(event)).await;
        state.recorded.notify_one();
    }
}

/// Records what was recorded before, `speed` times as fast, and behind what the store has already.
pub(crate) async fn record_replay(state: Arc<MarketState>, replay: Replay, speed: f64) {
    let mut last = HashMap::new();
    for game in state.played() {
        let number = until_stored(&state, || state.store.last_event(game)).await;
        last.insert(game, number);
    }
    let start = tokio::time::Instant::now();
    for (at, event) in replay.rest(|game| last.get(&game).copied().unwrap_or_default()) {
        tokio::time::sleep_until(start + at.div_f64(speed)).await;
        until_stored(&state, || state.store.record(event)).await;
        state.recorded.notify_one();
    }
}

/// Calls the store until it answers: an event is late rather than lost.
async fn until_stored<T, F>(state: &MarketState, call: impl Fn() -> F) -> T
where
    F: Future<Output = Result<T, StoreError>>,
{
    loop {
        match call().await {
            Ok(answer) => return answer,
            Err(_) => state.metrics.store_errors.add(1),
        }
        tokio::time::sleep(server::stretch(PAUSE)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn story(seed: u64, game: u32) -> Vec<(Duration, Event)> {
        let mut story = Story::new(seed, GameId(game), Duration::from_secs(45));
        (0..20_000).map(|_| story.next()).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_events() {
        assert_eq!(story(7, 1), story(7, 1));
        assert_ne!(story(7, 1), story(8, 1));
        assert_ne!(story(7, 1)[0].0, story(7, 2)[0].0);
    }

    #[test]
    fn goals_come_at_the_mean_that_is_set() {
        let events = story(1, 1);
        let count = |outcome| events.iter().filter(|(_, e)| e.outcome == outcome).count() as f64;
        let goals = count(Outcome::Home) + count(Outcome::Away);
        let seconds: f64 = events.iter().map(|(gap, _)| gap.as_secs_f64()).sum();
        // 16,000 goals: the standard error of each figure is below 1.6 %.
        assert!((seconds / goals / 45.0 - 1.0).abs() < 0.05, "{}", seconds / goals);
        assert!((count(Outcome::Home) / goals - HOME_SHARE).abs() < 0.03);
        assert!((count(Outcome::None) / goals - ENDS_PER_GOAL).abs() < 0.03);
    }
}
