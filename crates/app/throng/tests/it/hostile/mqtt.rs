//! Servers of MQTT that break its rules: what is right is what the standards of versions 3.1.1 and 5 say.

use super::case::{Act, Case, drip, flood, send};

/// The server's packets come at once, whatever the client sends.
const V3: &str = "[ { mqtt: AT, timeout: 1s }, { subscribe: a, timeout: 1s } ]";
const V5: &str = "[ { mqtt: AT, version: 5, timeout: 1s }, { subscribe: a, timeout: 1s } ]";
/// A message is expected, once the subscription is acknowledged.
const EXPECT: &str =
    "[ { mqtt: AT, timeout: 1s }, { subscribe: a }, { expect: { when: { topic: a, body: hi } } } ]";

/// A client is accepted, and so is its first subscription.
const ACCEPT_3: &[u8] = b"\x20\x02\0\0";
const ACCEPT_5: &[u8] = b"\x20\x03\0\0\0";
const SUBACK_3: &[u8] = b"\x90\x03\0\x01\0";

pub(super) fn cases() -> Vec<Case> {
    let cases = [sound(), openings(), packets(), properties(), floods()].concat();
    // Nothing is sent first that could name the case.
    cases.into_iter().map(Case::at_once).collect()
}

fn accepted(version: u8, name: &'static str, bytes: impl AsRef<[u8]>, right: &'static str) -> Case {
    let (steps, accept) = if version == 5 { (V5, ACCEPT_5) } else { (V3, ACCEPT_3) };
    Case::new(
        name,
        steps,
        [send(accept), Act::Pause(std::time::Duration::from_millis(50)), send(bytes)],
        right,
    )
}

fn sound() -> Vec<Case> {
    let message = [ACCEPT_3, SUBACK_3, b"\x34\x07\0\x01a\0\x09hi"].concat();
    vec![
        accepted(3, "mqtt", SUBACK_3, "ok, ok"),
        accepted(5, "mqtt-5", b"\x90\x04\0\x01\0\0", "ok, ok"),
        Case::new("mqtt-byte-by-byte", EXPECT, [drip(&message)], "ok, ok, ok"),
        accepted(3, "mqtt-release-of-nothing", [b"\x62\x02\0\x05", SUBACK_3].concat(), "ok, ok"),
        accepted(3, "mqtt-received-of-nothing", [b"\x50\x02\0\x05", SUBACK_3].concat(), "ok, ok"),
    ]
}

fn openings() -> Vec<Case> {
    let plays =
        |name, steps: &str, bytes: &[u8], right| Case::new(name, steps, [send(bytes)], right);
    vec![
        plays("mqtt-refused", V3, b"\x20\x02\0\x05", "rejected"),
        plays("mqtt-reserved-code", V3, b"\x20\x02\0\x09", "protocol"),
        plays("mqtt-reserved-flags", V3, b"\x20\x02\x02\0", "protocol"),
        plays("mqtt-session-of-a-clean-client", V3, b"\x20\x02\x01\0", "protocol"),
        plays("mqtt-message-first", V3, b"\x30\x03\0\x01a", "protocol"),
        plays("mqtt-http", V3, b"HTTP/1.1 400 Bad Request\r\n\r\n", "protocol"),
        plays("mqtt-3-for-5", V5, ACCEPT_3, "protocol"),
        plays("mqtt-silent", V3, b"", "timeout"),
        plays("mqtt-half-an-answer", V3, b"\x20\x02\0", "timeout"),
        Case::new("mqtt-closes", V3, [Act::Fin], "closed"),
        Case::new("mqtt-closes-after-acceptance", V3, [send(ACCEPT_3), Act::Fin], "ok, closed"),
    ]
}

fn packets() -> Vec<Case> {
    vec![
        accepted(3, "mqtt-accepted-twice", ACCEPT_3, "ok, protocol"),
        accepted(3, "mqtt-length-of-five-bytes", b"\x30\xff\xff\xff\xff\x01", "ok, protocol"),
        accepted(3, "mqtt-length-too-long", b"\x30\x80\0", "ok, protocol"),
        accepted(3, "mqtt-qos-3", b"\x36\x05\0\x01a\0\x01", "ok, protocol"),
        accepted(3, "mqtt-identifier-0", b"\x32\x05\0\x01a\0\0", "ok, protocol"),
        accepted(3, "mqtt-two-codes-for-a-filter", b"\x90\x04\0\x01\0\0", "ok, protocol"),
        accepted(3, "mqtt-no-code-for-a-filter", b"\x90\x02\0\x01", "ok, protocol"),
        accepted(3, "mqtt-code-3", b"\x90\x03\0\x01\x03", "ok, protocol"),
        accepted(3, "mqtt-refused-filter", b"\x90\x03\0\x01\x80", "ok, rejected"),
        accepted(3, "mqtt-other-identifier", b"\x90\x03\0\x07\0", "ok, protocol"),
        accepted(3, "mqtt-other-acknowledgement", b"\x40\x02\0\x01", "ok, protocol"),
        accepted(3, "mqtt-topic-with-wildcard", b"\x30\x03\0\x01#", "ok, protocol"),
        accepted(3, "mqtt-topic-that-is-no-text", b"\x30\x03\0\x01\xff", "ok, protocol"),
        accepted(3, "mqtt-disconnect-of-version-5", b"\xe0\0", "ok, protocol"),
        accepted(3, "mqtt-packet-of-a-client", b"\xc0\0", "ok, protocol"),
        accepted(3, "mqtt-type-0", b"\0\0", "ok, protocol"),
        accepted(3, "mqtt-never-acknowledges", b"", "ok, timeout"),
        accepted(5, "mqtt-5-disconnect", b"\xe0\x01\x8b", "ok, closed"),
        accepted(5, "mqtt-5-refused-filter", b"\x90\x04\0\x01\0\x87", "ok, rejected"),
        accepted(5, "mqtt-5-authentication", b"\xf0\0", "ok, protocol"),
    ]
}

fn properties() -> Vec<Case> {
    vec![
        accepted(5, "mqtt-5-topic-alias", b"\x30\x07\0\x01a\x03\x23\0\x01", "ok, protocol"),
        accepted(5, "mqtt-5-unknown-property", b"\x30\x06\0\x01a\x02\x7f\0", "ok, protocol"),
        accepted(5, "mqtt-5-property-of-others", b"\x30\x06\0\x01a\x02\x24\x01", "ok, protocol"),
        accepted(
            5,
            "mqtt-5-property-twice",
            b"\x30\x08\0\x01a\x04\x01\x01\x01\x01",
            "ok, protocol",
        ),
        accepted(5, "mqtt-5-properties-too-long", b"\x30\x05\0\x01a\x7f\x01", "ok, protocol"),
    ]
}

/// Servers that send without an end.
fn floods() -> Vec<Case> {
    let floods =
        |name, bytes: &[u8], right| Case::new(name, V5, [send(ACCEPT_5), flood(bytes)], right);
    let mut released_never = Vec::new();
    for id in 1..=2000_u16 {
        released_never.extend_from_slice(&[0x34, 6, 0, 1, b'a']);
        released_never.extend_from_slice(&id.to_be_bytes());
        released_never.push(0);
    }
    vec![
        accepted(5, "mqtt-5-over-limit", b"\x30\x81\x80\x04", "ok, too-large"),
        floods("mqtt-5-messages-without-an-end", b"\x30\x06\0\x01a\0hi", "ok, timeout"),
        accepted(5, "mqtt-5-never-releases", released_never, "ok, protocol"),
    ]
}
