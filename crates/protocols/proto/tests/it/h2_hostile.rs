//! What a server must not do: each case with the code of RFC 9113, and whether the stream or the whole
//! connection ends.

use proto::Limits;
use proto::h2::{Code, Settings};

use crate::h2_server::{
    Client, END_STREAM, PADDED, block, data, frame, go_away, headers, reset, settings,
    window_update,
};

/// Takes `wire` in after one request; the code with which the connection ended.
#[track_caller]
fn ends_connection(wire: &[u8], code: Code) {
    let mut client = Client::greeted(1);
    let error = client.take(wire).expect_err("the connection has to end");
    assert_eq!(error.code, code, "{error}");
}

/// Takes `wire` in after one request; its stream has to end alone, by a reset of ours.
#[track_caller]
fn ends_stream(wire: &[u8], code: Code) {
    let mut client = Client::greeted(1);
    client.take(wire).expect("the connection stays");
    assert_eq!(client.events.last().expect("an event"), &format!("1 broken {}", code.name()));
    let sent = client.frames();
    let resets: Vec<_> = sent.iter().filter(|frame| frame.0 == 3).collect();
    assert_eq!(resets, [&(3, 0, 1, (code as u32).to_be_bytes().to_vec())]);
    assert_eq!(client.connection.open_count(), 0);
    client.take(&frame(6, 0, 0, &[0; 8])).expect("it can still be used");
}

const OK: (&str, &str) = (":status", "200");

#[test]
fn the_first_frame_is_settings() {
    for wire in [
        frame(6, 0, 0, &[0; 8]),
        frame(4, 1, 0, b""),
        headers(1, END_STREAM, &[OK]),
        b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
    ] {
        let mut client = Client::new(Limits::DEFAULT);
        client.get();
        let error = client.take(&wire).unwrap_err();
        assert_eq!(error.code, Code::ProtocolError, "{error}");
    }
}

#[test]
fn frames_have_their_sizes() {
    for wire in [
        frame(6, 0, 0, &[0; 7]),
        frame(4, 0, 0, &[0; 5]),
        frame(4, 1, 0, &[0; 6]),
        frame(3, 0, 1, &[0; 5]),
        frame(8, 0, 1, &[0; 3]),
        frame(7, 0, 0, &[0; 7]),
        frame(2, 0, 1, &[0; 4]),
        frame(0, PADDED, 1, b""),
        frame(1, PADDED | 4, 1, b""),
        frame(1, 0x24, 1, &[0; 4]),
        // Larger than we take; the header is enough to know.
        frame(0, 0, 1, &vec![0; 16_385])[..9].to_vec(),
        frame(0xfa, 0, 0, &vec![0; 16_385])[..9].to_vec(),
    ] {
        ends_connection(&wire, Code::FrameSizeError);
    }
}

#[test]
fn frames_belong_to_streams_or_to_the_connection() {
    for wire in [
        data(0, 0, b"x"),
        headers(0, 0, &[OK]),
        frame(2, 0, 0, &[0; 5]),
        reset(0, Code::Cancel),
        frame(4, 0, 1, b""),
        frame(6, 0, 1, &[0; 8]),
        frame(7, 0, 1, &[0; 8]),
        frame(9, 4, 1, b""),
        // Streams that were never opened, ours or the server's.
        data(3, 0, b"x"),
        headers(2, END_STREAM, &[OK]),
        headers(3, END_STREAM, &[OK]),
        reset(3, Code::Cancel),
        reset(2, Code::Cancel),
        window_update(3, 1),
        // Pushes are refused by our settings.
        frame(5, 4, 1, &[0, 0, 0, 2, 0x82]),
        // Padding that is longer than its frame.
        frame(0, PADDED, 1, &[2, 0]),
        frame(1, PADDED | 4, 1, &[2, 0x88]),
    ] {
        ends_connection(&wire, Code::ProtocolError);
    }
}

#[test]
fn settings_are_valid() {
    ends_connection(&settings(&[(2, 1)]), Code::ProtocolError);
    ends_connection(&settings(&[(5, 16_383)]), Code::ProtocolError);
    ends_connection(&settings(&[(5, 1 << 24)]), Code::ProtocolError);
    ends_connection(&settings(&[(4, 1 << 31)]), Code::FlowControlError);
}

#[test]
fn windows_do_not_overflow() {
    ends_connection(&window_update(0, 0), Code::ProtocolError);
    ends_stream(&window_update(1, 0), Code::ProtocolError);
    ends_connection(&window_update(0, (1 << 31) - 1), Code::FlowControlError);
    ends_stream(&window_update(1, (1 << 31) - 1), Code::FlowControlError);
    let wire = [window_update(1, 1 << 30), settings(&[(4, (1 << 31) - 1)])].concat();
    ends_connection(&wire, Code::FlowControlError);
}

#[test]
fn a_server_keeps_to_our_windows() {
    let own = Settings {
        stream_window_bytes: 1 << 20,
        connection_window_bytes: 65_535,
        ..Settings::DEFAULT
    };
    let mut client = Client::with(&own, Limits::DEFAULT);
    client.get();
    let frames = [settings(&[]), headers(1, 0, &[OK])].concat();
    client.take(&frames).unwrap();
    // Frames that never end: nothing of them is read to the end, so that no window is opened.
    let padded = frame(0, PADDED, 1, &[&[0][..], &[b'x'; 16_383]].concat());
    for _ in 0..1000 {
        client.take(&padded).unwrap();
    }
    let own = Settings { stream_window_bytes: 100, ..own };
    let mut client = Client::with(&own, Limits::DEFAULT);
    client.get();
    client.take(&frames).unwrap();
    let error = client.take(&data(1, 0, &[0; 101])).unwrap_err();
    assert_eq!(error.code, Code::FlowControlError);
}

#[test]
fn ended_streams_stay_ended() {
    let ended = headers(1, END_STREAM, &[OK]);
    for late in [data(1, 0, b"x"), headers(1, END_STREAM, &[("a", "b")])] {
        ends_connection(&[ended.clone(), late].concat(), Code::StreamClosed);
    }
    let mut client = Client::greeted(1);
    let harmless = [ended, reset(1, Code::NoError), window_update(1, 5), frame(2, 0, 1, &[0; 5])];
    client.take(&harmless.concat()).unwrap();
}

#[test]
fn header_blocks_are_not_interrupted() {
    let open = frame(1, 0, 1, &[0x88]);
    for next in [
        data(1, 0, b"x"),
        frame(9, 4, 3, b""),
        frame(6, 0, 0, &[0; 8]),
        frame(0xfa, 0, 0, b""),
        headers(1, 0, &[OK]),
    ] {
        ends_connection(&[open.clone(), next].concat(), Code::ProtocolError);
    }
}

#[test]
fn header_blocks_can_be_decoded() {
    for bad in
        [&[0x80][..], &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff], &[0x88, 0x20], &[0x00, 0x05, b'a']]
    {
        ends_connection(&frame(1, 5, 1, bad), Code::CompressionError);
    }
}

#[test]
fn heads_are_well_formed() {
    for fields in [
        &[][..],
        &[("a", "b")],
        &[("a", "b"), OK],
        &[OK, OK],
        &[(":status", "20")],
        &[(":status", "2000")],
        &[(":status", "abc")],
        &[(":status", "099")],
        &[(":status", "101")],
        &[OK, (":path", "/")],
        &[OK, ("Upper", "b")],
        &[OK, ("", "b")],
        &[OK, ("a b", "b")],
        &[OK, ("a", "b\r\nc: d")],
        &[OK, ("a", "b\0")],
        &[OK, ("a", " b")],
        &[OK, ("a", "b\t")],
        &[OK, ("connection", "close")],
        &[OK, ("transfer-encoding", "chunked")],
        &[OK, ("keep-alive", "1")],
        &[OK, ("upgrade", "h2c")],
        &[OK, ("proxy-connection", "close")],
        &[OK, ("content-length", "x")],
        &[OK, ("content-length", "1"), ("content-length", "2")],
    ] {
        ends_stream(&headers(1, 0, fields), Code::ProtocolError);
    }
}

#[test]
fn responses_are_well_formed() {
    for wire in [
        // A body before its head, interim ends, trailers that do not end, pseudo-fields in them.
        data(1, 0, b"x"),
        data(1, END_STREAM, b""),
        headers(1, END_STREAM, &[(":status", "103")]),
        [headers(1, 0, &[OK]), headers(1, 0, &[("a", "b")])].concat(),
        [headers(1, 0, &[OK]), headers(1, END_STREAM, &[OK])].concat(),
        // Lengths that are not kept.
        [headers(1, 0, &[OK, ("content-length", "2")]), data(1, END_STREAM, b"x")].concat(),
        [headers(1, 0, &[OK, ("content-length", "2")]), data(1, 0, b"xyz")].concat(),
        headers(1, END_STREAM, &[OK, ("content-length", "2")]),
        [headers(1, 0, &[(":status", "204")]), data(1, END_STREAM, b"x")].concat(),
        [headers(1, 0, &[OK, ("content-length", "2")]), headers(1, END_STREAM, &[("a", "b")])]
            .concat(),
    ] {
        ends_stream(&wire, Code::ProtocolError);
    }
}

#[test]
fn heads_beyond_the_limits_end_their_stream_only() {
    let long = "x".repeat(70_000);
    let answer = block(&[OK, ("x", &long)]);
    let mut wire = frame(1, 0, 1, &answer[..16_000]);
    for (last, piece) in [(false, 16_000..32_000), (false, 32_000..48_000), (true, 48_000..60_000)]
    {
        let flags = if last { 4 } else { 0 };
        wire.extend(frame(9, flags, 1, &answer[piece]));
    }
    // The string is cut off: not a large head, but a broken block.
    ends_connection(&wire, Code::CompressionError);
    let many: Vec<_> = std::iter::once(OK).chain((0..128).map(|_| ("a", "b"))).collect();
    ends_stream(&headers(1, 0, &many), Code::Cancel);
    let large = "x".repeat(9_000);
    let eight: Vec<_> = std::iter::once(OK).chain((0..8).map(|_| ("a", &*large))).collect();
    let answer = block(&eight);
    let mut wire = frame(1, 0, 1, &answer[..16_000]);
    wire.extend(answer[16_000..64_000].chunks(16_000).flat_map(|piece| frame(9, 0, 1, piece)));
    wire.extend(frame(9, 4, 1, &answer[64_000..]));
    // More bytes than any head may have: nobody waits for its end.
    ends_connection(&wire, Code::EnhanceYourCalm);
}

/// A block of few bytes that stands for many: 16,000 indices of one field of 4,000 bytes (CVE-2016-1544
/// and others). The stream ends, the table stays right, and nothing of that size is kept.
#[test]
fn a_hpack_bomb_ends_its_stream_only() {
    let mut client = Client::greeted(2);
    let value = "x".repeat(4_000);
    let mut added = block(&[OK]);
    added.extend_from_slice(&[0x40, 1, b'a', 0x7f]);
    added.extend_from_slice(&[0xa1, 0x1e]);
    added.extend_from_slice(value.as_bytes());
    let mut bomb = added.clone();
    bomb.extend(std::iter::repeat_n(0xbe, 12_000));
    client.take(&frame(1, 4, 1, &bomb)).unwrap();
    assert_eq!(client.events, ["1 broken CANCEL"]);
    assert!(client.connection.memory_bytes() < 16 << 10);
    client.take(&frame(1, 5, 3, &[0x88, 0xbe])).unwrap();
    assert_eq!(client.events[1], format!("3 200 a={value} end"));
}

/// CVE-2024-27316 and its kin: a header block that never ends, in large frames, small or empty ones.
#[test]
fn a_flood_of_continuations_ends_the_connection() {
    for payload_len in [0, 1, 16_000] {
        let mut client = Client::greeted(1);
        client.take(&frame(1, 0, 1, &[0x88])).unwrap();
        let piece = frame(9, 0, 1, &vec![0x88; payload_len]);
        let ended = (0..100).find_map(|_| client.take(&piece).err());
        assert_eq!(ended.unwrap().code, Code::EnhanceYourCalm, "{payload_len}");
        assert!(client.connection.memory_bytes() <= 128 << 10);
    }
}

#[test]
fn floods_of_frames_end_the_connection() {
    for piece in [
        settings(&[]),
        frame(4, 1, 0, b""),
        frame(6, 0, 0, &[0; 8]),
        frame(2, 0, 1, &[0; 5]),
        frame(0xfa, 0, 0, b""),
        data(1, 0, b""),
        window_update(0, 1),
        window_update(1, 1),
        go_away(9, Code::NoError),
    ] {
        let mut client = Client::greeted(1);
        client.take(&headers(1, 0, &[OK])).unwrap();
        let ended = (0..2_001).find_map(|_| client.take(&piece).err());
        assert_eq!(ended.unwrap().code, Code::EnhanceYourCalm, "{piece:?}");
        // As many in a longer time are none.
        let mut client = Client::greeted(1);
        client.take(&headers(1, 0, &[OK])).unwrap();
        for _ in 0..10_000 {
            client.take(&piece).unwrap();
            client.connection.allow_more();
        }
    }
}

/// Rapid reset (CVE-2023-44487), from the server's side: each costs one request of ours, nothing else.
#[test]
fn a_server_that_resets_everything_costs_a_request_each() {
    let mut client = Client::greeted(0);
    for number in 0..5_000_u32 {
        let id = client.get();
        assert_eq!(id, number * 2 + 1);
        client.take(&reset(id, Code::RefusedStream)).unwrap();
    }
    assert_eq!(client.events.len(), 5_000);
    assert!(client.connection.memory_bytes() < 1 << 10);
    // Resets of streams that have ended already are a flood like any other.
    let ended = (0..2_001).find_map(|_| client.take(&reset(1, Code::Cancel)).err());
    assert_eq!(ended.unwrap().code, Code::EnhanceYourCalm);
}

#[test]
fn interim_responses_are_limited() {
    let interim = headers(1, 0, &[(":status", "100")]);
    ends_stream(&interim.repeat(33), Code::Cancel);
}

#[test]
fn bodies_are_limited() {
    let limits = Limits { body_bytes_max: 10, ..Limits::DEFAULT };
    let mut client = Client::new(limits);
    client.get();
    client.take(&settings(&[])).unwrap();
    client.take(&headers(1, 0, &[OK])).unwrap();
    client.take(&data(1, 0, b"0123456789")).unwrap();
    client.take(&data(1, 0, b"x")).unwrap();
    assert_eq!(client.events[2..], ["1 broken CANCEL"]);
}
