//! A lost WebSocket that reconnects: at the times of each protocol's own client, or after pauses that double.

use plan::{Backoff, Pc, Protocol as ChannelProtocol};
use stats::rng::Rng;

use crate::conn::background::Background;
use crate::protocols::websocket::deflate::Compression;

const MS: u64 = 1_000_000;

/// Pauses of a back-off double this often at most; the longest pause ends them long before.
const DOUBLINGS_MAX: u32 = 64;

/// Phoenix (`phoenix.js` 1.7, `reconnectAfterMs`): the first pauses, and all later ones.
const PHOENIX_MS: [u64; 9] = [10, 50, 100, 150, 200, 250, 500, 1000, 2000];
const PHOENIX_LATER_MS: u64 = 5000;
/// Socket.IO (`socket.io-client` 4, `Manager`): the first pause, which doubles, the longest one, and
/// the share by which each differs at most.
const SOCKETIO_MS: f64 = 1000.0;
const SOCKETIO_MAX_MS: f64 = 5000.0;
const SOCKETIO_JITTER: f64 = 0.5;
/// ActionCable (`@rails/actioncable` 7, `ConnectionMonitor`): the first pause, by how much each is
/// longer, the last that is, and the share by which the first one differs at most.
const CABLE_MS: f64 = 6000.0;
const CABLE_GROWTH: f64 = 0.15;
const CABLE_GROWTHS_MAX: u32 = 10;
const CABLE_FIRST_JITTER: f64 = 1.0;
/// MQTT (Eclipse Paho, `reconnect_delay_set` of `paho-mqtt` 2): the first pause, which doubles, and the longest one.
const MQTT_MS: f64 = 1000.0;
const MQTT_MAX_MS: f64 = 120_000.0;

/// graphql-ws 6 (`client.ts`, `retryWait`, `retryAttempts`): the pause that doubles, the least and the most that is
/// added to it at random, and the attempts after which its client gives up.
const GRAPHQL_MS: f64 = 1000.0;
const GRAPHQL_MORE_MS: (f64, f64) = (300.0, 3000.0);
const GRAPHQL_ATTEMPTS: u32 = 5;

/// SignalR (`@microsoft/signalr` 8, `DefaultReconnectPolicy`): the pauses, after the last of which its client gives up.
const SIGNALR_MS: [u64; 4] = [0, 2_000, 10_000, 30_000];

/// A plain WebSocket that reconnects.
#[derive(Debug)]
pub(crate) struct Reconnectable {
    pub(crate) background: Background,
    /// Compression of our messages, if that was agreed on.
    pub(crate) compression: Option<Compression>,
    pub(crate) reconnecting: ReconnectState,
    /// The step in flight has not sent its message: the connection is lost.
    pub(crate) deferred: bool,
}

impl Reconnectable {
    /// Opened by the instruction at `pc`; `compression`: its messages may be compressed.
    pub(crate) fn new(pc: Pc, compression: Option<Compression>) -> Reconnectable {
        Reconnectable {
            background: Background::new(pc),
            compression,
            reconnecting: ReconnectState::new(),
            deferred: false,
        }
    }

    /// Before a new connection.
    pub(crate) fn reset(&mut self) {
        self.compression = None;
    }
}

/// State of a connection that reconnects.
#[derive(Debug)]
pub(crate) struct ReconnectState {
    /// From the loss until it can be used again.
    pub(crate) lost: bool,
    /// Attempts since it could be used.
    tries: u32,
}

impl ReconnectState {
    pub(crate) fn new() -> ReconnectState {
        ReconnectState { lost: false, tries: 0 }
    }

    /// True if these attempts are all that there are after one loss.
    pub(crate) fn has_given_up(&self, backoff: &Backoff) -> bool {
        backoff.attempts_max.is_some_and(|max| self.tries >= max)
    }

    /// The number of attempts after which the protocol's own client gives up, if these were all.
    pub(crate) fn client_gave_up(&self, protocol: ChannelProtocol) -> Option<u32> {
        let attempts = match protocol {
            ChannelProtocol::GraphQl => GRAPHQL_ATTEMPTS,
            ChannelProtocol::SignalR => SIGNALR_MS.len() as u32,
            ChannelProtocol::Phoenix { .. }
            | ChannelProtocol::ActionCable
            | ChannelProtocol::SocketIo
            | ChannelProtocol::Mqtt { .. } => return None,
        };
        (self.tries >= attempts).then_some(attempts)
    }

    /// It can be used again.
    pub(crate) fn rest(&mut self) {
        self.lost = false;
        self.tries = 0;
    }

    /// From the loss, or a failed attempt, to the next attempt: the pause before attempt n, from 0, is up to
    /// 2ⁿ times the first.
    pub(crate) fn backoff_ns(&mut self, backoff: &Backoff, rng: &mut Rng) -> u64 {
        let doubled = 2_f64.powi(self.tries.min(DOUBLINGS_MAX) as i32);
        self.tries = self.tries.saturating_add(1);
        let longest = (backoff.pause_ns as f64 * doubled).min(backoff.pause_max_ns as f64);
        (longest * backoff.jitter.share(rng)) as u64
    }

    /// The same, at the times of the protocol's own client.
    pub(crate) fn pause_ns(&mut self, protocol: ChannelProtocol, rng: &mut Rng) -> u64 {
        let tries = self.tries;
        self.tries = self.tries.saturating_add(1);
        let ms = match protocol {
            ChannelProtocol::Phoenix { .. } => {
                let pause = PHOENIX_MS.get(tries as usize);
                return pause.unwrap_or(&PHOENIX_LATER_MS) * MS;
            }
            ChannelProtocol::SignalR => {
                let last = SIGNALR_MS.len() - 1;
                return SIGNALR_MS[last.min(tries as usize)] * MS;
            }
            ChannelProtocol::SocketIo => {
                let ms = SOCKETIO_MS * 2_f64.powi(tries.min(8) as i32);
                let spread = 2.0 * rng.unit() - 1.0;
                (ms * (1.0 + SOCKETIO_JITTER * spread)).min(SOCKETIO_MAX_MS)
            }
            ChannelProtocol::Mqtt { .. } => {
                (MQTT_MS * 2_f64.powi(tries.min(8) as i32)).min(MQTT_MAX_MS)
            }
            ChannelProtocol::ActionCable => {
                let grown = (1.0 + CABLE_GROWTH).powi(tries.min(CABLE_GROWTHS_MAX) as i32);
                let jitter = match tries {
                    0 => CABLE_FIRST_JITTER,
                    _ => CABLE_GROWTH,
                };
                CABLE_MS * grown * (1.0 + jitter * rng.unit())
            }
            ChannelProtocol::GraphQl => {
                let (least, most) = GRAPHQL_MORE_MS;
                let more = least + (most - least) * rng.unit();
                GRAPHQL_MS * 2_f64.powi(tries.min(8) as i32) + more
            }
        };
        (ms * MS as f64) as u64
    }
}

#[cfg(test)]
mod tests {
    use plan::Jitter;
    use stats::rng::Purpose;

    use super::*;

    fn pauses(protocol: ChannelProtocol, user: u64) -> Vec<f64> {
        let mut state = ReconnectState::new();
        let mut rng = Rng::new(1, user, Purpose::Think);
        let pause = |_| state.pause_ns(protocol, &mut rng) as f64 / 1e6;
        (0..12).map(pause).collect()
    }

    #[test]
    fn pauses_of_a_back_off_double_up_to_the_longest() {
        let backoff = |jitter| Backoff {
            pause_ns: 100 * MS,
            pause_max_ns: 1000 * MS,
            jitter,
            attempts_max: Some(6),
            send: Vec::new(),
        };
        let longest = [100.0, 200.0, 400.0, 800.0, 1000.0, 1000.0];
        for (jitter, least, spread) in
            [(Jitter::None, 1.0, 0.0), (Jitter::Equal, 0.5, 0.25), (Jitter::Full, 0.0, 0.5)]
        {
            let backoff = backoff(jitter);
            let mut sum = 0.0;
            for user in 0..1000 {
                let mut state = ReconnectState::new();
                let mut rng = Rng::new(1, user, Purpose::Think);
                for longest in longest {
                    assert!(!state.has_given_up(&backoff));
                    let share = state.backoff_ns(&backoff, &mut rng) as f64 / 1e6 / longest;
                    assert!((least..=1.0).contains(&share), "{jitter:?}: {share}");
                    sum += share / 6000.0;
                }
                assert!(state.has_given_up(&backoff));
                state.rest();
                assert!(!state.has_given_up(&backoff));
            }
            assert!((sum - 1.0 + spread).abs() < 0.02, "{jitter:?}: {sum}");
        }
    }

    #[test]
    fn pauses_are_those_of_the_clients() {
        let phoenix = ChannelProtocol::Phoenix { arrays: true, heartbeat_ns: 1 };
        let expected =
            [10.0, 50.0, 100.0, 150.0, 200.0, 250.0, 500.0, 1000.0, 2000.0, 5000.0, 5000.0, 5000.0];
        assert_eq!(pauses(phoenix, 0), expected);
        let mqtt = ChannelProtocol::Mqtt { five: true, keep_alive_s: 60 };
        let expected = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 120.0, 120.0, 120.0, 120.0, 120.0];
        assert_eq!(pauses(mqtt, 0), expected.map(|s| s * 1000.0));
        let expected = [[0.0, 2_000.0, 10_000.0].as_slice(), &[30_000.0; 9]].concat();
        assert_eq!(pauses(ChannelProtocol::SignalR, 0), expected);
        for user in 0..1000 {
            let found = pauses(ChannelProtocol::SocketIo, user);
            let ranges = [500.0..=1500.0, 1000.0..=3000.0, 2000.0..=5000.0, 4000.0..=5000.0];
            for (pause, range) in found.iter().zip(ranges) {
                assert!(range.contains(pause), "{found:?}");
            }
            assert!(found[4..].iter().all(|&pause| pause == 5000.0), "{found:?}");
            let found = pauses(ChannelProtocol::ActionCable, user);
            assert!((6000.0..=12_000.0).contains(&found[0]), "{found:?}");
            for (tries, pause) in found.iter().enumerate().skip(1) {
                let least = 6000.0 * 1.15_f64.powi(tries.min(10) as i32);
                assert!((least..=least * 1.15).contains(pause), "{tries}: {found:?}");
            }
            let found = pauses(ChannelProtocol::GraphQl, user);
            for (tries, pause) in found.iter().take(5).enumerate() {
                let least = 1000.0 * 2_f64.powi(tries as i32);
                let range = least + 300.0..=least + 3000.0;
                assert!(range.contains(pause), "{tries}: {found:?}");
            }
        }
    }
}
