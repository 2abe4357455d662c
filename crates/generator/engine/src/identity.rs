//! The identity of a user to servers: its cookies, the challenge that it answers, and its
//! signatures.
//!
//! Only users of sessions that want cookies or challenges have an identity, beside the table of
//! users: to all others it costs nothing.

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
    /// The path of its steps' last request: where cookies of the response belong.
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

    fn path_mut(&mut self, background: bool) -> &mut String {
        if background { &mut self.background_path } else { &mut self.path }
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
    /// The user that sends the request.
    pub user: K,
    /// The endpoint that the request goes to.
    pub endpoint: &'a Endpoint,
    /// The step's own.
    pub headers: &'a [(String, Template)],
    /// It is that of an event stream or a poll.
    pub background: bool,
    /// Seconds since the Unix epoch.
    pub now_s: i64,
}

/// The identities of a shard's users.
#[derive(Debug)]
pub struct Identities<K> {
    users: HashMap<K, Identity>,
    /// The user whose cookies and challenges a branch has, by branch.
    owners: HashMap<K, K>,
    /// Keys with which requests to AWS services are signed.
    keys: Keys,
}

impl<K> Default for Identities<K> {
    fn default() -> Identities<K> {
        Identities { users: HashMap::new(), owners: HashMap::new(), keys: Keys::default() }
    }
}

impl<K: Copy + Eq + Hash> Identities<K> {
    fn identity(&mut self, user: K) -> &mut Identity {
        self.users.entry(user).or_default()
    }

    /// The user whose cookies and challenges this user has: of a branch, its owner.
    fn owner(&self, user: K) -> K {
        match self.owners.is_empty() {
            true => user,
            false => self.owners.get(&user).copied().unwrap_or(user),
        }
    }

    /// From now on `user` has the cookies of the owner, and knows the challenges that it knows.
    pub fn share(&mut self, user: K, owner: K) {
        self.owners.insert(user, owner);
    }

    /// The user is gone.
    pub fn remove(&mut self, user: K) {
        if !self.users.is_empty() {
            self.users.remove(&user);
        }
        if !self.owners.is_empty() {
            self.owners.remove(&user);
        }
    }

    /// The user restarts its session: no server knows it.
    pub fn forget(&mut self, user: K) {
        if let Some(identity) = self.users.get_mut(&user) {
            *identity = Identity::default();
        }
    }

    /// Adds the user's cookies to the request that was appended since `start`, unless its step has
    /// a `cookie` header of its own. `own`: names of cookies that the step gives itself; the user's
    /// others are put before them.
    pub fn carry_cookies(
        &mut self,
        exchange: &Exchange<'_, K>,
        own: &[String],
        bytes: &mut Vec<u8>,
        start: usize,
    ) {
        let (_, path) = request_line(&bytes[start..]);
        let is_cookie = |(name, _): &(String, Template)| name.eq_ignore_ascii_case("cookie");
        let has_own = exchange.headers.iter().any(is_cookie);
        let owner = self.owner(exchange.user);
        let identity = self.identity(owner);
        if !has_own || !own.is_empty() {
            let origin = exchange.origin(&path);
            let line = identity.jar.line(origin, exchange.now_s, own);
            if !line.is_empty() {
                put_cookies(bytes, start, line, has_own);
            }
        }
        let own = match owner == exchange.user {
            true => identity,
            false => self.identity(exchange.user),
        };
        *own.path_mut(exchange.background) = path;
    }

    /// Keeps the cookies of a response.
    pub fn keep_cookies(&mut self, exchange: &Exchange<'_, K>, head: &Head<'_>) {
        let owner = self.owner(exchange.user);
        let Some(own) = self.users.get_mut(&exchange.user) else {
            return;
        };
        let path = match exchange.background {
            true => &own.background_path,
            false => &own.path,
        };
        if owner == exchange.user {
            return exchange.take_cookies(&mut own.jar, path, head);
        }
        let path = path.clone();
        exchange.take_cookies(&mut self.identity(owner).jar, &path, head);
    }

    /// An operation begins that may be challenged, and whose user's values are these.
    pub fn expect_challenge(&mut self, user: K, values: Rng) {
        let identity = self.identity(user);
        identity.challenges = 0;
        identity.before = Some(values);
    }

    /// True if the user answers challenges of the endpoint.
    pub fn is_known(&mut self, user: K, endpoint: EndpointId) -> bool {
        let owner = self.owner(user);
        self.identity(owner).session(endpoint).is_some()
    }

    /// Adds the answer to the challenge that the user knows of to the request that was appended
    /// since `start`. `name` and `password` are the user's; `fresh` is a random number. The error
    /// says why there can be none.
    pub fn answer_challenge(
        &mut self,
        user: K,
        endpoint: EndpointId,
        name: &str,
        password: &str,
        fresh: u64,
        bytes: &mut Vec<u8>,
        start: usize,
    ) -> Result<(), String> {
        let (method, uri) = request_line(&bytes[start..]);
        let request = Request { user: name, password, method: &method, uri: &uri };
        let owner = self.owner(user);
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
    /// before the operation, which is to draw the same ones again.
    pub fn challenged(&mut self, user: K, endpoint: EndpointId, head: &Head<'_>) -> Option<Rng> {
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
        let owner = self.owner(user);
        self.identity(owner).answer_with(endpoint, session);
        before
    }
}

impl<K> Exchange<'_, K> {
    /// Puts the cookies of the response to a request for this path into a jar.
    fn take_cookies(&self, jar: &mut Jar, path: &str, head: &Head<'_>) {
        let origin = self.origin(path);
        for (name, value) in head.headers() {
            if name.eq_ignore_ascii_case("set-cookie") {
                jar.take(&value, origin, self.now_s);
            }
        }
    }

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
