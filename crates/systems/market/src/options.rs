//! How a market is run.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::backing::{Backing, MarketPart};
use super::replay::Replay;
use super::rules::QuestionRule;
use super::store::Driver;
use crate::bus::messages::BROADCAST_SIZE_MAX;
use server::reactor::{QueueLimits, ReactorOptions};
use server::{ServerError, ServerOptions, check_rules, connections_each};

/// Most games of one market.
const GAMES_MAX: u32 = 10_000;
/// Most games that a relay watches, with a connection each.
const RELAY_GAMES_MAX: u32 = 256;
/// Largest starting balance in cents: with all accounts taken, money still fits 64 bits.
const BALANCE_MAX: u64 = 1_000_000_000_000;
/// How fast a record can be replayed.
const SPEEDS: RangeInclusive<f64> = 0.001..=1_000.0;
/// Longest fault that can be planted.
const DELAY_MAX: Duration = Duration::from_secs(60);

/// When a game's distribution is published.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Broadcast {
    /// Once in the time of a batch, if it changed.
    #[default]
    Batched,
    /// After each prediction.
    Each,
}

/// Contents of a pool or a distribution.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Listing {
    /// Sums.
    #[default]
    Lean,
    /// Each prediction, too.
    Full,
}

/// How a market is run. `MarketOptions::default()` is a market of four games on a free port of
/// 127.0.0.1.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MarketOptions {
    /// The address to listen on and the threads that serve it.
    pub server: ServerOptions,
    /// The work that this process does.
    pub part: MarketPart,
    /// The store of its state, and the bus between its processes.
    pub backing: Backing,
    /// For a relay: the host and port of the API process that it passes requests on to.
    pub upstream: Option<String>,
    /// Games, 1 to 10,000; at a relay at most 256.
    pub games: u32,
    /// Least time between two distributions of one game.
    pub batch: Duration,
    /// Least length of a distribution's text in bytes, at most 1 MiB: a shorter one is filled up
    /// with blanks. 0, the default: as long as it is.
    pub broadcast_size: usize,
    /// Mean time between two goals of one game; more than zero.
    pub goal_every: Duration,
    /// Users' own questions that may be open at a time; 0, the default: users have no questions and no friends.
    pub questions: u32,
    /// Questions that are asked after events.
    pub rules: Vec<QuestionRule>,
    /// The word by which administrators report events and decide questions; `None`: nobody does.
    pub admin_token: Option<String>,
    /// Whether events are drawn or replayed; otherwise administrators alone report them.
    pub has_feed: bool,
    /// A recording of the games' events; `None`: they are drawn from `seed`.
    pub replay: Option<Replay>,
    /// How many times as fast as it was recorded `replay` happens; 1 by default.
    pub speed: f64,
    /// When distributions are published.
    pub broadcast: Broadcast,
    /// Contents of the reply to `pools`.
    pub pools: Listing,
    /// Contents of distributions.
    pub distribution: Listing,
    /// Balance of a new account, in cents; at most 10¹².
    pub starting_balance: u64,
    /// Seed of the event feed.
    pub seed: u64,
    /// How long a connection may take until its first request is whole; more than zero.
    pub opening_timeout: Duration,
    /// Longest message that a client may send, in bytes. A longer one closes the connection.
    pub message_max: usize,
    /// Bad requests on one connection before it is closed.
    pub errors_max: u32,
    /// Update that may wait for a slow reader before it is disconnected.
    pub events_max: usize,
    /// Distributions that a slow reader may miss in a row before it is disconnected.
    pub missed_max: u32,
    /// Connections that were silent for this time are pinged; `None`: never.
    pub ping_after: Option<Duration>,
    /// Connections that were silent for this time, despite pings, are closed; `None`: never.
    pub idle_timeout: Option<Duration>,
    /// Mean life of a connection, after which it is closed between two requests, so that its user may come to another
    /// process; `None`: users stay.
    pub connection_life: Option<Duration>,
    /// A fault, for testing comparisons of runs: so much later is a share of the requests
    /// answered; at most a minute, by default zero.
    pub delay: Duration,
    /// The share of requests that `delay` strikes, drawn by the seed, 0 to 1; all by default.
    pub delay_share: f64,
}

impl Default for MarketOptions {
    fn default() -> Self {
        Self {
            server: ServerOptions::default(),
            part: MarketPart::All,
            backing: Backing::default(),
            upstream: None,
            games: 4,
            batch: Duration::from_secs(3),
            broadcast_size: 0,
            goal_every: Duration::from_secs(45),
            questions: 0,
            rules: Vec::new(),
            admin_token: None,
            has_feed: true,
            replay: None,
            speed: 1.0,
            broadcast: Broadcast::Batched,
            pools: Listing::Lean,
            distribution: Listing::Lean,
            starting_balance: 100_000,
            seed: 1,
            opening_timeout: Duration::from_secs(10),
            message_max: 4 * 1024,
            errors_max: 32,
            events_max: 16,
            missed_max: 10,
            ping_after: Some(Duration::from_secs(60)),
            idle_timeout: None,
            connection_life: None,
            delay: Duration::ZERO,
            delay_share: 1.0,
        }
    }
}

impl MarketOptions {
    /// Whether anything lists each prediction.
    pub(crate) fn lists_predictions(&self) -> bool {
        [self.pools, self.distribution].contains(&Listing::Full) || self.questions > 0
    }

    /// Games, and slots of users' questions, which are games that nobody plays.
    pub(crate) fn games_and_slots(&self) -> u32 {
        self.games.saturating_add(self.questions)
    }

    /// As long as its times are on the machine's clock; see [`server::stretch`].
    #[must_use]
    pub(crate) fn stretched(mut self) -> Self {
        let times = [
            &mut self.batch,
            &mut self.goal_every,
            &mut self.opening_timeout,
            &mut self.delay,
            &mut self.backing.wait,
            &mut self.backing.ledger_alone,
        ];
        let optional = [&mut self.ping_after, &mut self.idle_timeout, &mut self.connection_life];
        let all = times.into_iter().chain(optional.into_iter().flatten());
        all.for_each(|time| *time = server::stretch(*time));
        // A second of a replay takes longer.
        let second = server::stretch(Duration::from_secs(1));
        self.speed /= second.as_secs_f64();
        self
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    /// On the first rule that does not hold.
    pub fn check(&self) -> Result<(), ServerError> {
        self.server.check()?;
        self.backing.check(self.part, &self.server)?;
        check_rules([
            ((1..=GAMES_MAX).contains(&self.games), "games must be 1 to 10,000"),
            (
                self.games_and_slots() <= GAMES_MAX,
                "games and users' questions must be at most 10,000 together",
            ),
            (
                self.rules.is_empty() || self.questions > 0,
                "rules need room for questions (--questions)",
            ),
            (
                self.admin_token.as_ref().is_none_or(|token| !token.is_empty()),
                "the token of administrators must not be empty",
            ),
            (
                (self.part == MarketPart::Relay) == self.upstream.is_some(),
                "a relay, and nothing else, needs the address of an API process (--upstream)",
            ),
            (
                self.part != MarketPart::Relay
                    || (self.games_and_slots() <= RELAY_GAMES_MAX && self.backing.store.is_none()),
                "a relay has no store and at most 256 games",
            ),
            (
                self.backing.ledger.is_none()
                    || (self.broadcast == Broadcast::Batched && !self.lists_predictions()),
                "with a ledger, distributions are batched and list no predictions, and users have no questions",
            ),
            (!self.goal_every.is_zero(), "the time between goals must be more than zero"),
            (self.broadcast_size <= BROADCAST_SIZE_MAX, "the broadcast size must be at most 1 MiB"),
            (self.delay <= DELAY_MAX, "the delay must be at most 1 minute"),
            (
                (0.0..=1.0).contains(&self.delay_share),
                "the share of delayed requests must be 0 to 100 %",
            ),
            (SPEEDS.contains(&self.speed), "the speed of a replay must be 0.001 to 1,000"),
            (self.starting_balance <= BALANCE_MAX, "the starting balance must be at most 10^12"),
            (self.message_max >= 64, "the longest message must be at least 64 bytes"),
            (
                !self.opening_timeout.is_zero(),
                "the timeout of the first request must be more than zero",
            ),
            (self.ping_after != Some(Duration::ZERO), "the ping interval must be more than zero"),
            (self.idle_timeout != Some(Duration::ZERO), "the idle timeout must be more than zero"),
            (
                self.connection_life != Some(Duration::ZERO),
                "the life of connections must be more than zero",
            ),
        ])
    }

    /// These options with as many threads as `connections` need where a file table holds
    /// `files_max` files.
    pub(crate) fn with_enough_threads(
        mut self,
        files_max: Option<u64>,
    ) -> Result<Self, ServerError> {
        // The serving thread itself uses the store's connection, which the process opened.
        self.server.own_files &= self.backing.driver == Driver::Async;
        self.server = self.server.with_enough_threads(files_max)?;
        Ok(self)
    }

    /// How its connections are served.
    pub(crate) fn reactor(&self) -> ReactorOptions {
        ReactorOptions {
            connections_each: connections_each(self.server.connections, self.server.threads),
            message_max: self.message_max,
            errors_max: u16::try_from(self.errors_max).unwrap_or(u16::MAX),
            queue_limits: QueueLimits { events_max: self.events_max, missed_max: self.missed_max },
            opening_timeout: self.opening_timeout,
            ping_after: self.ping_after,
            idle_timeout: self.idle_timeout,
            mean_life: self.connection_life,
            stop_within: self.server.stop_within,
            close_reason: "the market stops",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_options_are_named() {
        assert!(MarketOptions::default().check().is_ok());
        let bad = [
            MarketOptions { opening_timeout: Duration::ZERO, ..Default::default() },
            // Without a store and a bus that others share.
            MarketOptions { part: MarketPart::Api, ..Default::default() },
            MarketOptions { games: 0, ..Default::default() },
            MarketOptions { games: GAMES_MAX + 1, ..Default::default() },
            MarketOptions { goal_every: Duration::ZERO, ..Default::default() },
            MarketOptions { starting_balance: BALANCE_MAX + 1, ..Default::default() },
            MarketOptions { broadcast_size: BROADCAST_SIZE_MAX + 1, ..Default::default() },
            MarketOptions { delay: DELAY_MAX * 2, ..Default::default() },
            MarketOptions { delay_share: f64::NAN, ..Default::default() },
            MarketOptions { message_max: 0, ..Default::default() },
        ];
        for options in bad {
            assert!(matches!(options.check(), Err(ServerError::Options(_))), "{options:?}");
        }
    }
}
