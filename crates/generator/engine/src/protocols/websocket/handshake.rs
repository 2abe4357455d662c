//! Handshakes of WebSockets: the request, and what its answer agrees to.

use plan::WsOpen;
use proto::http1::Head;
use proto::ws::{self, DeflateParameters, HandshakeError, Offer};

use crate::requests::{Headers, render_target};
use crate::users::Scope;

/// Appends the request for an upgrade, or without a `nonce` that over HTTP/2. The error says what cannot be sent.
pub(crate) fn encode_upgrade(
    open: &WsOpen,
    authority: &str,
    nonce: Option<&ws::Key>,
    scope: &mut Scope<'_>,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let path = render_target(&open.path, scope)?;
    let headers = Headers::render(&open.headers, scope)?;
    let host = headers.host().unwrap_or(authority);
    let offer = open.compress.map(Offer::header).map(str::as_bytes);
    let offer = offer.map(|value| ("sec-websocket-extensions", value));
    let headers = headers.iter().chain(offer);
    match nonce {
        Some(nonce) => ws::encode_handshake(out, &path, host, nonce, headers),
        None => ws::encode_connect(out, &path, host, headers),
    }
    Ok(())
}

/// Checks the answer to an upgrade that offers these subprotocols. What it agrees to of the compression that the step offers.
pub(crate) fn verify_upgrade(
    open: &WsOpen,
    offered: &str,
    head: &Head<'_>,
    nonce: &ws::Key,
) -> Result<Option<DeflateParameters>, HandshakeError> {
    let agreed = match open.compress {
        Some(offer) => ws::verify_offer(head, nonce, offer)?,
        None => {
            ws::verify_handshake(head, nonce)?;
            None
        }
    };
    ws::verify_protocol(head, offered.as_bytes())?;
    Ok(agreed)
}

/// The same of one over HTTP/2.
pub(crate) fn verify_connect(
    open: &WsOpen,
    offered: &str,
    head: &Head<'_>,
) -> Result<Option<DeflateParameters>, HandshakeError> {
    let agreed = ws::verify_connect(head, open.compress)?;
    ws::verify_protocol(head, offered.as_bytes())?;
    Ok(agreed)
}

/// The subprotocols that the step offers; those made of expressions are not checked against the
/// answer.
pub(crate) fn offered_protocols(open: &WsOpen) -> &str {
    let mut headers = open.headers.iter();
    let offered = headers.find(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-protocol"));
    offered.and_then(|(_, value)| value.as_static()).unwrap_or("")
}
