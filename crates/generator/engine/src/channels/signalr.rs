//! The hub protocol of ASP.NET Core SignalR as JSON, as its document has it
//! (github.com/dotnet/aspnetcore, `src/SignalR/docs/specs/HubProtocol.md`) and its own client speaks it
//! (`@microsoft/signalr` 8). A hub has no channels.

use std::borrow::Cow;

use plan::json::{first_items, pairs, unquoted};

use super::message::{IncomingMessage, OutgoingMessage, quote};

/// The byte that ends each message; a frame holds one or several.
pub(super) const RECORD_END: u8 = 0x1e;
/// The time from one ping of the client's to the next (`keepAliveIntervalInMilliseconds`).
pub(super) const PING_NS: u64 = 15_000_000_000;
/// The time after which a silent server is gone (`serverTimeoutInMilliseconds`).
const SILENCE_NS: u64 = 30_000_000_000;

/// The parts of a message as they stand in it.
#[derive(Default)]
struct MessageParts<'a> {
    kind: &'a [u8],
    id: Option<&'a [u8]>,
    target: &'a [u8],
    arguments: &'a [u8],
    result: Option<&'a [u8]>,
    error: Option<&'a [u8]>,
    again: bool,
}

pub(super) fn parse(text: &[u8]) -> IncomingMessage<'_> {
    let mut parts = MessageParts::default();
    let read = pairs(text, |key, value| match key {
        "type" => parts.kind = value,
        "invocationId" => parts.id = Some(value).filter(|id| *id != b"null"),
        "target" => parts.target = value,
        "arguments" => parts.arguments = value,
        "result" => parts.result = Some(value),
        "error" => parts.error = Some(value).filter(|error| *error != b"null"),
        "allowReconnect" => parts.again = value == b"true",
        _ => {}
    });
    if read.is_none() {
        return IncomingMessage::Broken;
    }
    match parts.kind {
        // The answer to the handshake is the one message without a type.
        b"" => match parts.error {
            None => IncomingMessage::Greeting { silence_ns: Some(SILENCE_NS) },
            Some(reason) => IncomingMessage::Disconnect { reason, again: false },
        },
        b"1" => invocation(&parts).unwrap_or(IncomingMessage::Broken),
        b"3" => IncomingMessage::Reply {
            number: parts.id.and_then(number).unwrap_or(0),
            ok: parts.error.is_none(),
            payload: parts.error.or(parts.result).unwrap_or(b"null"),
        },
        b"7" => IncomingMessage::Disconnect {
            reason: parts.error.unwrap_or_default(),
            again: parts.again,
        },
        // Pings, and what clients that do not know it ignore.
        kind if kind.first().is_some_and(u8::is_ascii_digit) => IncomingMessage::Alive,
        _ => IncomingMessage::Broken,
    }
}

/// A method of the client that the server calls.
fn invocation<'a>(parts: &MessageParts<'a>) -> Option<IncomingMessage<'a>> {
    let payload = match first_items::<2>(parts.arguments)? {
        ([only, _], 1) => only,
        _ => parts.arguments,
    };
    let message = IncomingMessage::Message {
        topic: Cow::Borrowed(b""),
        event: unquoted(parts.target)?,
        payload: payload.into(),
        answer: None,
    };
    Some(match parts.id {
        None => message,
        Some(id) => IncomingMessage::Answered { text: no_result(id), then: Box::new(message) },
    })
}

/// The answer of a client whose method returns nothing to a server that wants a result.
fn no_result(id: &[u8]) -> Cow<'static, [u8]> {
    let front: &[u8] = b"{\"type\":3,\"invocationId\":";
    let back: &[u8] = b",\"error\":\"Client didn't provide a result.\"}\x1e";
    [front, id, back].concat().into()
}

/// One of our numbers, as a JSON string.
fn number(json: &[u8]) -> Option<u32> {
    std::str::from_utf8(&unquoted(json)?).ok()?.parse().ok()
}

/// Appends the call of a method of the hub.
pub(super) fn encode(message: &OutgoingMessage<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"type\":1,");
    if message.wants_answer {
        out.extend_from_slice(format!("\"invocationId\":\"{}\",", message.number).as_bytes());
    }
    out.extend_from_slice(b"\"target\":");
    quote(message.event, out);
    out.extend_from_slice(b",\"arguments\":");
    out.extend_from_slice(match message.payload {
        b"" => b"[]",
        arguments => arguments,
    });
    out.extend_from_slice(b"}\x1e");
}

pub(super) fn ping(out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"type\":6}\x1e");
}

#[cfg(test)]
mod tests {
    use plan::ChannelVerb;

    use super::*;

    fn written(payload: &str, wants_answer: bool) -> String {
        let mut out = Vec::new();
        let message = OutgoingMessage {
            verb: ChannelVerb::Push,
            topic: b"",
            event: b"Say \"it\"",
            payload: payload.as_bytes(),
            number: 12,
            joined_by: 12,
            wants_answer,
        };
        encode(&message, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn calls_are_written() {
        assert_eq!(
            written(r#"[1,{"a":2}]"#, true),
            "{\"type\":1,\"invocationId\":\"12\",\"target\":\"Say \\\"it\\\"\",\"arguments\":[1,{\"a\":2}]}\x1e"
        );
        assert_eq!(
            written("", false),
            "{\"type\":1,\"target\":\"Say \\\"it\\\"\",\"arguments\":[]}\x1e"
        );
    }

    fn said(payload: &'static str) -> IncomingMessage<'static> {
        IncomingMessage::Message {
            topic: b""[..].into(),
            event: b"Said"[..].into(),
            payload: payload.as_bytes().into(),
            answer: None,
        }
    }

    /// The examples of the document, and what the client does with others.
    #[test]
    fn messages_are_read() {
        let closed = |reason, again| IncomingMessage::Disconnect { reason, again };
        let reply = |number, ok, payload| IncomingMessage::Reply { number, ok, payload };
        for (text, incoming) in [
            ("{}", IncomingMessage::Greeting { silence_ns: Some(SILENCE_NS) }),
            (
                r#"{"error":"Requested protocol 'x' is not available."}"#,
                closed(br#""Requested protocol 'x' is not available.""#, false),
            ),
            (r#"{"type":6}"#, IncomingMessage::Alive),
            (r#"{"type":9,"sequenceId":1}"#, IncomingMessage::Alive),
            (r#"{"type":99,"x":[1]}"#, IncomingMessage::Alive),
            (r#"{"type":7}"#, closed(b"", false)),
            (r#"{"type":7,"error":"Bye","allowReconnect":true}"#, closed(br#""Bye""#, true)),
            (r#"{"type":3,"invocationId":"7","result":[1]}"#, reply(7, true, b"[1]")),
            (r#"{"type":3,"invocationId":"7","result":null}"#, reply(7, true, b"null")),
            (r#"{"type":3,"invocationId":"7"}"#, reply(7, true, b"null")),
            (
                r#"{"type":3,"invocationId":"7","error":"It didn't work!"}"#,
                reply(7, false, br#""It didn't work!""#),
            ),
            (r#"{"type":3,"invocationId":"other"}"#, reply(0, true, b"null")),
            (r#"{"type":1,"target":"Said","arguments":[{"x":1}]}"#, said(r#"{"x":1}"#)),
            (r#"{"type":1,"target":"Said","arguments":[1, "b"]}"#, said(r#"[1, "b"]"#)),
            (r#"{"type":1,"target":"Said","arguments":[]}"#, said("[]")),
        ] {
            assert_eq!(parse(text.as_bytes()), incoming, "{text}");
        }
    }

    #[test]
    fn a_result_that_is_wanted_is_refused() {
        let text = br#"{"type":1,"invocationId":"s1","target":"Said","arguments":[1]}"#;
        let IncomingMessage::Answered { text, then } = parse(text) else {
            panic!("it wants an answer");
        };
        let completion = "{\"type\":3,\"invocationId\":\"s1\",\"error\":\"Client didn't provide a result.\"}\x1e";
        assert_eq!((&*text, *then), (completion.as_bytes(), said("1")));
    }

    #[test]
    fn malformed_messages_are_broken() {
        for text in [
            "",
            "[]",
            "{",
            r#"{"type":"1"}"#,
            r#"{"type":null}"#,
            r#"{"type":1}"#,
            r#"{"type":1,"target":"a"}"#,
            r#"{"type":1,"arguments":[]}"#,
            r#"{"type":1,"target":2,"arguments":[]}"#,
            r#"{"type":1,"target":"a","arguments":{}}"#,
        ] {
            assert_eq!(parse(text.as_bytes()), IncomingMessage::Broken, "{text}");
        }
    }
}
