//! The identity of a user to servers: its cookies, the challenge that it answers, and its
//! signatures.
//!
//! Only users whom a server has given a cookie, or who answer challenges, have an identity, beside the
//! table of users: to all others it costs nothing.

mod challenge;
mod cookies;
mod date;
mod digest;
mod sign;

use std::collections::HashMap;
use std::hash::Hash;

use plan::expr::Template;
use plan::{Endpoint, EndpointId};
use proto::http1::Head;
use signing::aws::Keys;
use stats::rng::Rng;

use cookies::{Jar, Origin};
use digest::{Request, Session};

/// How often one operation answers challenges: once, and once more if the nonce was stale.
const CHALLENGES_MAX: u8 = 2;

/// State that a user keeps between requests.
#[derive(Debug, Default)]
struct Identity {
    jar: Jar,
    /// The challenges that it knows to answer, by endpoint.
    sessions: Vec<(EndpointId, Session)>,
    /// The path of the last handshake of its WebSocket, where it is not the same for every user: cookies of the response
    /// belong there.
    path: String,
    /// The same of its event stream or poll, which runs in the background.
    background_path: String,
    /// How often the operation in flight was challenged.
    challenges: u8,
    /// The user's values as they were before the operation in flight drew any: an answer to a
    /// challenge repeats the request as it was.
    before: Option<Rng>,
}

impl Identity {
    fn session(&mut self, endpoint: EndpointId) -> Option<&mut Session> {
        let found = self.sessions.iter_mut().find(|(of, _)| *of == endpoint);
        found.map(|(_, session)| session)
    }

    /// From now on this challenge is answered at the endpoint.
    fn answer_with(&mut self, endpoint: EndpointId, session: Session) {
        self.sessions.retain(|(of, _)| *of != endpoint);
        self.sessions.push((endpoint, session));
    }

    fn is_empty(&self) -> bool {
        self.jar.is_empty()
            && self.sessions.is_empty()
            && self.before.is_none()
            && self.path.is_empty()
            && self.background_path.is_empty()
    }

    fn path_mut(&mut self, is_background: bool) -> &mut String {
        if is_background { &mut self.background_path } else { &mut self.path }
    }
}

/// Reads `value` as a cookie and as a challenge, for the fuzzers.
pub fn read(value: &[u8]) {
    let origin = Origin { host: "a.example", path: "/b", secure: false };
    let mut jar = Jar::default();
    jar.take(value, origin, 0);
    jar.line(origin, 1, &[]);
    let _ = Session::strongest(std::iter::once(value));
}

/// A request and its response, as far as cookies go. `K` names a user.
#[derive(Debug, Clone, Copy)]
pub struct Exchange<'a, K> {
    /// The user whose cookies the request carries: of a branch, its owner.
    pub owner: K,
    /// The endpoint that the request goes to.
    pub endpoint: &'a Endpoint,
    /// The step's own.
    pub headers: &'a [(String, Template)],
    /// Seconds since the Unix epoch.
    pub now_s: i64,
}

/// What cookies look at of a URL.
#[derive(Debug, Clone, Copy)]
pub struct UrlParts<'a> {
    pub tls: bool,
    pub host: &'a str,
    pub path: &'a str,
}

impl<'a> UrlParts<'a> {
    /// `None`: it is no URL.
    pub fn of(url: &'a str) -> Option<UrlParts<'a>> {
        let (tls, rest) = match url.split_once("://")? {
            ("http", rest) => (false, rest),
            ("https", rest) => (true, rest),
            _ => return None,
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let host = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let path = target.split(['?', '#']).next().unwrap_or_default();
        Some(UrlParts { tls, host, path: if path.is_empty() { "/" } else { path } })
    }

    fn origin(self) -> Origin<'a> {
        Origin { host: self.host, path: self.path, secure: self.tls }
    }
}

/// The identities of a shard's users.
#[derive(Debug)]
pub struct Identities<K> {
    users: HashMap<K, Identity>,
    /// Keys with which requests to AWS services are signed.
    keys: Keys,
}

impl<K> Default for Identities<K> {
    fn default() -> Identities<K> {
        Identities { users: HashMap::new(), keys: Keys::default() }
    }
}

impl<K: Copy + Eq + Hash> Identities<K> {
    fn identity(&mut self, user: K) -> &mut Identity {
        self.users.entry(user).or_default()
    }

    /// The user is gone.
    pub fn remove(&mut self, user: K) {
        if !self.users.is_empty() {
            self.users.remove(&user);
        }
    }

    /// The user restarts its session: no server knows it.
    pub fn forget(&mut self, user: K) {
        if let Some(identity) = self.users.get_mut(&user) {
            *identity = Identity::default();
        }
    }

    /// True if the user has cookies.
    pub fn has_cookies(&self, user: K) -> bool {
        self.users.get(&user).is_some_and(|identity| !identity.jar.is_empty())
    }

    /// Adds the owner's cookies to the request that was appended since `start`, unless its step has
    /// a `cookie` header of its own. `own`: names of cookies that the step gives itself; the owner's
    /// others are put before them.
    pub fn carry_cookies(
        &self,
        exchange: &Exchange<'_, K>,
        own: &[String],
        bytes: &mut Vec<u8>,
        start: usize,
    ) {
        let identity = self.users.get(&exchange.owner).filter(|identity| !identity.jar.is_empty());
        let Some(identity) = identity else {
            return;
        };
        let is_cookie = |(name, _): &(String, Template)| name.eq_ignore_ascii_case("cookie");
        let has_own = exchange.headers.iter().any(is_cookie);
        if has_own && own.is_empty() {
            return;
        }
        let path = path_of(&bytes[start..]);
        let line = identity.jar.line(exchange.origin(&path), exchange.now_s, own);
        if !line.is_empty() {
            put_cookies(bytes, start, line, has_own);
        }
    }

    /// Keeps the cookies of the response to a request for this path.
    pub fn keep_cookies(&mut self, exchange: &Exchange<'_, K>, path: &str, head: &Head<'_>) {
        let origin = exchange.origin(path);
        for (name, value) in head.headers() {
            if name.eq_ignore_ascii_case("set-cookie") {
                self.identity(exchange.owner).jar.take(&value, origin, exchange.now_s);
            }
        }
    }

    /// Names and values of the cookies that a request of the user would carry.
    pub fn cookies(&self, user: K, destination: UrlParts<'_>, now_s: i64) -> Vec<(String, String)> {
        let Some(identity) = self.users.get(&user) else {
            return Vec::new();
        };
        let line = identity.jar.line(destination.origin(), now_s, &[]);
        let line = String::from_utf8_lossy(&line).into_owned();
        let pairs = line.split("; ").filter_map(|pair| pair.split_once('='));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// Keeps a cookie as if a response from there had set it.
    pub fn set_cookie(&mut self, user: K, line: &str, source: UrlParts<'_>, now_s: i64) {
        self.identity(user).jar.take(line.as_bytes(), source.origin(), now_s);
    }

    /// Keeps the path of a handshake, an event stream or a poll until its response comes. `background`: it is not that of a
    /// handshake.
    pub fn remember_path(&mut self, user: K, background: bool, path: String) {
        *self.identity(user).path_mut(background) = path;
    }

    /// The response to that request has come. An identity that holds nothing else is gone.
    pub fn forget_path(&mut self, user: K, background: bool) {
        let Some(identity) = self.users.get_mut(&user) else {
            return;
        };
        *identity.path_mut(background) = String::new();
        if identity.is_empty() {
            self.users.remove(&user);
        }
    }

    /// The path that was kept last.
    pub fn remembered_path(&self, user: K, background: bool) -> Option<&str> {
        let identity = self.users.get(&user)?;
        Some(if background { &identity.background_path } else { &identity.path })
    }

    /// An operation begins that may be challenged, and whose user's values are these.
    pub fn expect_challenge(&mut self, user: K, values: Rng) {
        let identity = self.identity(user);
        identity.challenges = 0;
        identity.before = Some(values);
    }

    /// True if the user, of a branch its owner, answers challenges of the endpoint.
    pub fn is_known(&mut self, owner: K, endpoint: EndpointId) -> bool {
        self.identity(owner).session(endpoint).is_some()
    }

    /// Adds the answer to the challenge that the user, of a branch its owner, knows of to the request
    /// that was appended since `start`. `name` and `password` are the user's; `fresh` is a random
    /// number. The error says why there can be none.
    pub fn answer_challenge(
        &mut self,
        owner: K,
        endpoint: EndpointId,
        name: &str,
        password: &str,
        fresh: u64,
        bytes: &mut Vec<u8>,
        start: usize,
    ) -> Result<(), String> {
        let (method, uri) = request_line(&bytes[start..]);
        let request = Request { user: name, password, method: &method, uri: &uri };
        let session = self.identity(owner).session(endpoint);
        let value = session.map_or(String::new(), |session| session.answer(&request, fresh));
        if !proto::http1::is_field_value(value.as_bytes()) {
            return Err(
                "the answer to the challenge has characters that a header line cannot hold"
                    .to_owned(),
            );
        }
        add_lines(bytes, start, format!("authorization: {value}\r\n").into_bytes());
        Ok(())
    }

    /// If the response is a challenge that the request is to answer: the user's values as they were
    /// before the operation, which is to draw the same ones again. The owner, which a user is itself unless
    /// it is a branch, knows the challenge from now on.
    pub fn challenged(
        &mut self,
        user: K,
        owner: K,
        endpoint: EndpointId,
        head: &Head<'_>,
    ) -> Option<Rng> {
        if head.status != 401 {
            return None;
        }
        let offered: Vec<_> = head
            .headers()
            .filter(|(name, _)| name.eq_ignore_ascii_case("www-authenticate"))
            .collect();
        let session = Session::strongest(offered.iter().map(|(_, value)| &**value))?;
        let identity = self.identity(user);
        let again =
            identity.challenges == 0 || session.stale && identity.challenges < CHALLENGES_MAX;
        if !again {
            return None;
        }
        identity.challenges += 1;
        let before = identity.before;
        self.identity(owner).answer_with(endpoint, session);
        before
    }
}

impl<K> Exchange<'_, K> {
    /// The origin of the cookies: the step's own `host` if it is the same for every user,
    /// else of the endpoint.
    fn origin<'b>(&'b self, path: &'b str) -> Origin<'b> {
        let mut headers = self.headers.iter();
        let own = headers.find(|(name, _)| name.eq_ignore_ascii_case("host"));
        let own = own.and_then(|(_, value)| value.as_static());
        let host = own.map(|host| match host.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => host,
        });
        Origin { host: host.unwrap_or(&self.endpoint.host), path, secure: self.endpoint.tls }
    }
}

/// Puts cookies into the request that was appended since `start`: a line, or the beginning of the
/// line that is there.
fn put_cookies(bytes: &mut Vec<u8>, start: usize, mut cookies: Vec<u8>, has_own: bool) {
    const NAME: &[u8] = b"\r\ncookie: ";
    if !has_own {
        let line = [b"cookie: ", &cookies[..], b"\r\n"].concat();
        return add_lines(bytes, start, line);
    }
    let mut windows = bytes[start..].windows(NAME.len());
    if let Some(at) = windows.position(|window| window == NAME) {
        cookies.extend_from_slice(b"; ");
        let at = start + at + NAME.len();
        bytes.splice(at..at, cookies);
    }
}

/// Puts further header lines into the request that was appended since `start`.
fn add_lines(bytes: &mut Vec<u8>, start: usize, lines: Vec<u8>) {
    let end = start + head_end(&bytes[start..]);
    bytes.splice(end..end, lines);
}

/// The target of an encoded request.
pub fn path_of(request: &[u8]) -> String {
    request_line(request).1
}

/// Method and target of an encoded request.
fn request_line(bytes: &[u8]) -> (String, String) {
    let line = bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split(' ');
    let mut word = || words.next().unwrap_or_default().to_owned();
    (word(), word())
}

/// The position for further header lines in an encoded request: before its empty line.
fn head_end(bytes: &[u8]) -> usize {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
    end.map_or(bytes.len(), |end| end + 2)
}

#[cfg(test)]
mod tests {
    use plan::Via;

    use super::*;

    #[test]
    fn scripts_see_and_set_the_users_cookies() {
        let mut identities = Identities::default();
        let at = |url| UrlParts::of(url).unwrap();
        identities.set_cookie(1, "a=b; Path=/x", at("http://u@a.test:8080/x/y?q"), 0);
        identities.set_cookie(
            1,
            "c=d=e; Domain=test.example; Secure",
            at("https://a.test.example"),
            0,
        );
        let of = |identities: &Identities<u8>, url| identities.cookies(1, at(url), 0);
        let pair = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        assert_eq!(of(&identities, "http://a.test/x?z"), pair("a", "b"));
        assert_eq!(of(&identities, "https://b.test.example/"), pair("c", "d=e"));
        assert!(of(&identities, "http://b.test.example/").is_empty());
        identities.set_cookie(1, "a=; Max-Age=-1; Path=/x", at("http://a.test/x/y"), 0);
        assert!(of(&identities, "http://a.test/x").is_empty());
        assert!(UrlParts::of("ftp://a.test/").is_none());
        assert_eq!(at("http://[::1]:80").host, "::1");
    }

    /// The first of two users has cookies; to the other one they cost nothing.
    #[test]
    fn a_user_without_cookies_has_no_identity() {
        let endpoint = Endpoint {
            tls: false,
            host: "a.test".to_owned(),
            port: 80,
            base_path: String::new(),
            via: Via::Tcp,
        };
        let mut all = Identities::<u32>::default();
        let exchange = |owner| Exchange { owner, endpoint: &endpoint, headers: &[], now_s: 0 };
        let request = b"GET /shop/cart?n=1 HTTP/1.1\r\nhost: a.test\r\n\r\n";
        let head = b"HTTP/1.1 200 OK\r\nSet-Cookie: id=7\r\nset-cookie: other\r\n\r\n";
        all.keep_cookies(&exchange(1), &path_of(request), &Head::stored(head).unwrap());
        let plain = b"HTTP/1.1 200 OK\r\nx: y\r\n\r\n";
        all.keep_cookies(&exchange(2), "/", &Head::stored(plain).unwrap());
        for (user, expected) in [
            (1, "GET /shop/cart?n=1 HTTP/1.1\r\nhost: a.test\r\ncookie: id=7\r\n\r\n"),
            (2, "GET /shop/cart?n=1 HTTP/1.1\r\nhost: a.test\r\n\r\n"),
        ] {
            assert_eq!(all.has_cookies(user), user == 1);
            let mut bytes = request.to_vec();
            all.carry_cookies(&exchange(user), &[], &mut bytes, 0);
            assert_eq!(String::from_utf8(bytes).unwrap(), expected);
        }
        assert_eq!(all.users.len(), 1);
        all.remember_path(2, true, "/feed/7".to_owned());
        assert_eq!(all.remembered_path(2, true), Some("/feed/7"));
        for user in [1, 2] {
            all.forget_path(user, true);
        }
        assert_eq!(all.users.len(), 1, "a path is kept until its response has come");
    }
}
