//! Cookies and digest authentication: what requests carry of a user's identity, and what it keeps
//! of responses.

use proto::http1::Head;
use scenario::expr::Template;
use scenario::plan::{Digest, EndpointId, HttpOp, WsOpen};

use super::Worker;
use crate::identity::Identity;
use crate::identity::cookies::Place;
use crate::identity::digest::{Request, Session};

/// How often one operation answers challenges: once, and once more where the nonce was stale.
const CHALLENGES_MAX: u8 = 2;

/// A step that makes a request, as far as identities need it.
pub(super) struct Step<'p> {
    pub(super) endpoint: EndpointId,
    pub(super) headers: &'p [(String, Template)],
    pub(super) digest: Option<&'p Digest>,
}

impl<'p> Step<'p> {
    pub(super) fn http(http: &'p HttpOp) -> Step<'p> {
        Step {
            endpoint: http.endpoint,
            headers: &http.headers,
            digest: http.digest.as_deref(),
        }
    }

    pub(super) fn handshake(open: &'p WsOpen) -> Step<'p> {
        Step {
            endpoint: open.endpoint,
            headers: &open.headers,
            digest: None,
        }
    }
}

impl Worker<'_> {
    /// True where the user's request depends on who it is.
    pub(super) fn is_identified(&self, key: u32, digest: Option<&Digest>) -> bool {
        digest.is_some() || self.has_cookies(key)
    }

    pub(super) fn has_cookies(&self, key: u32) -> bool {
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

    /// Adds what the request that was appended since `start` must carry. The error says what cannot
    /// be sent.
    pub(super) fn identify(
        &mut self,
        now_ns: u64,
        key: u32,
        step: &Step<'_>,
        start: usize,
    ) -> Result<(), String> {
        let mut lines = Vec::new();
        let (method, path) = request_line(&self.commands.bytes[start..]);
        if self.has_cookies(key) {
            let host = self.cookie_host(step);
            let place = Place {
                host,
                path: &path,
                secure: self.plan.endpoints[step.endpoint as usize].tls,
            };
            let own = |(name, _): &(String, Template)| name.eq_ignore_ascii_case("cookie");
            if let Some(identity) = self.identities.get(&key)
                && !step.headers.iter().any(own)
            {
                identity
                    .jar
                    .write(place, self.unix_ms(now_ns) / 1000, &mut lines);
            }
        }
        if let Some(digest) = step.digest {
            self.answer(
                now_ns,
                key,
                (step.endpoint, digest),
                (&method, &path),
                &mut lines,
            )?;
        }
        self.identity(key).path = path;
        let end = head_end(&self.commands.bytes[start..]);
        self.commands.bytes.splice(start + end..start + end, lines);
        Ok(())
    }

    /// Appends the answer to the challenge that the user knows of, if any.
    fn answer(
        &mut self,
        now_ns: u64,
        key: u32,
        (endpoint, digest): (EndpointId, &Digest),
        (method, uri): (&str, &str),
        lines: &mut Vec<u8>,
    ) -> Result<(), String> {
        if self.identity(key).session(endpoint).is_none() {
            return Ok(());
        }
        let unix_ms = self.unix_ms(now_ns);
        let (user, password) = (
            self.text_of(key, unix_ms, &digest.user)?,
            self.text_of(key, unix_ms, &digest.password)?,
        );
        let fresh = self.wire_rng.next_u64();
        let request = Request {
            user: &user,
            password: &password,
            method,
            uri,
        };
        if let Some(session) = self.identity(key).session(endpoint) {
            let value = session.answer(&request, fresh);
            if !proto::http1::is_field_value(value.as_bytes()) {
                return Err("the answer to the challenge cannot stand in a header line".to_owned());
            }
            lines.extend_from_slice(b"authorization: ");
            lines.extend_from_slice(value.as_bytes());
            lines.extend_from_slice(b"\r\n");
        }
        Ok(())
    }

    fn text_of(&mut self, key: u32, unix_ms: i64, template: &Template) -> Result<String, String> {
        let mut out = Vec::new();
        template
            .render(&mut self.users[key].scope(unix_ms), &mut out)
            .map_err(|error| error.to_string())?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// Whose cookies a step's are: the scenario's own `host` where it is the same for every user,
    /// else the endpoint's.
    fn cookie_host<'a>(&'a self, step: &Step<'a>) -> &'a str {
        let mut headers = step.headers.iter();
        let own = headers.find(|(name, _)| name.eq_ignore_ascii_case("host"));
        let own = own.and_then(|(_, value)| value.as_static());
        let host = own.map(|host| match host.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => host,
        });
        host.unwrap_or(&self.plan.endpoints[step.endpoint as usize].host)
    }

    /// Keeps the cookies of a response.
    pub(super) fn keep_cookies(&mut self, now_ns: u64, key: u32, step: &Step<'_>, head: &Head<'_>) {
        if !self.has_cookies(key) {
            return;
        }
        let now_s = self.unix_ms(now_ns) / 1000;
        let host = self.cookie_host(step).to_owned();
        let secure = self.plan.endpoints[step.endpoint as usize].tls;
        let identity = self.identity(key);
        let path = std::mem::take(&mut identity.path);
        let place = Place {
            host: &host,
            path: &path,
            secure,
        };
        for (name, value) in head.headers() {
            if name.eq_ignore_ascii_case("set-cookie") {
                identity.jar.take(value, place, now_s);
            }
        }
        identity.path = path;
    }

    /// True where the response is a challenge that the request is to answer: then the request is
    /// ready to be sent again.
    pub(super) fn is_challenged(&mut self, key: u32, step: &Step<'_>, head: &Head<'_>) -> bool {
        if step.digest.is_none() || head.status != 401 {
            return false;
        }
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
            identity.answer_with(step.endpoint, session);
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
