//! Reason codes as text (§2.4; MQTT 3.1.1 §3.2.2.3 and §3.9.3).

use crate::mqtt::Version;
use crate::mqtt::packet::FAILURE;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The text of a reason code from 0x80 on, or of a CONNACK's code of 3.1.1 from 1 on.
pub fn reason_text(version: Version, code: u8) -> &'static str {
    match (version, code) {
        (Version::V3, 1) => "unacceptable protocol version",
        (Version::V3, 2) => "identifier rejected",
        (Version::V3, 3) => "server unavailable",
        (Version::V3, 4) => "bad user name or password",
        (Version::V3, 5) => "not authorized",
        (Version::V3, 0x80) => "failure",
        (_, code) => named(code).unwrap_or("an unknown reason"),
    }
}

/// A code in words, with its number; 0 is the normal one.
pub fn reason_words(version: Version, code: u8) -> String {
    let named = match code {
        0 => "normally",
        code => reason_text(version, code),
    };
    format!("{named} (0x{code:02x})")
}

/// The filters that were refused by their codes, each with its reason.
pub fn refusals(version: Version, filters: &[&[u8]], codes: &[u8]) -> String {
    let refused = filters.iter().zip(codes).filter(|own| *own.1 >= FAILURE);
    let said = refused.map(|(filter, code)| {
        let filter = String::from_utf8_lossy(filter);
        format!("{filter}: {}", reason_words(version, *code))
    });
    said.collect::<Vec<_>>().join(", ")
}

/// Whether the standard has such a code for a failure.
pub(crate) fn is_failure(code: u8) -> bool {
    named(code).is_some()
}

fn named(code: u8) -> Option<&'static str> {
    Some(match code {
        0x80 => "unspecified error",
        0x81 => "malformed packet",
        0x82 => "protocol error",
        0x83 => "implementation specific error",
        0x84 => "unsupported protocol version",
        0x85 => "client identifier not valid",
        0x86 => "bad user name or password",
        0x87 => "not authorized",
        0x88 => "server unavailable",
        0x89 => "server busy",
        0x8a => "banned",
        0x8b => "server shutting down",
        0x8c => "bad authentication method",
        0x8d => "keep alive timeout",
        0x8e => "session taken over",
        0x8f => "topic filter invalid",
        0x90 => "topic name invalid",
        0x91 => "packet identifier in use",
        0x92 => "packet identifier not found",
        0x93 => "receive maximum exceeded",
        0x94 => "topic alias invalid",
        0x95 => "packet too large",
        0x96 => "message rate too high",
        0x97 => "quota exceeded",
        0x98 => "administrative action",
        0x99 => "payload format invalid",
        0x9a => "retain not supported",
        0x9b => "QoS not supported",
        0x9c => "use another server",
        0x9d => "server moved",
        0x9e => "shared subscriptions not supported",
        0x9f => "connection rate exceeded",
        0xa0 => "maximum connect time",
        0xa1 => "subscription identifiers not supported",
        0xa2 => "wildcard subscriptions not supported",
        _ => return None,
    })
}
