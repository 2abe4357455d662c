//! Frames against hand-made bytes, and against tungstenite as a client.

use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocket, WebSocketConfig};

use super::*;

const MESSAGE_MAX: usize = 300;
const MASK: [u8; 4] = [7, 1, 0x80, 0xff];

/// A client's frame; `first` is the byte of FIN and opcode.
fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        length @ 0..=125 => bytes.push(0x80 | length as u8),
        length => {
            bytes.push(0x80 | 126);
            bytes.extend((length as u16).to_be_bytes());
        }
    }
    bytes.extend(MASK);
    bytes.extend(payload.iter().zip(MASK.iter().cycle()).map(|(a, b)| a ^ b));
    bytes
}

/// All that `bytes` say, and what is wrong with them.
fn read(mut bytes: Vec<u8>) -> (Vec<PeerMessage<'static>>, Option<FrameError>) {
    let mut fragments = Fragments::default();
    let mut received = Vec::new();
    loop {
        match take(&mut bytes, &mut fragments, MESSAGE_MAX) {
            Ok(DecodeResult::Nothing) => return (received, None),
            Ok(DecodeResult::Frame { length, received: one }) => {
                received.extend(one.map(owned));
                bytes.drain(..length);
            }
            Err(error) => return (received, Some(error)),
        }
    }
}

fn owned(received: PeerMessage<'_>) -> PeerMessage<'static> {
    match received {
        PeerMessage::Text(text) => PeerMessage::Text(Cow::Owned(text.into_owned())),
        PeerMessage::Ping(payload) => PeerMessage::Ping(payload.to_vec().leak()),
        PeerMessage::Binary(bytes) => PeerMessage::Binary(Cow::Owned(bytes.into_owned())),
        PeerMessage::Pong => PeerMessage::Pong,
        PeerMessage::Close(code) => PeerMessage::Close(code),
    }
}

fn text_said(text: &str) -> PeerMessage<'static> {
    PeerMessage::Text(Cow::Owned(text.to_owned()))
}

#[test]
fn messages_in_one_frame() {
    for text in ["", "a", "süß", &"x".repeat(125), &"x".repeat(126), &"x".repeat(MESSAGE_MAX)] {
        assert_eq!(read(masked(0x81, text.as_bytes())), (vec![text_said(text)], None));
    }
    assert_eq!(
        read(masked(0x82, b"\xff")),
        (vec![PeerMessage::Binary(Cow::Borrowed(b"\xff"))], None)
    );
    let close = PeerMessage::Close(Some(CloseCode::Normal));
    assert_eq!(read(masked(0x88, b"\x03\xe8bye")), (vec![close], None));
    assert_eq!(read(masked(0x88, b"")), (vec![PeerMessage::Close(None)], None));
}

#[test]
fn every_prefix_of_a_frame_is_incomplete() {
    for payload in [&b"hello"[..], &[b'x'; 200]] {
        let whole = masked(0x81, payload);
        for end in 0..whole.len() {
            let mut bytes = whole[..end].to_vec();
            let taken = take(&mut bytes, &mut Fragments::default(), MESSAGE_MAX);
            assert_eq!(taken, Ok(DecodeResult::Nothing), "{end} bytes");
            assert_eq!(bytes, whole[..end], "left as they were");
        }
    }
}

#[test]
fn fragments_are_put_together_around_control_frames() {
    // The two halves of a letter stand in two frames.
    let mut bytes = masked(0x01, b"s\xc3");
    bytes.extend(masked(0x89, b"?"));
    bytes.extend(masked(0x00, b"\xbc"));
    bytes.extend(masked(0x8a, b""));
    bytes.extend(masked(0x80, "ß".as_bytes()));
    bytes.extend(masked(0x81, b"next"));
    let expected =
        vec![PeerMessage::Ping(b"?"), PeerMessage::Pong, text_said("süß"), text_said("next")];
    assert_eq!(read(bytes), (expected, None));
    let mut bytes = masked(0x02, b"\xff");
    bytes.extend(masked(0x80, b"\xff"));
    let both = PeerMessage::Binary(Cow::Borrowed(b"\xff\xff"));
    assert_eq!(read(bytes), (vec![both], None));
}

#[test]
fn frames_that_break_the_protocol_are_refused() {
    use FrameError::{NotUtf8, Protocol, TooLong};
    let joined = |a: Vec<u8>, b: Vec<u8>| [a, b].concat();
    let cases = [
        ("no mask", vec![0x81, 0x01, b'x'], Protocol),
        ("a reserved bit", masked(0xc1, b""), Protocol),
        ("a data opcode without meaning", masked(0x83, b""), Protocol),
        ("a control opcode without meaning", masked(0x8b, b""), Protocol),
        ("a ping in fragments", masked(0x09, b""), Protocol),
        ("a long ping", masked(0x89, &[0; 126]), Protocol),
        ("a continuation of nothing", masked(0x80, b""), Protocol),
        ("a message within one", joined(masked(0x01, b""), masked(0x81, b"")), Protocol),
        ("half a status", masked(0x88, b"\x03"), Protocol),
        ("a status that is never sent", masked(0x88, b"\x03\xed"), Protocol),
        ("a reason that is not UTF-8", masked(0x88, b"\x03\xe8\xff"), NotUtf8),
        ("text that is not UTF-8", masked(0x81, b"\xff"), NotUtf8),
        ("half a letter", joined(masked(0x01, b"\xc3"), masked(0x80, b"")), NotUtf8),
        ("a long message", masked(0x81, &[b'x'; MESSAGE_MAX + 1]), TooLong),
        (
            "a long message in fragments",
            joined(masked(0x01, &[b'x'; MESSAGE_MAX]), masked(0x80, b"x")),
            TooLong,
        ),
        // Refused by its header alone; the first bit of a length may not be set at all.
        ("2^64 - 1 bytes", [&[0x81, 0xff][..], &[0xff; 8], &MASK].concat(), TooLong),
    ];
    for (what, bytes, error) in cases {
        assert_eq!(read(bytes), (vec![], Some(error)), "{what}");
    }
}

#[test]
fn a_control_frame_is_no_part_of_a_long_message() {
    let mut bytes = masked(0x01, &[b'x'; MESSAGE_MAX]);
    bytes.extend(masked(0x89, &[b'y'; 125]));
    bytes.extend(masked(0x80, b""));
    let (received, error) = read(bytes);
    assert_eq!((received.len(), error), (2, None));
}

/// A stream of what the server sends, read by a client that is not ours.
fn client_reads(bytes: Vec<u8>) -> Vec<Message> {
    let config = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
    let stream = Cursor::new(bytes);
    let mut client = WebSocket::from_raw_socket(stream, Role::Client, Some(config));
    std::iter::from_fn(|| client.read().ok()).collect()
}

#[test]
fn what_is_sent_is_what_a_client_reads() {
    let texts = [0, 1, 125, 126, 0xffff, 0x1_0000].map(|length| "x".repeat(length));
    let mut bytes = Vec::new();
    for one in &texts {
        bytes.extend(text(|out| out.extend(one.bytes())));
    }
    bytes.extend(PING);
    bytes.extend(pong(b"same"));
    let frame = CloseFrame { code: CloseCode::Away, reason: "é".repeat(100).into() };
    bytes.extend(close(Some(&frame)));
    let mut expected: Vec<Message> = texts.iter().map(|one| Message::text(one.as_str())).collect();
    expected.push(Message::Ping(Bytes::new()));
    expected.push(Message::Pong(Bytes::from_static(b"same")));
    // A reason has 123 bytes at most: 61 letters of two.
    let reason = "é".repeat(61).into();
    expected.push(Message::Close(Some(CloseFrame { reason, ..frame })));
    assert_eq!(client_reads(bytes), expected);
    assert_eq!(client_reads(close(None).to_vec()), [Message::Close(None)]);
}
