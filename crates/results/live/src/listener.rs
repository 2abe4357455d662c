//! Opens the socket of a page: its address, its names, its access rules.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs};

use crate::access::{Access, random_token, token_is_sound};

/// A socket to serve pages at.
#[derive(Debug)]
pub struct PageListener {
    pub socket: TcpListener,
    pub access: Access,
    /// The address to open in a browser, with the token if there is one.
    pub url: String,
}

/// Why it cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address is not one of this machine, or it is in use.
    #[error("cannot serve at {address:?}")]
    Address {
        /// As it was given.
        address: String,
        /// The system's answer.
        source: io::Error,
    },
    /// The chosen token is too short, or cannot be part of an address.
    #[error("the token cannot be used")]
    Token,
    /// The system has no random numbers, or the socket has no address.
    #[error("cannot set up the page's server")]
    System(#[source] io::Error),
}

impl PageListener {
    /// Listens at this address. `token`: the one that the user chose; beyond this machine one is generated
    /// if there is none.
    ///
    /// # Errors
    /// The address or the token cannot be used.
    pub fn open(address: &str, token: Option<String>) -> Result<PageListener, ListenError> {
        let socket = listen(address)
            .map_err(|source| ListenError::Address { address: address.to_owned(), source })?;
        let at = socket.local_addr().map_err(ListenError::System)?;
        let token = choose_token(at.ip(), token)?;
        let name = address.rsplit_once(':').map_or("", |(name, _)| name);
        let mut names = vec![name.to_owned()];
        names.extend(machine::procfs::hostname());
        let url = url(at, &names, token.as_deref());
        Ok(PageListener { socket, access: Access::new(at, names, token), url })
    }
}

fn listen(address: &str) -> io::Result<TcpListener> {
    let found: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
    TcpListener::bind(&found[..])
}

/// The token: the chosen one, or beyond this machine a random one.
fn choose_token(ip: IpAddr, chosen: Option<String>) -> Result<Option<String>, ListenError> {
    match chosen {
        Some(token) if token_is_sound(&token) => Ok(Some(token)),
        Some(_) => Err(ListenError::Token),
        None if ip.is_loopback() => Ok(None),
        None => random_token().map(Some).map_err(ListenError::System),
    }
}

/// The address to open. For a wildcard address it contains the machine's name.
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
    fn beyond_this_machine_a_token_is_required() {
        let page = PageListener::open("127.0.0.1:0", None).unwrap();
        let port = page.socket.local_addr().unwrap().port();
        assert_eq!(page.url, format!("http://127.0.0.1:{port}/"));
        let page = PageListener::open("0.0.0.0:0", None).unwrap();
        let token = page.url.split_once("/?token=").unwrap().1.to_owned();
        assert!(token_is_sound(&token), "{token}");
        let chosen = "0123456789abcdef".to_owned();
        let page = PageListener::open("127.0.0.1:0", Some(chosen)).unwrap();
        assert!(page.url.ends_with("/?token=0123456789abcdef"));
    }

    #[test]
    fn unusable_addresses_and_tokens_are_refused() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = taken.local_addr().unwrap().to_string();
        for address in ["nonsense", "127.0.0.1:99999", "127.0.0.1", &taken] {
            let refused = PageListener::open(address, None).unwrap_err();
            assert!(matches!(refused, ListenError::Address { .. }), "{address}");
        }
        let short = PageListener::open("127.0.0.1:0", Some("short".to_owned()));
        assert!(matches!(short, Err(ListenError::Token)));
    }
}
