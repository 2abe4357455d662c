//! ActionCable, `actioncable-v1-json`, as Rails' own client speaks it (`@rails/actioncable` 7).

use std::borrow::Cow;

use plan::ChannelVerb;

use super::{Heard, Said, quote};
use crate::extract::{pairs, unquoted};

/// A server pings every 3 s; the library's client takes it for gone after twice that
/// (`ConnectionMonitor.staleThreshold`).
const SILENCE_NS: u64 = 6_000_000_000;

pub(super) fn hear(text: &[u8]) -> Heard<'_> {
    let (mut kind, mut identifier, mut message, mut reason) =
        (&b""[..], &b"\"\""[..], None, &b""[..]);
    let Some(()) = pairs(text, |key, value| match key {
        "type" => kind = value,
        "identifier" => identifier = value,
        "message" => message = Some(value),
        "reason" => reason = value,
        _ => {}
    }) else {
        return Heard::Broken;
    };
    let Some(topic) = unquoted(identifier) else {
        return Heard::Broken;
    };
    match kind {
        b"\"welcome\"" => Heard::Greeting {
            silence_ns: Some(SILENCE_NS),
        },
        b"\"ping\"" => Heard::Alive,
        b"\"confirm_subscription\"" => Heard::Joined { topic },
        b"\"reject_subscription\"" => Heard::Refused { topic, reason: b"" },
        b"\"disconnect\"" => Heard::Goodbye { reason },
        _ => match message {
            Some(payload) => Heard::Message {
                topic,
                event: Cow::Borrowed(b"message"),
                payload: payload.into(),
            },
            None => Heard::Broken,
        },
    }
}

pub(super) fn say(said: &Said<'_>, out: &mut Vec<u8>) {
    let command: &[u8] = match said.verb {
        ChannelVerb::Join => b"{\"command\":\"subscribe\",\"identifier\":",
        ChannelVerb::Push => b"{\"command\":\"message\",\"identifier\":",
        ChannelVerb::Leave => b"{\"command\":\"unsubscribe\",\"identifier\":",
    };
    out.extend_from_slice(command);
    quote(said.topic, out);
    if said.verb == ChannelVerb::Push {
        out.extend_from_slice(b",\"data\":");
        quote(said.payload, out);
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDENTIFIER: &[u8] = br#"{"channel":"ChatChannel","room":1}"#;

    #[test]
    fn commands_are_written() {
        let mut out = Vec::new();
        let said = Said {
            verb: ChannelVerb::Push,
            topic: IDENTIFIER,
            event: b"",
            payload: br#"{"action":"speak","text":"\"hi\""}"#,
            number: 1,
            joined_by: 0,
            wants_answer: false,
        };
        say(&said, &mut out);
        let read: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(read["command"], "message");
        assert_eq!(read["identifier"].as_str().unwrap().as_bytes(), IDENTIFIER);
        assert_eq!(read["data"].as_str().unwrap().as_bytes(), said.payload);
        out.clear();
        let verb = ChannelVerb::Leave;
        say(&Said { verb, ..said }, &mut out);
        let unsubscribe =
            r#"{"command":"unsubscribe","identifier":"{\"channel\":\"ChatChannel\",\"room\":1}"}"#;
        assert_eq!(String::from_utf8(out).unwrap(), unsubscribe);
    }

    #[test]
    fn texts_are_read() {
        let topic = || Cow::Borrowed(&b"{}"[..]);
        for (text, heard) in [
            (
                r#"{"type":"welcome"}"#,
                Heard::Greeting {
                    silence_ns: Some(SILENCE_NS),
                },
            ),
            (r#"{"type":"ping","message":1}"#, Heard::Alive),
            (
                r#"{"identifier":"{}","type":"confirm_subscription"}"#,
                Heard::Joined { topic: topic() },
            ),
            (
                r#"{"identifier":"{}","type":"reject_subscription"}"#,
                Heard::Refused {
                    topic: topic(),
                    reason: b"",
                },
            ),
            (
                r#"{"type":"disconnect","reason":"unauthorized","reconnect":false}"#,
                Heard::Goodbye {
                    reason: br#""unauthorized""#,
                },
            ),
            (
                r#"{"identifier":"{}","message":{"type":"x"}}"#,
                Heard::Message {
                    topic: topic(),
                    event: Cow::Borrowed(b"message"),
                    payload: br#"{"type":"x"}"#[..].into(),
                },
            ),
            (r#"{"type":"new"}"#, Heard::Broken),
            ("[]", Heard::Broken),
            ("", Heard::Broken),
        ] {
            assert_eq!(hear(text.as_bytes()), heard, "{text}");
        }
    }
}
