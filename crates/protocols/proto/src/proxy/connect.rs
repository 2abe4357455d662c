//! `CONNECT` and the response to it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Error, Host, State, Step, Tunnel};
use crate::http1::{self, INTERIM_COUNT_MAX};
use crate::limits::Limits;

/// Bytes of a proxy's response head.
const HEAD_BYTES_MAX: usize = 16 << 10;
const LIMITS: Limits = Limits { head_bytes_max: HEAD_BYTES_MAX, ..Limits::DEFAULT };
/// Bytes of a reason phrase that are kept.
const REASON_BYTES_MAX: usize = 100;

/// Appends the request. Its target has a port in any case (RFC 9110 §9.3.6); the credentials are those of `Basic`
/// (RFC 7617).
pub(super) fn encode(tunnel: &Tunnel<'_>, out: &mut Vec<u8>) {
    let port = tunnel.port;
    let authority = match tunnel.host {
        Host::Name(name) => format!("{name}:{port}"),
        Host::Address(IpAddr::V4(address)) => format!("{address}:{port}"),
        Host::Address(IpAddr::V6(address)) => format!("[{address}]:{port}"),
    };
    http1::encode_start(out, "CONNECT", &authority, &authority);
    if let Some(own) = tunnel.credentials {
        let encoded = STANDARD.encode(format!("{}:{}", own.user, own.password));
        http1::encode_field(out, "proxy-authorization", format!("Basic {encoded}").as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}

/// The response: any 2xx opens the tunnel at the end of its head, whatever it says of a body (RFC 9110 §9.3.6).
pub(super) fn decode(input: &[u8], interim_count: u8) -> Result<Step, Error> {
    let Some((status, len)) = http1::status_and_len(input, &LIMITS)? else {
        return Ok(Step::Incomplete);
    };
    match status {
        200..=299 => Ok(Step::Open(len)),
        // Nobody wanted to switch protocols.
        100 | 102..=199 if interim_count < INTERIM_COUNT_MAX => {
            let interim_count = interim_count + 1;
            Ok(Step::Next(len, State::Connect { interim_count }))
        }
        100 | 102..=199 => Err(Error::Http(http1::Error::TooManyInterim)),
        status => Err(Error::Status { status, reason: reason(input) }),
    }
}

/// The text behind the status, as far as it can be shown.
fn reason(head: &[u8]) -> String {
    let line = http1::next_line(head).map_or(head, |(line, _)| line);
    let reason = line.splitn(3, |&b| b == b' ').nth(2).unwrap_or_default();
    let reason = &reason[..reason.len().min(REASON_BYTES_MAX)];
    String::from_utf8_lossy(reason).into_owned()
}
