//! HTTP steps: requests out, responses in.

use plan::{HttpOp, Op};
use proto::http1::{self, Event, Head};
use record::Outcome;

use super::Shard;
use super::connections::http_outcome;
use super::session::Flow;
use crate::conn::{Codec, Kind, Pending, Stage};
use crate::extract::{Label, Received};
use crate::user::Wait;
use crate::wire::encode_http;

impl<'p> Shard<'p> {
    pub(super) fn begin_http(&mut self, now_ns: u64, key: u32, http: &HttpOp) -> Flow {
        self.begin(now_ns, key);
        if http.digest.is_some() {
            self.expect_challenge(key);
        }
        self.reach(now_ns, key, http);
        Flow::Wait
    }

    /// Sends the user's request, over a new connection where none is idle.
    pub(super) fn reach(&mut self, now_ns: u64, key: u32, http: &HttpOp) {
        let endpoint = match self.locate(key, http) {
            Ok(endpoint) => endpoint,
            Err(error) => {
                self.explain(now_ns, key, Outcome::Step, || error);
                return self.fail(now_ns, key, Outcome::Step, 0);
            }
        };
        match self.idle_conn(key, endpoint) {
            Some(slot) => self.send_request(now_ns, key, slot),
            None => self.open_conn(now_ns, key, endpoint, Kind::Http),
        }
    }

    /// The HTTP step the user is at.
    fn http_op(&self, key: u32) -> &'p HttpOp {
        let user = &self.users[key];
        match &self.plan.sessions[user.session as usize].ops[user.pc as usize] {
            Op::Http(http) => http,
            other => unreachable!("a response is in flight at {other:?}"),
        }
    }

    pub(super) fn send_request(&mut self, now_ns: u64, key: u32, slot: u32) {
        let http = self.http_op(key);
        let (session, pc) = (self.users[key].session, self.users[key].pc);
        let start = self.commands.bytes.len();
        if let Some(request) = self.wires.request(session, pc) {
            self.commands.bytes.extend_from_slice(request);
        } else {
            let unix_ms = self.unix_ms(now_ns);
            let scope = &mut self.users[key].scope(unix_ms);
            let at = self.conns[slot].endpoint as usize;
            let place = (
                &*self.wires.authorities[at],
                &*self.plan.endpoints[at].base_path,
            );
            if let Err(error) = encode_http(http, place, scope, &mut self.commands.bytes) {
                self.release_conn(slot);
                self.explain(now_ns, key, Outcome::Step, || error);
                return self.fail(now_ns, key, Outcome::Step, 0);
            }
        }
        self.carry_cookies(now_ns, slot, &http.headers, &http.own_cookies, start);
        if let Some(digest) = &http.digest
            && let Err(error) = self.answer_challenge(now_ns, slot, digest, start)
        {
            self.commands.bytes.truncate(start);
            self.release_conn(slot);
            self.explain(now_ns, key, Outcome::Step, || error);
            return self.fail(now_ns, key, Outcome::Step, 0);
        }
        let conn = &mut self.conns[slot];
        conn.stage = Stage::Busy;
        if let Codec::Http(decoder) = &mut conn.codec {
            decoder.begin(http.method == "HEAD");
        }
        self.send(slot, start);
        let deadline_ns = self.users[key].sent_ns + http.timeout_ns;
        self.wait_for(key, Wait::Response, deadline_ns);
    }

    pub(super) fn decode_response(&mut self, now_ns: u64, slot: u32, bytes: &[u8]) -> usize {
        let conn = &mut self.conns[slot];
        let key = conn.user;
        let Codec::Http(decoder) = &mut conn.codec else {
            return bytes.len();
        };
        if conn.pending.is_none() {
            match decoder.decode_whole(bytes, &self.limits) {
                Ok(Some((taken, whole))) => {
                    self.count_in(key, taken);
                    let surplus = taken < bytes.len();
                    self.end_response(now_ns, slot, &whole.head, whole.body, surplus);
                    return taken;
                }
                Ok(None) => {}
                Err(error) => return self.break_response(now_ns, slot, &error, bytes.len()),
            }
        }
        self.decode_pieces(now_ns, slot, bytes)
    }

    /// A response that does not come in one piece.
    fn decode_pieces(&mut self, now_ns: u64, slot: u32, bytes: &[u8]) -> usize {
        let key = self.conns[slot].user;
        let keep_body = self.http_op(key).keeps_body();
        let mut taken = 0;
        loop {
            let conn = &mut self.conns[slot];
            let Codec::Http(decoder) = &mut conn.codec else {
                return bytes.len();
            };
            let (consumed, event) = match decoder.decode(&bytes[taken..], &self.limits) {
                Ok(decoded) => decoded,
                Err(error) => return self.break_response(now_ns, slot, &error, bytes.len()),
            };
            taken += consumed;
            self.users[key].bytes_in = self.users[key].bytes_in.saturating_add(consumed as u32);
            match event {
                Some(Event::Head(head)) => {
                    let head = head.raw.to_vec();
                    let response = Pending::Response {
                        head,
                        body: Vec::new(),
                        keep_body,
                    };
                    conn.pending = Some(Box::new(response));
                }
                Some(Event::Body(piece)) => {
                    if let Some(Pending::Response {
                        body,
                        keep_body: true,
                        ..
                    }) = conn.pending.as_deref_mut()
                    {
                        body.extend_from_slice(piece);
                    }
                }
                Some(Event::End) => {
                    self.end_pieces(now_ns, slot, taken < bytes.len());
                    return taken;
                }
                None if consumed == 0 => return taken,
                None => {}
            }
        }
    }

    /// All pieces are there; `surplus`: and bytes behind them.
    fn end_pieces(&mut self, now_ns: u64, slot: u32, surplus: bool) {
        let Some(Pending::Response { head, body, .. }) =
            self.conns[slot].pending.take().map(|pending| *pending)
        else {
            return;
        };
        // The head was read before; reading it again beats keeping it taken apart.
        let mut decoder = http1::Decoder::new();
        decoder.begin(true);
        match decoder.decode(&head, &self.limits) {
            Ok((_, Some(Event::Head(head)))) => {
                self.end_response(now_ns, slot, &head, &body, surplus);
            }
            _ => unreachable!("a head that was read once can be read again"),
        }
    }

    fn end_response(
        &mut self,
        now_ns: u64,
        slot: u32,
        head: &Head<'_>,
        body: &[u8],
        surplus: bool,
    ) {
        let key = self.conns[slot].user;
        let http = self.http_op(key);
        let keep_alive = match &self.conns[slot].codec {
            Codec::Http(decoder) => decoder.keep_alive(),
            _ => false,
        };
        let keep_alive = self.may_keep(keep_alive, surplus);
        self.keep_cookies(now_ns, slot, &http.headers, head);
        if http.digest.is_some() && self.is_challenged(slot, head) {
            return self.send_again(now_ns, key, slot, keep_alive);
        }
        if keep_alive {
            self.release_conn(slot);
        } else {
            self.close_conn(slot);
        }
        let received = Received {
            head: Some(head),
            body,
            label: Label::Nothing,
        };
        let mut outcome = self.examine(now_ns, key, &http.save, &http.check, &received);
        if !http.status.allows(head.status) {
            outcome = Outcome::Status;
            self.explain(now_ns, key, outcome, || format!("status {}", head.status));
        }
        self.conclude(now_ns, key, outcome, head.status);
    }

    /// Whether an HTTP connection may serve again. Bytes behind a response would be taken for the
    /// next one (RFC 9112 §9.2).
    pub(super) fn may_keep(&mut self, keep_alive: bool, surplus: bool) -> bool {
        self.recorder.counts.unsolicited += u64::from(surplus);
        keep_alive && !surplus
    }

    /// The request was challenged: it goes out once more, with the answer, as the same operation.
    fn send_again(&mut self, now_ns: u64, key: u32, slot: u32, keep_alive: bool) {
        if keep_alive {
            return self.send_request(now_ns, key, slot);
        }
        self.close_conn(slot);
        self.reach(now_ns, key, self.http_op(key));
    }

    fn break_response(
        &mut self,
        now_ns: u64,
        slot: u32,
        error: &http1::Error,
        len: usize,
    ) -> usize {
        self.lost(now_ns, slot, http_outcome(error), || error.to_string());
        len
    }

    /// The peer closed: true where that is how the response ends (RFC 9112 §6.3 rule 8). The error says
    /// where it was cut off.
    pub(super) fn ended_by_close(&mut self, now_ns: u64, slot: u32) -> Result<bool, http1::Error> {
        let conn = &mut self.conns[slot];
        if conn.stage != Stage::Busy {
            return Ok(false);
        }
        let decoder = match &mut conn.codec {
            Codec::Http(decoder) => decoder,
            Codec::Poll(poller) => &mut poller.http,
            _ => return Ok(false),
        };
        if !decoder.finish()? {
            return Ok(false);
        }
        match conn.kind {
            Kind::Poll => self.end_poll(now_ns, slot, false),
            _ => self.end_pieces(now_ns, slot, false),
        }
        Ok(true)
    }

    fn count_in(&mut self, key: u32, bytes: usize) {
        let user = &mut self.users[key];
        user.bytes_in = user.bytes_in.saturating_add(bytes as u32);
    }
}
