//! Frames and handshakes as bytes, and the events expected of them.

use crate::ws_pieces::{OwnedEvent, frame, read};
use proto::ws::{Decoder, DeflateParameters, Error, HandshakeError, Key, Offer, WINDOW_BITS_MAX};
use proto::ws::{
    encode_connect, encode_handshake, verify_connect, verify_handshake, verify_protocol,
};
use proto::{Limits, http1};

fn text(text: &str) -> OwnedEvent {
    OwnedEvent::Text(text.into())
}

/// All frames in one piece.
fn frames(frames: &[(u8, &[u8])]) -> (Vec<OwnedEvent>, Result<(), Error>) {
    let wire: Vec<u8> = frames.iter().flat_map(|(first, payload)| frame(*first, payload)).collect();
    read(&Limits::DEFAULT, &[&wire])
}

#[test]
fn examples_of_the_rfc() {
    // RFC 6455 §5.7, those that a server sends.
    let hello = [0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f];
    assert_eq!(read(&Limits::DEFAULT, &[&hello]), (vec![text("Hello")], Ok(())));
    let fragments = [0x01, 0x03, 0x48, 0x65, 0x6c, 0x80, 0x02, 0x6c, 0x6f];
    assert_eq!(read(&Limits::DEFAULT, &[&fragments]), (vec![text("Hello")], Ok(())));
    let ping = [0x89, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f];
    assert_eq!(read(&Limits::DEFAULT, &[&ping]), (vec![OwnedEvent::Ping(b"Hello".into())], Ok(())));
    for (header, len) in
        [(&[0x82, 0x7e, 1, 0][..], 256), (&[0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0], 65_536)]
    {
        let wire = [header, &vec![7; len]].concat();
        assert_eq!(
            read(&Limits::DEFAULT, &[&wire]),
            (vec![OwnedEvent::Binary(vec![7; len])], Ok(()))
        );
    }
}

/// The subjects of the Autobahn suite's sections 5 (fragmentation) and 7 (closing).
#[test]
fn fragmentation() {
    let events = |events: &[OwnedEvent]| (events.to_vec(), Ok(()));
    let fails = |events: &[OwnedEvent], error| (events.to_vec(), Err(error));
    let pong = OwnedEvent::Pong(b"p".into());
    let ping = OwnedEvent::Ping(b"p".into());
    for (sent, expected) in [
        (&[(0x01, &b"a"[..]), (0x00, b"b"), (0x80, b"c")][..], events(&[text("abc")])),
        (&[(0x01, b"a"), (0x89, b"p"), (0x80, b"b")], events(&[ping.clone(), text("ab")])),
        (&[(0x01, b""), (0x00, b""), (0x80, b"")], events(&[text("")])),
        (
            &[(0x02, b"\xff"), (0x8a, b"p"), (0x80, b"")],
            events(&[pong, OwnedEvent::Binary(vec![0xff])]),
        ),
        (
            &[(0x01, b"a"), (0x80, b"b"), (0x01, b"c"), (0x80, b"d")],
            events(&[text("ab"), text("cd")]),
        ),
        (&[(0x80, b"a")], fails(&[], Error::UnexpectedContinuation)),
        (&[(0x81, b"a"), (0x00, b"b")], fails(&[text("a")], Error::UnexpectedContinuation)),
        (
            &[(0x01, b"a"), (0x80, b"b"), (0x80, b"c")],
            fails(&[text("ab")], Error::UnexpectedContinuation),
        ),
        (&[(0x01, b"a"), (0x81, b"b")], fails(&[], Error::InterleavedMessage)),
        (&[(0x02, b"a"), (0x02, b"b")], fails(&[], Error::InterleavedMessage)),
        (&[(0x09, b"p")], fails(&[], Error::ControlFragmented)),
        (&[(0x89, &[0; 126])], fails(&[], Error::ControlTooLong)),
        (&[(0x88, b""), (0x81, b"a")], events(&[OwnedEvent::Close(None, String::new())])),
        (&[(0x88, b"\x03\xe8ok")], events(&[OwnedEvent::Close(Some(1000), "ok".into())])),
        (&[(0x88, b"\x03")], fails(&[], Error::ClosePayloadTooShort)),
        (&[(0x88, b"\x03\xec")], fails(&[], Error::InvalidCloseCode(1004))),
        (&[(0x88, b"\x03\xe8\xce")], fails(&[], Error::InvalidUtf8)),
    ] {
        assert_eq!(frames(sent), expected, "{sent:02x?}");
    }
}

/// The subjects of the Autobahn suite's section 6.
#[test]
fn valid_utf8_is_text() {
    for valid in [
        &b""[..],
        b"Hello-\xc2\xb5@\xc3\x9f\xc3\xb6\xc3\xa4\xc3\xbc\xc3\xa0\xc3\xa1-UTF-8!!",
        b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5",
        b"\0",
        b"\xc2\x80",
        b"\xe0\xa0\x80",
        b"\xf0\x90\x80\x80",
        b"\x7f",
        b"\xdf\xbf",
        b"\xef\xbf\xbf",
        b"\xf4\x8f\xbf\xbf",
        b"\xed\x9f\xbf",
        b"\xee\x80\x80",
        b"\xef\xbf\xbd",
        b"\xef\xbf\xbe",
    ] {
        let expected = text(std::str::from_utf8(valid).unwrap());
        assert_eq!(frames(&[(0x81, valid)]), (vec![expected.clone()], Ok(())), "{valid:02x?}");
        let (first, second) = valid.split_at(valid.len() / 2);
        assert_eq!(frames(&[(0x01, first), (0x80, second)]), (vec![expected], Ok(())));
    }
}

#[test]
fn invalid_utf8_fails_wherever_it_is_split() {
    for invalid in [
        &b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80edited"[..],
        b"\xf8\x88\x80\x80\x80",
        b"\xfc\x84\x80\x80\x80\x80",
        b"\xf7\xbf\xbf\xbf",
        b"\xf4\x90\x80\x80",
        b"\x80",
        b"\xbf",
        b"\x80\xbf\x80",
        b"\xc0 \xc1 ",
        b"\xe0",
        b"\xf0\x80\x80",
        b"\xc0\xaf",
        b"\xe0\x80\xaf",
        b"\xf0\x80\x80\xaf",
        b"\xc1\xbf",
        b"\xe0\x9f\xbf",
        b"\xc0\x80",
        b"\xed\xa0\x80",
        b"\xed\xbf\xbf",
        b"\xfe",
        b"\xff",
    ] {
        let fails = (vec![], Err(Error::InvalidUtf8));
        assert_eq!(frames(&[(0x81, invalid)]), fails, "{invalid:02x?}");
        for at in 0..=invalid.len() {
            let (first, second) = invalid.split_at(at);
            assert_eq!(frames(&[(0x01, first), (0x80, second)]), fails, "{invalid:02x?} at {at}");
        }
    }
    let early = frames(&[(0x01, b"\xce\xba"), (0x00, b"\xf4\x90")]);
    assert_eq!(early, (vec![], Err(Error::InvalidUtf8)), "reported before the message ends");
}

#[test]
fn too_large_is_reported_before_the_payload_arrives() {
    let limits = Limits { message_bytes_max: 200, ..Limits::DEFAULT };
    let too_large = Err(Error::TooLarge { bytes_max: 200 });
    assert_eq!(read(&limits, &[&[0x82, 126, 0, 201]]), (vec![], too_large));
    assert_eq!(read(&limits, &[&[0x82, 127, 127, 0, 0, 0, 0, 0, 0, 0]]), (vec![], too_large));
    let fragments = [&frame(0x02, &[0; 150])[..], &[0x80, 51]].concat();
    assert_eq!(read(&limits, &[&fragments]), (vec![], too_large));
    let exact = [frame(0x02, &[0; 150]), frame(0x89, &[0; 60]), frame(0x80, &[0; 50])].concat();
    let expected = vec![OwnedEvent::Ping(vec![0; 60]), OwnedEvent::Binary(vec![0; 200])];
    assert_eq!(read(&limits, &[&exact]), (expected, Ok(())));
}

#[test]
fn close_codes_of_errors() {
    assert_eq!(Error::Masked.close_code(), 1002);
    assert_eq!(Error::InvalidUtf8.close_code(), 1007);
    assert_eq!(Error::TooLarge { bytes_max: 1 }.close_code(), 1009);
}

#[test]
fn nothing_is_read_after_a_close() {
    let mut decoder = Decoder::new();
    let wire = b"\x88\0garbage";
    let (len, event) = decoder.decode(wire, &Limits::DEFAULT).unwrap();
    assert_eq!(
        (len, event.map(OwnedEvent::from)),
        (2, Some(OwnedEvent::Close(None, String::new())))
    );
    assert_eq!(decoder.decode(&wire[2..], &Limits::DEFAULT), Ok((7, None)));
    assert_eq!(decoder.decode(b"", &Limits::DEFAULT), Ok((0, None)));
}

/// The key of RFC 6455 §1.3.
fn key() -> Key {
    Key::from_random(*b"the sample nonce")
}

#[test]
fn handshake_of_the_rfc() {
    assert_eq!(key().as_str(), "dGhlIHNhbXBsZSBub25jZQ==");
    assert_eq!(&key().accept(), b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    let mut wire = Vec::new();
    let headers = [("origin", &b"http://example.com"[..])];
    encode_handshake(&mut wire, "/chat", "server.example.com", &key(), headers);
    assert_eq!(
        String::from_utf8(wire).unwrap(),
        "GET /chat HTTP/1.1\r\nhost: server.example.com\r\nupgrade: websocket\r\n\
         connection: Upgrade\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         sec-websocket-version: 13\r\norigin: http://example.com\r\n\r\n"
    );
}

/// Decodes a response head and hands it to `check`.
fn with_head<T>(wire: &str, check: impl FnOnce(&http1::Head<'_>) -> T) -> T {
    let mut decoder = http1::Decoder::new();
    decoder.begin(false);
    match decoder.decode(wire.as_bytes(), &Limits::DEFAULT) {
        Ok((_, Some(http1::Event::Head(head)))) => check(&head),
        other => panic!("no head in {wire:?}: {other:?}"),
    }
}

#[test]
fn handshake_responses() {
    const GOOD: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
        Connection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
    for (from, to, expected) in [
        ("", "", Ok(())),
        ("websocket", "WebSocket", Ok(())),
        ("Connection: Upgrade", "Connection: keep-alive, upgrade", Ok(())),
        ("101 Switching Protocols", "403 Forbidden", Err(HandshakeError::Declined { status: 403 })),
        ("Upgrade: websocket", "Upgrade: h2c", Err(HandshakeError::Upgrade)),
        ("Upgrade: websocket", "X: websocket", Err(HandshakeError::Upgrade)),
        ("Connection: Upgrade", "Connection: close", Err(HandshakeError::Connection)),
        ("Connection: Upgrade", "X: y", Err(HandshakeError::Connection)),
        ("s3pPLMBi", "S3pPLMBi", Err(HandshakeError::Accept)),
        ("Accept", "Refuse", Err(HandshakeError::Accept)),
        ("\r\n\r\n", "\r\nSec-WebSocket-Extensions: \r\n\r\n", Ok(())),
        (
            "\r\n\r\n",
            "\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
            Err(HandshakeError::Extension),
        ),
    ] {
        let wire = GOOD.replacen(from, to, 1);
        assert_eq!(with_head(&wire, |head| verify_handshake(head, &key())), expected, "{wire}");
    }
}

/// RFC 8441 §5.1, as text before it becomes fields.
#[test]
fn a_request_over_http_2_has_no_key() {
    let mut wire = Vec::new();
    encode_connect(
        &mut wire,
        "/chat",
        "server.example.com",
        [("origin", &b"http://example.com"[..])],
    );
    assert_eq!(
        String::from_utf8(wire).unwrap(),
        "CONNECT /chat HTTP/1.1\r\nhost: server.example.com\r\nsec-websocket-version: 13\r\n\
         origin: http://example.com\r\n\r\n"
    );
}

#[test]
fn responses_over_http_2() {
    let deflate = "sec-websocket-extensions: permessage-deflate\r\n";
    let agreed = DeflateParameters {
        client_context: true,
        server_context: true,
        client_window_bits: WINDOW_BITS_MAX,
    };
    let shared = Some(Offer::Shared);
    for (status, fields, offer, expected) in [
        (200, "", None, Ok(None)),
        (204, "", shared, Ok(None)),
        (200, deflate, shared, Ok(Some(agreed))),
        (200, deflate, None, Err(HandshakeError::Extension)),
        (302, "", None, Err(HandshakeError::Declined { status: 302 })),
        (403, "", None, Err(HandshakeError::Declined { status: 403 })),
    ] {
        let wire = format!("HTTP/1.1 {status} x\r\n{fields}\r\n");
        let found = with_head(&wire, |head| verify_connect(head, offer));
        assert_eq!(found, expected, "{wire}");
    }
}

#[test]
fn subprotocols() {
    for (fields, offered, expected) in [
        ("", "", Ok(None)),
        ("", "chat", Ok(None)),
        ("Sec-WebSocket-Protocol: chat\r\n", "soap, chat", Ok(Some("chat"))),
        ("Sec-WebSocket-Protocol: Chat\r\n", "chat", Err(HandshakeError::Protocol)),
        ("Sec-WebSocket-Protocol: chat\r\n", "", Err(HandshakeError::Protocol)),
        (
            "Sec-WebSocket-Protocol: a\r\nSec-WebSocket-Protocol: b\r\n",
            "a, b",
            Err(HandshakeError::Protocol),
        ),
    ] {
        let wire = format!("HTTP/1.1 101 x\r\n{fields}\r\n");
        let chosen = with_head(&wire, |head| {
            let chosen = verify_protocol(head, offered.as_bytes())?;
            Ok(chosen.map(|name| String::from_utf8_lossy(&name).into_owned()))
        });
        assert_eq!(chosen.as_ref().map(Option::as_deref), expected.as_ref().copied(), "{fields:?}");
    }
}
