//! Framed messages straight on TCP or TLS.

use plan::{Op, TcpOpen, WsSend};
use proto::frame;
use record::Outcome;

use super::Shard;
use super::session::Flow;
use crate::conn::{Codec, Kind, Stage};
use crate::extract::{Label, Received};

impl<'p> Shard<'p> {
    pub(super) fn begin_tcp(&mut self, now_ns: u64, key: u32, open: &TcpOpen) -> Flow {
        self.begin(now_ns, key);
        if self.has_stream(now_ns, key) {
            return Flow::Fail;
        }
        self.connect_tcp(now_ns, key, open);
        Flow::Wait
    }

    pub(super) fn connect_tcp(&mut self, now_ns: u64, key: u32, open: &TcpOpen) {
        let endpoint = self.endpoint_of(key, open.endpoint);
        self.open_conn(now_ns, key, endpoint, Kind::Tcp);
    }

    /// The connection is there, and that is all there is to do.
    pub(super) fn opened_tcp(&mut self, now_ns: u64, key: u32, slot: u32) {
        let conn = &mut self.conns[slot];
        conn.codec = Codec::Frames {
            opened_by: self.users[key].pc,
            decoder: frame::Decoder::new(),
        };
        conn.stage = Stage::Open;
        self.setting_up -= 1;
        self.complete(now_ns, key, Outcome::Ok, 0);
    }

    /// How messages are told apart on a connection.
    fn framing(&self, slot: u32) -> Option<&'p frame::Framing> {
        let conn = &self.conns[slot];
        let Codec::Frames { opened_by, .. } = conn.codec else {
            return None;
        };
        let session = self.users[conn.user].session;
        match &self.plan.sessions[session as usize].ops[opened_by as usize] {
            Op::TcpOpen(open) => Some(&open.framing),
            other => unreachable!("a TCP connection was opened by {other:?}"),
        }
    }

    pub(super) fn decode_messages(&mut self, now_ns: u64, slot: u32, bytes: &[u8]) -> usize {
        let id = self.id(slot);
        let Some(framing) = self.framing(slot) else {
            return bytes.len();
        };
        let mut taken = 0;
        loop {
            let Codec::Frames { decoder, .. } = &mut self.conns[slot].codec else {
                return bytes.len();
            };
            match decoder.decode(framing, &bytes[taken..], &self.limits) {
                Ok((consumed, Some(frame))) => {
                    taken += consumed;
                    let received = Received {
                        head: None,
                        body: frame.payload(),
                        label: Label::Frame(&frame.message),
                    };
                    self.handle_message(now_ns, slot, consumed, &received);
                    if self.live(id).is_none() {
                        return bytes.len();
                    }
                }
                Ok(_) => return taken,
                Err(error) => {
                    let outcome = match error {
                        frame::DecodeError::TooLarge { .. } => Outcome::TooLarge,
                        frame::DecodeError::TooShort { .. } => Outcome::Protocol,
                    };
                    self.lost(now_ns, slot, outcome, || error.to_string());
                    return bytes.len();
                }
            }
        }
    }

    /// Appends a message in its frame.
    pub(super) fn render_frame(
        &mut self,
        now_ns: u64,
        slot: u32,
        send: &WsSend,
    ) -> Result<(), String> {
        let Some(framing) = self.framing(slot) else {
            return Err("no framing".to_owned());
        };
        let unix_ms = self.unix_ms(now_ns);
        let mut scope = self.users[self.conns[slot].user].scope(unix_ms);
        let mut rendered = Ok(());
        let framed = framing.encode_with(&mut self.commands.bytes, |out| {
            rendered = send.payload.render(&mut scope, out);
        });
        rendered.map_err(|error| error.to_string())?;
        framed.map_err(|error| error.to_string())
    }
}
