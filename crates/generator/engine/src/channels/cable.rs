//! ActionCable, `actioncable-v1-json`, as Rails' own client speaks it (`@rails/actioncable` 7).

use std::borrow::Cow;

use plan::ChannelVerb;

use super::message::{Incoming, Outgoing, quote};
use plan::json::{pairs, unquoted};

/// A server pings every 3 s; the library's client takes it for gone after twice that
/// (`ConnectionMonitor.staleThreshold`).
const SILENCE_NS: u64 = 6_000_000_000;

pub(super) fn parse(text: &[u8]) -> Incoming<'_> {
    let (mut kind, mut identifier, mut message, mut reason) =
        (&b""[..], &b"\"\""[..], None, &b""[..]);
    let mut again = true;
    let Some(()) = pairs(text, |key, value| match key {
        "type" => kind = value,
        "identifier" => identifier = value,
        "message" => message = Some(value),
        "reason" => reason = value,
        "reconnect" => again = value != b"false",
        _ => {}
    }) else {
        return Incoming::Broken;
    };
    let Some(topic) = unquoted(identifier) else {
        return Incoming::Broken;
    };
    match kind {
        b"\"welcome\"" => Incoming::Greeting {
            silence_ns: Some(SILENCE_NS),
        },
        b"\"ping\"" => Incoming::Alive,
        b"\"confirm_subscription\"" => Incoming::Joined { topic },
        b"\"reject_subscription\"" => Incoming::Refused { topic, reason: b"" },
        b"\"disconnect\"" => Incoming::Disconnect { reason, again },
        _ => match message {
            Some(payload) => Incoming::Message {
                topic,
                event: Cow::Borrowed(b"message"),
                payload: payload.into(),
                answer: None,
            },
            None => Incoming::Broken,
        },
    }
}

pub(super) fn encode(message: &Outgoing<'_>, out: &mut Vec<u8>) {
    let command: &[u8] = match message.verb {
        ChannelVerb::Join => b"{\"command\":\"subscribe\",\"identifier\":",
        ChannelVerb::Push => b"{\"command\":\"message\",\"identifier\":",
        ChannelVerb::Leave => b"{\"command\":\"unsubscribe\",\"identifier\":",
    };
    out.extend_from_slice(command);
    quote(message.topic, out);
    if message.verb == ChannelVerb::Push {
        out.extend_from_slice(b",\"data\":");
        quote(message.payload, out);
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
        let message = Outgoing {
            verb: ChannelVerb::Push,
            topic: IDENTIFIER,
            event: b"",
            payload: br#"{"action":"speak","text":"\"hi\""}"#,
            number: 1,
            joined_by: 0,
            wants_answer: false,
        };
        encode(&message, &mut out);
        let read: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(read["command"], "message");
        assert_eq!(read["identifier"].as_str().unwrap().as_bytes(), IDENTIFIER);
        assert_eq!(read["data"].as_str().unwrap().as_bytes(), message.payload);
        out.clear();
        let verb = ChannelVerb::Leave;
        encode(&Outgoing { verb, ..message }, &mut out);
        let unsubscribe =
            r#"{"command":"unsubscribe","identifier":"{\"channel\":\"ChatChannel\",\"room\":1}"}"#;
        assert_eq!(String::from_utf8(out).unwrap(), unsubscribe);
    }

    #[test]
    fn texts_are_read() {
        let topic = || Cow::Borrowed(&b"{}"[..]);
        for (text, incoming) in [
            (
                r#"{"type":"welcome"}"#,
                Incoming::Greeting {
                    silence_ns: Some(SILENCE_NS),
                },
            ),
            (r#"{"type":"ping","message":1}"#, Incoming::Alive),
            (
                r#"{"identifier":"{}","type":"confirm_subscription"}"#,
                Incoming::Joined { topic: topic() },
            ),
            (
                r#"{"identifier":"{}","type":"reject_subscription"}"#,
                Incoming::Refused {
                    topic: topic(),
                    reason: b"",
                },
            ),
            (
                r#"{"type":"disconnect","reason":"unauthorized","reconnect":false}"#,
                Incoming::Disconnect {
                    reason: br#""unauthorized""#,
                    again: false,
                },
            ),
            (
                r#"{"identifier":"{}","message":{"type":"x"}}"#,
                Incoming::Message {
                    topic: topic(),
                    event: Cow::Borrowed(b"message"),
                    payload: br#"{"type":"x"}"#[..].into(),
                    answer: None,
                },
            ),
            (r#"{"type":"new"}"#, Incoming::Broken),
            ("[]", Incoming::Broken),
            ("", Incoming::Broken),
        ] {
            assert_eq!(parse(text.as_bytes()), incoming, "{text}");
        }
    }
}
