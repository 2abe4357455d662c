//! Time: what has taken too long, and who has been silent for too long.
//!
//! There is no timer for each connection. A beat is the clock, short against all limits; now and
//! then every row is looked at.

use std::time::Duration;

use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::connection::Stage;
use super::service::{FrontOptions, Habit, House};
use super::table::Key;
use super::{Front, LOT};

/// How long a peer may take over its part of the closing handshake.
const FAREWELL: Duration = Duration::from_secs(2);
/// Shortest time between two beats.
const BEAT_MIN: Duration = Duration::from_millis(1);
/// Rows looked at between two looks at what else the thread has to do.
const ROWS_MAX: u32 = 4096;

/// How long things may take, in beats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    beat: Duration,
    opening: u32,
    farewell: u32,
    /// Silence after which a connection is pinged, each time.
    ping: Option<u32>,
    /// Silence after which it is closed.
    close: Option<u32>,
    /// Between two looks at who is silent.
    sweep: u32,
}

impl Limits {
    pub(super) fn new(options: &FrontOptions) -> Self {
        let silence = options.ping_after.into_iter().chain(options.idle_timeout);
        let shortest_silence = silence.min();
        let shortest = shortest_silence.map_or(options.opening_timeout, |silence| {
            silence.min(options.opening_timeout)
        });
        // What takes too long is noticed at most an eighth late, but for farewells.
        let beat = (shortest / 8).min(FAREWELL / 2).max(BEAT_MIN);
        let beats = |time: Duration| {
            let beats = time.as_secs_f64() / beat.as_secs_f64();
            (beats.ceil() as u32).max(1)
        };
        Self {
            beat,
            opening: beats(options.opening_timeout),
            farewell: beats(FAREWELL),
            ping: options.ping_after.map(beats),
            close: options.idle_timeout.map(beats),
            sweep: shortest_silence.map_or(u32::MAX, |time| (beats(time) / 8).max(1)),
        }
    }
}

impl<H: House> Front<H> {
    /// The time between two beats.
    pub(super) fn beat_time(&self) -> Duration {
        self.limits.beat
    }

    /// A beat; whether anybody has to be looked at.
    pub(super) fn beat(&mut self) -> bool {
        self.beat = self.beat.wrapping_add(1);
        self.passing > 0 || self.beat.is_multiple_of(self.limits.sweep)
    }

    /// Looks at a lot of rows from `place` on; where to go on, if not at the end.
    pub(super) fn sweep_lot(&mut self, place: u32) -> Option<u32> {
        let end = self.rows.places().min(place.saturating_add(ROWS_MAX));
        let mut acted = 0;
        for place in place..end {
            if acted == LOT {
                return Some(place);
            }
            if let Some((key, row)) = self.rows.at_mut(place) {
                let passed = self.beat.wrapping_sub(row.since);
                let (stage, habit) = (row.stage, row.habit);
                acted += usize::from(self.look_at_silent(key, stage, habit, passed));
            }
        }
        (end < self.rows.places()).then_some(end)
    }

    /// Whether anything was done about a connection whose peer was last heard of `passed` beats
    /// ago.
    fn look_at_silent(&mut self, key: Key, stage: Stage, habit: Habit, passed: u32) -> bool {
        let Limits {
            ping, close, sweep, ..
        } = self.limits;
        let close = close.filter(|_| habit.is_closed());
        let ping = ping.filter(|_| habit.is_pinged());
        match stage {
            Stage::Opening if passed > self.limits.opening => {
                self.house.connections().opening_timeouts.add(1);
                self.part(key);
            }
            Stage::Closing | Stage::Closed if passed > self.limits.farewell => self.part(key),
            Stage::Open if !self.beat.is_multiple_of(sweep) => return false,
            Stage::Open if close.is_some_and(|limit| passed >= limit) => {
                self.house.connections().idle_disconnects.add(1);
                self.shut(key, CloseCode::Away, "silent for too long");
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reactor::Patience;

    #[test]
    fn limits_in_beats() {
        let mut options = FrontOptions {
            connections_each: 0,
            message_max: 1024,
            errors_max: 1,
            patience: Patience {
                news_max: 1,
                missed_max: 1,
            },
            opening_timeout: Duration::from_secs(10),
            ping_after: Some(Duration::from_secs(60)),
            idle_timeout: None,
            stop_within: Duration::from_secs(10),
            farewell: "",
        };
        let limits = Limits::new(&options);
        assert_eq!(limits.beat, Duration::from_secs(1));
        assert_eq!((limits.opening, limits.farewell), (10, 2));
        assert_eq!(
            (limits.ping, limits.close, limits.sweep),
            (Some(60), None, 7)
        );

        options.ping_after = Some(Duration::from_millis(40));
        options.idle_timeout = Some(Duration::from_millis(201));
        let limits = Limits::new(&options);
        assert_eq!(limits.beat, Duration::from_millis(5));
        assert_eq!(
            (limits.ping, limits.close, limits.sweep),
            (Some(8), Some(41), 1)
        );

        options.ping_after = None;
        options.idle_timeout = None;
        let limits = Limits::new(&options);
        assert_eq!(
            (limits.ping, limits.close, limits.sweep),
            (None, None, u32::MAX)
        );
    }
}
