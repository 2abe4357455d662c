//! tungstenite at the other end of the wire, and beside us at ours.

use crate::ws_pieces::{OwnedEvent, frame, frames, read};
use proptest::prelude::*;
use proto::ws::{
    Key, MessageKind, encode_close, encode_handshake, encode_message, encode_ping, encode_pong,
    encode_with, verify_handshake,
};
use proto::{Limits, http1};
use std::io::{self, Read, Write};
use tungstenite::protocol::Role;
use tungstenite::{Error, Message, WebSocket, accept};

/// A peer that has already sent all it will ever send.
struct Wire {
    incoming: io::Cursor<Vec<u8>>,
    outgoing: Vec<u8>,
}

impl Wire {
    fn new(incoming: Vec<u8>) -> Self {
        Self { incoming: io::Cursor::new(incoming), outgoing: Vec::new() }
    }
}

impl Read for Wire {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.incoming.read(buf)? {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            len => Ok(len),
        }
    }
}

impl Write for Wire {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.outgoing.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn owned(message: Message) -> OwnedEvent {
    match message {
        Message::Text(text) => OwnedEvent::Text(text.as_str().into()),
        Message::Binary(bytes) => OwnedEvent::Binary(bytes.to_vec()),
        Message::Ping(bytes) => OwnedEvent::Ping(bytes.to_vec()),
        Message::Pong(bytes) => OwnedEvent::Pong(bytes.to_vec()),
        Message::Close(None) => OwnedEvent::Close(None, String::new()),
        Message::Close(Some(close)) => {
            OwnedEvent::Close(Some(close.code.into()), close.reason.as_str().into())
        }
        Message::Frame(frame) => panic!("{frame} is returned only when written"),
    }
}

/// All that tungstenite reads in `role`, and whether it had no fault to find.
fn theirs(role: Role, wire: Vec<u8>) -> (Vec<OwnedEvent>, bool) {
    let mut socket = WebSocket::from_raw_socket(Wire::new(wire), role, None);
    let mut messages = Vec::new();
    loop {
        match socket.read() {
            Ok(message) => messages.push(owned(message)),
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                return (messages, true);
            }
            Err(Error::ConnectionClosed) => return (messages, true),
            Err(_) => return (messages, false),
        }
        if let Some(OwnedEvent::Close(code, reason)) = messages.last() {
            // It reports an invalid code as a close of its own making, which no test here sends.
            let faulty = (*code, reason.as_str()) == (Some(1002), "Protocol violation");
            if faulty {
                messages.pop();
            }
            return (messages, !faulty);
        }
    }
}

fn client_message() -> impl Strategy<Value = OwnedEvent> {
    let small = || prop::collection::vec(any::<u8>(), 0..=125);
    let code = prop::sample::select(vec![1000_u16, 1001, 1011, 3000, 4999]);
    prop_oneof![
        any::<String>().prop_map(OwnedEvent::Text),
        prop::collection::vec(any::<u8>(), 0..300).prop_map(OwnedEvent::Binary),
        (65_500..65_600_usize).prop_map(|len| OwnedEvent::Binary(vec![9; len])),
        small().prop_map(OwnedEvent::Ping),
        small().prop_map(OwnedEvent::Pong),
        (code, "[a-zä]{0,50}").prop_map(|(code, reason)| OwnedEvent::Close(Some(code), reason)),
        Just(OwnedEvent::Close(None, String::new())),
    ]
}

proptest! {
    #[test]
    fn tungstenite_reads_encoded_messages(all in prop::collection::vec((client_message(), any::<[u8; 4]>()), 0..6)) {
        let mut wire = Vec::new();
        for (one, mask) in &all {
            match one {
                OwnedEvent::Text(text) => {
                    encode_message(&mut wire, MessageKind::Text, text.as_bytes(), *mask);
                }
                OwnedEvent::Binary(bytes) => encode_with(&mut wire, MessageKind::Binary, *mask, |out| {
                    out.extend_from_slice(bytes);
                }),
                OwnedEvent::Ping(bytes) => encode_ping(&mut wire, bytes, *mask),
                OwnedEvent::Pong(bytes) => encode_pong(&mut wire, bytes, *mask),
                OwnedEvent::Close(code, reason) => encode_close(&mut wire, *code, reason, *mask),
            }
        }
        let mut expected: Vec<OwnedEvent> = all.into_iter().map(|(one, _)| one).collect();
        if let Some(at) = expected.iter().position(|one| matches!(one, OwnedEvent::Close(..))) {
            expected.truncate(at + 1);
        }
        prop_assert_eq!(theirs(Role::Server, wire), (expected, true));
    }

    #[test]
    fn tungstenite_accepts_the_same_frames(frames in frames()) {
        let wire: Vec<u8> = frames.iter().flat_map(|(first, data)| frame(*first, data)).collect();
        let (messages, result) = read(&Limits::DEFAULT, &[&wire]);
        prop_assert_eq!((messages, result.is_ok()), theirs(Role::Client, wire));
    }
}

#[test]
fn tungstenite_accepts_the_handshake_and_its_answer_is_accepted() {
    let key = Key::from_random([0xa5; 16]);
    let mut request = Vec::new();
    encode_handshake(&mut request, "/games?user=1", "localhost:1", &key, []);
    let mut server = accept(Wire::new(request)).unwrap();
    server.send(Message::text("welcome")).unwrap();
    let answer = &server.get_ref().outgoing;

    let mut decoder = http1::Decoder::new();
    decoder.begin(false);
    let (len, event) = decoder.decode(answer, &Limits::DEFAULT).unwrap();
    let Some(http1::Event::Head(head)) = event else { panic!("no head but {event:?}") };
    assert_eq!(verify_handshake(&head, &key), Ok(()));
    assert_eq!(decoder.decode(&answer[len..], &Limits::DEFAULT), Ok((0, Some(http1::Event::End))));
    let welcome = vec![OwnedEvent::Text("welcome".into())];
    assert_eq!(read(&Limits::DEFAULT, &[&answer[len..]]), (welcome, Ok(())));
}
