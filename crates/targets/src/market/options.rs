//! How a market is run.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZero;
use std::time::Duration;

use super::MarketError;
use crate::wire;

/// Most games of one market.
const GAMES_MAX: u32 = 10_000;
/// Largest starting balance in cents: with all accounts taken, money still fits 64 bits.
const BALANCE_MAX: u64 = 1_000_000_000_000;
/// Most connections that can be expected.
const CONNECTIONS_MAX: usize = 10_000_000;
/// Most serving threads that are started unasked.
const THREADS_MAX: usize = 1024;
/// Longest distribution that can be asked for.
const BROADCAST_SIZE_MAX: usize = 1 << 20;
/// Longest fault that can be planted.
const DELAY_MAX: Duration = Duration::from_secs(60);
/// Open files of a process besides connections and runtimes.
const FILES_RESERVED: u64 = 64;
/// Open files of each thread's runtime, which all file tables hold.
const FILES_OF_A_RUNTIME: u64 = 4;
/// How far a table of files is planned to be filled: threads do not get the same number of
/// connections, and some of them are HTTP.
const FILL: f64 = 0.9;

/// How a market is run. `MarketOptions::default()` is a market of four games on a free port of
/// 127.0.0.1.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MarketOptions {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Serving threads, 1 or more; there are more if `connections` need them. By default one for
    /// each core, and at least 2.
    pub threads: usize,
    /// Connections that are expected at once, at most 10,000,000; 0, the default, if nothing is
    /// known. With `own_files` there are as many threads as their files need, and room is made
    /// for them.
    pub connections: usize,
    /// Whether every serving thread has a file table of its own, so that each may hold as many
    /// connections as the limit on open files allows for a process. On by default.
    pub own_files: bool,
    /// Connections that may wait to be accepted, for each thread.
    pub backlog: u32,
    /// Games, 1 to 10,000.
    pub games: u32,
    /// Least time between two distributions of one game.
    pub batch: Duration,
    /// Least length of a distribution's text in bytes, at most 1 MiB: a shorter one is filled up
    /// with blanks. 0, the default: as long as it is.
    pub broadcast_size: usize,
    /// Mean time between two goals of one game; more than zero.
    pub goal_every: Duration,
    /// What a new account holds, in cents; at most 10¹².
    pub starting_balance: u64,
    /// What the event feed is drawn from.
    pub seed: u64,
    /// How long a connection may take until its first request is whole; more than zero.
    pub opening_timeout: Duration,
    /// Longest message that a client may send, in bytes. A longer one closes the connection.
    pub message_max: usize,
    /// Bad requests on one connection before it is closed.
    pub errors_max: u32,
    /// News that may wait for a slow reader before it is disconnected.
    pub news_max: usize,
    /// Distributions that a slow reader may miss in a row before it is disconnected.
    pub missed_max: u32,
    /// Connections that were silent for so long are pinged; `None`: never.
    pub ping_after: Option<Duration>,
    /// Connections that were silent for so long, despite pings, are closed; `None`: never.
    pub idle_timeout: Option<Duration>,
    /// A fault, for testing comparisons of runs: so much later is a share of the requests
    /// answered; at most a minute, by default zero.
    pub delay: Duration,
    /// The share of requests that `delay` strikes, drawn by the seed, 0 to 1; all by default.
    pub delay_share: f64,
    /// How long a stop may take; what is still connected then is cut off.
    pub stop_within: Duration,
}

impl Default for MarketOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            threads: std::thread::available_parallelism()
                .map_or(2, NonZero::get)
                .max(2),
            connections: 0,
            own_files: true,
            backlog: wire::BACKLOG,
            games: 4,
            batch: Duration::from_secs(3),
            broadcast_size: 0,
            goal_every: Duration::from_secs(45),
            starting_balance: 100_000,
            seed: 1,
            opening_timeout: Duration::from_secs(10),
            message_max: 4 * 1024,
            errors_max: 32,
            news_max: 16,
            missed_max: 10,
            ping_after: Some(Duration::from_secs(60)),
            idle_timeout: None,
            delay: Duration::ZERO,
            delay_share: 1.0,
            stop_within: Duration::from_secs(10),
        }
    }
}

impl MarketOptions {
    /// Checks what the types do not.
    pub(super) fn check(&self) -> Result<(), MarketError> {
        let rules = [
            (self.threads >= 1, "threads must be at least 1"),
            (
                self.connections <= CONNECTIONS_MAX,
                "at most 10,000,000 connections can be expected",
            ),
            (
                (1..=GAMES_MAX).contains(&self.games),
                "games must be 1 to 10,000",
            ),
            (
                !self.goal_every.is_zero(),
                "the time between goals must be more than zero",
            ),
            (
                self.broadcast_size <= BROADCAST_SIZE_MAX,
                "a broadcast can be filled up to 1 MiB at most",
            ),
            (
                self.delay <= DELAY_MAX,
                "requests can be delayed by a minute at most",
            ),
            (
                (0.0..=1.0).contains(&self.delay_share),
                "the share of delayed requests must be 0 to 100 %",
            ),
            (
                self.starting_balance <= BALANCE_MAX,
                "the starting balance must be at most 10^12",
            ),
            (
                self.message_max >= 64,
                "the longest message must be at least 64 bytes",
            ),
            (
                !self.opening_timeout.is_zero(),
                "a first request can't be due at once",
            ),
            (
                self.ping_after != Some(Duration::ZERO),
                "a ping can't be due at once",
            ),
            (
                self.idle_timeout != Some(Duration::ZERO),
                "an idle timeout can't be zero",
            ),
        ];
        match rules.into_iter().find(|(holds, _)| !holds) {
            Some((_, rule)) => Err(MarketError::Options(rule)),
            None => Ok(()),
        }
    }

    /// These options with as many threads as `connections` need where a file table holds
    /// `files_max` files.
    pub(super) fn with_enough_threads(
        mut self,
        files_max: Option<u64>,
    ) -> Result<Self, MarketError> {
        let Some(files_max) = files_max.filter(|_| self.own_files) else {
            return Ok(self);
        };
        let hold = |threads: &usize| {
            let taken = FILES_RESERVED + FILES_OF_A_RUNTIME * *threads as u64;
            let each = files_max.saturating_sub(taken) as f64 * FILL;
            each * *threads as f64 >= self.connections as f64
        };
        let most = self.threads.max(THREADS_MAX);
        let threads = (self.threads..=most)
            .find(hold)
            .ok_or(MarketError::Options(
                "so many connections need a higher limit on open files",
            ))?;
        self.threads = threads;
        Ok(self)
    }

    /// Connections that are expected on each thread.
    pub(super) fn connections_each(&self) -> usize {
        // The kernel spreads them by a hash: some threads get a little more than others.
        (self.connections / self.threads.max(1)).div_ceil(8) * 9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_follow_from_connections() {
        let threads = |connections, files_max, own_files| {
            let options = MarketOptions {
                threads: 2,
                connections,
                own_files,
                ..Default::default()
            };
            options
                .with_enough_threads(files_max)
                .map(|options| options.threads)
                .ok()
        };
        let files_max = Some(20_000);
        assert_eq!(threads(0, files_max, true), Some(2));
        // Two tables, filled to nine tenths of 20,000 - 64 - 8.
        assert_eq!(threads(35_870, files_max, true), Some(2));
        assert_eq!(threads(35_871, files_max, true), Some(3));
        assert_eq!(threads(2_000_000, files_max, true), Some(115));
        assert_eq!(threads(2_000_000, None, true), Some(2));
        assert_eq!(threads(2_000_000, files_max, false), Some(2));
        assert_eq!(threads(2_000_000, Some(1024), true), None);
    }

    #[test]
    fn bad_options_are_named() {
        assert!(MarketOptions::default().check().is_ok());
        let bad = [
            MarketOptions {
                threads: 0,
                ..Default::default()
            },
            MarketOptions {
                connections: CONNECTIONS_MAX + 1,
                ..Default::default()
            },
            MarketOptions {
                opening_timeout: Duration::ZERO,
                ..Default::default()
            },
            MarketOptions {
                games: 0,
                ..Default::default()
            },
            MarketOptions {
                games: GAMES_MAX + 1,
                ..Default::default()
            },
            MarketOptions {
                goal_every: Duration::ZERO,
                ..Default::default()
            },
            MarketOptions {
                starting_balance: BALANCE_MAX + 1,
                ..Default::default()
            },
            MarketOptions {
                broadcast_size: BROADCAST_SIZE_MAX + 1,
                ..Default::default()
            },
            MarketOptions {
                delay: DELAY_MAX * 2,
                ..Default::default()
            },
            MarketOptions {
                delay_share: f64::NAN,
                ..Default::default()
            },
            MarketOptions {
                message_max: 0,
                ..Default::default()
            },
        ];
        for options in bad {
            assert!(
                matches!(options.check(), Err(MarketError::Options(_))),
                "{options:?}"
            );
        }
    }
}
