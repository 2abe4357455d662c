//! Tunnels through proxies: between TCP and what is spoken inside.
//!
//! The state of a handshake is a connection's `pending`, so it lives only as long as the handshake.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use plan::{EndpointId, Plan, ProxyCredentials, ProxyKind};
use proto::proxy::{self, Credentials, Handshake, Host, Kind, Tunnel};
use record::Outcome;

use crate::addresses::{Choice, NOWHERE};
use crate::conn::connection::PendingOperation;
use crate::conn::stage::Stage;
use crate::conn::table::Connections;
use crate::tables::slots::ConnSlot;
use crate::users::Users;

/// Finds a user's address of an endpoint.
pub(crate) struct Resolver(pub(crate) Box<dyn FnMut(EndpointId, Choice) -> SocketAddr>);

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}

/// The proxies of a plan.
#[derive(Debug)]
pub(crate) struct Tunnels {
    /// By endpoint: where TCP connections go.
    first_hops: Vec<EndpointId>,
    /// By endpoint; empty: there are no proxies.
    ways: Vec<Option<Way>>,
    resolver: Option<Resolver>,
}

/// The proxy that leads to an endpoint.
#[derive(Debug)]
struct Way {
    kind: ProxyKind,
    host: String,
    port: u16,
    credentials: Option<ProxyCredentials>,
    /// The proxy's name in errors.
    name: String,
}

impl Tunnels {
    pub(crate) fn new(plan: &Plan) -> Tunnels {
        let ids = (0..).map(EndpointId);
        let first_hops = plan.endpoints.iter().zip(ids).map(|(endpoint, id)| {
            let proxy = plan.proxy_of(endpoint);
            proxy.map_or(id, |proxy| proxy.endpoint)
        });
        let ways = plan.endpoints.iter().map(|endpoint| {
            let proxy = plan.proxy_of(endpoint)?;
            let url = plan.proxy_url(proxy);
            let to = endpoint.host_and_port();
            Some(Way {
                kind: proxy.kind,
                host: endpoint.host.clone(),
                port: endpoint.port,
                credentials: proxy.credentials.clone(),
                name: format!("proxy {url}, for {to}"),
            })
        });
        Tunnels {
            first_hops: first_hops.collect(),
            ways: match plan.proxies.is_empty() {
                true => Vec::new(),
                false => ways.collect(),
            },
            resolver: None,
        }
    }

    /// The endpoint to which the TCP connections for an endpoint go: its proxy's, if it has one.
    pub(crate) fn first_hop(&self, endpoint: EndpointId) -> EndpointId {
        self.first_hops[endpoint.index()]
    }

    fn way(&self, endpoint: EndpointId) -> Option<&Way> {
        self.ways.get(endpoint.index())?.as_ref()
    }

    /// The address to request of a proxy that is not to resolve the name; `None`: the name is requested.
    fn address(&mut self, endpoint: EndpointId, choice: Choice) -> Option<SocketAddr> {
        if self.way(endpoint)?.kind != ProxyKind::Socks5 {
            return None;
        }
        let Resolver(resolve) = self.resolver.as_mut()?;
        Some(resolve(endpoint, choice)).filter(|address| *address != NOWHERE)
    }
}

impl Way {
    fn tunnel(&self, address: Option<SocketAddr>) -> Option<Tunnel<'_>> {
        let kind = match self.kind {
            ProxyKind::Http => Kind::Connect,
            ProxyKind::Socks5 | ProxyKind::Socks5h => Kind::Socks5,
        };
        let host = match (address, self.host.parse::<IpAddr>()) {
            (Some(address), _) => Host::Address(address.ip()),
            (None, Ok(address)) => Host::Address(address),
            (None, Err(_)) => Host::Name(&self.host),
        };
        let credentials = self
            .credentials
            .as_ref()
            .map(|own| Credentials { user: &own.user, password: &own.password });
        Tunnel::new(kind, host, self.port, credentials)
    }
}

/// Why there is no tunnel.
pub(crate) type TunnelFailure = (Outcome, String);

fn failure(error: &proxy::Error) -> TunnelFailure {
    let outcome = match error.is_refusal() {
        true => Outcome::ProxyRefused,
        false => Outcome::Protocol,
    };
    (outcome, error.to_string())
}

impl Connections {
    /// Names that no proxy is to resolve are resolved by this.
    pub(crate) fn resolve_with(&mut self, resolver: Resolver) {
        self.tunnels.resolver = Some(resolver);
    }

    /// TCP is set up: begins the tunnel if the endpoint is behind a proxy. False: it is not.
    pub(crate) fn begin_tunnel(
        &mut self,
        users: &Users<'_>,
        slot: ConnSlot,
    ) -> Result<bool, TunnelFailure> {
        let endpoint = self.table[slot].endpoint;
        if self.tunnels.way(endpoint).is_none() {
            return Ok(false);
        }
        let address = self.address_for(users, slot);
        let way = self.tunnels.way(endpoint);
        let tunnel = way.and_then(|way| way.tunnel(address)).ok_or_else(|| {
            let detail = "name, user or password are too long for SOCKS5";
            (Outcome::Other, detail.to_owned())
        })?;
        let start = self.commands.bytes.len();
        let handshake = Handshake::begin(&tunnel, &mut self.commands.bytes);
        let conn = &mut self.table[slot];
        conn.stage = Stage::Securing;
        conn.pending = Some(Box::new(PendingOperation::Tunnel(handshake)));
        self.push_send(slot, start);
        Ok(true)
    }

    /// Takes what a proxy answers: how many bytes that was, and whether the tunnel is open.
    pub(crate) fn take_answer(
        &mut self,
        users: &Users<'_>,
        slot: ConnSlot,
        bytes: &[u8],
    ) -> Result<(usize, bool), TunnelFailure> {
        let address = self.address_for(users, slot);
        let conn = &mut self.table[slot];
        let way = self.tunnels.way(conn.endpoint);
        let (Some(tunnel), Some(PendingOperation::Tunnel(handshake))) =
            (way.and_then(|way| way.tunnel(address)), conn.pending.as_deref_mut())
        else {
            return Ok((0, false));
        };
        let start = self.commands.bytes.len();
        let out = &mut self.commands.bytes;
        let (taken, is_open) =
            handshake.decode(&tunnel, bytes, out).map_err(|error| failure(&error))?;
        if is_open {
            conn.pending = None;
        }
        self.push_send(slot, start);
        Ok((taken, is_open))
    }

    fn address_for(&mut self, users: &Users<'_>, slot: ConnSlot) -> Option<SocketAddr> {
        let endpoint = self.table[slot].endpoint;
        let choice = self.choice(users, slot);
        self.tunnels.address(endpoint, choice)
    }

    /// Whether a connection has no tunnel yet.
    pub(crate) fn is_tunnelling(&self, slot: ConnSlot) -> bool {
        let pending = self.table[slot].pending.as_deref();
        matches!(pending, Some(PendingOperation::Tunnel(_)))
    }

    /// The name in errors of the proxy of a connection that has no tunnel yet.
    pub(crate) fn proxy_in_question(&self, slot: ConnSlot) -> Option<&str> {
        let conn = &self.table[slot];
        let way = self.tunnels.way(conn.endpoint)?;
        let is_early = conn.stage == Stage::Connecting || self.is_tunnelling(slot);
        is_early.then_some(&way.name)
    }
}
