//! Redirects: the same operation goes on elsewhere.
//!
//! It counts from when it was due to the last byte of the last response. Each redirect that is followed is a row of the
//! measure `redirects` as well, so that the rows are as many as the requests that servers answered.

use std::sync::Arc;

use plan::expr::Template;
use plan::{EndpointId, HttpOp};
use record::schema::WorkKind;
use record::{Measurement, Outcome};

use crate::fetch::{Address, FirstRequest, Hop};
use crate::interpreter::Interpreter;
use crate::requests::encode_http;
use crate::tables::slots::UserKey;
use crate::vus::Bytes;

impl<'p> Interpreter<'p> {
    /// The user's request was answered with a redirect: it goes on there, or ends as one that cannot be followed.
    pub(crate) fn redirected(
        &mut self,
        now_ns: u64,
        key: UserKey,
        endpoint: EndpointId,
        status: u16,
        location: &[u8],
    ) {
        let http = self.http_op(key);
        match self.next_hop(now_ns, key, endpoint, status, location) {
            Ok(hop) => {
                let bytes = Bytes::of(&self.users[key]);
                self.record_hop(now_ns, key, status);
                if let Some(vus) = self.vus.as_mut().filter(|_| http.by_script) {
                    vus.hopped(key, status, bytes, now_ns);
                }
                self.follows.go(key, hop);
                self.reach(now_ns, key, http);
            }
            Err(detail) => {
                self.follows.forget_first(key);
                self.explain(now_ns, key, Outcome::Redirect, || detail);
                self.conclude(now_ns, key, Outcome::Redirect, status);
            }
        }
    }

    /// The hop to which a redirect leads. The error says why it is not followed.
    fn next_hop(
        &mut self,
        now_ns: u64,
        key: UserKey,
        endpoint: EndpointId,
        status: u16,
        location: &[u8],
    ) -> Result<Hop, String> {
        let http = self.http_op(key);
        let began_ns = self.begin_making(key);
        let first = self.first_request(now_ns, key, http);
        self.end_work(key, WorkKind::Encoding, began_ns);
        let first = first?;
        let before = self.follows.hop(key);
        let (count, was_get) = before.map_or((0, false), |hop| (hop.count, hop.is_get));
        let has_left = before.is_some_and(|hop| hop.left_host);
        let (target, host) = crate::fetch::target_and_host(&first);
        let here = Address {
            tls: self.plan.endpoints[endpoint.index()].tls,
            authority: self.requests.authority(endpoint).to_ascii_lowercase(),
            target: before.map_or(target, |hop| hop.target.clone()),
        };
        let there = crate::fetch::resolve(&here, location).map_err(|error| error.to_string())?;
        let redirects_max = self.redirects_max(key, http);
        if count >= redirects_max {
            return Err(format!(
                "more than {}; the last one leads to {}",
                units_of(redirects_max),
                shown(&there)
            ));
        }
        // The step's own `host` names the same server.
        let is_own_host = !has_left && there.authority == host;
        let is_here = there.authority == here.authority || is_own_host;
        let found = match is_here && there.tls == here.tls {
            true => endpoint,
            false => self.endpoint_of(&there)?,
        };
        let method = if was_get { "GET" } else { self.request_method(key, http) };
        let becomes_get = Hop::becomes_get(status, method);
        let origin = self.first_endpoint(key, http)?;
        Ok(Hop {
            endpoint: found,
            target: there.target,
            is_get: was_get || becomes_get,
            left_host: has_left || !self.are_one_origin(origin, found),
            count: count + 1,
            since_ns: now_ns,
        })
    }

    /// Whether two endpoints differ in their base path at most.
    fn are_one_origin(&self, a: EndpointId, b: EndpointId) -> bool {
        let a = &self.plan.endpoints[a.index()];
        let b = &self.plan.endpoints[b.index()];
        (a.tls, a.port) == (b.tls, b.port) && a.host.eq_ignore_ascii_case(&b.host)
    }

    /// The endpoint that has this address. Names are resolved before a run, so it can only be one that the plan knows.
    fn endpoint_of(&self, there: &Address) -> Result<EndpointId, String> {
        let url = shown(there);
        match self.requests.endpoint_at(self.plan, &url) {
            Ok(Some(endpoint)) => Ok(endpoint),
            Ok(None) | Err(_) => Err(format!(
                "{url:?} is at a host that the scenario does not name; list it under `options.redirect_hosts`"
            )),
        }
    }

    /// The request of the user's step as it was before any redirect, with the values that it drew then. It is made once for
    /// a chain: what its functions compute may be different each time.
    pub(crate) fn first_request(
        &mut self,
        now_ns: u64,
        key: UserKey,
        http: &HttpOp,
    ) -> Result<Arc<[u8]>, String> {
        let user = &self.users[key];
        if let Some(request) = self.requests.constant(user.session, user.pc) {
            return Ok(request.into());
        }
        let before = self.follows.before(key);
        if let Some(first) = self.follows.first(key) {
            // Whoever sends it has drawn its values.
            if before.is_some() {
                self.users[key].value = first.values;
            }
            return Ok(Arc::clone(&first.bytes));
        }
        if let Some(before) = before {
            self.users[key].value = before;
        }
        let at = self.first_endpoint(key, http)?;
        let base_path = &*self.plan.endpoints[at.index()].base_path;
        let authority = self.requests.authority(at);
        let mut bytes = Vec::new();
        if let (true, Some(vus)) = (http.by_script, &self.vus) {
            vus.encode(key, authority, &mut bytes)?;
            return Ok(bytes.into());
        }
        let scope = &mut self.users.scope(now_ns, key);
        encode_http(http, authority, base_path, &self.plan.calls, scope, &mut bytes)?;
        let first = FirstRequest { bytes: bytes.into(), values: self.users[key].value };
        let bytes = Arc::clone(&first.bytes);
        self.follows.remember_first(key, first);
        Ok(bytes)
    }

    /// The headers and cookies of the step's own that its request carries: none of them where it was redirected to
    /// another host.
    pub(crate) fn own_headers(
        &self,
        key: UserKey,
        http: &'p HttpOp,
    ) -> (&'p [(String, Template)], &'p [String]) {
        match self.follows.left_host(key) {
            true => (&[], &[]),
            false => (&http.headers, &http.own_cookies),
        }
    }

    /// A request was answered with a redirect that is followed: it is a row of its own, and what was sent and received
    /// for it counts there.
    fn record_hop(&mut self, now_ns: u64, key: UserKey, status: u16) {
        let hop = self.follows.hop(key);
        let user = &mut self.users[key];
        let since_ns = hop.map_or(user.sent_ns, |hop| hop.since_ns);
        let row = Measurement {
            due_ns: since_ns,
            sent_ns: since_ns,
            done_ns: now_ns.max(since_ns),
            status,
            ..user.row(self.plan.redirects)
        };
        let bytes_out = user.bytes_out;
        let bytes_in = user.bytes_in;
        user.bytes_out = 0;
        user.bytes_in = 0;
        let counts = &mut self.recorder.counts;
        counts.sends += 1;
        counts.bytes_out += u64::from(bytes_out);
        counts.bytes_in += u64::from(bytes_in);
        self.recorder.begin(self.plan.redirects);
        self.recorder.operation(row, 0, 0);
        self.took_step(key);
    }
}

/// An address as a URL.
fn shown(address: &Address) -> String {
    let scheme = if address.tls { "https" } else { "http" };
    format!("{scheme}://{}{}", address.authority, address.target)
}

fn units_of(redirects: u8) -> String {
    match redirects {
        1 => "1 redirect".to_owned(),
        count => format!("{count} redirects"),
    }
}
