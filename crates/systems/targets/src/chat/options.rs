//! How a chat is run.

use std::path::PathBuf;
use std::time::Duration;

use server::reactor::{QueueLimits, ReactorOptions};
use server::{ServerError, ServerOptions, check_rules, connections_each};

/// Most rooms of one chat.
const ROOMS_MAX: usize = 10_000;
/// Most messages that a room can keep.
const HISTORY_MAX: usize = 1_000_000;
/// Longest message that can be allowed, in bytes.
const MESSAGE_MAX: usize = 64 << 10;

/// Names of events and fields, as clients know them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Names {
    /// The names that `docs/chat.md` describes.
    #[default]
    Own,
    /// The names of the prototypes of a chat that were published: events of a stream are `refresh`, those of a Phoenix channel
    /// `publish`, with the text as `body`; and a `speak` has no reply.
    Published,
}

/// How a chat is run. `ChatOptions::default()` keeps its history in memory and listens on a free
/// port of 127.0.0.1.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ChatOptions {
    /// The address to listen on and the threads that serve it.
    pub server: ServerOptions,
    /// The database that keeps the history; `None`, the default: memory.
    pub store: Option<PathBuf>,
    /// Most rooms, 1 to 10,000.
    pub rooms_max: usize,
    /// Messages that a room keeps, 1 to 1,000,000.
    pub history: usize,
    /// Longest message that a client may send, with all that is around it, in bytes: 64 to 65,536.
    pub message_max: usize,
    /// Bad requests on one connection before it is closed.
    pub errors_max: u16,
    /// Messages that may wait for a slow reader before it is disconnected.
    pub waiting_max: usize,
    /// How long a connection may take until its first request is whole; more than zero.
    pub opening_timeout: Duration,
    /// Streams get a heartbeat, and silent WebSockets of `/chat/socket` a ping, so often; `None`:
    /// never.
    pub heartbeat: Option<Duration>,
    /// How often those who speak ActionCable are pinged; more than zero.
    pub cable_ping: Duration,
    /// Phoenix connections that were silent for this time are closed; `None`: never.
    pub phoenix_timeout: Option<Duration>,
    /// How long a poll may be held at most.
    pub hold_max: Duration,
    /// How long clients of a stream shall wait before they connect again.
    pub retry: Duration,
    /// Names of events and fields.
    pub names: Names,
}

impl Default for ChatOptions {
    fn default() -> Self {
        Self {
            server: ServerOptions::default(),
            store: None,
            rooms_max: 100,
            history: 1_000,
            message_max: 4 * 1024,
            errors_max: 32,
            waiting_max: 64,
            opening_timeout: Duration::from_secs(10),
            heartbeat: Some(Duration::from_secs(30)),
            cable_ping: Duration::from_secs(3),
            phoenix_timeout: Some(Duration::from_secs(60)),
            hold_max: Duration::from_secs(60),
            retry: Duration::from_secs(2),
            names: Names::default(),
        }
    }
}

impl ChatOptions {
    /// As long as its times are on the machine's clock; see [`server::stretch`].
    pub(super) fn stretched(mut self) -> Self {
        let times = [&mut self.opening_timeout, &mut self.cable_ping, &mut self.hold_max];
        let optional = [&mut self.heartbeat, &mut self.phoenix_timeout];
        let all = times.into_iter().chain(optional.into_iter().flatten());
        all.for_each(|time| *time = server::stretch(*time));
        self
    }

    /// Checks what the types do not.
    pub(super) fn check(&self) -> Result<(), ServerError> {
        self.server.check()?;
        check_rules([
            ((1..=ROOMS_MAX).contains(&self.rooms_max), "rooms must be 1 to 10,000"),
            (
                (1..=HISTORY_MAX).contains(&self.history),
                "the history must be 1 to 1,000,000 messages",
            ),
            (
                (64..=MESSAGE_MAX).contains(&self.message_max),
                "the longest message must be 64 to 65,536 bytes",
            ),
            (
                !self.opening_timeout.is_zero(),
                "the timeout of the first request must be more than zero",
            ),
            (
                self.heartbeat != Some(Duration::ZERO),
                "the heartbeat interval must be more than zero",
            ),
            (!self.cable_ping.is_zero(), "the ping interval must be more than zero"),
            (self.phoenix_timeout != Some(Duration::ZERO), "the timeout must be more than zero"),
        ])
    }

    /// These options with as many threads as `connections` need where a file table holds
    /// `files_max` files.
    pub(super) fn with_enough_threads(
        mut self,
        files_max: Option<u64>,
    ) -> Result<Self, ServerError> {
        self.server = self.server.with_enough_threads(files_max)?;
        Ok(self)
    }

    /// How its connections are served.
    pub(super) fn reactor(&self) -> ReactorOptions {
        ReactorOptions {
            connections_each: connections_each(self.server.connections, self.server.threads),
            message_max: self.message_max,
            errors_max: self.errors_max,
            queue_limits: QueueLimits {
                events_max: self.waiting_max,
                // Only pings: a client that misses this number does not read at all.
                missed_max: 20,
            },
            opening_timeout: self.opening_timeout,
            ping_after: self.heartbeat,
            idle_timeout: self.phoenix_timeout,
            mean_life: None,
            stop_within: self.server.stop_within,
            close_reason: "the chat stops",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_options_are_named() {
        assert!(ChatOptions::default().check().is_ok());
        let changes: [fn(&mut ChatOptions); 6] = [
            |options| options.server.threads = 0,
            |options| options.rooms_max = 0,
            |options| options.rooms_max = ROOMS_MAX + 1,
            |options| options.history = 0,
            |options| options.message_max = 63,
            |options| options.cable_ping = Duration::ZERO,
        ];
        for change in changes {
            let mut options = ChatOptions::default();
            change(&mut options);
            assert!(matches!(options.check(), Err(ServerError::Options(_))), "{options:?}");
        }
    }
}
