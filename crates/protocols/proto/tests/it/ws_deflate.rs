//! Compressed messages: the examples of RFC 7692 §7.2.3, every cut, and what may be agreed on.

use crate::http1_pieces::{cut, cuts};
use crate::ws_pieces::{OwnedEvent, frame};
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_HAS_MORE_INPUT;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};
use proptest::prelude::*;
use proto::Limits;
use proto::http1::{self, Head};
use proto::ws::{
    DeflateParameters, Deflater, Error, HandshakeError, InflatingDecoder, Key, MessageKind, Offer,
    WINDOW_BITS_MAX, encode_compressed, verify_offer,
};

const SHARED: DeflateParameters = DeflateParameters {
    client_context: true,
    server_context: true,
    client_window_bits: WINDOW_BITS_MAX,
};
const SEPARATE: DeflateParameters =
    DeflateParameters { client_context: false, server_context: false, ..SHARED };

/// Reads all frames from pieces that arrive one after another: their events, until an error.
fn read(agreed: DeflateParameters, pieces: &[&[u8]]) -> (Vec<OwnedEvent>, Result<(), Error>) {
    let limits = Limits { message_bytes_max: 1_000, ..Limits::DEFAULT };
    let mut decoder = InflatingDecoder::new(agreed);
    let mut buffer = Vec::new();
    let mut events = Vec::new();
    for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            let (len, event) = match decoder.decode(&buffer, &limits) {
                Ok((len, event)) => (len, event.map(OwnedEvent::from)),
                Err(error) => return (events, Err(error)),
            };
            let waits = len == 0 && event.is_none();
            events.extend(event);
            buffer.drain(..len);
            if waits {
                break;
            }
        }
    }
    (events, Ok(()))
}

fn text(text: &str) -> OwnedEvent {
    OwnedEvent::Text(text.to_owned())
}

fn compressed(payload: &[u8]) -> Vec<u8> {
    frame(0xc1, payload)
}

/// RFC 7692 §7.2.3.1 to 7.2.3.5.
#[test]
fn the_examples_of_the_rfc() {
    let hello = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
    let one = [compressed(&hello)].concat();
    let fragments =
        [frame(0x41, &hello[..3]), frame(0x89, b"ping"), frame(0x80, &hello[3..])].concat();
    let again = [compressed(&hello), compressed(&[0xf2, 0x00, 0x11, 0x00, 0x00])].concat();
    let stored = [0x00, 0x05, 0x00, 0xfa, 0xff, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0x00];
    let last = [0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00];
    let two_blocks = [0xf2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xff, 0xff, 0xca, 0xc9, 0xc9, 0x07, 0x00];
    assert_eq!(read(SHARED, &[&one]), (vec![text("Hello")], Ok(())));
    assert_eq!(read(SHARED, &[&fragments]).0, [OwnedEvent::Ping(b"ping".to_vec()), text("Hello")]);
    assert_eq!(read(SHARED, &[&again]).0, [text("Hello"), text("Hello")]);
    for payload in [&stored[..], &last, &two_blocks] {
        for agreed in [SHARED, SEPARATE] {
            let wire = [compressed(payload), compressed(&hello)].concat();
            assert_eq!(read(agreed, &[&wire]).0, [text("Hello"), text("Hello")]);
        }
    }
    // Uncompressed messages may stand between.
    let mixed = [frame(0x81, b"plain"), compressed(&hello), compressed(&[0])].concat();
    let events = [text("plain"), text("Hello"), text("")];
    assert_eq!(read(SHARED, &[&mixed]).0, events);
}

#[test]
fn protocol_errors_are_reported() {
    let hello = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
    let back = [0xf2, 0x00, 0x11, 0x00, 0x00];
    let separate = [compressed(&hello), compressed(&back)].concat();
    // It refers to a message that it may not refer to: whatever that was, it is not found.
    assert_ne!(read(SEPARATE, &[&separate]).0.get(1), Some(&text("Hello")));
    let long = Deflater::new().deflate(&[b'x'; 100_000]);
    let mut noise = Deflater::new();
    let not_utf8 = noise.deflate(&[0xff]);
    for (agreed, wire, error) in [
        (SHARED, compressed(&[0xff; 20]), Error::Deflate),
        // A block of stored bytes (RFC 1951 §3.2.4) that says nine and has two.
        (SHARED, frame(0xc2, &[0, 9, 0, 0xf6, 0xff, b'o', b'k']), Error::Deflate),
        (SHARED, compressed(&long), Error::TooLarge { bytes_max: 1_000 }),
        (SHARED, compressed(&not_utf8), Error::InvalidUtf8),
        (SHARED, frame(0xa1, &hello), Error::ReservedBits),
        (SHARED, frame(0xc9, b""), Error::ReservedBits),
        (SHARED, [frame(0x41, &hello), frame(0xc0, b"")].concat(), Error::ReservedBits),
        (SHARED, frame(0x80, b""), Error::UnexpectedContinuation),
        (SHARED, [frame(0x41, b""), frame(0x81, b"")].concat(), Error::InterleavedMessage),
    ] {
        assert_eq!(read(agreed, &[&wire]).1, Err(error), "{wire:?}");
    }
}

fn agreed(extensions: &[&str], offer: Offer) -> Result<Option<DeflateParameters>, HandshakeError> {
    let key = Key::from_random([7; 16]);
    let accept = key.accept();
    let accept = std::str::from_utf8(&accept).expect("ASCII");
    let lines = extensions.iter().map(|value| format!("sec-websocket-extensions: {value}\r\n"));
    let lines: String = lines.collect();
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\
         sec-websocket-accept: {accept}\r\n{lines}\r\n"
    );
    let mut decoder = http1::Decoder::new();
    decoder.begin(false);
    let head = |head: &Head<'_>| verify_offer(head, &key, offer);
    match decoder.decode(answer.as_bytes(), &Limits::DEFAULT) {
        Ok((_, Some(http1::Event::Head(found)))) => head(&found),
        other => panic!("{other:?}"),
    }
}

#[test]
fn accepted_compression_parameters() {
    let both = |client_context, server_context| {
        Ok(Some(DeflateParameters { client_context, server_context, ..SHARED }))
    };
    let within = |client_window_bits| Ok(Some(DeflateParameters { client_window_bits, ..SHARED }));
    for (extensions, expected) in [
        (&[][..], Ok(None)),
        (&["permessage-deflate"], both(true, true)),
        (&["Permessage-Deflate; server_no_context_takeover"], both(true, false)),
        (
            &["permessage-deflate; client_no_context_takeover; server_max_window_bits=10"],
            both(false, true),
        ),
        (&["permessage-deflate; server_max_window_bits=\"15\""], both(true, true)),
        (&["permessage-deflate; client_max_window_bits=10"], within(10)),
        (&["permessage-deflate; client_max_window_bits=\"8\""], within(8)),
        (&["permessage-deflate; client_max_window_bits=15"], within(15)),
        (&["permessage-deflate; client_max_window_bits=7"], Err(())),
        (&["permessage-deflate; client_max_window_bits=16"], Err(())),
        // An answer has a value (§7.1.2.2).
        (&["permessage-deflate; client_max_window_bits"], Err(())),
        (&["permessage-deflate; client_max_window_bits=9; client_max_window_bits=9"], Err(())),
        (&["permessage-deflate; server_max_window_bits=16"], Err(())),
        (&["permessage-deflate; server_max_window_bits"], Err(())),
        (&["permessage-deflate; server_no_context_takeover; server_no_context_takeover"], Err(())),
        (&["permessage-deflate; server_no_context_takeover=1"], Err(())),
        (&["permessage-deflate, permessage-deflate"], Err(())),
        (&["permessage-deflate", "x"], Err(())),
        (&["x-webkit-deflate-frame"], Err(())),
    ] {
        let expected = expected.map_err(|()| HandshakeError::Extension);
        assert_eq!(agreed(extensions, Offer::Shared), expected, "{extensions:?}");
    }
    assert_eq!(
        agreed(&["permessage-deflate"], Offer::Separate),
        Ok(Some(DeflateParameters { client_context: false, ..SHARED }))
    );
}

/// What a server reads that keeps no more than the window: it inflates into a ring of that size.
fn inflated_within(window_bits: u8, wire: &[u8]) -> Vec<u8> {
    let mut ring = vec![0; 1 << window_bits];
    let mut inflater = DecompressorOxide::new();
    let mut text = Vec::new();
    let mut rest = wire;
    let mut at = 0;
    loop {
        let (status, read, written) =
            decompress(&mut inflater, rest, &mut ring, at, TINFL_FLAG_HAS_MORE_INPUT);
        text.extend_from_slice(&ring[at..at + written]);
        at = (at + written) % ring.len();
        rest = &rest[read..];
        match status {
            TINFLStatus::HasMoreOutput => {}
            TINFLStatus::NeedsMoreInput => return text,
            other => panic!("{other:?}"),
        }
    }
}

/// Our frames without their mask, as the server's would be.
fn unmasked(mut wire: Vec<u8>) -> Vec<u8> {
    let header = match wire[1] & 0x7f {
        126 => 4,
        127 => 10,
        _ => 2,
    };
    wire[1] &= 0x7f;
    // The mask is zero.
    wire.drain(header..header + 4);
    wire
}

proptest! {
    /// What is deflated is inflated, with and without a common past, however it is cut.
    #[test]
    fn messages_come_back(
        messages in prop::collection::vec("[a-c]{0,200}|.{0,100}", 1..6),
        shared: bool,
        cuts in cuts(),
    ) {
        let mut deflater = Deflater::new();
        let mut wire = Vec::new();
        for message in &messages {
            if !shared {
                deflater.reset();
            }
            let mut out = Vec::new();
            let payload = deflater.deflate(message.as_bytes());
            encode_compressed(&mut out, MessageKind::Text, &payload, [0; 4]);
            wire.extend(unmasked(out));
        }
        let agreed = if shared { SHARED } else { SEPARATE };
        let expected: Vec<OwnedEvent> = messages.iter().map(|message| text(message)).collect();
        let whole = read(agreed, &[&wire]);
        prop_assert_eq!(&whole, &(expected, Ok(())));
        prop_assert_eq!(&read(agreed, &cut(&wire, &cuts)), &whole);
    }

    /// A server may keep no more of our messages than the window that it asked for.
    #[test]
    fn a_small_window_is_enough(
        messages in prop::collection::vec("([a-c]{0,400}){0,4}|.{0,100}", 1..5),
        window_bits in 8..WINDOW_BITS_MAX,
    ) {
        let mut deflater = Deflater::new();
        let mut wire = Vec::new();
        for message in &messages {
            wire.extend(deflater.deflate_within(message.as_bytes(), window_bits));
            // The end that every message leaves out (§7.2.1).
            wire.extend([0, 0, 0xff, 0xff]);
        }
        prop_assert_eq!(inflated_within(window_bits, &wire), messages.concat().into_bytes());
    }

    #[test]
    fn any_bytes_decode_alike_however_split(
        payloads in prop::collection::vec((0xc0_u8..0xc3, prop::collection::vec(any::<u8>(), 0..40)), 0..4),
        cuts in cuts(),
    ) {
        let wire: Vec<u8> = payloads.iter().flat_map(|(first, data)| frame(*first, data)).collect();
        let whole = read(SHARED, &[&wire]);
        prop_assert_eq!(read(SHARED, &cut(&wire, &cuts)), whole);
    }
}
