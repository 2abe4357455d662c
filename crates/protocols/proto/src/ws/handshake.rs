//! The opening handshake (RFC 6455 §4.1, §4.2.2), and that over HTTP/2 (RFC 8441 §5).

use super::deflate::{self, DeflateParameters, Offer};
use super::error::HandshakeError;
use crate::http1::{self, Head};
use alloc::borrow::Cow;
use alloc::vec::Vec;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

/// The text that a server appends to the key before hashing (§1.3).
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const KEY_BYTES: usize = 24;
const ACCEPT_BYTES: usize = 28;

/// The nonce of one handshake: `Sec-WebSocket-Key`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; KEY_BYTES]);

impl Key {
    /// From 16 bytes that should differ with every connection.
    pub fn from_random(random: [u8; 16]) -> Self {
        Self(base64_of(&random))
    }

    /// The key as it stands in the request.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.0).expect("base64 is ASCII")
    }

    /// The right value of `Sec-WebSocket-Accept` in the response.
    pub fn accept(&self) -> [u8; ACCEPT_BYTES] {
        let digest = Sha1::new().chain_update(self.0).chain_update(GUID).finalize();
        base64_of(&digest)
    }
}

fn base64_of<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut encoded = [0; N];
    let len = STANDARD.encode_slice(bytes, &mut encoded).expect("room for 4 in 3 bytes");
    debug_assert_eq!(len, N);
    encoded
}

/// Appends the upgrade request. `headers` are for what the application adds (`origin`, cookies,
/// `sec-websocket-protocol`); the fields of the handshake itself must not be among them, and
/// neither must `sec-websocket-extensions`, but for [`Offer::header`]. What [`http1::encode_request`] requires of text that
/// comes from outside holds here.
pub fn encode_handshake<'h>(
    out: &mut Vec<u8>,
    target: &str,
    host: &str,
    key: &Key,
    headers: impl IntoIterator<Item = (&'h str, &'h [u8])>,
) {
    http1::encode_start(out, "GET", target, host);
    out.extend_from_slice(b"upgrade: websocket\r\nconnection: Upgrade\r\n");
    http1::encode_field(out, "sec-websocket-key", &key.0);
    http1::encode_field(out, "sec-websocket-version", b"13");
    for (name, value) in headers {
        http1::encode_field(out, name, value);
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends the request that opens a WebSocket over HTTP/2, as text for
/// [`h2::encode_connect`](crate::h2::encode_connect): no key, and nothing of an upgrade (RFC 8441 §5). What
/// [`encode_handshake`] says of `headers` holds here.
pub fn encode_connect<'h>(
    out: &mut Vec<u8>,
    target: &str,
    host: &str,
    headers: impl IntoIterator<Item = (&'h str, &'h [u8])>,
) {
    let version = ("sec-websocket-version", &b"13"[..]);
    let headers = core::iter::once(version).chain(headers);
    http1::encode_head(out, "CONNECT", target, host, headers);
}

/// Checks the response to the handshake (§4.1, the list at its end). The subprotocol is for
/// [`verify_protocol`], since only the caller knows what it offered.
///
/// # Errors
/// The first requirement that the response fails.
pub fn verify_handshake(head: &Head<'_>, key: &Key) -> Result<(), HandshakeError> {
    verify_upgrade(head, key)?;
    verify_no_extension(head)
}

fn verify_no_extension(head: &Head<'_>) -> Result<(), HandshakeError> {
    if values(head, "sec-websocket-extensions").any(|value| http1::list(&value).next().is_some()) {
        return Err(HandshakeError::Extension);
    }
    Ok(())
}

/// Checks the response as [`verify_handshake`] does, if compression was offered: the parameters that the server
/// agreed to, if any.
///
/// # Errors
/// The first requirement that the response fails.
pub fn verify_offer(
    head: &Head<'_>,
    key: &Key,
    offer: Offer,
) -> Result<Option<DeflateParameters>, HandshakeError> {
    verify_upgrade(head, key)?;
    deflate::agreed(head, offer)
}

/// Checks the response to [`encode_connect`], and returns what the server agreed to of the compression that was
/// offered. Any status of 2xx opens the WebSocket.
///
/// # Errors
/// As [`verify_handshake`].
pub fn verify_connect(
    head: &Head<'_>,
    offer: Option<Offer>,
) -> Result<Option<DeflateParameters>, HandshakeError> {
    if !(200..300).contains(&head.status) {
        let status = head.status;
        return Err(HandshakeError::Declined { status });
    }
    match offer {
        Some(offer) => deflate::agreed(head, offer),
        None => verify_no_extension(head).map(|()| None),
    }
}

fn verify_upgrade(head: &Head<'_>, key: &Key) -> Result<(), HandshakeError> {
    if head.status != 101 {
        return Err(HandshakeError::Declined { status: head.status });
    }
    if !head.header("upgrade").is_some_and(|value| value.eq_ignore_ascii_case(b"websocket")) {
        return Err(HandshakeError::Upgrade);
    }
    if !values(head, "connection")
        .any(|value| http1::list(&value).any(|option| option.eq_ignore_ascii_case(b"upgrade")))
    {
        return Err(HandshakeError::Connection);
    }
    if head.header("sec-websocket-accept").as_deref() != Some(&key.accept()) {
        return Err(HandshakeError::Accept);
    }
    Ok(())
}

/// Checks the subprotocol of the response against the comma-separated ones offered in the
/// request (`""`: none), and returns the one that the server chose. Choosing none is allowed.
///
/// # Errors
/// [`HandshakeError::Protocol`]: it chose one that was not offered, or several.
pub fn verify_protocol<'a>(
    head: &Head<'a>,
    offered: &[u8],
) -> Result<Option<Cow<'a, [u8]>>, HandshakeError> {
    let mut chosen = values(head, "sec-websocket-protocol");
    match (chosen.next(), chosen.next()) {
        (None, _) => Ok(None),
        (Some(one), None) if http1::list(offered).any(|own| *own == *one) => Ok(Some(one)),
        _ => Err(HandshakeError::Protocol),
    }
}

fn values<'a>(head: &Head<'a>, name: &'static str) -> impl Iterator<Item = Cow<'a, [u8]>> {
    head.headers().filter(move |(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}
