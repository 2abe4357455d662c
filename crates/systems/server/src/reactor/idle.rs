//! Time: what has taken too long, and who has been silent for too long.
//!
//! There is no timer for each connection. A tick is the clock, short against all limits; now and
//! then every row is looked at. Lives are exponential, so that a row need not know when its connection came: at each look
//! the same share of all ends.

use std::time::Duration;

use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::row::Stage;
use super::service::{KeepAlive, ReactorOptions, Service};
use super::table::Key;
use super::{BATCH, Reactor};
use crate::random::Draws;

/// How long a peer may take over its part of the closing handshake.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Shortest time between two ticks.
const TICK_MIN: Duration = Duration::from_millis(1);
/// Rows looked at between two looks at what else the thread has to do.
const ROWS_MAX: u32 = 4096;

/// How long things may take, in ticks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Limits {
    tick: Duration,
    opening: u32,
    closing: u32,
    /// Silence after which a connection is pinged, each time.
    ping: Option<u32>,
    /// Silence after which it is closed.
    close: Option<u32>,
    /// The share of connections whose life ends between two looks.
    ending: Option<f64>,
    /// Between two looks at who is silent.
    sweep: u32,
}

impl Limits {
    pub(super) fn new(options: &ReactorOptions) -> Self {
        let silence = options.ping_after.into_iter().chain(options.idle_timeout);
        // Looks are short against lives.
        let silence = silence.chain(options.mean_life.map(|life| life / 4));
        let shortest_silence = silence.min();
        let shortest = shortest_silence
            .map_or(options.opening_timeout, |silence| silence.min(options.opening_timeout));
        // What takes too long is noticed at most an eighth late, but for farewells.
        let tick = (shortest / 8).min(CLOSE_TIMEOUT / 2).max(TICK_MIN);
        let ticks = |time: Duration| {
            let ticks = time.as_secs_f64() / tick.as_secs_f64();
            (ticks.ceil() as u32).max(1)
        };
        let sweep = shortest_silence.map_or(u32::MAX, |time| (ticks(time) / 8).max(1));
        let ending = |life: Duration| {
            let looks = tick.as_secs_f64() * f64::from(sweep) / life.as_secs_f64();
            1.0 - (-looks).exp()
        };
        Self {
            tick,
            opening: ticks(options.opening_timeout),
            closing: ticks(CLOSE_TIMEOUT),
            ping: options.ping_after.map(ticks),
            close: options.idle_timeout.map(ticks),
            ending: options.mean_life.map(ending),
            sweep,
        }
    }
}

impl<S: Service> Reactor<S> {
    /// The time between two ticks.
    pub(super) fn tick_time(&self) -> Duration {
        self.limits.tick
    }

    /// Advances the clock; whether rows have to be checked.
    pub(super) fn tick(&mut self) -> bool {
        self.tick = self.tick.wrapping_add(1);
        self.transitional > 0 || self.tick.is_multiple_of(self.limits.sweep)
    }

    /// Looks at a batch of rows from `place` on; where to continue, if not at the end.
    pub(super) fn sweep_batch(&mut self, place: u32) -> Option<u32> {
        let end = self.rows.places().min(place.saturating_add(ROWS_MAX));
        let mut acted = 0;
        for place in place..end {
            if acted == BATCH {
                return Some(place);
            }
            if let Some((key, row)) = self.rows.at_mut(place) {
                let passed = self.tick.wrapping_sub(row.since);
                let stage = row.stage;
                let keep_alive = row.keep_alive;
                let is_quiet = row.is_read();
                let acts = self.check_idle(key, stage, keep_alive, passed)
                    || self.check_life(key, stage, is_quiet);
                acted += usize::from(acts);
            }
        }
        (end < self.rows.places()).then_some(end)
    }

    /// Whether anything was done about a connection whose peer was last heard of `passed` ticks
    /// ago.
    fn check_idle(&mut self, key: Key, stage: Stage, keep_alive: KeepAlive, passed: u32) -> bool {
        let Limits { ping, close, sweep, .. } = self.limits;
        let close = close.filter(|_| keep_alive.is_closed());
        let ping = ping.filter(|_| keep_alive.is_pinged());
        match stage {
            Stage::Opening if passed > self.limits.opening => {
                self.service.connections().opening_timeouts.add(1);
                self.close(key);
            }
            Stage::Closing | Stage::Closed if passed > self.limits.closing => self.close(key),
            Stage::Open if !self.tick.is_multiple_of(sweep) => return false,
            Stage::Open if close.is_some_and(|limit| passed >= limit) => {
                self.service.connections().idle_disconnects.add(1);
                self.close_with(key, CloseCode::Away, "silent for too long");
            }
            // A multiple of the limit was passed since the last look.
            Stage::Open
                if ping
                    .is_some_and(|limit| passed / limit > passed.saturating_sub(sweep) / limit) =>
            {
                self.ping(key);
            }
            _ => return false,
        }
        true
    }
}

impl<S: Service> Reactor<S> {
    /// Whether a connection's life has ended, between two of its requests.
    fn check_life(&mut self, key: Key, stage: Stage, is_quiet: bool) -> bool {
        let is_look = stage == Stage::Open && self.tick.is_multiple_of(self.limits.sweep);
        let Some(ending) = self.limits.ending.filter(|_| is_look && is_quiet) else {
            return false;
        };
        let ends = Draws::from_keys(&[key.to_bits(), self.tick.into()]).unit() < ending;
        if ends {
            self.service.connections().lives_ended.add(1);
            self.close_with(key, CloseCode::Restart, "connect again");
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reactor::QueueLimits;

    #[test]
    fn limits_in_beats() {
        let mut options = ReactorOptions {
            connections_each: 0,
            message_max: 1024,
            errors_max: 1,
            queue_limits: QueueLimits { events_max: 1, missed_max: 1 },
            opening_timeout: Duration::from_secs(10),
            ping_after: Some(Duration::from_secs(60)),
            idle_timeout: None,
            mean_life: None,
            stop_within: Duration::from_secs(10),
            close_reason: "",
        };
        let limits = Limits::new(&options);
        assert_eq!(limits.tick, Duration::from_secs(1));
        assert_eq!((limits.opening, limits.closing), (10, 2));
        assert_eq!((limits.ping, limits.close, limits.sweep), (Some(60), None, 7));

        options.ping_after = Some(Duration::from_millis(40));
        options.idle_timeout = Some(Duration::from_millis(201));
        let limits = Limits::new(&options);
        assert_eq!(limits.tick, Duration::from_millis(5));
        assert_eq!((limits.ping, limits.close, limits.sweep), (Some(8), Some(41), 1));

        options.ping_after = None;
        options.idle_timeout = None;
        let limits = Limits::new(&options);
        assert_eq!((limits.ping, limits.close, limits.sweep), (None, None, u32::MAX));

        // A look each 1.25 s: 1 − e^(−1.25/40) of all connections end between two.
        options.mean_life = Some(Duration::from_secs(40));
        let limits = Limits::new(&options);
        let between = limits.tick.as_secs_f64() * f64::from(limits.sweep);
        let share = 1.0 - (-between / 40.0).exp();
        assert!((limits.ending.unwrap() - share).abs() < 1e-12 && between < 40.0 / 16.0);
    }
}
