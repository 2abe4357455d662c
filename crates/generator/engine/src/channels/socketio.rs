//! Socket.IO (protocol 5, of Socket.IO 3 and 4) over Engine.IO (protocol 4), as their documents have it:
//! github.com/socketio/socket.io-protocol and …/engine.io-protocol.

use std::borrow::Cow;

use plan::ChannelVerb;

use super::message::{ChannelEnd, EndKind, IncomingMessage, OutgoingMessage, quote};
use plan::json::{first_items, items, json_number, pairs, unquoted};

/// The namespace that packets leave out.
const MAIN: &[u8] = b"/";

/// Most binary messages of one event.
const ATTACHMENTS_MAX: u32 = 1024;

/// How a server of Socket.IO 2 shows itself: it joins the main namespace by itself, and names no session.
const SOCKET_IO_2: &str = "the server speaks Socket.IO 2 (Engine.IO 3), whose clients send the pings; \
                           `protocol: socket.io` speaks that of Socket.IO 3 and 4";

/// Most bytes of the offset of an event.
const OFFSET_BYTES_MAX: usize = 256;

/// A packet of Engine.IO; a message holds one of Socket.IO.
pub(super) fn parse(text: &[u8]) -> IncomingMessage<'_> {
    match text.split_first() {
        Some((b'0', rest)) => open(rest),
        Some((b'1', _)) => IncomingMessage::Disconnect { reason: b"", again: true },
        Some((b'2', rest)) => IncomingMessage::Ping { pong: [b"3", rest].concat().into() },
        Some((b'4', rest)) => packet(rest).unwrap_or(IncomingMessage::Broken),
        Some((b'3' | b'6', _)) => IncomingMessage::Alive,
        _ => IncomingMessage::Broken,
    }
}

/// The server pings in this interval and waits this long: without a ping for both together it is
/// gone.
fn open(json: &[u8]) -> IncomingMessage<'_> {
    let mut silence_ms = 0.0;
    let read = pairs(json, |key, value| {
        if matches!(key, "pingInterval" | "pingTimeout") {
            silence_ms += json_number(value).unwrap_or(0.0);
        }
    });
    if read.is_none() {
        return IncomingMessage::Broken;
    }
    let silence_ns = (silence_ms * 1e6) as u64;
    IncomingMessage::Greeting { silence_ns: (silence_ns > 0).then_some(silence_ns) }
}

/// The parts of a packet: `TYPE[ATTACHMENTS-][/NAMESPACE,][NUMBER][JSON]`.
struct Packet<'a> {
    kind: u8,
    attachments: u32,
    topic: &'a [u8],
    number: Option<u32>,
    json: &'a [u8],
}

fn split(text: &[u8]) -> Option<Packet<'_>> {
    let (&kind, mut rest) = text.split_first()?;
    let mut attachments = 0;
    if matches!(kind, b'5' | b'6') {
        let (count, after) = digits(rest);
        attachments = count.filter(|&count| count <= ATTACHMENTS_MAX)?;
        rest = after.strip_prefix(b"-")?;
    }
    let mut topic = MAIN;
    if rest.first() == Some(&b'/') {
        let end = rest.iter().position(|b| *b == b',').unwrap_or(rest.len());
        topic = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    let (number, json) = digits(rest);
    Some(Packet { kind, attachments, topic, number, json })
}

fn packet(text: &[u8]) -> Option<IncomingMessage<'_>> {
    let Packet { kind, attachments, topic, number, json } = split(text)?;
    let topic = Cow::Borrowed(topic);
    let incoming = match kind {
        b'0' if json.is_empty() => IncomingMessage::OtherVersion { found: SOCKET_IO_2 },
        b'0' => {
            let mut session = None;
            pairs(json, |key, value| {
                if key == "pid" {
                    session = Some(value);
                }
            })?;
            IncomingMessage::Joined { topic, session }
        }
        b'1' => IncomingMessage::Ended(ChannelEnd {
            topic,
            joined_by: None,
            how: EndKind::Closed,
            reason: json,
        }),
        b'2' | b'5' => {
            let (items, count) = first_items::<3>(json)?;
            let event = items.first().filter(|_| count > 0)?;
            IncomingMessage::Message {
                topic,
                event: unquoted(event)?,
                payload: match count {
                    1 => Cow::Borrowed(b"[]"),
                    2 => Cow::Borrowed(items[1]),
                    _ => [b"[", from(json, items[1])].concat().into(),
                },
                answer: number,
            }
        }
        b'3' | b'6' => IncomingMessage::Reply {
            number: number?,
            ok: true,
            payload: match first_items::<2>(json)? {
                ([only, _], 1) => only,
                _ => json,
            },
        },
        b'4' => IncomingMessage::Refused { topic, reason: json },
        _ => return None,
    };
    if attachments == 0 {
        return Some(incoming);
    }
    Some(IncomingMessage::WithAttachments { count: attachments, then: Box::new(incoming) })
}

/// An event of a server that keeps what is missed while a connection is lost (`connectionStateRecovery`).
#[derive(Debug, PartialEq, Eq)]
pub struct RecoverableEvent<'a> {
    /// The arguments, as of other events.
    pub payload: Cow<'a, [u8]>,
    /// The place of the event among those of the session, a JSON string: the last argument.
    pub offset: &'a [u8],
}

/// Reads such an event in a packet of Engine.IO; `None`: it has no offset.
pub(super) fn recoverable_event(text: &[u8]) -> Option<RecoverableEvent<'_>> {
    let items = items(split(text.strip_prefix(b"4")?)?.json)?;
    let (&offset, arguments) = items.get(1..)?.split_last()?;
    if offset.first() != Some(&b'"') || offset.len() > OFFSET_BYTES_MAX {
        return None;
    }
    let payload = match arguments {
        [] => Cow::Borrowed(&b"[]"[..]),
        [only] => Cow::Borrowed(*only),
        several => [b"[", &several.join(&b","[..])[..], b"]"].concat().into(),
    };
    Some(RecoverableEvent { payload, offset })
}

/// The payload that joins a namespace again and continues its session: `payload` is that of the first time, `pid` and
/// `offset` are JSON strings, the offset empty if there was no event yet.
pub(super) fn recovering(payload: &[u8], pid: &[u8], offset: &[u8]) -> Vec<u8> {
    let own = payload.strip_prefix(b"{").and_then(|own| own.strip_suffix(b"}")).unwrap_or_default();
    let mut out = [b"{\"pid\":", pid].concat();
    if !offset.is_empty() {
        out.extend_from_slice(b",\"offset\":");
        out.extend_from_slice(offset);
    }
    if !own.trim_ascii().is_empty() {
        out.push(b',');
        out.extend_from_slice(own);
    }
    out.push(b'}');
    out
}

/// `json` from its part `part` on.
fn from<'a>(json: &'a [u8], part: &[u8]) -> &'a [u8] {
    let start = (part.as_ptr() as usize).saturating_sub(json.as_ptr() as usize);
    json.get(start..).unwrap_or_default()
}

/// The number that begins `text`, if one does, and what follows it.
fn digits(text: &[u8]) -> (Option<u32>, &[u8]) {
    let end = text.iter().position(|b| !b.is_ascii_digit());
    let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
    let number = std::str::from_utf8(digits).ok().and_then(|d| d.parse().ok());
    (number, rest)
}

pub(super) fn encode(message: &OutgoingMessage<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(match message.verb {
        ChannelVerb::Join => b"40",
        ChannelVerb::Leave => b"41",
        ChannelVerb::Push => b"42",
    });
    if message.topic != MAIN {
        out.extend_from_slice(message.topic);
        out.push(b',');
    }
    if message.verb != ChannelVerb::Push {
        return out.extend_from_slice(message.payload);
    }
    if message.wants_answer {
        out.extend_from_slice(message.number.to_string().as_bytes());
    }
    out.push(b'[');
    quote(message.event, out);
    match message.payload {
        b"" | b"[]" => out.push(b']'),
        arguments => {
            out.push(b',');
            out.extend_from_slice(&arguments[1..]);
        }
    }
}

/// Appends the answer to a message that has a number: the packet of an acknowledgement, whose
/// arguments are a list.
pub(super) fn acknowledge(topic: &[u8], number: u32, arguments: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"43");
    if topic != MAIN {
        out.extend_from_slice(topic);
        out.push(b',');
    }
    out.extend_from_slice(number.to_string().as_bytes());
    out.extend_from_slice(arguments);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(verb: ChannelVerb, topic: &str, payload: &str, wants_answer: bool) -> String {
        let mut out = Vec::new();
        let message = OutgoingMessage {
            verb,
            topic: topic.as_bytes(),
            event: b"say \"it\"",
            payload: payload.as_bytes(),
            number: 12,
            joined_by: 0,
            wants_answer,
        };
        encode(&message, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn packets_are_written() {
        use ChannelVerb::{Join, Leave, Push};
        assert_eq!(written(Join, "/", "", false), "40");
        let token = r#"{"token":1}"#;
        assert_eq!(written(Join, "/a", token, false), r#"40/a,{"token":1}"#);
        assert_eq!(written(Leave, "/a", "", false), "41/a,");
        assert_eq!(written(Push, "/", "[]", false), r#"42["say \"it\""]"#);
        assert_eq!(
            written(Push, "/a", r#"[{"b":1},2]"#, true),
            r#"42/a,12["say \"it\"",{"b":1},2]"#
        );
        let mut out = Vec::new();
        acknowledge(b"/a", 12, b"[]", &mut out);
        acknowledge(MAIN, 0, br#"["done",1]"#, &mut out);
        assert_eq!(out, br#"43/a,12[]430["done",1]"#);
    }

    /// A packet that announces more is no packet.
    #[test]
    fn attachments_are_limited() {
        let of = |count: u32| packet(format!("5{count}-[\"event\"]").as_bytes()).is_some();
        assert!(of(ATTACHMENTS_MAX) && !of(ATTACHMENTS_MAX + 1) && !of(u32::MAX));
    }

    #[test]
    fn packets_are_read() {
        let main = || Cow::Borrowed(MAIN);
        let other = || Cow::Borrowed(&b"/a"[..]);
        let ended = |topic| {
            IncomingMessage::Ended(ChannelEnd {
                topic,
                joined_by: None,
                how: EndKind::Closed,
                reason: b"",
            })
        };
        for (text, incoming) in [
            (
                r#"0{"sid":"x","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1}"#,
                IncomingMessage::Greeting { silence_ns: Some(45_000_000_000) },
            ),
            ("2", IncomingMessage::Ping { pong: b"3"[..].into() }),
            ("2probe", IncomingMessage::Ping { pong: b"3probe"[..].into() }),
            ("6", IncomingMessage::Alive),
            ("1", IncomingMessage::Disconnect { reason: b"", again: true }),
            (r#"40{"sid":"y"}"#, IncomingMessage::Joined { topic: main(), session: None }),
            (
                r#"40/a,{"sid":"y","pid":"p"}"#,
                IncomingMessage::Joined { topic: other(), session: Some(br#""p""#) },
            ),
            // Of Socket.IO 2.
            ("40", IncomingMessage::OtherVersion { found: SOCKET_IO_2 }),
            ("40/a,", IncomingMessage::OtherVersion { found: SOCKET_IO_2 }),
            (
                r#"44/a,{"message":"no"}"#,
                IncomingMessage::Refused { topic: other(), reason: br#"{"message":"no"}"# },
            ),
            ("41/a,", ended(other())),
            ("41/a", ended(other())),
            ("41", ended(main())),
        ] {
            assert_eq!(parse(text.as_bytes()), incoming, "{text}");
        }
    }

    #[test]
    fn events_and_replies_are_read() {
        let topic = |text: &'static str| Cow::Borrowed(text.as_bytes());
        for (text, incoming) in [
            (
                r#"42/a,3["ev",{"x":1}]"#,
                IncomingMessage::Message {
                    topic: topic("/a"),
                    event: b"ev"[..].into(),
                    payload: br#"{"x":1}"#[..].into(),
                    answer: Some(3),
                },
            ),
            (
                r#"42["ev", [1], "]"]"#,
                IncomingMessage::Message {
                    topic: topic("/"),
                    event: b"ev"[..].into(),
                    payload: br#"[[1], "]"]"#[..].into(),
                    answer: None,
                },
            ),
            (
                r#"42["ev"]"#,
                IncomingMessage::Message {
                    topic: topic("/"),
                    event: b"ev"[..].into(),
                    payload: b"[]"[..].into(),
                    answer: None,
                },
            ),
            (
                r#"4312["done"]"#,
                IncomingMessage::Reply { number: 12, ok: true, payload: br#""done""# },
            ),
        ] {
            assert_eq!(parse(text.as_bytes()), incoming, "{text}");
        }
        let binary = parse(br#"451-["ev",{"_placeholder":true,"num":0}]"#);
        assert!(matches!(binary, IncomingMessage::WithAttachments { count: 1, .. }));
    }

    #[test]
    fn events_have_an_offset_behind_their_arguments() {
        for (text, payload) in [
            (r#"42["e","o-1"]"#, "[]"),
            (r#"42/a,["e",{"x":[1]},"o-1"]"#, r#"{"x":[1]}"#),
            (r#"451-["e",1, "b","o-1"]"#, r#"[1,"b"]"#),
        ] {
            let payload = Cow::Borrowed(payload.as_bytes());
            let expected = RecoverableEvent { payload, offset: br#""o-1""# };
            assert_eq!(recoverable_event(text.as_bytes()), Some(expected), "{text}");
        }
        let long = format!(r#"42["e","{}"]"#, "o".repeat(OFFSET_BYTES_MAX));
        for text in [r#"42["e"]"#, r#"42["e",1]"#, r#"42["e","a",1]"#, "42", "2", long.as_str()] {
            assert_eq!(recoverable_event(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_session_is_continued_with_its_first_payload() {
        for (payload, offset, expected) in [
            ("", "", r#"{"pid":"p"}"#),
            ("{}", r#""o""#, r#"{"pid":"p","offset":"o"}"#),
            (r#"{"t":1}"#, "", r#"{"pid":"p","t":1}"#),
            (r#"{"t":1}"#, r#""o""#, r#"{"pid":"p","offset":"o","t":1}"#),
        ] {
            let found = recovering(payload.as_bytes(), br#""p""#, offset.as_bytes());
            assert_eq!(String::from_utf8(found).unwrap(), expected);
        }
    }

    #[test]
    fn malformed_packets_are_broken() {
        for text in ["40x", "40[]", "", "4", "42", "42[1]", "43[1]", "49", "45x", "459999-[]", "7"]
        {
            assert_eq!(parse(text.as_bytes()), IncomingMessage::Broken, "{text}");
        }
    }
}
