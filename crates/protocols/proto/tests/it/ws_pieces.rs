//! Frames read the same however the network cuts them.

use crate::http1_pieces::{cut, cuts};
use proptest::prelude::*;
use proto::Limits;
use proto::ws::{Decoder, Error, Event, needed};

/// An [`Event`] that owns its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OwnedEvent {
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<u16>, String),
}

impl From<Event<'_>> for OwnedEvent {
    fn from(event: Event<'_>) -> Self {
        match event {
            Event::Text(text) => Self::Text(text.into()),
            Event::Binary(bytes) => Self::Binary(bytes.into()),
            Event::Ping(bytes) => Self::Ping(bytes.into()),
            Event::Pong(bytes) => Self::Pong(bytes.into()),
            Event::Close { code, reason } => Self::Close(code, reason.into()),
        }
    }
}

/// Reads all frames from pieces that arrive one after another: their events, until an error.
pub(crate) fn read(limits: &Limits, pieces: &[&[u8]]) -> (Vec<OwnedEvent>, Result<(), Error>) {
    let mut decoder = Decoder::new();
    let mut buffer = Vec::new();
    let mut events = Vec::new();
    for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            let (len, event) = match decoder.decode(&buffer, limits) {
                Ok((len, event)) => (len, event.map(OwnedEvent::from)),
                Err(error) => return (events, Err(error)),
            };
            let waits = len == 0 && event.is_none();
            assert!(len > 0 || waits, "an event has bytes");
            assert!(!waits || needed(&buffer) > buffer.len(), "what is needed is not there");
            events.extend(event);
            buffer.drain(..len);
            if waits {
                break;
            }
        }
    }
    (events, Ok(()))
}

/// A frame as a server writes it, with any first byte and any payload.
pub(crate) fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut wire = vec![first];
    match payload.len() {
        len @ 0..=125 => wire.push(len as u8),
        len @ 126..=0xffff => {
            wire.push(126);
            wire.extend_from_slice(&(len as u16).to_be_bytes());
        }
        len => {
            wire.push(127);
            wire.extend_from_slice(&(len as u64).to_be_bytes());
        }
    }
    wire.extend_from_slice(payload);
    wire
}

/// Payloads that are often text, sometimes text cut within a character, or a close body.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    let close = (prop::sample::select(vec![999_u16, 1000, 1005, 1011, 3000, 5000]), "[a-zä]{0,5}")
        .prop_map(|(code, reason)| [&code.to_be_bytes()[..], reason.as_bytes()].concat());
    prop_oneof![
        4 => ".{0,20}".prop_map(String::into_bytes),
        2 => close,
        1 => prop::collection::vec(any::<u8>(), 0..6),
        1 => prop::sample::select(vec![vec![0xe2], vec![0x82], vec![0xac], vec![0xe2, 0x82]]),
        1 => (120..140_usize).prop_map(|len| vec![b'x'; len]),
        1 => Just(vec![b'y'; 66_000]),
    ]
}

/// Frames that mostly keep the rules.
pub(crate) fn frames() -> impl Strategy<Value = Vec<(u8, Vec<u8>)>> {
    let first = prop_oneof![
        // The last fragments are the likeliest, so that messages end.
        12 => prop::sample::select(vec![0x81_u8, 0x82, 0x01, 0x02, 0x00, 0x80, 0x80, 0x89, 0x8a]),
        1 => Just(0x88),
        1 => prop::sample::select(vec![0x83_u8, 0x09, 0x91, 0xc1, 0x8b]),
    ];
    prop::collection::vec((first, payload()), 0..8)
}

proptest! {
    #[test]
    fn frames_survive_any_split(frames in frames(), cuts in cuts()) {
        let wire: Vec<u8> = frames.iter().flat_map(|(first, data)| frame(*first, data)).collect();
        let whole = read(&Limits::DEFAULT, &[&wire]);
        prop_assert_eq!(&read(&Limits::DEFAULT, &cut(&wire, &cuts)), &whole);
        if wire.len() < 1000 {
            let bytes: Vec<&[u8]> = wire.chunks(1).collect();
            prop_assert_eq!(&read(&Limits::DEFAULT, &bytes), &whole);
        }
    }

    #[test]
    fn any_bytes_decode_alike_however_split(wire: Vec<u8>, cuts in cuts()) {
        let whole = read(&Limits::DEFAULT, &[&wire]);
        prop_assert_eq!(read(&Limits::DEFAULT, &cut(&wire, &cuts)), whole);
    }
}
