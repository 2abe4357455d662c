//! Binary messages of Phoenix' serializer 2.0.0, as `binaryDecode` of the library's own client reads
//! them (`phoenix.js` 1.7, `serializer.js`): a kind, a byte with the length of each part, the parts
//! one after the other, and the payload up to the end.

use super::super::message::{IncomingMessage, OutgoingMessage};
use super::number;

/// Kinds of messages.
const PUSH: u8 = 0;
const REPLY: u8 = 1;
const BROADCAST: u8 = 2;

/// A binary message from the server. Its payload is bytes of the application's own.
pub(crate) fn parse(message: &[u8]) -> IncomingMessage<'_> {
    meaning(message).unwrap_or(IncomingMessage::Broken)
}

/// Appends a push whose payload is bytes, as `binaryEncode` of the library's own client writes it. The error says which
/// part has more bytes than a byte can say.
pub(crate) fn encode(message: &OutgoingMessage<'_>, out: &mut Vec<u8>) -> Result<(), String> {
    let numbers = [message.joined_by, message.number].map(|number| number.to_string());
    let [joined_by, number] = numbers.each_ref().map(String::as_bytes);
    let parts = [
        ("number", joined_by),
        ("number", number),
        ("topic", message.topic),
        ("event", message.event),
    ];
    out.push(PUSH);
    for (name, part) in parts {
        let length = u8::try_from(part.len());
        let long = |_| format!("the {name} has more than 255 bytes, the most of a binary message");
        out.push(length.map_err(long)?);
    }
    for (_, part) in parts {
        out.extend_from_slice(part);
    }
    out.extend_from_slice(message.payload);
    Ok(())
}

/// `None`: it is too short for what it states, or of an unknown kind.
fn meaning(message: &[u8]) -> Option<IncomingMessage<'_>> {
    let (&kind, rest) = message.split_first()?;
    match kind {
        // Its first part is the number of the join, which none of our messages needs.
        PUSH => {
            let ([_, topic, event], payload) = parts(rest)?;
            Some(message_of(topic, event, payload))
        }
        REPLY => {
            let ([_, own, _, status], payload) = parts(rest)?;
            Some(IncomingMessage::Reply {
                number: number(own).unwrap_or(0),
                ok: status == b"ok",
                payload,
            })
        }
        BROADCAST => {
            let ([topic, event], payload) = parts(rest)?;
            Some(message_of(topic, event, payload))
        }
        _ => None,
    }
}

fn message_of<'a>(topic: &'a [u8], event: &'a [u8], payload: &'a [u8]) -> IncomingMessage<'a> {
    IncomingMessage::Message {
        topic: topic.into(),
        event: event.into(),
        payload: payload.into(),
        answer: None,
    }
}

/// The parts whose lengths come first, and what follows them.
fn parts<const N: usize>(bytes: &[u8]) -> Option<([&[u8]; N], &[u8])> {
    let (lengths, mut rest) = bytes.split_at_checked(N)?;
    let mut found = [&b""[..]; N];
    for (place, &length) in found.iter_mut().zip(lengths) {
        let (part, after) = rest.split_at_checked(usize::from(length))?;
        (*place, rest) = (part, after);
    }
    Some((found, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As Phoenix' own serializer writes it (`Phoenix.Socket.V2.JSONSerializer`).
    fn written(kind: u8, parts: &[&[u8]], payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![kind];
        bytes.extend(parts.iter().map(|part| part.len() as u8));
        bytes.extend(parts.concat());
        bytes.extend(payload);
        bytes
    }

    /// The bytes of the client's own test (`serializer_test.js`), with another payload.
    #[test]
    fn a_push_is_written_as_the_client_does() {
        let message = OutgoingMessage {
            verb: plan::ChannelVerb::Push,
            topic: b"t",
            event: b"e",
            payload: &[1, 0xff],
            number: 1,
            joined_by: 0,
            wants_answer: false,
        };
        let mut out = Vec::new();
        encode(&message, &mut out).unwrap();
        assert_eq!(out, b"\0\x01\x01\x01\x0101te\x01\xff");
        let topic = [b'a'; 256];
        let long = encode(&OutgoingMessage { topic: &topic, ..message }, &mut out);
        assert!(long.unwrap_err().starts_with("the topic has more than 255 bytes"));
    }

    #[test]
    fn all_kinds_are_read() {
        // The bytes of the client's own tests (`serializer_test.js`), kinds 0, 1 and 2.
        assert_eq!(
            parse(b"\x00\x03\x03\x0a123topsome-event\x01\x01"),
            message_of(b"top", b"some-event", b"\x01\x01")
        );
        let reply = b"\x01\x03\x02\x03\x0210012topok\x01\x01";
        assert_eq!(
            parse(reply),
            IncomingMessage::Reply { number: 12, ok: true, payload: b"\x01\x01" }
        );
        assert_eq!(
            parse(b"\x02\x03\x0atopsome-event\x01\x01"),
            message_of(b"top", b"some-event", b"\x01\x01")
        );
        let error = written(REPLY, &[b"1", b"x", b"t", b"error"], b"");
        assert!(matches!(parse(&error), IncomingMessage::Reply { number: 0, ok: false, .. }));
    }

    #[test]
    fn what_is_cut_off_or_unknown_is_broken() {
        for kind in [PUSH, REPLY, BROADCAST] {
            let whole = written(kind, &[b"1", b"22", b"topic", b"event"], b"");
            let whole = match kind {
                PUSH => written(kind, &[b"1", b"topic", b"event"], b""),
                BROADCAST => written(kind, &[b"topic", b"event"], b""),
                _ => whole,
            };
            assert_ne!(parse(&whole), IncomingMessage::Broken);
            for end in 0..whole.len() {
                assert_eq!(parse(&whole[..end]), IncomingMessage::Broken, "{end} of {whole:?}");
            }
        }
        for kind in 3..=u8::MAX {
            assert_eq!(parse(&[kind, 0, 0, 0, 0, 0]), IncomingMessage::Broken);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            kind in 0..3_u8,
            parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..=255), 4),
            payload in proptest::collection::vec(any::<u8>(), 0..300),
        ) {
            let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
            let used = match kind {
                PUSH => &parts[..3],
                REPLY => &parts[..],
                _ => &parts[..2],
            };
            let bytes = written(kind, used, &payload);
            match kind {
                PUSH => prop_assert_eq!(
                    parse(&bytes),
                    message_of(parts[1], parts[2], &payload)
                ),
                REPLY => prop_assert_eq!(
                    parse(&bytes),
                    IncomingMessage::Reply {
                        number: number(parts[1]).unwrap_or(0),
                        ok: parts[3] == b"ok",
                        payload: &payload,
                    }
                ),
                _ => prop_assert_eq!(
                    parse(&bytes),
                    message_of(parts[0], parts[1], &payload)
                ),
            }
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            parse(&bytes);
        }
    }
}
