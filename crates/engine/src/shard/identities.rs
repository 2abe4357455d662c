//! Cookies and digest authentication: what requests carry of a user's identity, and what it keeps
//! of responses.

use plan::Digest;
use plan::expr::Template;
use proto::http1::Head;

use super::Shard;
use crate::identity::Identity;
use crate::identity::cookies::Place;
use crate::identity::digest::{Request, Session};

/// How often one operation answers challenges: once, and once more where the nonce was stale.
const CHALLENGES_MAX: u8 = 2;

impl Shard<'_> {
    fn has_cookies(&self, key: u32) -> bool {
        self.plan.sessions[self.users[key].session as usize].cookies
    }

    fn identity(&mut self, key: u32) -> &mut Identity {
        self.identities.entry(key).or_default()
    }

    /// The user is gone, or begins anew.
    pub(super) fn forget_identity(&mut self, key: u32, gone: bool) {
        if self.identities.is_empty() {
            return;
        }
        if gone {
            self.identities.remove(&key);
        } else if let Some(identity) = self.identities.get_mut(&key) {
            identity.forget();
        }
    }

    /// An operation begins that may be challenged.
    pub(super) fn expect_challenge(&mut self, key: u32) {
        let value = self.users[key].value;
        let identity = self.identity(key);
        identity.challenges = 0;
        identity.before = Some(value);
    }

    /// The operation is to draw the same values as when it was challenged.
    fn redraw(&mut self, key: u32) {
        if let Some(before) = self.identity(key).before {
            self.users[key].value = before;
        }
    }

    /// Adds the user's cookies to the request that was appended since `start` and goes out over
    /// this connection, unless its step has a `cookie` header of its own. `own`: names of cookies
    /// that the step gives itself; the user's others are put before them.
    pub(super) fn carry_cookies(
        &mut self,
        now_ns: u64,
        slot: u32,
        headers: &[(String, Template)],
        own: &[String],
        start: usize,
    ) {
        let key = self.conns[slot].user;
        if !self.has_cookies(key) {
            return;
        }
        let (_, path) = request_line(&self.commands.bytes[start..]);
        let is_cookie = |(name, _): &(String, Template)| name.eq_ignore_ascii_case("cookie");
        let has_own = headers.iter().any(is_cookie);
        let line = match self.identities.get(&key) {
            Some(identity) if !has_own || !own.is_empty() => {
                let place = self.cookie_place(slot, headers, &path);
                let now_s = self.unix_ms(now_ns) / 1000;
                identity.jar.line(place, now_s, own)
            }
            _ => Vec::new(),
        };
        if !line.is_empty() {
            self.put_cookies(start, line, has_own);
        }
        let beside = self.conns[slot].is_beside_steps();
        *self.identity(key).path_mut(beside) = path;
    }

    /// Keeps the cookies of a response that came over this connection.
    pub(super) fn keep_cookies(
        &mut self,
        now_ns: u64,
        slot: u32,
        headers: &[(String, Template)],
        head: &Head<'_>,
    ) {
        let key = self.conns[slot].user;
        if !self.has_cookies(key) {
            return;
        }
        let now_s = self.unix_ms(now_ns) / 1000;
        // Taken out while its jar learns of places that borrow from the shard.
        let Some(mut identity) = self.identities.remove(&key) else {
            return;
        };
        let Identity {
            jar,
            path,
            path_beside,
            ..
        } = &mut identity;
        let path = match self.conns[slot].is_beside_steps() {
            true => path_beside,
            false => path,
        };
        let place = self.cookie_place(slot, headers, path);
        for (name, value) in head.headers() {
            if name.eq_ignore_ascii_case("set-cookie") {
                jar.take(value, place, now_s);
            }
        }
        self.identities.insert(key, identity);
    }

    /// Whose cookies these are: those of the step's own `host` where it is the same for every user,
    /// else of the connection's endpoint.
    fn cookie_place<'a>(
        &'a self,
        slot: u32,
        headers: &'a [(String, Template)],
        path: &'a str,
    ) -> Place<'a> {
        let endpoint = &self.plan.endpoints[self.conns[slot].endpoint as usize];
        let mut headers = headers.iter();
        let own = headers.find(|(name, _)| name.eq_ignore_ascii_case("host"));
        let own = own.and_then(|(_, value)| value.as_static());
        let host = own.map(|host| match host.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => host,
        });
        Place {
            host: host.unwrap_or(&endpoint.host),
            path,
            secure: endpoint.tls,
        }
    }

    /// Adds the answer to the challenge that the user knows of, if any. The error says why there
    /// can be none.
    pub(super) fn answer_challenge(
        &mut self,
        now_ns: u64,
        slot: u32,
        digest: &Digest,
        start: usize,
    ) -> Result<(), String> {
        let (key, endpoint) = (self.conns[slot].user, self.conns[slot].endpoint);
        if self.identity(key).session(endpoint).is_none() {
            return Ok(());
        }
        let unix_ms = self.unix_ms(now_ns);
        let (user, password) = (
            self.text_of(key, unix_ms, &digest.user)?,
            self.text_of(key, unix_ms, &digest.password)?,
        );
        let (method, uri) = request_line(&self.commands.bytes[start..]);
        let request = Request {
            user: &user,
            password: &password,
            method: &method,
            uri: &uri,
        };
        let fresh = self.wire_rng.next_u64();
        let session = self.identity(key).session(endpoint);
        let value = session.map_or(String::new(), |session| session.answer(&request, fresh));
        if !proto::http1::is_field_value(value.as_bytes()) {
            return Err("the answer to the challenge cannot stand in a header line".to_owned());
        }
        self.add_lines(start, format!("authorization: {value}\r\n").into_bytes());
        Ok(())
    }

    /// Puts cookies into the request that was appended since `start`: a line, or what stands before
    /// the cookies of the line that is there.
    fn put_cookies(&mut self, start: usize, mut cookies: Vec<u8>, has_own: bool) {
        const NAME: &[u8] = b"\r\ncookie: ";
        if !has_own {
            let line = [b"cookie: ", &cookies[..], b"\r\n"].concat();
            return self.add_lines(start, line);
        }
        let mut windows = self.commands.bytes[start..].windows(NAME.len());
        if let Some(at) = windows.position(|window| window == NAME) {
            cookies.extend_from_slice(b"; ");
            let at = start + at + NAME.len();
            self.commands.bytes.splice(at..at, cookies);
        }
    }

    /// Puts further header lines into the request that was appended since `start`.
    fn add_lines(&mut self, start: usize, lines: Vec<u8>) {
        let end = start + head_end(&self.commands.bytes[start..]);
        self.commands.bytes.splice(end..end, lines);
    }

    fn text_of(&mut self, key: u32, unix_ms: i64, template: &Template) -> Result<String, String> {
        let mut out = Vec::new();
        template
            .render(&mut self.users[key].scope(unix_ms), &mut out)
            .map_err(|error| error.to_string())?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// True where the response is a challenge that the request is to answer: then the request is
    /// ready to be sent again.
    pub(super) fn is_challenged(&mut self, slot: u32, head: &Head<'_>) -> bool {
        if head.status != 401 {
            return false;
        }
        let (key, endpoint) = (self.conns[slot].user, self.conns[slot].endpoint);
        let asked = head
            .headers()
            .filter(|(name, _)| name.eq_ignore_ascii_case("www-authenticate"));
        let Some(session) = Session::of(asked.map(|(_, value)| value)) else {
            return false;
        };
        let identity = self.identity(key);
        let again =
            identity.challenges == 0 || session.stale && identity.challenges < CHALLENGES_MAX;
        if again {
            identity.challenges += 1;
            identity.answer_with(endpoint, session);
            self.redraw(key);
        }
        again
    }
}

/// Method and target of an encoded request.
fn request_line(bytes: &[u8]) -> (String, String) {
    let line = bytes
        .split(|byte| *byte == b'\r')
        .next()
        .unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split(' ');
    let mut word = || words.next().unwrap_or_default().to_owned();
    (word(), word())
}

/// Where further header lines go in an encoded request: before its empty line.
fn head_end(bytes: &[u8]) -> usize {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
    end.map_or(bytes.len(), |end| end + 2)
}
