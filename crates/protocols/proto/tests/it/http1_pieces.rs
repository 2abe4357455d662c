//! A response reads the same however the network cuts it.

use proptest::prelude::*;
use proto::Limits;
use proto::http1::{Decoder, Error, Event, Heads};

/// What became of one response.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) status: Option<u16>,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
    pub(crate) keep_alive: bool,
    /// Bytes after the response.
    pub(crate) left: Vec<u8>,
    pub(crate) result: Result<(), Error>,
}

/// Reads one response from pieces that arrive one after another, then the connection's end.
pub(crate) fn read(head_request: bool, limits: &Limits, pieces: &[&[u8]]) -> Outcome {
    let mut outcome = Outcome {
        status: None,
        headers: Vec::new(),
        body: Vec::new(),
        keep_alive: false,
        left: Vec::new(),
        result: Ok(()),
    };
    let mut decoder = Decoder::new();
    decoder.begin(head_request);
    let ended = pieces.iter().try_fold(false, |ended, piece| {
        outcome.left.extend_from_slice(piece);
        Ok(ended || read_buffered(&mut decoder, limits, &mut outcome)?)
    });
    outcome.result = ended.and_then(|ended| {
        if ended {
            assert!(decoder.is_idle());
            return Ok(());
        }
        assert!(!decoder.is_idle());
        decoder.finish().map(|complete| assert!(complete))
    });
    outcome
}

/// Decodes what is buffered; whether the response has ended.
fn read_buffered(
    decoder: &mut Decoder,
    limits: &Limits,
    outcome: &mut Outcome,
) -> Result<bool, Error> {
    loop {
        let (len, event) = decoder.decode(&outcome.left, limits)?;
        match event {
            Some(Event::Head(head)) => {
                assert_eq!(outcome.status.replace(head.status), None, "one head a response");
                assert_eq!(head.raw, &outcome.left[len - head.raw.len()..len]);
                assert_eq!(head.keep_alive, decoder.keep_alive());
                outcome.keep_alive = head.keep_alive;
                outcome.headers =
                    head.headers().map(|(name, value)| (name.into(), value.into())).collect();
            }
            Some(Event::Body(piece)) => {
                assert!(!piece.is_empty());
                outcome.body.extend_from_slice(piece);
            }
            Some(Event::End) => {}
            None if len == 0 => return Ok(false),
            None => {}
        }
        let ended = event == Some(Event::End);
        outcome.left.drain(..len);
        if ended {
            return Ok(true);
        }
    }
}

/// `bytes` cut at `cuts`.
pub(crate) fn cut<'a>(bytes: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    ends.extend([0, bytes.len()]);
    ends.sort_unstable();
    ends.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect()
}

pub(crate) fn cuts() -> impl Strategy<Value = Vec<prop::sample::Index>> {
    prop::collection::vec(any::<prop::sample::Index>(), 0..12)
}

/// A body, and the response around it by one of the framings.
fn response() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let body = prop::collection::vec(any::<u8>(), 0..200);
    (body, 0..4_u8, 1..40_usize, any::<bool>()).prop_map(|(body, framing, chunk_len, interim)| {
        let mut wire = Vec::new();
        if interim {
            wire.extend_from_slice(b"HTTP/1.1 100 Continue\r\nA: b\r\n\r\n");
        }
        wire.extend_from_slice(b"HTTP/1.1 200 OK\r\nServer: test\r\n");
        match framing {
            0 => wire.extend_from_slice(b"\r\n"),
            1 => wire.extend(format!("Content-Length: {}\r\n\r\n", body.len()).bytes()),
            _ => wire.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n"),
        }
        if framing < 2 {
            wire.extend_from_slice(&body);
            return (body, wire);
        }
        for chunk in body.chunks(chunk_len) {
            wire.extend(format!("{:x};ext=1\r\n", chunk.len()).bytes());
            wire.extend_from_slice(chunk);
            wire.extend_from_slice(b"\r\n");
        }
        wire.extend_from_slice(if framing == 2 {
            b"0\r\n\r\n"
        } else {
            b"0\r\nX: y\r\nZ:\r\n\r\n"
        });
        (body, wire)
    })
}

/// A response with a few bytes replaced, or anything.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let replaced = (any::<prop::sample::Index>(), any::<u8>());
    let broken =
        (response(), prop::collection::vec(replaced, 1..4)).prop_map(|(response, bytes)| {
            let (_, mut wire) = response;
            for (at, byte) in bytes {
                let at = at.index(wire.len());
                wire[at] = byte;
            }
            wire
        });
    prop_oneof![4 => broken, 1 => any::<Vec<u8>>()]
}

proptest! {
    #[test]
    fn responses_survive_any_split((body, wire) in response(), cuts in cuts()) {
        let whole = read(false, &Limits::DEFAULT, &[&wire]);
        prop_assert_eq!(&whole.result, &Ok(()));
        prop_assert_eq!(&whole.body, &body);
        prop_assert_eq!(whole.left.len(), 0);
        prop_assert_eq!(&read(false, &Limits::DEFAULT, &cut(&wire, &cuts)), &whole);
        let bytes: Vec<&[u8]> = wire.chunks(1).collect();
        prop_assert_eq!(&read(false, &Limits::DEFAULT, &bytes), &whole);
    }

    #[test]
    fn hostile_bytes_decode_alike_however_split(wire in hostile(), cuts in cuts()) {
        let whole = read(false, &Limits::DEFAULT, &[&wire]);
        let pieces = read(false, &Limits::DEFAULT, &cut(&wire, &cuts));
        prop_assert_eq!(pieces.status, whole.status);
        prop_assert_eq!(pieces.result, whole.result);
        prop_assert_eq!(pieces.body, whole.body);
    }

    #[test]
    fn decode_whole_agrees_with_decode(wires in prop::collection::vec(hostile(), 1..8)) {
        // Each twice: the second time its head is known.
        let mut heads = Heads::new(Limits::DEFAULT);
        for wire in wires.iter().flat_map(|wire| [wire, wire]) {
            let mut decoder = Decoder::new();
            decoder.begin(false);
            let stepwise = read(false, &Limits::DEFAULT, &[wire]);
            match decoder.decode_whole(wire, &mut heads) {
                Ok(Some((len, whole))) => {
                    prop_assert_eq!(stepwise.result, Ok(()));
                    prop_assert_eq!(stepwise.status, Some(whole.head.status));
                    prop_assert_eq!(stepwise.body, whole.body);
                    prop_assert_eq!(stepwise.keep_alive, whole.head.keep_alive);
                    prop_assert_eq!(stepwise.left, &wire[len..]);
                }
                Ok(None) => prop_assert!(!decoder.is_idle()),
                Err(error) => prop_assert_eq!(stepwise.result, Err(error)),
            }
        }
    }
}
