//! WebSockets over HTTP/2 (RFC 8441). Each is a row that a carrier carries, in the place of a connection of its own, and
//! its handshake goes out once the carrier's settings have come.

use plan::EndpointId;
use proto::ws;

use crate::command::ConnId;
use crate::conn::http2::Stream;
use crate::conn::link::Link;
use crate::conn::stage::Stage;
use crate::conn::table::Connections;
use crate::tables::slots::{ConnSlot, Key};

/// A WebSocket that a carrier carries, or may carry.
#[derive(Debug)]
pub(crate) struct CarriedWebSocket {
    /// How it reaches its server; `None`: there is no connection.
    pub(crate) stream: Option<Stream>,
    /// The status that opened it.
    pub(crate) status: u16,
    /// The reader of its frames.
    pub(crate) reader: ws::Reader,
}

/// Whether a carrier takes a WebSocket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// The server's settings have not arrived (§3).
    Unknown,
    /// The server does not announce it.
    No,
    /// It takes no request at all.
    Nothing,
    Yes,
}

impl Connections {
    /// The link of a WebSocket that is still to be opened, as the plan wants it.
    pub(crate) fn websocket_link(&self, endpoint: EndpointId) -> Link {
        match self.http2.carries_websockets && self.http2.may_speak(endpoint) {
            false => Link::http1(),
            true => Link::Carried(Box::new(CarriedWebSocket {
                stream: None,
                status: 0,
                reader: ws::Reader::default(),
            })),
        }
    }

    /// Whether the carrier of a row takes it as a WebSocket.
    pub(crate) fn takes_websocket(&self, slot: ConnSlot) -> Takes {
        let stream = self.table[slot].stream();
        let carrier = stream.and_then(|stream| self.live(stream.carrier));
        let own = carrier.and_then(|at| self.table[at].carrier());
        match own {
            Some(own) if !own.h2.is_greeted() => Takes::Unknown,
            Some(own) if !own.can_open() => Takes::Nothing,
            Some(own) if own.h2.takes_connect() => Takes::Yes,
            Some(_) => Takes::No,
            None => Takes::Nothing,
        }
    }

    /// Has a row wait for the settings of its carrier.
    pub(crate) fn wait_for_settings(&mut self, slot: ConnSlot) {
        let id = self.id(slot);
        if let Some(stream) = self.table[slot].stream() {
            let waiting = self.http2.unsettled.entry(stream.carrier.slot);
            waiting.or_default().push(id);
        }
    }

    /// The rows that have waited for the settings of a carrier.
    pub(crate) fn take_unsettled(&mut self, carrier: ConnSlot) -> Vec<ConnId> {
        let waited = self.http2.unsettled.remove(&carrier.place());
        waited.unwrap_or_default()
    }

    /// Takes a row whose handshake was not sent from its carrier: it is to have a connection of its own, by an upgrade.
    pub(crate) fn detach(&mut self, slot: ConnSlot) {
        self.http2.carried_count -= 1;
        self.set_up(slot, Stage::Waiting);
        self.table[slot].forgo_carrier();
    }
}
