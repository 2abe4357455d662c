//! SOCKS5 (RFC 1928), and its user names and passwords (RFC 1929).

use alloc::vec::Vec;
use core::net::IpAddr;

use super::{Error, Host, State, Step, Tunnel};

const VERSION: u8 = 5;
/// Ways to authenticate (RFC 1928 §3).
const NOTHING: u8 = 0;
const USER_AND_PASSWORD: u8 = 2;
const NONE_ACCEPTED: u8 = 0xff;
/// Version of the exchange of name and password (RFC 1929 §2).
const PASSWORD_VERSION: u8 = 1;
const CONNECT: u8 = 1;
/// Kinds of addresses (RFC 1928 §5).
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// Appends the ways to authenticate: with credentials these are offered too.
pub(super) fn greet(tunnel: &Tunnel<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(match tunnel.credentials {
        None => &[VERSION, 1, NOTHING],
        Some(_) => &[VERSION, 2, NOTHING, USER_AND_PASSWORD],
    });
}

/// The way that the proxy chose.
pub(super) fn take_method(
    tunnel: &Tunnel<'_>,
    input: &[u8],
    out: &mut Vec<u8>,
) -> Result<Step, Error> {
    let &[version, method, ..] = input else {
        return check_version(input).map(|()| Step::Incomplete);
    };
    check_version(&[version])?;
    match (method, tunnel.credentials) {
        (NOTHING, _) => {
            request(tunnel, out);
            Ok(Step::Next(2, State::Reply))
        }
        (USER_AND_PASSWORD, Some(own)) => {
            out.push(PASSWORD_VERSION);
            put_text(out, own.user);
            put_text(out, own.password);
            Ok(Step::Next(2, State::Password))
        }
        (NONE_ACCEPTED, _) => Err(Error::NoMethod),
        (method, _) => Err(Error::UnknownMethod(method)),
    }
}

/// Takes the answer to name and password. The version is not looked at: not all proxies send that of the exchange.
pub(super) fn take_verdict(
    tunnel: &Tunnel<'_>,
    input: &[u8],
    out: &mut Vec<u8>,
) -> Result<Step, Error> {
    match input {
        [_, 0, ..] => {
            request(tunnel, out);
            Ok(Step::Next(2, State::Reply))
        }
        [_, _, ..] => Err(Error::Credentials),
        _ => Ok(Step::Incomplete),
    }
}

/// Takes the answer to the request. A refusal is one as soon as its code is there.
pub(super) fn take_reply(input: &[u8]) -> Result<Step, Error> {
    let Some(&code) = input.get(1) else {
        return check_version(input).map(|()| Step::Incomplete);
    };
    check_version(input)?;
    if code != 0 {
        return Err(Error::Reply(code));
    }
    // Behind a reserved byte stands the address that the proxy connects from.
    let address_len = match (input.get(3), input.get(4)) {
        (Some(&IPV4), _) => 4,
        (Some(&IPV6), _) => 16,
        (Some(&NAME), Some(&len)) => 1 + usize::from(len),
        (Some(&NAME), None) | (None, _) => return Ok(Step::Incomplete),
        (Some(&kind), _) => return Err(Error::AddressKind(kind)),
    };
    let len = 4 + address_len + 2;
    Ok(match input.len() >= len {
        true => Step::Open(len),
        false => Step::Incomplete,
    })
}

/// Appends the request to connect.
fn request(tunnel: &Tunnel<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(&[VERSION, CONNECT, 0]);
    match tunnel.host {
        Host::Name(name) => {
            out.push(NAME);
            put_text(out, name);
        }
        Host::Address(IpAddr::V4(address)) => {
            out.push(IPV4);
            out.extend_from_slice(&address.octets());
        }
        Host::Address(IpAddr::V6(address)) => {
            out.push(IPV6);
            out.extend_from_slice(&address.octets());
        }
    }
    out.extend_from_slice(&tunnel.port.to_be_bytes());
}

/// A text behind its length, which a tunnel has checked.
fn put_text(out: &mut Vec<u8>, text: &str) {
    out.push(text.len() as u8);
    out.extend_from_slice(text.as_bytes());
}

fn check_version(input: &[u8]) -> Result<(), Error> {
    match input.first() {
        Some(&version) if version != VERSION => Err(Error::NotSocks(version)),
        _ => Ok(()),
    }
}
