//! WebSockets of scripts of k6, each in a branch of its user.

use std::borrow::Cow;

use k6::{Message, News, Outgoing};
use plan::{EndpointId, Op, WsOpen};
use proto::http1::Head;
use proto::ws::{self, MessageKind};
use record::Outcome;

use crate::conn::Stage;
use crate::interpreter::{Flow, Interpreter};
use crate::tables::budget::EXHAUSTED;
use crate::tables::slots::{ConnSlot, UserKey};

/// The status of a WebSocket that ended without a close frame, and that of a close frame without one (RFC 6455 §7.4.1).
const ABNORMAL: u16 = 1006;
const NO_STATUS: u16 = 1005;
/// The status with which a WebSocket is closed whose iteration ends.
const GOING_AWAY: u16 = 1001;
/// Most bytes of a ping (RFC 6455 §5.5).
const PING_BYTES_MAX: usize = 125;

impl Interpreter<'_> {
    /// The endpoint of a WebSocket. The error says why there is none.
    pub(crate) fn socket_endpoint(
        &self,
        key: UserKey,
        open: &WsOpen,
    ) -> Result<EndpointId, String> {
        if !open.by_script {
            return Ok(open.endpoint);
        }
        let url = self.script_request(key).map_or("", |request| &request.url);
        let named = self.requests.endpoint_at(self.plan, url)?;
        named.ok_or_else(|| format!("{url:?} is no whole URL"))
    }

    /// The subprotocols that the user's script offers with its handshake.
    pub(crate) fn offered_by_script(&self, key: UserKey) -> Cow<'static, str> {
        let mut headers =
            self.script_request(key).map_or(&[][..], |asked| &asked.headers[..]).iter();
        let offered = headers.find(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-protocol"));
        offered.map_or(Cow::Borrowed(""), |(_, value)| Cow::Owned(value.clone()))
    }

    /// The script's handshake has succeeded.
    pub(crate) fn handshake_for_script(&mut self, now_ns: u64, key: UserKey, head: &Head<'_>) {
        let response = self.script_response(key, head);
        if let Some(vus) = &mut self.vus
            && let Some(held) = vus.hold(0)
        {
            vus.answered(key, response, held, now_ns);
        }
    }

    /// Whether a connection is an open WebSocket of its user's script.
    #[inline]
    pub(crate) fn is_of_script(&self, slot: ConnSlot) -> bool {
        let Some(vus) = &self.vus else {
            return false;
        };
        let key = self.conns[slot].user;
        self.users.get(key).is_some_and(|user| user.is_branch)
            && vus.has_socket(self.users.owner(key), key)
    }

    /// A frame for the user's script, of `len` bytes. False: it is none.
    pub(crate) fn take_frame_for_script(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        len: usize,
        frame: &ws::Event<'_>,
    ) -> bool {
        if !self.is_of_script(slot) {
            return false;
        }
        let message = match *frame {
            ws::Event::Text(text) => Message::Text(text.to_owned()),
            ws::Event::Binary(bytes) => Message::Binary(bytes.to_vec()),
            ws::Event::Ping(payload) => {
                let start = self.conns.commands.bytes.len();
                self.conns.encode_pong(payload);
                self.send_control(slot, start);
                Message::Ping(payload.to_vec())
            }
            ws::Event::Pong(payload) => Message::Pong(payload.to_vec()),
            ws::Event::Close { .. } if self.conns[slot].stage == Stage::Closing => return false,
            ws::Event::Close { code, reason } => {
                self.recorder.counts.bytes_in += len as u64;
                self.send_close_frame(slot, code.unwrap_or(ws::NORMAL), "");
                let code = code.unwrap_or(NO_STATUS);
                self.end_socket(now_ns, slot, code, reason, len);
                return true;
            }
        };
        self.recorder.counts.bytes_in += len as u64;
        let key = self.conns[slot].user;
        let owner = self.users.owner(key);
        // It is kept until the script has it.
        let bytes = size_of::<News>() + len;
        let Some(held) = self.vus.as_ref().and_then(|vus| vus.hold(bytes)) else {
            self.lost(now_ns, slot, Outcome::NoMemory, || EXHAUSTED.to_owned());
            return true;
        };
        if let Some(vus) = &mut self.vus {
            vus.hear(owner, key, message, len, Some(held));
        }
        self.tell_k6(now_ns, owner);
        true
    }

    /// An open WebSocket of a script is lost.
    pub(crate) fn lost_for_script(&mut self, now_ns: u64, slot: ConnSlot, detail: &str) {
        self.end_socket(now_ns, slot, ABNORMAL, detail, 0);
    }

    fn end_socket(&mut self, now_ns: u64, slot: ConnSlot, code: u16, reason: &str, len: usize) {
        let key = self.conns[slot].user;
        let owner = self.users.owner(key);
        self.conns.close(&mut self.users, slot);
        if let Some(vus) = &mut self.vus {
            let message = Message::Close { code, reason: reason.to_owned() };
            vus.hear(owner, key, message, len, None);
        }
        self.tell_k6(now_ns, owner);
        self.wake_at(key, now_ns);
    }

    /// Sends what the user's script sends over one of its WebSockets. One that is not open any more takes nothing.
    pub(super) fn send_for_script(&mut self, now_ns: u64, owner: UserKey, outgoing: Outgoing) {
        let branch = self.vus.as_ref().and_then(|vus| vus.branch_of(owner, outgoing.id));
        let Some(branch) = branch else {
            return;
        };
        let Some(slot) = self.stream(branch).filter(|&slot| self.is_open_websocket(slot)) else {
            return;
        };
        let start = self.conns.commands.bytes.len();
        match outgoing.message {
            Message::Text(text) => {
                let write = |out: &mut Vec<u8>| out.extend_from_slice(text.as_bytes());
                self.conns.encode_message(slot, MessageKind::Text, write);
            }
            Message::Binary(bytes) => {
                let write = |out: &mut Vec<u8>| out.extend_from_slice(&bytes);
                self.conns.encode_message(slot, MessageKind::Binary, write);
            }
            Message::Ping(bytes) | Message::Pong(bytes) => {
                self.conns.encode_ping(&bytes[..bytes.len().min(PING_BYTES_MAX)]);
            }
            Message::Close { code, reason } => {
                return self.close_socket(now_ns, owner, branch, code, &reason);
            }
        }
        self.send_control(slot, start);
    }

    /// The script closes the WebSocket of a branch, which waits for the peer's close frame.
    fn close_socket(
        &mut self,
        now_ns: u64,
        owner: UserKey,
        branch: UserKey,
        code: u16,
        reason: &str,
    ) {
        let Some(Op::K6Next(next)) = self.users.op(branch) else {
            return;
        };
        let Some(socket) = next.socket else {
            return;
        };
        if let Some(vus) = &mut self.vus {
            vus.closes(owner, branch, code);
        }
        self.users[branch].pc = socket.close;
        if !matches!(self.close(now_ns, branch, code, reason), Flow::Wait) {
            self.users[branch].pc = socket.close + 1;
            self.wake_at(branch, now_ns);
        }
    }

    /// The branch of an iteration that ends closes its WebSocket.
    pub(crate) fn leave_socket(&mut self, branch: UserKey) {
        let slot = self.stream(branch).filter(|&slot| self.is_open_websocket(slot));
        if let Some(slot) = slot.filter(|_| self.vus.is_some()) {
            self.send_close_frame(slot, GOING_AWAY, "");
        }
    }
}
