//! ActionCable, `actioncable-v1-json`, as Rails' own client speaks it (`@rails/actioncable` 7).

use std::borrow::Cow;

use plan::ChannelVerb;

use super::message::{IncomingMessage, OutgoingMessage, quote};
use plan::json::{pairs, unquoted};

/// A server pings every 3 s; the library's client takes it for gone after twice that
/// (`ConnectionMonitor.staleThreshold`).
const SILENCE_NS: u64 = 6_000_000_000;

pub(super) fn parse(text: &[u8]) -> IncomingMessage<'_> {
    let mut kind = &b""[..];
    let mut identifier = &b"\"\""[..];
    let mut message = None;
    let mut reason = &b""[..];
    let mut again = true;
    let Some(()) = pairs(text, |key, value| match key {
        "type" => kind = value,
        "identifier" => identifier = value,
        "message" => message = Some(value),
        "reason" => reason = value,
        "reconnect" => again = value != b"false",
        _ => {}
    }) else {
        return IncomingMessage::Broken;
    };
    let Some(topic) = unquoted(identifier) else {
        return IncomingMessage::Broken;
    };
    match kind {
        b"\"welcome\"" => IncomingMessage::Greeting { silence_ns: Some(SILENCE_NS) },
        b"\"ping\"" => IncomingMessage::Alive,
        b"\"confirm_subscription\"" => IncomingMessage::Joined { topic, session: None },
        b"\"reject_subscription\"" => IncomingMessage::Refused { topic, reason: b"" },
        b"\"disconnect\"" => IncomingMessage::Disconnect { reason, again },
        _ => match message {
            Some(payload) => IncomingMessage::Message {
                topic,
                event: Cow::Borrowed(b"message"),
                payload: payload.into(),
                answer: None,
            },
            None => IncomingMessage::Broken,
        },
    }
}

pub(super) fn encode(message: &OutgoingMessage<'_>, out: &mut Vec<u8>) {
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
        let message = OutgoingMessage {
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
        encode(&OutgoingMessage { verb, ..message }, &mut out);
        let unsubscribe =
            r#"{"command":"unsubscribe","identifier":"{\"channel\":\"ChatChannel\",\"room\":1}"}"#;
        assert_eq!(String::from_utf8(out).unwrap(), unsubscribe);
    }

    #[test]
    fn texts_are_read() {
        let topic = || Cow::Borrowed(&b"{}"[..]);
        for (text, incoming) in [
            (r#"{"type":"welcome"}"#, IncomingMessage::Greeting { silence_ns: Some(SILENCE_NS) }),
            (r#"{"type":"ping","message":1}"#, IncomingMessage::Alive),
            (
                r#"{"identifier":"{}","type":"confirm_subscription"}"#,
                IncomingMessage::Joined { topic: topic(), session: None },
            ),
            (
                r#"{"identifier":"{}","type":"reject_subscription"}"#,
                IncomingMessage::Refused { topic: topic(), reason: b"" },
            ),
            (
                r#"{"type":"disconnect","reason":"unauthorized","reconnect":false}"#,
                IncomingMessage::Disconnect { reason: br#""unauthorized""#, again: false },
            ),
            (
                r#"{"identifier":"{}","message":{"type":"x"}}"#,
                IncomingMessage::Message {
                    topic: topic(),
                    event: Cow::Borrowed(b"message"),
                    payload: br#"{"type":"x"}"#[..].into(),
                    answer: None,
                },
            ),
            (r#"{"type":"new"}"#, IncomingMessage::Broken),
            ("[]", IncomingMessage::Broken),
            ("", IncomingMessage::Broken),
        ] {
            assert_eq!(parse(text.as_bytes()), incoming, "{text}");
        }
    }
}
