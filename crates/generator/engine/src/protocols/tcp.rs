//! Framed messages straight on TCP or TLS.

use plan::{Op, SendOp, TcpOpen};
use record::Outcome;

use crate::conn::{Decoder, Link, Stage};
use crate::interpreter::{Flow, Interpreter};
use crate::protocols::Protocol;
use crate::received::end_record;
use crate::tables::slots::{ConnSlot, UserKey};

impl<'p> Interpreter<'p> {
    pub(crate) fn open_tcp(&mut self, now_ns: u64, key: UserKey, open: &TcpOpen) -> Flow {
        self.begin(now_ns, key);
        if self.has_stream(now_ns, key) {
            return Flow::Fail;
        }
        self.connect_tcp(now_ns, key, open);
        Flow::Wait
    }

    pub(crate) fn connect_tcp(&mut self, now_ns: u64, key: UserKey, open: &TcpOpen) {
        let endpoint = self.users.endpoint(key, open.endpoint);
        let (link, protocol) = self.connection_for(key, endpoint);
        self.open_conn(now_ns, key, endpoint, link, protocol);
    }

    /// TCP, and TLS if wanted, are set up: the step is done.
    pub(crate) fn tcp_is_open(&mut self, now_ns: u64, slot: ConnSlot) {
        self.conns.set_up(slot, Stage::Open);
        self.complete(now_ns, self.conns[slot].user, Outcome::Ok, 0);
    }

    /// Takes messages by the framing of the step that opened the connection. Returns how many bytes they took.
    pub(crate) fn decode_framed(&mut self, now_ns: u64, slot: ConnSlot, bytes: &[u8]) -> usize {
        match (&self.conns[slot].link, self.tcp_op(slot)) {
            (&Link::Bare(decoder), Some(open)) => {
                self.decode_with(now_ns, slot, Decoder::Tcp(&open.framing, decoder), bytes)
            }
            _ => bytes.len(),
        }
    }

    /// The step that opened a TCP connection.
    pub(crate) fn tcp_op(&self, slot: ConnSlot) -> Option<&'p TcpOpen> {
        let conn = &self.conns[slot];
        let Protocol::Tcp { opened_by } = conn.speaks else {
            return None;
        };
        match &self.users.session(conn.user).ops[opened_by as usize] {
            Op::TcpOpen(open) => Some(open),
            other => unreachable!("a TCP connection was opened by {other:?}"),
        }
    }

    /// Appends a message in its frame.
    pub(crate) fn encode_frame(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        send: &SendOp,
    ) -> Result<(), String> {
        let Some(TcpOpen { framing, records, .. }) = self.tcp_op(slot) else {
            return Err("no framing".to_owned());
        };
        let mut scope = self.users.scope(now_ns, self.conns[slot].user);
        let mut rendered = Ok(());
        let framed = framing.encode_with(&mut self.conns.commands.bytes, |out| {
            let start = out.len();
            rendered = send.payload.render(&mut scope, out);
            if let Some(end) = *records {
                end_record(out, start, end);
            }
        });
        rendered.map_err(|error| error.to_string())?;
        framed.map_err(|error| error.to_string())
    }
}
