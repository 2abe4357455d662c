//! tungstenite at the other end of the wire, and beside us at ours.

use crate::ws_pieces::{Said, frame, frames, read};
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
        Self {
            incoming: io::Cursor::new(incoming),
            outgoing: Vec::new(),
        }
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

fn said(message: Message) -> Said {
    match message {
        Message::Text(text) => Said::Text(text.as_str().into()),
        Message::Binary(bytes) => Said::Binary(bytes.to_vec()),
        Message::Ping(bytes) => Said::Ping(bytes.to_vec()),
        Message::Pong(bytes) => Said::Pong(bytes.to_vec()),
        Message::Close(None) => Said::Close(None, String::new()),
        Message::Close(Some(close)) => {
            Said::Close(Some(close.code.into()), close.reason.as_str().into())
        }
        Message::Frame(frame) => panic!("{frame} is told only when written"),
    }
}

/// All that tungstenite reads in `role`, and whether it had no fault to find.
fn theirs(role: Role, wire: Vec<u8>) -> (Vec<Said>, bool) {
    let mut socket = WebSocket::from_raw_socket(Wire::new(wire), role, None);
    let mut messages = Vec::new();
    loop {
        match socket.read() {
            Ok(message) => messages.push(said(message)),
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                return (messages, true);
            }
            Err(Error::ConnectionClosed) => return (messages, true),
            Err(_) => return (messages, false),
        }
        if let Some(Said::Close(code, reason)) = messages.last() {
            // It tells an invalid code as a close of its own making, which no test here sends.
            let faulty = (*code, reason.as_str()) == (Some(1002), "Protocol violation");
            if faulty {
                messages.pop();
            }
            return (messages, !faulty);
        }
    }
}

fn said_by_us() -> impl Strategy<Value = Said> {
    let small = || prop::collection::vec(any::<u8>(), 0..=125);
    let code = prop::sample::select(vec![1000_u16, 1001, 1011, 3000, 4999]);
    prop_oneof![
        any::<String>().prop_map(Said::Text),
        prop::collection::vec(any::<u8>(), 0..300).prop_map(Said::Binary),
        (65_500..65_600_usize).prop_map(|len| Said::Binary(vec![9; len])),
        small().prop_map(Said::Ping),
        small().prop_map(Said::Pong),
        (code, "[a-zä]{0,50}").prop_map(|(code, reason)| Said::Close(Some(code), reason)),
        Just(Said::Close(None, String::new())),
    ]
}

proptest! {
    #[test]
    fn a_server_reads_what_we_write(all in prop::collection::vec((said_by_us(), any::<[u8; 4]>()), 0..6)) {
        let mut wire = Vec::new();
        for (one, mask) in &all {
            match one {
                Said::Text(text) => {
                    encode_message(&mut wire, MessageKind::Text, text.as_bytes(), *mask);
                }
                Said::Binary(bytes) => encode_with(&mut wire, MessageKind::Binary, *mask, |out| {
                    out.extend_from_slice(bytes);
                }),
                Said::Ping(bytes) => encode_ping(&mut wire, bytes, *mask),
                Said::Pong(bytes) => encode_pong(&mut wire, bytes, *mask),
                Said::Close(code, reason) => encode_close(&mut wire, *code, reason, *mask),
            }
        }
        let mut expected: Vec<Said> = all.into_iter().map(|(one, _)| one).collect();
        if let Some(at) = expected.iter().position(|one| matches!(one, Said::Close(..))) {
            expected.truncate(at + 1);
        }
        prop_assert_eq!(theirs(Role::Server, wire), (expected, true));
    }

    #[test]
    fn a_client_judges_frames_as_we_do(frames in frames()) {
        let wire: Vec<u8> = frames.iter().flat_map(|(first, data)| frame(*first, data)).collect();
        let (messages, result) = read(&Limits::DEFAULT, &[&wire]);
        prop_assert_eq!((messages, result.is_ok()), theirs(Role::Client, wire));
    }
}

#[test]
fn a_server_accepts_our_handshake_and_we_its_answer() {
    let key = Key::from_random([0xa5; 16]);
    let mut request = Vec::new();
    encode_handshake(&mut request, "/games?user=1", "localhost:1", &key, []);
    let mut server = accept(Wire::new(request)).unwrap();
    server.send(Message::text("welcome")).unwrap();
    let answer = &server.get_ref().outgoing;

    let mut decoder = http1::Decoder::new();
    decoder.begin(false);
    let (len, event) = decoder.decode(answer, &Limits::DEFAULT).unwrap();
    let Some(http1::Event::Head(head)) = event else {
        panic!("no head but {event:?}")
    };
    assert_eq!(verify_handshake(&head, &key), Ok(()));
    assert_eq!(
        decoder.decode(&answer[len..], &Limits::DEFAULT),
        Ok((0, Some(http1::Event::End)))
    );
    let welcome = vec![Said::Text("welcome".into())];
    assert_eq!(read(&Limits::DEFAULT, &[&answer[len..]]), (welcome, Ok(())));
}
