//! Frames on a plain stream: every framing, at every cut.

use crate::http1_pieces::{cut, cuts};
use proptest::prelude::*;
use proto::Limits;
use proto::frame::{
    Counts, DecodeError, Decoder, Delimiter, EncodeError, Framing, LengthField, Marks, Width,
};

/// A message and its payload.
type OwnedEvent = (Vec<u8>, Vec<u8>);

/// Reads all messages from pieces that arrive one after another, and what was not consumed.
fn read(framing: &Framing, pieces: &[&[u8]]) -> (Vec<OwnedEvent>, Result<usize, DecodeError>) {
    let limits = Limits { message_bytes_max: 40, ..Limits::DEFAULT };
    let mut decoder = Decoder::new();
    let mut buffer = Vec::new();
    let mut frames = Vec::new();
    for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            let len = match decoder.decode(framing, &buffer, &limits) {
                Ok((0, None)) => break,
                Ok((len, frame)) => {
                    frames.extend(frame.map(|f| (f.message.to_vec(), f.payload().to_vec())));
                    len
                }
                Err(error) => return (frames, Err(error)),
            };
            assert!(len > 0, "a message has bytes");
            buffer.drain(..len);
        }
    }
    (frames, Ok(buffer.len()))
}

fn encode(framing: &Framing, messages: &[&[u8]]) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::new();
    for message in messages {
        framing.encode_with(&mut out, |out| out.extend_from_slice(message))?;
    }
    Ok(out)
}

fn length(width: Width, little_endian: bool, at: usize, counts: Counts, header: usize) -> Framing {
    Framing { marks: Marks::Length(LengthField { width, little_endian, at, counts }), header }
}

/// A varint that counts the rest.
fn varint(at: usize) -> Framing {
    Framing { marks: Marks::Varint { at }, header: at }
}

fn delimited(by: &[u8]) -> Framing {
    let delimiter = Delimiter::new(by.to_vec()).expect("it has bytes");
    Framing { marks: Marks::Delimiter(delimiter), header: 0 }
}

/// 4 bytes that count the payload, 1 type, payload.
fn typed() -> Framing {
    length(Width::Four, false, 0, Counts::Payload, 1)
}

#[test]
fn the_bytes_on_the_wire() {
    let of = |framing: &Framing| encode(framing, &[b"\x07abc"]).unwrap();
    assert_eq!(of(&typed()), b"\0\0\0\x03\x07abc");
    let rest = |width, little| of(&length(width, little, 0, Counts::Rest, 0));
    assert_eq!(rest(Width::One, false), b"\x04\x07abc");
    assert_eq!(rest(Width::Two, true), b"\x04\0\x07abc");
    assert_eq!(rest(Width::Eight, false), b"\0\0\0\0\0\0\0\x04\x07abc");
    let frame = length(Width::Four, false, 0, Counts::Frame, 0);
    assert_eq!(of(&frame), b"\0\0\0\x08\x07abc");
    let behind = |counts| of(&length(Width::Two, false, 1, counts, 1));
    assert_eq!(behind(Counts::Rest), b"\x07\0\x03abc");
    assert_eq!(behind(Counts::Payload), b"\x07\0\x03abc");
    assert_eq!(behind(Counts::Frame), b"\x07\0\x06abc");
    assert_eq!(of(&delimited(b"\r\n")), b"\x07abc\r\n");
    assert_eq!(of(&varint(0)), b"\x04\x07abc");
    assert_eq!(of(&varint(1)), b"\x07\x03abc");
    let long = encode(&varint(0), &[&[b'x'; 300]]).unwrap();
    assert_eq!((long.len(), &long[..2]), (302, &b"\xac\x02"[..]));
}

#[test]
fn a_message_and_its_payload() {
    let (frames, left) = read(&typed(), &[b"\0\0\0\x03\x07abc\0\0\0\0\x01\0\0"]);
    let expected = [(&b"\x07abc"[..], &b"abc"[..]), (b"\x01", b"")];
    let expected = expected.map(|(message, payload)| (message.to_vec(), payload.to_vec()));
    assert_eq!(frames, expected);
    assert_eq!(left, Ok(2));
}

#[test]
fn messages_that_do_not_fit_the_framing_are_refused() {
    let long = [b'x'; 300];
    let one = length(Width::One, false, 0, Counts::Rest, 0);
    assert_eq!(encode(&one, &[&long]), Err(EncodeError::TooLong { bytes: 300 }));
    assert_eq!(encode(&typed(), &[b""]), Err(EncodeError::TooShort { bytes: 0, bytes_min: 1 }));
    let fixed = Framing { marks: Marks::Fixed(3.try_into().unwrap()), header: 0 };
    assert_eq!(encode(&fixed, &[b"abc", b"def"]), Ok(b"abcdef".to_vec()));
    assert_eq!(encode(&fixed, &[b"ab"]), Err(EncodeError::NotFixed { bytes: 2, fixed: 3 }));
    let short = EncodeError::TooShort { bytes: 1, bytes_min: 2 };
    assert_eq!(encode(&varint(2), &[b"a"]), Err(short));
    let mut out = b"before".to_vec();
    assert!(typed().encode_with(&mut out, |_| {}).is_err());
    assert_eq!(out, b"before");
}

#[test]
fn an_impossible_length_is_refused() {
    let frame = length(Width::Four, false, 0, Counts::Frame, 0);
    let (frames, result) = read(&frame, &[b"\0\0\0\x04\0\0\0\x03"]);
    assert_eq!(frames, [(vec![], vec![])]);
    assert_eq!(result, Err(DecodeError::TooShort { length: 3 }));
    let most = DecodeError::TooLarge { bytes_max: 40 };
    assert_eq!(read(&frame, &[b"\xff\xff\xff\xff"]).1, Err(most));
    let eight = length(Width::Eight, true, 0, Counts::Rest, 0);
    assert_eq!(read(&eight, &[&[0xff; 8]]).1, Err(most));
    // 41 bytes of a message are too many, and reported before they arrive.
    assert_eq!(read(&eight, &[b"\x29\0\0\0\0\0\0\0"]).1, Err(most));
    assert_eq!(read(&eight, &[b"\x28\0\0\0\0\0\0\0"]).1, Ok(8));
    assert_eq!(read(&varint(0), &[b"\x29"]).1, Err(most));
    assert_eq!(read(&varint(1), &[b"t\x28"]).1, Err(most));
    assert_eq!(read(&varint(0), &[b"\x28"]).1, Ok(1));
    assert_eq!(read(&varint(0), &[&[0xff; 10]]).1, Err(most));
    assert_eq!(read(&varint(0), &[&[0xff; 9]]).1, Ok(9));
    // As long as it needs not be.
    assert_eq!(read(&varint(0), &[b"\x81\0a"]).0, [(b"a".to_vec(), b"a".to_vec())]);
    assert_eq!(read(&delimited(b"\n"), &[&[b'x'; 41]]).1, Err(most));
    assert_eq!(read(&delimited(b"\n"), &[&[b'x'; 40]]).1, Ok(40));
}

#[test]
fn without_framing_each_read_is_a_message() {
    let none = Framing { marks: Marks::Nothing, header: 0 };
    let (frames, left) = read(&none, &[b"ab", b"", b"c"]);
    let messages: Vec<_> = frames.into_iter().map(|(message, _)| message).collect();
    assert_eq!(messages, [b"ab".to_vec(), b"c".to_vec()]);
    assert_eq!(left, Ok(0));
}

fn framings() -> impl Strategy<Value = Framing> {
    let widths = vec![Width::One, Width::Two, Width::Four, Width::Eight];
    let counts = vec![Counts::Rest, Counts::Payload, Counts::Frame];
    let lengths = (
        prop::sample::select(widths),
        any::<bool>(),
        0..3_usize,
        prop::sample::select(counts),
        0..4_usize,
    )
        .prop_map(|(width, little, at, counts, header)| length(width, little, at, counts, header));
    prop_oneof![
        4 => lengths,
        1 => (0..3_usize).prop_map(varint),
        2 => prop::sample::select(vec!["\n", "\r\n", "aab", "--"])
            .prop_map(|by| delimited(by.as_bytes())),
        1 => (1..5_usize).prop_map(|len| Framing {
            marks: Marks::Fixed(len.try_into().expect("above 0")),
            header: 0,
        }),
    ]
}

proptest! {
    /// What was written is read, however it is cut.
    #[test]
    fn messages_come_back(
        framing in framings(),
        messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 3..30), 0..6),
        cuts in cuts(),
    ) {
        let parts: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
        let Ok(wire) = encode(&framing, &parts) else { return Ok(()) };
        let (frames, left) = read(&framing, &cut(&wire, &cuts));
        let whole = read(&framing, &[&wire]);
        prop_assert_eq!(&(frames.clone(), left), &whole);
        let bytes: Vec<&[u8]> = wire.chunks(1).collect();
        prop_assert_eq!(&read(&framing, &bytes), &whole);
        if let Marks::Delimiter(by) = &framing.marks
            && messages.iter().any(|message| {
                let whole = [message, by.bytes()].concat();
                whole.windows(by.bytes().len()).position(|w| w == by.bytes()) < Some(message.len())
            })
        {
            // A message that holds its own delimiter is several.
            return Ok(());
        }
        prop_assert_eq!(left, Ok(0));
        let back: Vec<Vec<u8>> = frames.into_iter().map(|(message, _)| message).collect();
        prop_assert_eq!(back, messages);
    }

    #[test]
    fn any_bytes_decode_alike_however_split(
        framing in framings(),
        wire: Vec<u8>,
        cuts in cuts(),
    ) {
        prop_assert_eq!(read(&framing, &cut(&wire, &cuts)), read(&framing, &[&wire]));
    }
}
