//! Clients and servers: what is sent from where, and to where.

use roxmltree::Node;

use super::attributes::value_at;
use super::text;
use super::{Importer, Item, Map, elements, opening};
use crate::template::literal;

/// A server of the document.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Server {
    /// `http` or `https`.
    pub(super) scheme: &'static str,
    /// The host, with brackets if it is an IPv6 address.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) weight: f64,
}

impl Server {
    pub(super) fn url(&self) -> String {
        format!("{}://{}:{}", self.scheme, self.host, self.port)
    }
}

impl Importer<'_> {
    /// The machines that Tsung would start on; here it is always this one.
    pub(super) fn clients(&mut self, node: Node<'_, '_>, settings: &mut Map) {
        let mut addresses = Vec::new();
        let clients: Vec<_> = elements(node).collect();
        for client in &clients {
            if client.tag_name().name() != "client" {
                self.unknown_element(*client);
                continue;
            }
            self.known_attributes(*client);
            self.number(*client, "weight");
            self.count(*client, "maxusers");
            for inner in elements(*client) {
                self.known_attributes(inner);
                match inner.tag_name().name() {
                    "ip" if self.flag(inner, "scan", false) => {
                        let message = "addresses of an interface are not looked up".to_owned();
                        self.diagnostics
                            .lost(opening(inner), message)
                            .hint("give them as options.source_addresses");
                    }
                    "ip" => {
                        if let Some(address) = self.required(inner, "value") {
                            addresses.push(address.to_owned());
                        }
                    }
                    "iprange" => {
                        let message = "`iprange` is not supported".to_owned();
                        self.diagnostics
                            .lost(opening(inner), message)
                            .hint("give its addresses as options.source_addresses");
                    }
                    _ => self.unknown_element(inner),
                }
            }
        }
        if clients.len() > 1 {
            let message = format!(
                "there are {} clients: all users start on this machine; weights have no effect",
                clients.len()
            );
            self.diagnostics.ignored(opening(node), message);
        }
        if !addresses.is_empty() {
            settings.put("source_addresses", Item::Text(addresses.join(", ")));
            if addresses.len() > 1 {
                let list = addresses.iter().map(|a| format!("\"{}\"", literal(a)));
                let list = list.collect::<Vec<_>>().join(", ");
                if let Some(value) = settings.get_mut("source_addresses") {
                    *value = Item::Bare(format!("[{list}]"));
                }
            }
        }
    }

    pub(super) fn read_servers(&mut self, node: Node<'_, '_>) {
        for server in elements(node) {
            if server.tag_name().name() != "server" {
                self.unknown_element(server);
                continue;
            }
            self.known_attributes(server);
            let host = self.required(server, "host");
            let port = self.port(server, "port");
            let scheme = self.scheme(server, "type");
            let weight = self.number(server, "weight").unwrap_or(1.0);
            if let (Some(host), Some(port)) = (host, port) {
                self.servers.push(Server {
                    scheme: scheme.unwrap_or("http"),
                    host: bracketed(host),
                    port,
                    weight,
                });
            }
        }
        if self.servers.is_empty() && !self.diagnostics.has_errors() {
            let message = "there is no server".to_owned();
            self.diagnostics
                .error("missing-element", opening(node), message)
                .hint("write <server host=\"127.0.0.1\" port=\"80\" type=\"tcp\"/>");
        }
    }

    pub(super) fn port(&mut self, node: Node<'_, '_>, name: &str) -> Option<u16> {
        self.required(node, name)?;
        let port = self.count(node, name)?;
        let found = u16::try_from(port).ok().filter(|port| *port > 0);
        if found.is_none() {
            let message = format!("{port} is not a port");
            self.diagnostics
                .error("bad-number", value_at(node, name), message)
                .hint("a port is in 1..=65535");
        }
        found
    }

    /// The scheme of a server's type; reported and `None` if it is unknown.
    pub(super) fn scheme(&mut self, node: Node<'_, '_>, name: &str) -> Option<&'static str> {
        const TYPES: [&str; 11] = [
            "tcp",
            "ssl",
            "tcp6",
            "ssl6",
            "websocket",
            "websocket_ssl",
            "udp",
            "udp6",
            "erlang",
            "bosh",
            "bosh_ssl",
        ];
        self.required(node, name)?;
        // In change_type they bear a prefix.
        let written = node.attribute(name).unwrap_or_default();
        let plain = written.strip_prefix("ts_").unwrap_or(written);
        match TYPES.iter().position(|found| *found == plain) {
            Some(0 | 2 | 4) => Some("http"),
            Some(1 | 3 | 5) => Some("https"),
            Some(_) => {
                let message = format!("a server of the type `{written}` is not supported");
                self.diagnostics.lost(value_at(node, name), message);
                None
            }
            None => self.word(node, name, &TYPES),
        }
    }

    /// The target: one server, or several with their weights.
    pub(super) fn put_target(&self, top: &mut Map) {
        let url = |server: &Server| match self.is_plain {
            true => server.plain_url(),
            false => server.url(),
        };
        match &self.servers[..] {
            [] => {}
            [one] => top.put("target", Item::Text(url(one))),
            several => {
                let servers = several.iter().map(|server| {
                    Map::single(top.at.clone(), "url", Item::Text(url(server)))
                        .with("weight", Item::Bare(text::number(server.weight)))
                });
                let servers = Item::List(servers.collect());
                top.put("target", Item::Map(Map::single(top.at.clone(), "servers", servers)));
            }
        }
    }
}

/// A host as a URL holds it.
pub(super) fn bracketed(host: &str) -> String {
    if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() }
}
