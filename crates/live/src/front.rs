//! Where a server listens, what it is called, and who may see it: the same for a run that goes on and for
//! results that are browsed.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs};

use crate::gate::{Gate, random_token, token_is_sound};

/// A place to serve at.
#[derive(Debug)]
pub struct Front {
    pub listener: TcpListener,
    pub gate: Gate,
    /// What to open in a browser, with the token where there is one.
    pub url: String,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum FrontError {
    /// It is no address of this machine, or taken.
    #[error("cannot serve at {address:?}")]
    Address {
        /// As it was given.
        address: String,
        /// The system's answer.
        source: io::Error,
    },
    /// The token that somebody chose is too short, or cannot stand in an address.
    #[error("the token cannot be used")]
    Token,
    /// The system has no random numbers, or does not tell the address.
    #[error("cannot make a place to serve at")]
    System(#[source] io::Error),
}

impl Front {
    /// Listens at this address. `chosen`: the token that somebody chose; beyond this machine there is
    /// always one.
    ///
    /// # Errors
    /// Where the address or the token cannot be used.
    pub fn open(address: &str, chosen: Option<String>) -> Result<Front, FrontError> {
        let listener = listen(address).map_err(|source| FrontError::Address {
            address: address.to_owned(),
            source,
        })?;
        let at = listener.local_addr().map_err(FrontError::System)?;
        let token = token(at.ip(), chosen)?;
        let name = address.rsplit_once(':').map_or("", |(name, _)| name);
        let mut names = vec![name.to_owned()];
        names.extend(machine::procfs::hostname());
        let url = url(at, &names, token.as_deref());
        Ok(Front {
            listener,
            gate: Gate::new(at, names, token),
            url,
        })
    }
}

fn listen(address: &str) -> io::Result<TcpListener> {
    let found: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
    TcpListener::bind(&found[..])
}

/// Beyond this machine there is always a token; here where one was chosen.
fn token(ip: IpAddr, chosen: Option<String>) -> Result<Option<String>, FrontError> {
    match chosen {
        Some(token) if token_is_sound(&token) => Ok(Some(token)),
        Some(_) => Err(FrontError::Token),
        None if ip.is_loopback() => Ok(None),
        None => random_token().map(Some).map_err(FrontError::System),
    }
}

/// What to open. An address that stands for all of the machine's is told by the machine's name.
fn url(at: SocketAddr, names: &[String], token: Option<&str>) -> String {
    let port = at.port();
    let host = match names.last() {
        Some(name) if at.ip().is_unspecified() => format!("{name}:{port}"),
        _ => at.to_string(),
    };
    let token = token.map_or(String::new(), |token| format!("?token={token}"));
    format!("http://{host}/{token}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_this_machine_there_is_a_token() {
        let front = Front::open("127.0.0.1:0", None).unwrap();
        let port = front.listener.local_addr().unwrap().port();
        assert_eq!(front.url, format!("http://127.0.0.1:{port}/"));
        let front = Front::open("0.0.0.0:0", None).unwrap();
        let token = front.url.split_once("/?token=").unwrap().1.to_owned();
        assert!(token_is_sound(&token), "{token}");
        let chosen = "0123456789abcdef".to_owned();
        let front = Front::open("127.0.0.1:0", Some(chosen)).unwrap();
        assert!(front.url.ends_with("/?token=0123456789abcdef"));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = taken.local_addr().unwrap().to_string();
        for address in ["nonsense", "127.0.0.1:99999", "127.0.0.1", &taken] {
            let refused = Front::open(address, None).unwrap_err();
            assert!(matches!(refused, FrontError::Address { .. }), "{address}");
        }
        let short = Front::open("127.0.0.1:0", Some("short".to_owned()));
        assert!(matches!(short, Err(FrontError::Token)));
    }
}
