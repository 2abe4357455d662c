//! HTTP/2 reads the same however the network cuts it, and whatever comes.

use proptest::prelude::*;
use proto::Limits;
use proto::h2::Code;

use crate::h2_server::{
    Client, END_STREAM, data, frame, go_away, headers, reset, settings, window_update,
};

/// A few frames, most of them right.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let stream = prop_oneof![Just(1_u32), Just(3), Just(5), 0..8_u32];
    let body = proptest::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        4 => (stream.clone(), any::<bool>()).prop_map(|(stream, ends)| {
            headers(stream, u8::from(ends), &[(":status", "200"), ("a", "b")])
        }),
        4 => (stream.clone(), any::<bool>(), body.clone()).prop_map(|(stream, ends, body)| {
            data(stream, u8::from(ends), &body)
        }),
        1 => (0..2_u16, 0..100_u32).prop_map(|(id, value)| settings(&[(id + 3, value)])),
        1 => (stream.clone(), 0..100_u32).prop_map(|(stream, more)| window_update(stream, more)),
        1 => stream.clone().prop_map(|stream| reset(stream, Code::Cancel)),
        1 => stream.clone().prop_map(|stream| go_away(stream, Code::NoError)),
        1 => (any::<u8>(), any::<u8>(), stream, body)
            .prop_map(|(kind, flags, stream, body)| frame(kind % 12, flags, stream, &body)),
    ]
}

/// Events up to the error, if there is one; of a body whose stream broke, a part may be reported.
fn read(wire: &[u8], piece_bytes: usize) -> (Vec<String>, Vec<u8>, Option<Code>) {
    let limits = Limits { head_bytes_max: 1 << 10, body_bytes_max: 100, ..Limits::DEFAULT };
    let mut client = Client::new(limits);
    for _ in 0..3 {
        client.request(b"0123456789", false);
    }
    client.sent.clear();
    client.take(&settings(&[])).expect("a greeting");
    let mut pieces = wire.chunks(piece_bytes.max(1));
    let error = pieces.find_map(|piece| client.take(piece).err());
    let is_broken = |token: &str| {
        let start = format!("{token} broken");
        client.events.iter().any(|event| event.starts_with(&start))
    };
    let kept = |event: &&String| {
        let token = event.split(' ').next().unwrap_or_default();
        error.is_none() && !(event.contains(" body ") && is_broken(token))
            || error.is_some() && !event.contains(" body ")
    };
    let events = client.events.iter().filter(kept).cloned().collect();
    (events, client.sent, error.map(|error| error.code))
}

proptest! {
    #[test]
    fn frames_read_alike_however_they_are_cut(
        frames in proptest::collection::vec(frames(), 0..12),
        piece_bytes in 1_usize..40,
    ) {
        let wire = frames.concat();
        prop_assert_eq!(read(&wire, wire.len()), read(&wire, piece_bytes));
        prop_assert_eq!(read(&wire, wire.len()), read(&wire, 1));
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        read(&bytes, bytes.len());
        let wire = [headers(1, END_STREAM, &[(":status", "200")]), bytes].concat();
        read(&wire, 7);
    }
}
