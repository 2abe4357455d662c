//! Users of scripts of k6: their contexts, and what they have asked for.
//!
//! A context takes long to make, and keeps what its script's top level has made; so one whose iteration has ended waits for
//! the next user of its scenario. Users of plans without such scripts have nothing here.

mod tasks;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use k6::{
    Answer, Ask, Begin, Common, CookieAsk, Fault, Hop, Memory, Request, Response, Surroundings,
    Timings, Yielded,
};
use plan::{K6Op, Op, Plan};
use proto::{http1, ws};
use record::Outcome;
use stats::rng::{Purpose, Rng};

use crate::fetch::url::{split, without_default_port};
use crate::schedule::share::Share;
use crate::tables::budget::{Budget, Held};
use crate::users::User;
use tasks::Tasks;
pub(crate) use tasks::Turn;

/// Contexts that a loop makes ahead, for each scenario.
const READY_MAX: u64 = 1000;

/// A context in an iteration. `K` names its user.
struct Active<K> {
    user: k6::User,
    /// What it continues with, where that was there at once.
    answer: Option<Answer>,
    /// It waits for news of its tasks.
    awaits_news: bool,
    tasks: Tasks<K>,
}

/// A request, and what came of it.
struct Flight {
    asked: InFlight,
    answer: Option<Response>,
    /// The memory of the answer.
    held: Option<Held>,
}

impl Flight {
    fn new(request: Request, now_ns: u64) -> Flight {
        Flight { asked: InFlight::new(request, now_ns), answer: None, held: None }
    }

    fn answer(self, now_ns: u64) -> Response {
        self.answer.unwrap_or_else(|| failed(&self.asked, now_ns, Outcome::Step))
    }
}

/// A request that a script waits for.
struct InFlight {
    request: Request,
    /// When the script asked for it, or the redirect to it came.
    began_ns: u64,
    /// The TCP connection for it was begun and made, and TLS was set up.
    dialled_ns: Option<u64>,
    connected_ns: Option<u64>,
    secured_ns: Option<u64>,
    sent_ns: Option<u64>,
    first_byte_ns: Option<u64>,
    /// Redirects that were followed.
    hops: Vec<Hop>,
}

impl InFlight {
    fn new(request: Request, now_ns: u64) -> InFlight {
        InFlight {
            request,
            began_ns: now_ns,
            dialled_ns: None,
            connected_ns: None,
            secured_ns: None,
            sent_ns: None,
            first_byte_ns: None,
            hops: Vec::new(),
        }
    }

    fn timings(&self, now_ns: u64) -> Timings {
        let since = |later: Option<u64>, earlier: Option<u64>| {
            later.zip(earlier).map_or(0, |(later, earlier)| later.saturating_sub(earlier))
        };
        let connecting_ns = since(self.connected_ns, self.dialled_ns);
        let tls_ns = since(self.secured_ns, self.connected_ns);
        let sent_ns = self.sent_ns.unwrap_or(now_ns);
        let first_byte_ns = self.first_byte_ns.unwrap_or(now_ns);
        Timings {
            blocked_ns: sent_ns
                .saturating_sub(self.began_ns)
                .saturating_sub(connecting_ns + tls_ns),
            connecting_ns,
            tls_ns,
            // The kernel takes a request at once.
            sending_ns: 0,
            waiting_ns: first_byte_ns.saturating_sub(sent_ns),
            receiving_ns: now_ns.saturating_sub(first_byte_ns),
        }
    }
}

/// The contexts of a shard's users.
pub(crate) struct Vus<K> {
    common: Common,
    buffers: Arc<Budget>,
    /// CPU time between two waits.
    time_max_ns: u64,
    share: Share,
    active: HashMap<K, Active<K>>,
    /// Requests by the users or branches that make them.
    flights: HashMap<K, Flight>,
    /// How functions have ended in branches, by user.
    ended: HashMap<K, Result<Option<String>, Fault>>,
    /// Contexts without a user, by scenario.
    idle: HashMap<String, Vec<k6::User>>,
    /// Contexts that there are, by scenario.
    counts: HashMap<String, u64>,
    /// Contexts that were made.
    made: u64,
    /// Iterations that were begun.
    begun: u64,
}

impl<K> fmt::Debug for Vus<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vus").field("active", &self.active.len()).finish_non_exhaustive()
    }
}

/// What came of a user that was resumed.
pub(crate) struct Resumed {
    /// `None`: its iteration was dropped, since as many users are busy as there may be.
    pub(crate) ask: Option<Asked>,
    pub(crate) yielded: Yielded,
}

/// As [`Ask`], with requests left here.
#[derive(Debug)]
pub(crate) enum Asked {
    /// The request of this name.
    Request(String),
    Sleep(u64),
    Cookies(CookieAsk),
    News(Option<u64>),
    Done(Result<Option<String>, Fault>),
}

/// Bytes of a request and of its answer, heads included.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes {
    pub(crate) bytes_out: u64,
    pub(crate) bytes_in: u64,
}

impl Bytes {
    /// Those of the user's operation in flight.
    pub(crate) fn of(user: &User) -> Bytes {
        Bytes { bytes_out: u64::from(user.bytes_out), bytes_in: u64::from(user.bytes_in) }
    }
}

/// The surroundings of a user.
pub(crate) struct Now<'a> {
    pub(crate) ns: u64,
    /// For how long a call may compute before it holds up the end of the run.
    pub(crate) left_ns: u64,
    pub(crate) unix_ms: f64,
    pub(crate) rng: &'a mut Rng,
}

impl<K: Copy + Eq + std::hash::Hash> Vus<K> {
    pub(crate) fn new(plan: &Plan, share: Share, buffers: &Arc<Budget>) -> Option<Box<Vus<K>>> {
        let script = plan.k6.as_ref()?;
        let memory: Arc<dyn Memory> = Arc::<Budget>::clone(buffers);
        let mut vus = Box::new(Vus {
            common: Common::new(script, &memory).with_part(own_share(plan, share)),
            buffers: Arc::clone(buffers),
            time_max_ns: script.time_max_ns,
            share,
            active: HashMap::new(),
            flights: HashMap::new(),
            ended: HashMap::new(),
            idle: HashMap::new(),
            counts: HashMap::new(),
            made: 0,
            begun: 0,
        });
        for op in plan.sessions.iter().flat_map(|session| &session.ops) {
            if let Op::K6(op) = op {
                vus.prepare(op);
            }
        }
        Some(vus)
    }

    /// Makes the contexts of a scenario's users ahead, since that takes long.
    fn prepare(&mut self, op: &K6Op) {
        let count = self.share.portion(op.users_ready).min(READY_MAX);
        let mut rng = Rng::new(u64::from(self.share.index), 0, Purpose::Value);
        let mut ready = Vec::new();
        for _ in 0..count {
            let Ok(Some(mut user)) = self.take(op) else {
                break;
            };
            let time_max_ns = self.time_max_ns;
            let mut around =
                Surroundings { unix_ms: 0.0, elapsed_ms: 0.0, time_max_ns, rng: &mut rng };
            user.prepare(&op.scenario, &mut around);
            if user.is_over() {
                self.forget(&op.scenario);
                break;
            }
            ready.push(user);
        }
        // The first is the first that is taken.
        ready.reverse();
        self.idle.entry(op.scenario.clone()).or_default().extend(ready);
    }

    /// Begins the user's function, or continues it with what came of what it waits for. `runs`: the user, or its branch that
    /// runs the function. `data`: what `setup` returned, for a function that begins.
    pub(crate) fn resume(
        &mut self,
        key: K,
        runs: K,
        op: &K6Op,
        data: &str,
        now: Now<'_>,
    ) -> Resumed {
        let Now { ns, left_ns, unix_ms, rng } = now;
        let mut held = Vec::new();
        let (mut active, answer) = match self.active.remove(&key) {
            Some(mut active) => {
                let awaits_news = std::mem::take(&mut active.awaits_news);
                let answer = match (active.answer.take(), self.flights.remove(&runs)) {
                    (Some(answer), _) => answer,
                    (None, Some(mut flight)) => {
                        held.extend(flight.held.take());
                        Answer::Response(Box::new(flight.answer(ns)))
                    }
                    (None, None) if awaits_news => {
                        let (news, memory) = active.tasks.take_news();
                        held = memory;
                        Answer::News(news)
                    }
                    (None, None) => Answer::Woken,
                };
                (active, answer)
            }
            None => {
                let user = match self.take(op) {
                    Ok(Some(user)) => user,
                    Ok(None) => return Resumed { ask: None, yielded: Yielded::default() },
                    Err(fault) => {
                        let ask = Some(Asked::Done(Err(fault)));
                        return Resumed { ask, yielded: Yielded::default() };
                    }
                };
                let begin = Begin {
                    function: op.function.clone(),
                    scenario: op.scenario.clone(),
                    data: data.to_owned(),
                    number: u64::from(self.share.index) + self.begun * u64::from(self.share.of),
                };
                self.begun += u64::from(!op.scenario.is_empty());
                let active =
                    Active { user, answer: None, awaits_news: false, tasks: Tasks::default() };
                (active, Answer::Begin(Box::new(begin)))
            }
        };
        let time_max_ns = self.time_max_ns.min(left_ns);
        let mut around = Surroundings { unix_ms, elapsed_ms: ns as f64 / 1e6, time_max_ns, rng };
        let ask = active.user.resume(answer, &mut around);
        // The script has its answer.
        drop(held);
        let mut yielded = active.user.take_yielded();
        active.tasks.begin(std::mem::take(&mut yielded.tasks));
        let ask = match ask {
            Ask::Request(request) => {
                let name = request.name.clone();
                self.flights.insert(runs, Flight::new(*request, ns));
                self.active.insert(key, active);
                Asked::Request(name)
            }
            Ask::Sleep(ns) => {
                self.active.insert(key, active);
                Asked::Sleep(ns)
            }
            Ask::Cookies(ask) => {
                self.active.insert(key, active);
                Asked::Cookies(ask)
            }
            Ask::News(most_ns) => {
                active.awaits_news = true;
                self.active.insert(key, active);
                Asked::News(most_ns)
            }
            Ask::Done(result) => {
                for branch in active.tasks.branches() {
                    self.flights.remove(&branch);
                }
                match active.user.is_over() {
                    true => self.forget(&op.scenario),
                    false => {
                        let idle = self.idle.entry(op.scenario.clone()).or_default();
                        idle.push(active.user);
                    }
                }
                Asked::Done(result)
            }
        };
        Resumed { ask: Some(ask), yielded }
    }

    /// Whether the user is in an iteration.
    pub(crate) fn has_begun(&self, key: K) -> bool {
        self.active.contains_key(&key)
    }

    /// What the user asked for is there at once.
    pub(crate) fn answer(&mut self, key: K, answer: Answer) {
        if let Some(active) = self.active.get_mut(&key) {
            active.answer = Some(answer);
        }
    }

    /// A context without a user, or a new one; `None`: there are as many as there may be.
    fn take(&mut self, op: &K6Op) -> Result<Option<k6::User>, Fault> {
        if let Some(user) = self.idle.get_mut(&op.scenario).and_then(Vec::pop) {
            return Ok(Some(user));
        }
        let count = self.counts.entry(op.scenario.clone()).or_default();
        if op.users_max.is_some_and(|most| *count >= own_part(most, self.share)) {
            return Ok(None);
        }
        *count += 1;
        let number = match op.scenario.is_empty() {
            true => 0,
            false => {
                self.made += 1;
                u64::from(self.share.index) + 1 + (self.made - 1) * u64::from(self.share.of)
            }
        };
        k6::User::new(&self.common, number).map(Some)
    }

    fn forget(&mut self, scenario: &str) {
        if let Some(count) = self.counts.get_mut(scenario) {
            *count = count.saturating_sub(1);
        }
    }

    /// The user's session ends: an iteration that has not ended is interrupted.
    pub(crate) fn interrupt(&mut self, key: K, scenario: &str) {
        self.ended.remove(&key);
        let Some(active) = self.active.remove(&key) else {
            return;
        };
        self.forget(scenario);
        self.flights.remove(&key);
        for branch in active.tasks.branches() {
            self.flights.remove(&branch);
        }
    }

    fn in_flight(&mut self, key: K) -> Option<&mut InFlight> {
        Some(&mut self.flights.get_mut(&key)?.asked)
    }

    /// The request that the user or branch makes.
    pub(crate) fn request(&self, key: K) -> Option<&Request> {
        Some(&self.flights.get(&key)?.asked.request)
    }

    /// Appends the request, for an endpoint with this authority. The error says what cannot be sent.
    pub(crate) fn encode(&self, key: K, authority: &str, out: &mut Vec<u8>) -> Result<(), String> {
        let request = self.request(key).ok_or("the script has made no request")?;
        let Sendable { target, host } = Sendable::of(request, authority)?;
        if !http1::is_token(&request.method) {
            return Err(format!("{:?} is no method", request.method));
        }
        let headers = sent_headers(request);
        http1::encode_request(
            out,
            &request.method,
            &target,
            host,
            headers,
            request.body.as_deref(),
        );
        Ok(())
    }

    /// Appends the request for an upgrade of the script's, or without a `nonce` that over HTTP/2. The error says what cannot be
    /// sent.
    pub(crate) fn encode_upgrade(
        &self,
        key: K,
        authority: &str,
        nonce: Option<&ws::Key>,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        let request = self.request(key).ok_or("the script opens no WebSocket")?;
        let Sendable { target, host } = Sendable::of(request, authority)?;
        let headers = sent_headers(request);
        match nonce {
            Some(nonce) => ws::encode_handshake(out, &target, host, nonce, headers),
            None => ws::encode_connect(out, &target, host, headers),
        }
        Ok(())
    }

    /// A connection for the user's request was begun at `dialled_ns` and is made.
    pub(crate) fn connected(&mut self, key: K, dialled_ns: u64, now_ns: u64) {
        if let Some(asked) = self.in_flight(key) {
            asked.dialled_ns = Some(dialled_ns);
            asked.connected_ns = Some(now_ns);
        }
    }

    /// TLS is set up on it, if it has any.
    pub(crate) fn secured(&mut self, key: K, now_ns: u64) {
        if let Some(asked) = self.in_flight(key) {
            asked.secured_ns = Some(now_ns);
        }
    }

    pub(crate) fn sent(&mut self, key: K, now_ns: u64) {
        if let Some(asked) = self.in_flight(key) {
            asked.sent_ns = Some(now_ns.max(asked.secured_ns.unwrap_or(0)));
        }
    }

    pub(crate) fn first_byte(&mut self, key: K, now_ns: u64) {
        if let Some(asked) = self.in_flight(key) {
            asked.first_byte_ns.get_or_insert(now_ns);
        }
    }

    /// The request was redirected by an answer of this status, after so many bytes in both directions.
    pub(crate) fn hopped(&mut self, key: K, status: u16, bytes: Bytes, now_ns: u64) {
        if let Some(asked) = self.in_flight(key) {
            let timings = asked.timings(now_ns);
            let Bytes { bytes_out, bytes_in } = bytes;
            asked.hops.push(Hop { status, timings, bytes_out, bytes_in });
            let hops = std::mem::take(&mut asked.hops);
            let request = std::mem::take(&mut asked.request);
            *asked = InFlight { hops, ..InFlight::new(request, now_ns) };
        }
    }

    /// Memory for the body of a response; `None`: there is none.
    pub(crate) fn hold(&self, bytes: usize) -> Option<Held> {
        Held::new(&self.buffers, bytes)
    }

    /// The request's last response is there.
    pub(crate) fn answered(&mut self, key: K, response: Response, held: Held, now_ns: u64) {
        if let Some(flight) = self.flights.get_mut(&key) {
            let hops = std::mem::take(&mut flight.asked.hops);
            let timings = flight.asked.timings(now_ns);
            flight.answer = Some(Response { timings, hops, ..response });
            flight.held = Some(held);
        }
    }

    /// The request has failed, by an answer of this status if there is one; what was answered already stays.
    pub(crate) fn failed(
        &mut self,
        key: K,
        outcome: Outcome,
        status: u16,
        bytes: Bytes,
        now_ns: u64,
    ) {
        if let Some(flight) = self.flights.get_mut(&key)
            && flight.answer.is_none()
        {
            let Bytes { bytes_out, bytes_in } = bytes;
            // A handshake that was declined: no other request fails by its status.
            let status = if outcome == Outcome::Status { status } else { 0 };
            let response = failed(&flight.asked, now_ns, outcome);
            flight.answer = Some(Response { status, bytes_out, bytes_in, ..response });
        }
    }
}

/// A loop's part of the most users that a scenario may have: together the loops have no more, but for one each.
fn own_part(most: u64, share: Share) -> u64 {
    exact_part(most, share).max(1)
}

/// A loop's part of a number of users.
fn exact_part(count: u64, share: Share) -> u64 {
    let of = u64::from(share.of);
    count / of + u64::from(u64::from(share.index) < count % of)
}

/// The user's own cookies are put into a line of this name.
fn sent_name(name: &str) -> &str {
    if name.eq_ignore_ascii_case("cookie") { "cookie" } else { name }
}

/// The loop's share of the users that there are from the start, 0 to 1.
fn own_share(plan: &Plan, share: Share) -> f64 {
    let ops = plan.sessions.iter().flat_map(|session| &session.ops);
    let (mut all, mut own) = (0, 0);
    for op in ops {
        if let Op::K6(op) = op {
            all += op.users_ready;
            own += exact_part(op.users_ready, share);
        }
    }
    match all {
        0 => 1.0 / f64::from(share.of),
        all => own as f64 / all as f64,
    }
}

fn is_host(name: &str) -> bool {
    name.eq_ignore_ascii_case("host")
}

/// A request's target and host, of a request whose headers can be sent as well.
struct Sendable<'a> {
    target: String,
    /// The request's own header `Host`, or else the authority of its endpoint.
    host: &'a str,
}

impl<'a> Sendable<'a> {
    /// The error says what cannot be sent.
    fn of(request: &'a Request, authority: &'a str) -> Result<Sendable<'a>, String> {
        let target = target(&request.url);
        if !http1::is_target(&target) {
            return Err(format!(
                "{:?} has characters that a request line cannot hold",
                request.url
            ));
        }
        for (name, value) in &request.headers {
            if !http1::is_token(name) || !http1::is_field_value(value.as_bytes()) {
                return Err(format!(
                    "the header {name:?} has characters that a header line cannot hold"
                ));
            }
        }
        let own = request.headers.iter().find(|(name, _)| is_host(name));
        Ok(Sendable { target, host: own.map_or(authority, |(_, value)| value.as_str()) })
    }
}

/// The request's headers but its host.
fn sent_headers(request: &Request) -> impl Iterator<Item = (&str, &[u8])> + Clone {
    let headers = request.headers.iter().filter(|(name, _)| !is_host(name));
    headers.map(|(name, value)| (sent_name(name), value.as_bytes()))
}

/// The path and query of a URL.
fn target(url: &str) -> String {
    let Some((_, authority)) = split(url) else {
        return "/".to_owned();
    };
    let start = url.find("://").map_or(0, |at| at + 3) + authority.len();
    let rest = &url[start..];
    if rest.starts_with('/') { rest.to_owned() } else { format!("/{rest}") }
}

/// The URL of a target on a host.
pub(crate) fn url(tls: bool, authority: &str, target: &str) -> String {
    let scheme = if tls { "https" } else { "http" };
    format!("{scheme}://{}{target}", without_default_port(tls, authority))
}

/// The response of a request that has none, with k6's code of the error.
fn failed(asked: &InFlight, now_ns: u64, outcome: Outcome) -> Response {
    let (code, text) = match outcome {
        Outcome::Refused => (1212, "dial: connection refused".to_owned()),
        Outcome::ConnectTimeout => (1211, "dial: i/o timeout".to_owned()),
        Outcome::Timeout => (1050, "request timeout".to_owned()),
        Outcome::Reset => (1220, "write: connection reset by peer".to_owned()),
        Outcome::Closed => (1000, "unexpected EOF".to_owned()),
        Outcome::TlsUntrusted => (1310, "x509: certificate signed by unknown authority".to_owned()),
        Outcome::Decoding => (1701, "the response's body could not be decoded".to_owned()),
        Outcome::Status | Outcome::WsProtocol => (1000, "websocket: bad handshake".to_owned()),
        // What is wrong with it stands among the run's failures.
        Outcome::Step => (1000, "the request cannot be made".to_owned()),
        other => (1000, other.name().to_owned()),
    };
    Response {
        timings: asked.timings(now_ns),
        failure: Some((code, text)),
        hops: asked.hops.clone(),
        ..Response::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart_and_put_together() {
        assert_eq!(target("http://a.test"), "/");
        assert_eq!(target("http://a.test?q"), "/?q");
        assert_eq!(target("https://a.test:8443/x/y?z"), "/x/y?z");
        assert_eq!(url(true, "a.test:443", "/x"), "https://a.test/x");
        assert_eq!(url(false, "a.test:8080", "/"), "http://a.test:8080/");
    }

    #[test]
    fn loops_have_as_many_users_as_a_scenario_may_have() {
        let parts = |most: u64| [0, 1, 2].map(|index| own_part(most, Share::new(index, 3)));
        assert_eq!(parts(7), [3, 2, 2]);
        assert_eq!(parts(3), [1, 1, 1]);
        assert_eq!(parts(1), [1, 1, 1]);
    }

    #[test]
    fn parts_of_a_request_add_up() {
        let mut asked = InFlight::new(Request::default(), 100);
        asked.dialled_ns = Some(110);
        asked.connected_ns = Some(130);
        asked.secured_ns = Some(170);
        asked.sent_ns = Some(175);
        asked.first_byte_ns = Some(200);
        let parts = asked.timings(260);
        assert_eq!(
            [
                parts.blocked_ns,
                parts.connecting_ns,
                parts.tls_ns,
                parts.waiting_ns,
                parts.receiving_ns
            ],
            [15, 20, 40, 25, 60]
        );
    }
}
