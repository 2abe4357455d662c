//! Connections to servers.

use std::fmt;
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::stream::{Peer, Stream};

/// Longest time until a server is reached, TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// A server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) is_tls: bool,
    /// An IPv6 address without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Origin {
    /// The server that a host and a port name; without a port that of the scheme.
    pub(crate) fn parse(is_tls: bool, authority: &str) -> Option<Origin> {
        let usual = if is_tls { 443 } else { 80 };
        // A user in a URL is no part of the server's name.
        let authority = authority.rsplit_once('@').map_or(authority, |(_, server)| server);
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']')?;
                host.parse::<std::net::Ipv6Addr>().ok()?;
                (host, rest.strip_prefix(':').or(rest.is_empty().then_some(""))?)
            }
            None => authority.split_once(':').unwrap_or((authority, "")),
        };
        let port = if port.is_empty() { usual } else { port.parse().ok()? };
        let is_sound = !host.is_empty() && !host.contains([' ', '/', '?', '#', '\\']);
        is_sound.then(|| Origin { is_tls, host: host.to_ascii_lowercase(), port })
    }

    /// Host and port, as a `Host` field has them.
    pub(crate) fn authority(&self) -> String {
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.clone(),
        };
        match (self.is_tls, self.port) {
            (true, 443) | (false, 80) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }
}

/// Scheme, host and port.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.authority())
    }
}

/// A connection to a server.
pub(crate) struct Upstream {
    pub(crate) origin: Origin,
    pub(crate) peer: Peer,
}

/// Connects; the error is in words.
pub(crate) async fn connect(origin: &Origin, tls: &TlsConnector) -> Result<Upstream, String> {
    let connecting = timeout(CONNECT_TIMEOUT, open(origin, tls));
    let stream = connecting
        .await
        .unwrap_or_else(|_| Err(format!("no connection within {} s", CONNECT_TIMEOUT.as_secs())));
    let stream = stream.map_err(|problem| format!("cannot connect to {origin}: {problem}"))?;
    Ok(Upstream { origin: origin.clone(), peer: Peer::new(stream) })
}

async fn open(origin: &Origin, tls: &TlsConnector) -> Result<Box<dyn Stream>, String> {
    let stream = TcpStream::connect((origin.host.as_str(), origin.port))
        .await
        .map_err(|error| error.to_string())?;
    stream.set_nodelay(true).map_err(|error| error.to_string())?;
    if !origin.is_tls {
        return Ok(Box::new(stream));
    }
    let name = ServerName::try_from(origin.host.clone())
        .map_err(|_| "its name cannot be that of a certificate".to_owned())?;
    let stream = tls.connect(name, stream).await.map_err(|error| {
        trust::describe_cause(&error, "--trust").unwrap_or_else(|| error.to_string())
    })?;
    Ok(Box::new(stream))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_named_with_and_without_ports() {
        for (is_tls, authority, expected) in [
            (true, "A.test:443", "https://a.test"),
            (true, "a.test", "https://a.test"),
            (true, "a.test:80", "https://a.test:80"),
            (false, "u:p@a.test", "http://a.test"),
            (false, "127.0.0.1:8080", "http://127.0.0.1:8080"),
            (false, "[::1]:8080", "http://[::1]:8080"),
            (true, "[::1]", "https://[::1]"),
        ] {
            let origin = Origin::parse(is_tls, authority).unwrap();
            assert_eq!(origin.to_string(), expected);
        }
        for wrong in ["", ":80", "a:b", "a:99999", "[::1", "[a]:80", "[::1]8080", "a b", "a/b"] {
            assert_eq!(Origin::parse(false, wrong), None, "{wrong}");
        }
    }
}
