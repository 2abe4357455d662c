//! HTTP steps: requests out, responses in.

mod contents;
mod continuing;
mod redirects;
mod resend;

use plan::expr::{Context, Template, TemplatePart};
use plan::{Digest, EndpointId, HttpConnections, HttpOp, Op};
use proto::http1::{self, Head};
use record::Outcome;
use record::schema::WorkKind;

use crate::conn::{Link, PendingOperation, Reuse, SWITCHING, Stage, http_outcome};
use crate::failures::{BODY_BYTES_MAX, Cause, Code};
use crate::identity::{Exchange, path_of};
use crate::interpreter::{Flow, Interpreter};
use crate::protocols::Protocol;
use crate::received::{Label, ReceivedMessage};
use crate::requests::encode_http;
use crate::tables::budget::EXHAUSTED;
use crate::tables::slots::{ConnSlot, UserKey};
use crate::users::Wait;

impl<'p> Interpreter<'p> {
    pub(crate) fn request(&mut self, now_ns: u64, key: UserKey, http: &HttpOp) -> Flow {
        self.begin(now_ns, key);
        self.follows.forget(key);
        if http.digest.is_some() {
            let values = self.users[key].value;
            self.identities.expect_challenge(key, values);
        }
        self.reach(now_ns, key, http);
        Flow::Wait
    }

    /// Sends the user's request, over a new connection if none is idle.
    pub(crate) fn reach(&mut self, now_ns: u64, key: UserKey, http: &HttpOp) {
        let endpoint = match self.locate(key, http) {
            Ok(endpoint) => endpoint,
            Err(error) => return self.cannot_send(now_ns, key, error),
        };
        match self.conns.take_idle(&mut self.users, key, endpoint) {
            Some(slot) => {
                self.count_connected(key);
                self.send_request(now_ns, key, slot);
            }
            None => self.ride_or_open(now_ns, key, endpoint),
        }
    }

    /// The endpoint of a request. The error says why there is none.
    fn locate(&mut self, key: UserKey, http: &HttpOp) -> Result<EndpointId, String> {
        if let Some(hop) = self.follows.hop(key) {
            return Ok(hop.endpoint);
        }
        self.first_endpoint(key, http)
    }

    /// The endpoint of a request before any redirect.
    #[inline]
    pub(crate) fn first_endpoint(
        &mut self,
        key: UserKey,
        http: &HttpOp,
    ) -> Result<EndpointId, String> {
        if http.by_script {
            let url = self.script_request(key).map_or("", |request| &request.url);
            let named = self.requests.endpoint_at(self.plan, url)?;
            return named.ok_or_else(|| format!("{url:?} is no whole URL"));
        }
        let Some(slot) = http.located_by else {
            return Ok(self.users.endpoint(key, http.endpoint));
        };
        let url = self.users.scope(0, key).var(slot).to_text();
        let named = self.requests.endpoint_at(self.plan, &url)?;
        Ok(named.unwrap_or_else(|| self.users.endpoint(key, EndpointId(0))))
    }

    /// The HTTP step the user is at.
    pub(crate) fn http_op(&self, key: UserKey) -> &'p HttpOp {
        match self.users.op(key) {
            Some(Op::Http(http)) => http,
            other => unreachable!("a response is in flight at {other:?}"),
        }
    }

    pub(crate) fn send_request(&mut self, now_ns: u64, key: UserKey, slot: ConnSlot) {
        let http = self.http_op(key);
        if let Some(sender) = self.send_prepared(key, slot, http) {
            return self.hold_unsent(now_ns, slot, sender);
        }
        let start = self.conns.commands.bytes.len();
        let began_ns = self.begin_making(key);
        if let Err(error) = self.encode_request(now_ns, key, slot, http) {
            self.end_work(key, WorkKind::Encoding, began_ns);
            self.conns.commands.bytes.truncate(start);
            self.conns.release(&mut self.users, slot);
            return self.cannot_send(now_ns, key, error);
        }
        let is_held = http.continue_ns > 0 && self.hold_body(slot, start);
        let is_head = self.request_method(key, http) == "HEAD";
        let conn = &mut self.conns[slot];
        conn.stage = Stage::Busy;
        if let Some(decoder) = conn.http() {
            decoder.begin(is_head);
        }
        if http.by_script
            && let Some(vus) = &mut self.vus
        {
            vus.sent(key, now_ns);
        }
        let sender = self.send_for_user(slot, start);
        self.end_work(key, WorkKind::Encoding, began_ns);
        if is_held {
            return self.wait_for_continue(now_ns, slot);
        }
        let deadline_ns = self.users[key].sent_ns + self.request_timeout_ns(key, http);
        self.wait_for(key, Wait::Response, deadline_ns);
        if sender != slot {
            self.hold_unsent(now_ns, slot, sender);
        }
    }

    /// Appends the request, with what its user's identity adds. The error says what cannot be sent.
    fn encode_request(
        &mut self,
        now_ns: u64,
        key: UserKey,
        slot: ConnSlot,
        http: &'p HttpOp,
    ) -> Result<(), String> {
        let user = &self.users[key];
        let out = &mut self.conns.commands.bytes;
        let start = out.len();
        if let Some(hop) = self.follows.hop(key) {
            let hop = hop.clone();
            let endpoint = self.conns.table[slot].endpoint;
            let first = self.first_request(now_ns, key, http)?;
            let out = &mut self.conns.commands.bytes;
            hop.rewrite(&first, self.requests.authority(endpoint), out);
        } else if let Some(request) = self.requests.constant(user.session, user.pc) {
            out.extend_from_slice(request);
        } else if let (true, Some(vus)) = (http.by_script, &self.vus) {
            let at = self.conns.table[slot].endpoint;
            vus.encode(key, self.requests.authority(at), out)?;
            if self.users.session(key).cookies {
                let path = path_of(&self.conns.commands.bytes[start..]);
                self.follows.remember_path(key, path);
            }
        } else {
            let at = self.conns.table[slot].endpoint;
            let base_path = &*self.plan.endpoints[at.index()].base_path;
            let authority = self.requests.authority(at);
            let before = user.value;
            let scope = &mut self.users.scope(now_ns, key);
            encode_http(http, authority, base_path, &self.plan.calls, scope, out)?;
            if self.users.session(key).cookies && fixed_path(&http.path).is_none() {
                let path = path_of(&self.conns.commands.bytes[start..]);
                self.follows.remember_path(key, path);
            }
            let conn = &self.conns.table[slot];
            let may_repeat = http.redirects > 0
                || conn.reuse == Reuse::Served
                || matches!(conn.link, Link::Stream(_));
            if may_repeat && self.users[key].value != before {
                self.follows.remember(key, before);
            }
        }
        match self.script_cookies(key) {
            Some(own) => {
                let headers = [("cookie".to_owned(), Template::default())];
                self.carry_cookies(now_ns, slot, &headers, &own, start);
            }
            None => {
                let (headers, own_cookies) = self.own_headers(key, http);
                self.carry_cookies(now_ns, slot, headers, own_cookies, start);
            }
        }
        if let Some(aws) = http.sign.as_ref().filter(|_| !self.follows.left_host(key)) {
            let scope = &mut self.users.scope(now_ns, key);
            let bytes = &mut self.conns.commands.bytes;
            return self.identities.sign(aws, scope, bytes, start);
        }
        match &http.digest {
            Some(digest) if !self.follows.left_host(key) => {
                self.answer_challenge(now_ns, slot, digest, start)
            }
            _ => Ok(()),
        }
    }

    fn cannot_send(&mut self, now_ns: u64, key: UserKey, error: String) {
        self.fail_because(now_ns, key, self.users.blame(), 0, || error);
    }

    /// Sends what was appended to the command bytes since `start`, as bytes of the operation in
    /// flight. Returns the connection that sends.
    #[inline]
    pub(crate) fn send_for_user(&mut self, slot: ConnSlot, start: usize) -> ConnSlot {
        self.trace_sent(slot, start);
        let sender = self.conns.frame_request(slot, start);
        let bytes_out = (self.conns.commands.bytes.len() - start) as u32;
        let user = &mut self.users[self.conns[slot].user];
        user.bytes_out = user.bytes_out.saturating_add(bytes_out);
        self.conns.transmit(sender, start);
        sender
    }

    /// A response that came in one piece: how many bytes it took; `None`: it does not.
    pub(crate) fn decode_whole(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        bytes: &[u8],
    ) -> Option<usize> {
        let conn = &mut self.conns.table[slot];
        let Link::Http1(decoder) = &mut conn.link else {
            return None;
        };
        if conn.pending.is_some() {
            return None;
        }
        match decoder.decode_whole(bytes, &mut self.conns.heads) {
            Ok(Some((taken, whole))) => {
                let user = &mut self.users[conn.user];
                user.bytes_in = user.bytes_in.saturating_add(taken as u32);
                let surplus = taken < bytes.len();
                self.end_response(now_ns, slot, &whole.head, whole.body, surplus);
                Some(taken)
            }
            Ok(None) => None,
            Err(error) => {
                self.lost(now_ns, slot, http_outcome(&error), || error.to_string());
                Some(bytes.len())
            }
        }
    }

    /// The head of a response that comes in pieces.
    pub(crate) fn keep_head(&mut self, slot: ConnSlot, head: &Head<'_>) {
        let status = head.status;
        let head = head.raw.to_vec();
        if let Some(poller) = self.conns[slot].poller() {
            poller.head = head;
            return;
        }
        let key = self.conns[slot].user;
        let http = self.http_op(key);
        if let Some(vus) = &mut self.vus {
            vus.first_byte(key, self.work.turn_ns);
        }
        let failures = &self.recorder.failures;
        let body_bytes_max = match self.recorder.trace.is_some() || http.keeps_body() {
            true => usize::MAX,
            // A sample shows how it begins. With one byte more it is known that it goes on.
            false if !http.status.allows(status) && failures.wants_status(http.measure, status) => {
                BODY_BYTES_MAX + 1
            }
            false => 0,
        };
        let response = PendingOperation::Response {
            head,
            body: Vec::new(),
            body_bytes_max,
            closes: self.is_body_held(slot),
        };
        self.conns[slot].pending = Some(Box::new(response));
    }

    /// A piece of its body.
    pub(crate) fn keep_piece(&mut self, slot: ConnSlot, piece: &[u8]) {
        let conn = &mut self.conns[slot];
        if let Some(poller) = conn.poller() {
            poller.body.extend_from_slice(piece);
        } else if let Some(PendingOperation::Response { body, body_bytes_max, .. }) =
            conn.pending.as_deref_mut()
        {
            let left = body_bytes_max.saturating_sub(body.len());
            body.extend_from_slice(&piece[..piece.len().min(left)]);
        }
    }

    /// All pieces are there; `surplus`: more bytes follow them.
    pub(crate) fn end_pieces(&mut self, now_ns: u64, slot: ConnSlot, surplus: bool) {
        let Some(PendingOperation::Response { head, body, closes, .. }) =
            self.conns[slot].pending.take().map(|pending| *pending)
        else {
            return;
        };
        if closes && let Some(decoder) = self.conns[slot].http() {
            decoder.refuse_reuse();
        }
        let head = head_again(&head);
        self.end_response(now_ns, slot, &head, &body, surplus);
    }

    pub(crate) fn end_response(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        head: &Head<'_>,
        body: &[u8],
        surplus: bool,
    ) {
        let key = self.conns[slot].user;
        let http = self.http_op(key);
        let decoded = self.decoded(key, http, head, body);
        let plain = match &decoded {
            Ok(Some(plain)) => plain,
            Ok(None) | Err(_) => body,
        };
        self.trace_answer(key, head, plain);
        let keep_alive = self.may_keep(slot, surplus);
        self.conns[slot].reuse = Reuse::Served;
        let endpoint = self.conns[slot].endpoint;
        self.keep_cookies(now_ns, slot, &http.path, self.own_headers(key, http).0, head);
        let answers = http.digest.is_some() && !self.follows.left_host(key);
        if answers && self.is_challenged(slot, head) {
            // It goes out once more, with the answer, as the same operation.
            if keep_alive {
                return self.send_request(now_ns, key, slot);
            }
            self.conns.close(&mut self.users, slot);
            return self.reach(now_ns, key, http);
        }
        if keep_alive {
            self.conns.release(&mut self.users, slot);
        } else {
            self.conns.close(&mut self.users, slot);
        }
        if http.redirects > 0
            && crate::fetch::is_redirect(head.status)
            && !self.keeps_redirect(key, http)
            && let Some(location) = head.header("location")
        {
            return self.redirected(now_ns, key, endpoint, head.status, &location);
        }
        let is_decoded = matches!(decoded, Ok(Some(_)));
        let received = ReceivedMessage {
            head: Some(head),
            body: plain,
            is_decoded,
            label: Label::Nothing,
            took_ns: Some(now_ns.saturating_sub(self.users[key].due_ns)),
        };
        self.weigh_response(now_ns, key, &received, decoded.as_ref().err());
    }

    /// Looks into the last response of a request and ends its operation. `damage`: why its body cannot be decoded.
    fn weigh_response(
        &mut self,
        now_ns: u64,
        key: UserKey,
        received: &ReceivedMessage<'_>,
        damage: Option<&(Outcome, String)>,
    ) {
        let (http, Some(head)) = (self.http_op(key), received.head) else {
            return;
        };
        self.follows.forget_first(key);
        let began_ns = self.begin_reading(key);
        let mut outcome = if http.by_script && damage.is_none() {
            let outcome = self.answer_script(now_ns, key, head, received.body);
            if outcome == Outcome::NoMemory {
                let text = || EXHAUSTED.to_owned();
                self.explain_answer(now_ns, key, outcome, Cause::Text, received, text);
            } else if outcome != Outcome::Ok {
                let cause = Cause::Code(Code::Status(head.status));
                let text = || format!("status {}", head.status);
                self.explain_answer(now_ns, key, outcome, cause, received, text);
            }
            outcome
        } else if !http.by_script && !http.status.allows(head.status) {
            // What it lacks is not its fault: it is not the answer that was wanted.
            let _ = self.keep(now_ns, key, &http.save, received);
            let outcome = Outcome::Status;
            let cause = Cause::Code(Code::Status(head.status));
            let text = || format!("status {}", head.status);
            self.explain_answer(now_ns, key, outcome, cause, received, text);
            outcome
        } else if let Some((outcome, detail)) = damage {
            let text = || detail.clone();
            self.explain_answer(now_ns, key, *outcome, Cause::Text, received, text);
            *outcome
        } else if let Some(outcome) =
            self.answered_with_errors(now_ns, key, http.graphql, &http.save, received)
        {
            outcome
        } else {
            self.examine(now_ns, key, &http.save, &http.check, received)
        };
        if let Err(detail) = refuse_switch(head, &http.headers) {
            outcome = Outcome::HttpProtocol;
            self.explain_answer(now_ns, key, outcome, Cause::Text, received, || detail);
        }
        self.end_work(key, WorkKind::Save, began_ns);
        self.conclude(now_ns, key, outcome, head.status);
    }

    /// Whether an HTTP connection may serve again after its response. Bytes that follow a response
    /// would be taken for the next one (RFC 9112 §9.2).
    #[inline]
    pub(crate) fn may_keep(&mut self, slot: ConnSlot, surplus: bool) -> bool {
        self.recorder.counts.unsolicited += u64::from(surplus);
        let decoder = self.conns[slot].http();
        let is_for_one = self.plan.options.http_connections == HttpConnections::Request;
        decoder.is_some_and(|decoder| decoder.keep_alive()) && !surplus && !is_for_one
    }

    /// The peer closed: true if that is how the response ends (RFC 9112 §6.3 rule 8). The error says
    /// where it was truncated.
    pub(crate) fn ended_by_close(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
    ) -> Result<bool, http1::Error> {
        let conn = &mut self.conns[slot];
        if conn.stage != Stage::Busy {
            return Ok(false);
        }
        let Some(decoder) = conn.http() else {
            return Ok(false);
        };
        if !decoder.finish()? {
            return Ok(false);
        }
        self.take_end(now_ns, slot, &[], false);
        Ok(true)
    }

    // Cookies and digest authentication.

    /// The exchange on this connection, if its user keeps cookies.
    fn cookie_exchange<'a>(
        &self,
        now_ns: u64,
        slot: ConnSlot,
        headers: &'a [(String, Template)],
    ) -> Option<Exchange<'a, UserKey>>
    where
        'p: 'a,
    {
        let conn = &self.conns[slot];
        if self.script_request(conn.user).is_some_and(|asked| asked.bare) {
            return None;
        }
        self.users.session(conn.user).cookies.then(|| Exchange {
            owner: self.users.owner(conn.user),
            endpoint: &self.plan.endpoints[conn.endpoint.index()],
            headers,
            now_s: self.users.unix_ms(now_ns) / 1000,
        })
    }

    /// Adds the user's cookies to the request that was appended since `start`. `own`: names of
    /// cookies that the step gives itself.
    fn carry_cookies(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        headers: &[(String, Template)],
        own: &[String],
        start: usize,
    ) {
        if let Some(exchange) = self.cookie_exchange(now_ns, slot, headers) {
            let bytes = &mut self.conns.commands.bytes;
            self.identities.carry_cookies(&exchange, own, bytes, start);
        }
    }

    /// Inserts cookies into a handshake, the request of an event stream, or a poll. Other steps of their user may go on
    /// until their response comes: a path that varies is kept.
    pub(crate) fn carry_cookies_along(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        path: &Template,
        headers: &[(String, Template)],
        start: usize,
    ) {
        let key = self.conns[slot].user;
        if self.users.session(key).cookies && fixed_path(path).is_none() {
            let path = path_of(&self.conns.commands.bytes[start..]);
            let background = self.conns[slot].runs_in_background();
            self.identities.remember_path(key, background, path);
        }
        self.carry_cookies(now_ns, slot, headers, &[], start);
    }

    /// Keeps the cookies of a response that came over this connection.
    pub(crate) fn keep_cookies(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        path: &Template,
        headers: &[(String, Template)],
        head: &Head<'_>,
    ) {
        let key = self.conns[slot].user;
        if !self.users.session(key).cookies {
            return;
        }
        if head.may_set_cookies && head.header("set-cookie").is_some() {
            let path = self.requested_path(slot, path);
            if let Some(exchange) = self.cookie_exchange(now_ns, slot, headers) {
                self.identities.keep_cookies(&exchange, &path, head);
            }
        }
        let conn = &self.conns[slot];
        if matches!(conn.speaks, Protocol::Http) {
            self.follows.forget_path(key);
        } else if fixed_path(path).is_none() {
            self.identities.forget_path(key, conn.runs_in_background());
        }
    }

    /// The path of the request whose response this connection has, as it was sent: what it is made of may be different now.
    fn requested_path(&self, slot: ConnSlot, path: &Template) -> String {
        let key = self.conns[slot].user;
        let is_step = matches!(self.conns[slot].speaks, Protocol::Http);
        if is_step && let Some(hop) = self.follows.hop(key) {
            return hop.target.clone();
        }
        if let Some(path) = fixed_path(path) {
            return path.to_owned();
        }
        let kept = match is_step {
            true => self.follows.path(key),
            false => {
                let background = self.conns[slot].runs_in_background();
                self.identities.remembered_path(key, background)
            }
        };
        kept.unwrap_or_default().to_owned()
    }

    /// Adds the answer to the challenge that the user knows of, if any.
    fn answer_challenge(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        digest: &Digest,
        start: usize,
    ) -> Result<(), String> {
        let key = self.conns[slot].user;
        let endpoint = self.conns[slot].endpoint;
        let owner = self.users.owner(key);
        if !self.identities.is_known(owner, endpoint) {
            return Ok(());
        }
        let user = self.text(now_ns, key, &digest.user)?;
        let password = self.text(now_ns, key, &digest.password)?;
        let fresh = self.conns.wire_rng.next_u64();
        let bytes = &mut self.conns.commands.bytes;
        self.identities.answer_challenge(owner, endpoint, &user, &password, fresh, bytes, start)
    }

    fn text(&mut self, now_ns: u64, key: UserKey, template: &Template) -> Result<String, String> {
        let mut out = Vec::new();
        template
            .render(&mut self.users.scope(now_ns, key), &mut out)
            .map_err(|error| error.to_string())?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// True if the response is a challenge that the request is to answer: then the request is ready
    /// to be sent again.
    fn is_challenged(&mut self, slot: ConnSlot, head: &Head<'_>) -> bool {
        let key = self.conns[slot].user;
        let endpoint = self.conns[slot].endpoint;
        match self.identities.challenged(key, self.users.owner(key), endpoint, head) {
            Some(values) => {
                self.users[key].value = values;
                true
            }
            None => false,
        }
    }
}

/// The path where it is the same for every user, though its query need not be.
fn fixed_path(path: &Template) -> Option<&str> {
    path.as_static().or_else(|| match path.parts.first() {
        Some(TemplatePart::Text(text)) if text.contains('?') => Some(&**text),
        _ => None,
    })
}

/// A server must not switch to a protocol that no header of the request named (RFC 9110 §7.8).
#[inline]
pub(crate) fn refuse_switch(head: &Head<'_>, headers: &[(String, Template)]) -> Result<(), String> {
    let mut names = headers.iter().map(|(name, _)| name);
    if head.status != SWITCHING || names.any(|name| name.eq_ignore_ascii_case("upgrade")) {
        return Ok(());
    }
    Err("the server switched to a protocol that was not requested".to_owned())
}

/// Reads a head that was read before: that beats keeping it in parts.
pub(crate) fn head_again(head: &[u8]) -> Head<'_> {
    Head::stored(head).expect("a head that was read once can be read again")
}
