//! Tunnels through proxies, the client's side: HTTP `CONNECT` (RFC 9110 §9.3.6) and SOCKS5 (RFC 1928, with the user
//! names and passwords of RFC 1929).
//!
//! A [`Handshake`] is a byte or two of state, of a connection that is set up: its caller keeps what was received, as
//! with every decoder of this crate, and sends what is appended. After the handshake the connection is the
//! destination's.

mod connect;
mod error;
mod socks;

pub use error::Error;

use alloc::vec::Vec;
use core::net::IpAddr;

/// Bytes of a name, user name or password that SOCKS5 has room for.
pub const SOCKS_TEXT_BYTES_MAX: usize = 255;

/// The protocol of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// HTTP/1.1.
    Connect,
    /// SOCKS, version 5.
    Socks5,
}

/// The host that a tunnel leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host<'a> {
    /// A name, which the proxy resolves.
    Name(&'a str),
    /// An address.
    Address(IpAddr),
}

/// The name and password of the proxy's user.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Credentials<'a> {
    /// The user's name.
    pub user: &'a str,
    /// The user's password.
    pub password: &'a str,
}

impl core::fmt::Debug for Credentials<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Credentials")
    }
}

/// A tunnel that a proxy is requested to open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tunnel<'a> {
    kind: Kind,
    host: Host<'a>,
    port: u16,
    credentials: Option<Credentials<'a>>,
}

impl<'a> Tunnel<'a> {
    /// A tunnel to this host and port. `None`: the name cannot stand in a request, or a text is too long for SOCKS5
    /// ([`SOCKS_TEXT_BYTES_MAX`]).
    pub fn new(
        kind: Kind,
        host: Host<'a>,
        port: u16,
        credentials: Option<Credentials<'a>>,
    ) -> Option<Tunnel<'a>> {
        let has_room = |text: &str| kind == Kind::Connect || text.len() <= SOCKS_TEXT_BYTES_MAX;
        let is_right = match host {
            Host::Name(name) => crate::http1::is_target(name) && has_room(name),
            Host::Address(_) => true,
        };
        let has_room = |own: Credentials<'_>| has_room(own.user) && has_room(own.password);
        (is_right && credentials.is_none_or(has_room)).then_some(Tunnel {
            kind,
            host,
            port,
            credentials,
        })
    }
}

/// How far the set-up of a tunnel is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handshake(State);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The response to `CONNECT` is due, after this number of interim ones.
    Connect { interim_count: u8 },
    /// SOCKS: the way to authenticate is due.
    Method,
    /// SOCKS: what became of name and password.
    Password,
    /// SOCKS: what became of the request.
    Reply,
}

impl Handshake {
    /// Appends what is sent first.
    pub fn begin(tunnel: &Tunnel<'_>, out: &mut Vec<u8>) -> Handshake {
        Handshake(match tunnel.kind {
            Kind::Connect => {
                connect::encode(tunnel, out);
                State::Connect { interim_count: 0 }
            }
            Kind::Socks5 => {
                socks::greet(tunnel, out);
                State::Method
            }
        })
    }

    /// Decodes from the front of `input`: the bytes consumed, and whether the tunnel is open. Then all that follows is
    /// the destination's. Appends to `out` what is to be sent. `tunnel` is that of [`Handshake::begin`].
    ///
    /// # Errors
    /// The proxy refused the tunnel, or broke its protocol or a limit.
    pub fn decode(
        &mut self,
        tunnel: &Tunnel<'_>,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(usize, bool), Error> {
        let mut taken = 0;
        loop {
            let rest = &input[taken..];
            let step = match self.0 {
                State::Connect { interim_count } => connect::decode(rest, interim_count)?,
                State::Method => socks::take_method(tunnel, rest, out)?,
                State::Password => socks::take_verdict(tunnel, rest, out)?,
                State::Reply => socks::take_reply(rest)?,
            };
            match step {
                Step::Incomplete => return Ok((taken, false)),
                Step::Next(len, state) => {
                    taken += len;
                    self.0 = state;
                }
                Step::Open(len) => return Ok((taken + len, true)),
            }
        }
    }
}

/// The answer at the front of the input.
enum Step {
    /// More is needed.
    Incomplete,
    /// An answer of this length, after which another is due.
    Next(usize, State),
    /// The last answer, of this length.
    Open(usize),
}
