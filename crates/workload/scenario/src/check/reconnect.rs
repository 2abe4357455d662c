//! Lost WebSockets that reconnect.

use crate::keys::{JITTERS, RECONNECT};
use plan::{Backoff, Jitter, MeasureKind, Pauses, Protocol, WsReconnect};

use super::Checker;
use super::fields::Fields;
use super::program::Program;
use crate::document::node::{Node, NodeKind};

/// Most attempts after one loss that a scenario can set.
const ATTEMPTS_MAX: u64 = 1_000_000;

impl Checker<'_> {
    /// Whether, and how, a lost WebSocket reconnects: `true`, `false`, or the pauses of a plain one.
    pub(super) fn reconnect_websocket(
        &mut self,
        fields: &Fields<'_>,
        protocol: Option<Protocol>,
        program: &mut Program,
    ) -> Option<WsReconnect> {
        let node = fields.get("reconnect")?;
        let place = fields.key_place("reconnect")?;
        let settings = node.mapping().is_some();
        if settings && let Some(protocol) = protocol {
            let message =
                format!("`{}` reconnects at the times of its own client", protocol.name());
            self.diagnostics.error("misplaced-key", place, message).hint("write `reconnect: true`");
            return None;
        }
        if node.text().is_some_and(|text| units::parse::duration(text).is_ok()) {
            self.diagnostics
                .error("bad-word", &node.place, "a WebSocket has more than one pause")
                .hint(format!(
                    "write `reconnect: {{ pause: {} }}`, the first of pauses that double",
                    node.text().unwrap_or_default()
                ));
            return None;
        }
        if !settings && !self.bool(node)? {
            return None;
        }
        let measure = self.measure("reconnect", MeasureKind::Handshake, place);
        let pauses = match protocol {
            Some(_) => {
                Pauses::OfClient { rejoin: self.measure("rejoin", MeasureKind::Handshake, place) }
            }
            None => Pauses::Backoff(self.backoff(node, program)?),
        };
        Some(WsReconnect { measure, pauses })
    }

    /// The pauses of a plain WebSocket; with `true` all defaults.
    fn backoff(&mut self, node: &Node, program: &mut Program) -> Option<Backoff> {
        let defaults = Node { place: node.place.clone(), kind: NodeKind::Mapping(Vec::new()) };
        let node = node.mapping().map_or(&defaults, |_| node);
        let fields = self.fields(node, &RECONNECT, "`reconnect`")?;
        let pause_ns = fields.get_or_default("pause").and_then(|node| self.duration_ns(&node));
        let longest = fields.get_or_default("pause_max");
        let pause_max_ns = longest.and_then(|node| self.duration_ns(&node));
        let jitter = fields.get_or_default("jitter").and_then(|node| self.choice(&node, JITTERS));
        let attempts_max = match fields.get("attempts") {
            Some(node) => Some(self.attempts(node)?),
            None => None,
        };
        let mut send = Vec::new();
        for message in fields.get("send").map_or(&[][..], |node| self.one_or_more(node)) {
            send.push(self.payload(message, program)?);
        }
        let pause_ns = pause_ns?;
        let pause_max_ns = pause_max_ns?;
        if pause_ns > pause_max_ns {
            let place = fields.key_place("pause").unwrap_or(fields.place());
            self.diagnostics
                .error("bad-duration", place, "`pause` is longer than `pause_max`")
                .hint("`pause` is the first pause, `pause_max` (30s by default) the longest");
        }
        Some(Backoff {
            pause_ns,
            pause_max_ns,
            jitter: match jitter? {
                0 => Jitter::Full,
                1 => Jitter::Equal,
                _ => Jitter::None,
            },
            attempts_max,
            send,
        })
    }

    fn attempts(&mut self, node: &Node) -> Option<u32> {
        let count = self.count(node)?;
        if !(1..=ATTEMPTS_MAX).contains(&count) {
            self.diagnostics
                .error("bad-count", &node.place, "`attempts` is from 1 to 1,000,000")
                .hint("write `reconnect: false` for none, and no `attempts` for any number");
        }
        Some(count as u32)
    }
}
