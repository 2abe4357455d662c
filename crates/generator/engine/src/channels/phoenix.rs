//! Phoenix channels: the serializers 1.0.0 (objects) and 2.0.0 (arrays of five, and [`binary`]), as the
//! library's own client speaks them (`phoenix.js` 1.7).

pub(super) mod binary;

use plan::ChannelVerb;

use super::message::{ChannelEnd, EndKind, IncomingMessage, OutgoingMessage, quote};
use plan::json::{first_items, pairs, unquoted};

/// The parts of a message as they stand in it.
struct MessageParts<'a> {
    joined_by: &'a [u8],
    number: &'a [u8],
    topic: &'a [u8],
    event: &'a [u8],
    payload: &'a [u8],
}

pub(super) fn parse_array(text: &[u8]) -> IncomingMessage<'_> {
    match first_items::<6>(text) {
        Some(([joined_by, number, topic, event, payload, _], 5)) => {
            meaning(&MessageParts { joined_by, number, topic, event, payload })
        }
        _ => IncomingMessage::Broken,
    }
}

pub(super) fn parse_object(text: &[u8]) -> IncomingMessage<'_> {
    let mut parts = MessageParts {
        joined_by: b"null",
        number: b"null",
        topic: b"",
        event: b"",
        payload: b"{}",
    };
    let Some(()) = pairs(text, |key, value| match key {
        "join_ref" => parts.joined_by = value,
        "ref" => parts.number = value,
        "topic" => parts.topic = value,
        "event" => parts.event = value,
        "payload" => parts.payload = value,
        _ => {}
    }) else {
        return IncomingMessage::Broken;
    };
    meaning(&parts)
}

fn meaning<'a>(parts: &MessageParts<'a>) -> IncomingMessage<'a> {
    let (Some(topic), Some(event)) = (unquoted(parts.topic), unquoted(parts.event)) else {
        return IncomingMessage::Broken;
    };
    let payload = parts.payload;
    match &*event {
        b"phx_reply" => reply(parts.number, payload),
        // A close is the answer to our leaving, or the server's own doing. The numbers of both are
        // that of the join, which the older serializer writes as the message's own
        // (`Phoenix.Socket`, `encode_close` and `encode_on_exit`).
        b"phx_close" | b"phx_error" => IncomingMessage::Ended(ChannelEnd {
            topic,
            joined_by: quoted_number(parts.joined_by).or_else(|| quoted_number(parts.number)),
            how: match *event == *b"phx_error" {
                true => EndKind::Failed,
                false => EndKind::Closed,
            },
            reason: if payload == b"{}" { b"" } else { payload },
        }),
        _ => IncomingMessage::Message { topic, event, payload: payload.into(), answer: None },
    }
}

/// A reply with an unknown number answers nothing that is waited for.
fn reply<'a>(number: &[u8], payload: &'a [u8]) -> IncomingMessage<'a> {
    let number = quoted_number(number).unwrap_or(0);
    let mut ok = false;
    let mut response = &b"{}"[..];
    let read = pairs(payload, |key, value| match key {
        "status" => ok = value == b"\"ok\"",
        "response" => response = value,
        _ => {}
    });
    if read.is_none() {
        return IncomingMessage::Broken;
    }
    IncomingMessage::Reply { number, ok, payload: response }
}

/// One of our numbers, as a JSON string.
fn quoted_number(json: &[u8]) -> Option<u32> {
    number(&unquoted(json)?)
}

/// One of our numbers, as text.
fn number(text: &[u8]) -> Option<u32> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

pub(super) fn encode(arrays: bool, message: &OutgoingMessage<'_>, out: &mut Vec<u8>) {
    let event: &[u8] = match message.verb {
        ChannelVerb::Join => b"phx_join",
        ChannelVerb::Push => message.event,
        ChannelVerb::Leave => b"phx_leave",
    };
    let payload: &[u8] = match message.payload {
        b"" => b"{}",
        payload => payload,
    };
    let joined_by = Some(message.joined_by);
    write(arrays, joined_by, message.number, message.topic, event, payload, out);
}

pub(super) fn heartbeat(arrays: bool, number: u32, out: &mut Vec<u8>) {
    write(arrays, None, number, b"phoenix", b"heartbeat", b"{}", out);
}

fn write(
    arrays: bool,
    joined_by: Option<u32>,
    number: u32,
    topic: &[u8],
    event: &[u8],
    payload: &[u8],
    out: &mut Vec<u8>,
) {
    let joined_by = joined_by.map_or("null".to_owned(), |number| format!("\"{number}\""));
    if arrays {
        out.extend_from_slice(format!("[{joined_by},\"{number}\",").as_bytes());
        quote(topic, out);
        out.push(b',');
        quote(event, out);
        out.push(b',');
        out.extend_from_slice(payload);
        out.push(b']');
        return;
    }
    out.extend_from_slice(b"{\"topic\":");
    quote(topic, out);
    out.extend_from_slice(b",\"event\":");
    quote(event, out);
    out.extend_from_slice(b",\"payload\":");
    out.extend_from_slice(payload);
    out.extend_from_slice(format!(",\"ref\":\"{number}\",\"join_ref\":{joined_by}}}").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(verb: ChannelVerb) -> OutgoingMessage<'static> {
        OutgoingMessage {
            verb,
            topic: b"room:\"1\"",
            event: b"new_msg",
            payload: br#"{"a":1}"#,
            number: 7,
            joined_by: 3,
            wants_answer: true,
        }
    }

    fn written(arrays: bool, verb: ChannelVerb) -> String {
        let mut out = Vec::new();
        encode(arrays, &message(verb), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn both_forms_are_written() {
        assert_eq!(
            written(true, ChannelVerb::Join),
            r#"["3","7","room:\"1\"","phx_join",{"a":1}]"#
        );
        assert_eq!(
            written(false, ChannelVerb::Push),
            r#"{"topic":"room:\"1\"","event":"new_msg","payload":{"a":1},"ref":"7","join_ref":"3"}"#
        );
        let mut out = Vec::new();
        heartbeat(true, 9, &mut out);
        assert_eq!(out, br#"[null,"9","phoenix","heartbeat",{}]"#);
    }

    #[test]
    fn both_forms_are_read() {
        let array = br#" ["3", null, "room:\u0031", "new_msg", {"t": [1, "]"]}] "#;
        let object =
            br#"{"ref":null,"payload":{"t": [1, "]"]},"event":"new_msg","topic":"room:1"}"#;
        for incoming in [parse_array(array), parse_object(object)] {
            let IncomingMessage::Message { topic, event, payload, answer: None } = incoming else {
                panic!("{incoming:?}")
            };
            assert_eq!((&*topic, &*event), (&b"room:1"[..], &b"new_msg"[..]));
            assert_eq!(*payload, br#"{"t": [1, "]"]}"#[..]);
        }
        let reply = br#"["3","7","r","phx_reply",{"status":"error","response":{"reason":"no"}}]"#;
        assert_eq!(
            parse_array(reply),
            IncomingMessage::Reply { number: 7, ok: false, payload: br#"{"reason":"no"}"# }
        );
    }

    #[test]
    fn both_ends_are_read() {
        let ended = |how, reason| {
            IncomingMessage::Ended(ChannelEnd {
                topic: b"r"[..].into(),
                joined_by: Some(3),
                how,
                reason,
            })
        };
        let object = br#"{"topic":"r","event":"phx_close","payload":{},"ref":"3"}"#;
        assert_eq!(parse_object(object), ended(EndKind::Closed, b""));
        let array = br#"["3","3","r","phx_error",{}]"#;
        assert_eq!(parse_array(array), ended(EndKind::Failed, b""));
        let array = br#"["3",null,"r","phx_close",{"reason":"kicked"}]"#;
        assert_eq!(parse_array(array), ended(EndKind::Closed, br#"{"reason":"kicked"}"#));
    }

    #[test]
    fn malformed_channel_messages_are_reported() {
        for text in ["", "{", "[1,2,3,4]", "[1,2,3,4,5]", "null", "[", "{}", "\u{fc}"] {
            assert_eq!(parse_array(text.as_bytes()), IncomingMessage::Broken, "{text}");
            assert_eq!(parse_object(text.as_bytes()), IncomingMessage::Broken, "{text}");
        }
    }
}
