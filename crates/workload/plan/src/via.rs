//! How connections reach endpoints: by TCP, through a proxy, or over a Unix socket.

use std::fmt;

use serde::Serialize;

use crate::ids::EndpointId;
use crate::{Endpoint, Plan};

/// How connections reach an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Via {
    /// A TCP connection to its host and port.
    Tcp,
    /// A tunnel through the proxy of this index in [`Plan::proxies`].
    Proxy(u16),
    /// The Unix socket at this path.
    Unix(String),
}

/// A proxy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proxy {
    pub kind: ProxyKind,
    /// The endpoint at which it listens. No step's URL leads there.
    pub endpoint: EndpointId,
    pub credentials: Option<ProxyCredentials>,
}

/// Protocol of a proxy, and who resolves names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum ProxyKind {
    /// HTTP, with `CONNECT`; the proxy resolves names.
    Http,
    /// SOCKS5 to addresses, which names are resolved to here.
    Socks5,
    /// SOCKS5 to names, which the proxy resolves.
    Socks5h,
}

impl ProxyKind {
    /// The scheme of its URLs.
    pub fn scheme(self) -> &'static str {
        match self {
            ProxyKind::Http => "http",
            ProxyKind::Socks5 => "socks5",
            ProxyKind::Socks5h => "socks5h",
        }
    }
}

/// User name and password for a proxy.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct ProxyCredentials {
    pub user: String,
    pub password: String,
    /// The password as the proxy's URL has it: the record leaves it out.
    pub written: String,
}

impl fmt::Debug for ProxyCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProxyCredentials")
    }
}

impl Endpoint {
    /// Host and port as URLs have them: IPv6 addresses are bracketed.
    pub fn host_and_port(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

impl Plan {
    /// The proxy through which an endpoint is reached.
    pub fn proxy_of(&self, endpoint: &Endpoint) -> Option<&Proxy> {
        match endpoint.via {
            Via::Proxy(at) => self.proxies.get(usize::from(at)),
            Via::Tcp | Via::Unix(_) => None,
        }
    }

    /// A proxy's URL, without credentials.
    pub fn proxy_url(&self, proxy: &Proxy) -> String {
        let place = self.endpoints[proxy.endpoint.index()].host_and_port();
        format!("{}://{place}", proxy.kind.scheme())
    }

    /// The proxy on the way to an endpoint, in words: ` through http://proxy.test:3128`; empty:
    /// none.
    pub fn detour(&self, endpoint: &Endpoint) -> String {
        self.proxy_of(endpoint)
            .map_or_else(String::new, |proxy| format!(" through {}", self.proxy_url(proxy)))
    }

    /// Whether an address of an endpoint has to be known here: not of a name that a proxy resolves, and not of a Unix
    /// socket.
    pub fn has_address(&self, endpoint: &Endpoint) -> bool {
        match &endpoint.via {
            Via::Tcp => true,
            Via::Unix(_) => false,
            Via::Proxy(_) => {
                self.proxy_of(endpoint).is_some_and(|proxy| proxy.kind == ProxyKind::Socks5)
            }
        }
    }
}
