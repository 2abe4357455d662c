//! Addresses of hosts instead of those that their names stand for.

use std::net::{IpAddr, SocketAddr};

use serde::Serialize;

use crate::Endpoint;

/// Hosts of a name, and where they are reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostAddress {
    /// A name, or `*.` and the end of names.
    pub name: String,
    /// This port of them alone; `None`: all.
    pub port: Option<u16>,
    pub address: IpAddr,
    /// `None`: the port stays.
    pub to_port: Option<u16>,
}

impl HostAddress {
    /// Reads a name, as `shop.test`, `shop.test:443` or `*.shop.test`, and an address with or without a port; `None`: it is
    /// none.
    pub fn parse(name: &str, address: &str) -> Option<HostAddress> {
        let (name, port) = match name.rsplit_once(':') {
            Some((name, port)) => (name, Some(port.parse().ok()?)),
            None => (name, None),
        };
        let ending = name.strip_prefix("*.").unwrap_or(name);
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if ending.is_empty() || !ending.chars().all(is_part) {
            return None;
        }
        let (address, to_port) = match address.parse::<SocketAddr>() {
            Ok(whole) => (whole.ip(), Some(whole.port())),
            Err(_) => (address.trim_matches(['[', ']']).parse().ok()?, None),
        };
        Some(HostAddress { name: name.to_ascii_lowercase(), port, address, to_port })
    }

    fn fits(&self, endpoint: &Endpoint) -> bool {
        let host = endpoint.host.to_ascii_lowercase();
        let is_named = match self.name.strip_prefix('*') {
            Some(ending) => host.ends_with(ending),
            None => host == self.name,
        };
        is_named && self.port.is_none_or(|port| port == endpoint.port)
    }

    /// What says more of a host comes first: a name before an ending, a port before none, a longer ending.
    fn rank(&self) -> (bool, bool, usize) {
        (!self.name.starts_with('*'), self.port.is_some(), self.name.len())
    }
}

/// Where an endpoint is reached, as an endpoint with that address for a host.
pub fn reached(hosts: &[HostAddress], endpoint: &Endpoint) -> Endpoint {
    let fitting = hosts.iter().filter(|host| host.fits(endpoint));
    let mut endpoint = endpoint.clone();
    if let Some(found) = fitting.max_by_key(|host| host.rank()) {
        endpoint.host = found.address.to_string();
        endpoint.port = found.to_port.unwrap_or(endpoint.port);
    }
    endpoint
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Via;

    #[test]
    fn what_says_most_of_a_host_decides() {
        let hosts: Vec<HostAddress> = [
            ("*.test", "10.0.0.1"),
            ("*.shop.test", "10.0.0.2:8080"),
            ("a.shop.test", "10.0.0.3"),
            ("A.shop.test:443", "[::1]:8443"),
        ]
        .into_iter()
        .map(|(name, address)| HostAddress::parse(name, address).unwrap())
        .collect();
        let of = |host: &str, port| {
            let endpoint = Endpoint {
                tls: false,
                host: host.to_owned(),
                port,
                base_path: String::new(),
                via: Via::Tcp,
            };
            let found = reached(&hosts, &endpoint);
            (found.host, found.port)
        };
        let at = |host: &str, port: u16| (host.to_owned(), port);
        assert_eq!(of("other.test", 80), at("10.0.0.1", 80));
        assert_eq!(of("b.shop.test", 80), at("10.0.0.2", 8080));
        assert_eq!(of("a.shop.test", 80), at("10.0.0.3", 80));
        assert_eq!(of("a.shop.test", 443), at("::1", 8443));
        assert_eq!(of("test", 80), at("test", 80));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for (name, address) in [
            ("a.test", "b.test"),
            ("a.test", "10.0.0.1:x"),
            ("", "10.0.0.1"),
            ("*", "10.0.0.1"),
            ("a.*.test", "10.0.0.1"),
            ("a.test:x", "10.0.0.1"),
        ] {
            assert_eq!(HostAddress::parse(name, address), None, "{name} {address}");
        }
    }
}
