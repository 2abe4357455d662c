//! `graphql-transport-ws`, as the library graphql-ws speaks it (version 6, its PROTOCOL.md), and answers of GraphQL
//! (specification of September 2025, section 7.1).

use std::borrow::Cow;

use plan::ChannelVerb;
use plan::graphql::Answer;
use plan::json::{items, pairs, pointer, unquoted};

use super::message::{ChannelEnd, EndKind, IncomingMessage, OutgoingMessage, quote};

/// The event of messages, as the protocol calls their type.
const NEXT: &[u8] = b"next";

/// Most bytes of an error's message that are shown.
const SHOWN_BYTES_MAX: usize = 300;

pub(super) fn parse(text: &[u8]) -> IncomingMessage<'_> {
    let mut kind = &b""[..];
    let mut id = None;
    let mut payload = &b""[..];
    let read = pairs(text, |key, value| match key {
        "type" => kind = value,
        "id" => id = Some(value),
        "payload" => payload = value,
        _ => {}
    });
    if read.is_none() {
        return IncomingMessage::Broken;
    }
    let topic = id.and_then(unquoted).filter(|id| !id.is_empty());
    let ended = |topic, how| {
        IncomingMessage::Ended(ChannelEnd { topic, joined_by: None, how, reason: payload })
    };
    match (kind, topic) {
        (b"\"connection_ack\"", _) => IncomingMessage::Greeting { silence_ns: None },
        (b"\"ping\"", _) => IncomingMessage::Ping { pong: pong(payload) },
        (b"\"pong\"", _) => IncomingMessage::Alive,
        (b"\"next\"", Some(topic)) if payload.first() == Some(&b'{') => IncomingMessage::Message {
            topic,
            event: NEXT.into(),
            payload: payload.into(),
            answer: None,
        },
        (b"\"error\"", Some(topic)) if payload.first() == Some(&b'[') => {
            ended(topic, EndKind::Errors)
        }
        (b"\"complete\"", Some(topic)) => ended(topic, EndKind::Completed),
        _ => IncomingMessage::Broken,
    }
}

/// With the payload of the ping, as the library's client answers.
fn pong(payload: &[u8]) -> Cow<'_, [u8]> {
    match payload {
        b"" => b"{\"type\":\"pong\"}"[..].into(),
        payload => [b"{\"type\":\"pong\",\"payload\":", payload, b"}"].concat().into(),
    }
}

pub(super) fn encode(message: &OutgoingMessage<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"id\":");
    quote(message.topic, out);
    match message.verb {
        ChannelVerb::Leave => out.extend_from_slice(b",\"type\":\"complete\"}"),
        // Whatever is sent is an operation under an id.
        ChannelVerb::Join | ChannelVerb::Push => {
            out.extend_from_slice(b",\"type\":\"subscribe\",\"payload\":");
            out.extend_from_slice(message.payload);
            out.push(b'}');
        }
    }
}

/// The statuses after which the library's client gives up (`client.ts`: `isFatalInternalCloseCode`,
/// `shouldRetryConnectOrThrow`).
pub(super) fn is_fatal(code: u16) -> bool {
    match code {
        1000 | 1001 | 1005 | 1006 | 1012 | 1013 | 1014 => false,
        1000..=1999 => true,
        _ => matches!(code, 4004 | 4005 | 4400 | 4401 | 4406 | 4409 | 4429 | 4500),
    }
}

/// Why an answer is not the one that is wanted; `None`: it is.
pub fn failure(wanted: Answer, answer: &[u8]) -> Option<String> {
    let part = |name: &str| pointer(answer, &[name.to_owned()]);
    let data = part("data");
    let errors = part("errors").and_then(items).unwrap_or_default();
    let Some(first) = errors.first() else {
        let is_none = wanted != Answer::Message && data.is_none();
        return is_none
            .then(|| "no answer of GraphQL: it has neither `data` nor `errors`".to_owned());
    };
    if wanted == Answer::Partial && data.is_some_and(|data| data != b"null") {
        return None;
    }
    let message = pointer(first, &["message".to_owned()]).and_then(unquoted);
    let message = message.unwrap_or(Cow::Borrowed(first));
    let shown =
        String::from_utf8_lossy(&message[..message.len().min(SHOWN_BYTES_MAX)]).into_owned();
    Some(match errors.len() {
        1 => format!("the answer has an error: {shown}"),
        count => format!("the answer has {count} errors, the first is: {shown}"),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(verb: ChannelVerb, id: &str) -> String {
        let mut out = Vec::new();
        let message = OutgoingMessage {
            verb,
            topic: id.as_bytes(),
            event: b"",
            payload: br#"{"query":"{ a }"}"#,
            number: 1,
            joined_by: 1,
            wants_answer: false,
        };
        encode(&message, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn operations_are_written() {
        let subscribe = r#"{"id":"a\"b","type":"subscribe","payload":{"query":"{ a }"}}"#;
        assert_eq!(written(ChannelVerb::Join, "a\"b"), subscribe);
        assert_eq!(written(ChannelVerb::Leave, "1"), r#"{"id":"1","type":"complete"}"#);
    }

    #[test]
    fn texts_are_read() {
        let topic = || Cow::Borrowed(&b"1"[..]);
        let ended = |how, reason: &'static [u8]| {
            IncomingMessage::Ended(ChannelEnd { topic: topic(), joined_by: None, how, reason })
        };
        for (text, incoming) in [
            (r#"{"type":"connection_ack"}"#, IncomingMessage::Greeting { silence_ns: None }),
            (
                r#"{"type":"connection_ack","payload":{"a":1}}"#,
                IncomingMessage::Greeting { silence_ns: None },
            ),
            (
                r#"{"type":"ping"}"#,
                IncomingMessage::Ping { pong: br#"{"type":"pong"}"#[..].into() },
            ),
            (
                r#"{"type":"ping","payload":{"at":1}}"#,
                IncomingMessage::Ping { pong: br#"{"type":"pong","payload":{"at":1}}"#[..].into() },
            ),
            (r#"{"type":"pong"}"#, IncomingMessage::Alive),
            (
                r#"{"id":"1","type":"next","payload":{"data":{"a":1}}}"#,
                IncomingMessage::Message {
                    topic: topic(),
                    event: NEXT.into(),
                    payload: br#"{"data":{"a":1}}"#[..].into(),
                    answer: None,
                },
            ),
            (
                r#"{"payload":[{"message":"x"}],"id":"1","type":"error"}"#,
                ended(EndKind::Errors, br#"[{"message":"x"}]"#),
            ),
            (r#"{"id":"1","type":"complete"}"#, ended(EndKind::Completed, b"")),
        ] {
            assert_eq!(parse(text.as_bytes()), incoming, "{text}");
        }
    }

    #[test]
    fn other_texts_are_broken() {
        for text in [
            "",
            "[]",
            "{}",
            r#"{"type":"next","payload":{}}"#,
            r#"{"id":"","type":"complete"}"#,
            r#"{"id":1,"type":"complete"}"#,
            r#"{"id":"1","type":"next"}"#,
            r#"{"id":"1","type":"next","payload":[]}"#,
            r#"{"id":"1","type":"error","payload":{}}"#,
            r#"{"type":"ka"}"#,
            r#"{"id":"1","type":"data","payload":{}}"#,
        ] {
            assert_eq!(parse(text.as_bytes()), IncomingMessage::Broken, "{text}");
        }
    }

    #[test]
    fn errors_in_an_answer_are_a_failure() {
        use Answer::{Message, Partial, Whole};
        let one = r#"{"data":{"a":null},"errors":[{"message":"no \"a\""}]}"#;
        let two = r#"{"errors":[{"message":"b"},{"message":"c"}],"data":null}"#;
        for (wanted, answer, expected) in [
            (Whole, r#"{"data":{"a":1}}"#, None),
            (Whole, r#"{"data":null,"errors":[]}"#, None),
            (Whole, one, Some("the answer has an error: no \"a\"")),
            (Message, one, Some("the answer has an error: no \"a\"")),
            (Partial, one, None),
            (Partial, two, Some("the answer has 2 errors, the first is: b")),
            (Partial, r#"{"errors":[1]}"#, Some("the answer has an error: 1")),
            (Message, "hello", None),
            (Whole, "<html>", Some("no answer of GraphQL: it has neither `data` nor `errors`")),
        ] {
            assert_eq!(failure(wanted, answer.as_bytes()).as_deref(), expected, "{answer}");
        }
    }

    proptest! {
        /// Whatever id and payload an operation has: what a server would read of it, and what we read of its answer.
        #[test]
        fn ids_and_payloads_come_back(id in "\\PC{1,20}", said in "\\PC{0,20}") {
            let text: serde_json::Value = serde_json::from_str(&written(ChannelVerb::Join, &id)).unwrap();
            prop_assert_eq!(text["id"].as_str(), Some(&*id));
            prop_assert_eq!(text["payload"]["query"].as_str(), Some("{ a }"));
            let payload = serde_json::json!({ "data": { "said": said } }).to_string();
            let next = format!("{{\"type\":\"next\",\"id\":{},\"payload\":{payload}}}", text["id"]);
            let read = parse(next.as_bytes());
            let IncomingMessage::Message { topic, payload: read, .. } = read else {
                return Err(TestCaseError::fail(format!("{read:?}")));
            };
            prop_assert_eq!(&*topic, id.as_bytes());
            prop_assert_eq!(&*read, payload.as_bytes());
        }
    }
}
