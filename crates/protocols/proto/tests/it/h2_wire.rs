//! HTTP/2 as literal frames: what a server may do, and what comes out.

use proto::Limits;
use proto::h2::{Code, Connection, Request, Scratch, Settings};

use crate::h2_server::{
    Client, END_STREAM, PADDED, block, data, frame, go_away, headers, reset, settings,
    window_update,
};

#[test]
fn a_connection_begins_with_preface_settings_and_window() {
    let mut sent = Vec::new();
    Connection::new(&Settings::DEFAULT, &Limits::DEFAULT, &mut sent);
    let expected = [
        &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..],
        // ENABLE_PUSH 0, INITIAL_WINDOW_SIZE 1 MiB, MAX_HEADER_LIST_SIZE 64 KiB.
        &settings(&[(2, 0), (4, 1 << 20), (6, 64 << 10)]),
        &window_update(0, (16 << 20) - 65_535),
    ];
    assert_eq!(sent, expected.concat());
}

#[test]
fn an_idle_connection_costs_little() {
    let client = Client::greeted(0);
    let bytes = size_of::<Connection>() + client.connection.memory_bytes();
    assert!(bytes <= 240, "an idle connection has {bytes} bytes");
}

#[test]
fn a_request_is_a_block_and_its_body() {
    let mut client = Client::greeted(0);
    assert_eq!(client.get(), 1);
    assert_eq!(client.request(b"body", false), 3);
    let block = block(&[(":method", "GET"), (":path", "/")]);
    assert_eq!(
        client.frames(),
        [(1, 0x5, 1, block.clone()), (1, 0x4, 3, block), (0, 0x1, 3, b"body".to_vec()),]
    );
}

/// Frames without their payloads.
fn outlines(client: &Client) -> Vec<(u8, u8, usize)> {
    let frames = client.frames().into_iter();
    frames.map(|(kind, flags, _, payload)| (kind, flags, payload.len())).collect()
}

#[test]
fn the_body_of_an_open_request_goes_on_until_it_ends() {
    let mut client = Client::greeted(0);
    let id = client.open();
    client.send(id, b"one", false);
    client.send(id, b"", true);
    client.send(id, b"late", false);
    let expected = [(1, 0x4), (0, 0), (0, 0x1)];
    let found: Vec<_> = outlines(&client).iter().map(|(kind, flags, _)| (*kind, *flags)).collect();
    assert_eq!(found, expected);
    assert_eq!(client.frames()[1].3, b"one");
}

#[test]
fn a_100_is_an_event_of_requests_whose_body_goes_on() {
    let mut client = Client::greeted(0);
    let open = client.open();
    let plain = client.get();
    for id in [open, plain] {
        client.take(&headers(id, 0, &[(":status", "103")])).unwrap();
        client.take(&headers(id, 0, &[(":status", "100")])).unwrap();
    }
    assert_eq!(client.events, ["1 continue"]);
    client.send(open, b"body", true);
    client.take(&headers(open, 0, &[(":status", "100")])).unwrap();
    assert_eq!(client.events.len(), 1, "nothing of the body is left");
}

#[test]
fn what_the_windows_do_not_take_is_sent_before_what_follows() {
    let mut client = Client::new(Limits::DEFAULT);
    // INITIAL_WINDOW_SIZE 4.
    client.take(&settings(&[(4, 4)])).unwrap();
    client.sent.clear();
    let id = client.open();
    client.send(id, b"abcdef", false);
    client.send(id, b"gh", true);
    assert_eq!(client.frames().last().unwrap().3, b"abcd");
    assert_eq!(client.connection.take_late(), []);
    client.sent.clear();
    client.take(&window_update(id, 10)).unwrap();
    assert_eq!(client.frames(), [(0, 0x1, id, b"efgh".to_vec())]);
}

#[test]
fn an_open_request_whose_answer_has_ended_is_reset() {
    let mut client = Client::greeted(0);
    let id = client.open();
    client.sent.clear();
    client.take(&headers(id, END_STREAM, &[(":status", "200")])).unwrap();
    // NO_ERROR.
    assert_eq!(client.frames(), [(3, 0, id, vec![0; 4])]);
    client.send(id, b"late", true);
    assert_eq!(client.frames().len(), 1);
}

#[test]
fn responses_come_in_any_order() {
    let mut client = Client::greeted(3);
    let wire = [
        headers(3, 0, &[(":status", "200"), ("content-type", "text/plain")]),
        headers(1, END_STREAM, &[(":status", "404")]),
        data(3, 0, b"he"),
        headers(5, 0, &[(":status", "103"), ("link", "x")]),
        frame(0, END_STREAM | PADDED, 3, b"\x03llo\0\0\0"),
        headers(5, 0, &[(":status", "200")]),
        data(5, 0, b"x"),
        headers(5, END_STREAM, &[("grpc-status", "0")]),
    ];
    client.take(&wire.concat()).unwrap();
    assert_eq!(
        client.events,
        [
            "3 200 content-type=text/plain",
            "1 404  end",
            "3 body hello",
            "3 end",
            "5 200 ",
            "5 body x",
            "5 end grpc-status: 0;;",
        ]
    );
    assert_eq!(client.connection.open_count(), 0);
}

#[test]
fn settings_and_pings_are_acknowledged() {
    let mut client = Client::new(Limits::DEFAULT);
    client.take(&settings(&[(3, 1), (0xff, 7)])).unwrap();
    client.take(&frame(6, 0, 0, b"12345678")).unwrap();
    client.take(&frame(6, 1, 0, b"87654321")).unwrap();
    client.take(&frame(0xfa, 0xff, 77, b"unknown")).unwrap();
    assert_eq!(client.frames(), [(4, 1, 0, vec![]), (6, 1, 0, b"12345678".to_vec())]);
    assert!(client.connection.can_open());
    client.get();
    assert!(!client.connection.can_open(), "the server takes one stream");
}

#[test]
fn bodies_wait_for_the_windows() {
    let mut client = Client::greeted(0);
    client.take(&settings(&[(4, 10)])).unwrap();
    client.sent.clear();
    client.request(&[b'a'; 25], false);
    let bodies = |client: &Client| -> Vec<_> {
        let frames = client.frames().into_iter().filter(|frame| frame.0 == 0);
        frames.map(|(_, flags, stream, body)| (flags, stream, body.len())).collect()
    };
    assert_eq!(bodies(&client), [(0, 1, 10)]);
    client.sent.clear();
    // A smaller window counts what was sent already: 10 of 4, so 7 more make 1.
    client.take(&settings(&[(4, 4)])).unwrap();
    client.take(&window_update(1, 6)).unwrap();
    assert_eq!(bodies(&client), []);
    client.take(&window_update(1, 1)).unwrap();
    assert_eq!(bodies(&client), [(0, 1, 1)]);
    client.sent.clear();
    client.take(&settings(&[(4, 400)])).unwrap();
    assert_eq!(bodies(&client), [(1, 1, 14)]);
}

/// What waits counts as memory until it is sent or given up, and is reported when it goes out.
#[test]
fn bodies_that_waited_are_reported_when_they_go_out() {
    let mut client = Client::greeted(0);
    client.take(&settings(&[(4, 10)])).unwrap();
    let first = client.request(&[b'a'; 25], false);
    let second = client.request(&[b'b'; 30], false);
    let streams_bytes = client.connection.memory_bytes() - 15 - 20;
    assert!(client.connection.has_unsent() && streams_bytes < 300);
    assert_eq!(client.connection.take_late(), []);
    client.sent.clear();
    client.take(&window_update(second, 5)).unwrap();
    client.take(&settings(&[(4, 12)])).unwrap();
    // Frames have 9 bytes besides what they carry; tokens of these tests are numbers of streams.
    let late = [(3, 9 + 5), (1, 9 + 2), (3, 9 + 2)];
    assert_eq!(client.connection.take_late(), late);
    assert_eq!(client.connection.take_late(), []);
    client.take(&window_update(first, 13)).unwrap();
    assert_eq!(client.connection.take_late(), [(1, 9 + 13)]);
    assert_eq!(client.connection.memory_bytes() - streams_bytes, 20);
    client.connection.reset(second, Code::Cancel, &mut client.sent);
    assert!(!client.connection.has_unsent());
    assert!(client.connection.memory_bytes() < streams_bytes);
}

#[test]
fn bodies_wait_for_the_connections_window_and_frames_stay_small() {
    let mut client = Client::greeted(0);
    client.take(&settings(&[(4, 1 << 20)])).unwrap();
    client.sent.clear();
    client.request(&vec![b'a'; 70_000], false);
    client.request(b"second", false);
    let lens = |client: &Client| -> Vec<_> {
        let frames = client.frames().into_iter().filter(|frame| frame.0 == 0);
        frames.map(|(_, _, stream, body)| (stream, body.len())).collect()
    };
    assert_eq!(lens(&client), [(1, 16_384), (1, 16_384), (1, 16_384), (1, 16_383)]);
    client.sent.clear();
    client.take(&window_update(0, 5_000)).unwrap();
    assert_eq!(lens(&client), [(1, 4_465), (3, 6)]);
}

#[test]
fn the_peers_windows_are_opened_again() {
    let own =
        Settings { stream_window_bytes: 100, connection_window_bytes: 65_535, ..Settings::DEFAULT };
    let mut client = Client::with(&own, Limits::DEFAULT);
    client.get();
    client.take(&settings(&[])).unwrap();
    client.take(&headers(1, 0, &[(":status", "200")])).unwrap();
    client.sent.clear();
    client.take(&data(1, 0, &[b'x'; 50])).unwrap();
    assert_eq!(client.frames(), []);
    client.take(&data(1, 0, &[b'x'; 1])).unwrap();
    assert_eq!(client.frames(), [(8, 0, 1, 51_u32.to_be_bytes().to_vec())]);
    // Padding counts, too; the connection's window of 65,535 is opened at its half.
    client.sent.clear();
    for _ in 0..404 {
        client.take(&frame(0, PADDED, 1, &[&[50][..], &[b'x'; 30], &[0; 50]].concat())).unwrap();
    }
    let of_connection: Vec<_> = client.frames().into_iter().filter(|frame| frame.2 == 0).collect();
    assert_eq!(of_connection[0], (8, 0, 0, 32_775_u32.to_be_bytes().to_vec()));
    let error = client.take(&data(1, 0, &[b'x'; 101])).unwrap_err();
    assert_eq!(error.code, Code::FlowControlError);
}

#[test]
fn a_large_block_goes_out_in_pieces_and_comes_in_pieces() {
    let mut client = Client::greeted(0);
    let long = "x".repeat(20_000);
    let large = block(&[(":method", "GET"), ("x-long", &long)]);
    let request = Request { token: 1, block: &large, body: b"", is_head: false, is_endless: false };
    client.connection.request(&request, &mut client.sent);
    let frames = client.frames();
    let flags: Vec<_> = frames.iter().map(|f| (f.0, f.1, f.3.len())).collect();
    assert_eq!(flags, [(1, 0x1, 16_384), (9, 0x4, large.len() - 16_384)]);
    let answer = block(&[(":status", "200"), ("x-long", &long)]);
    let (first, rest) = answer.split_at(7);
    let (second, third) = rest.split_at(10_000);
    let wire = [
        frame(1, END_STREAM, 1, first),
        frame(9, 0, 1, b""),
        frame(9, 0, 1, second),
        frame(9, 4, 1, third),
    ];
    client.take(&wire.concat()).unwrap();
    assert_eq!(client.events, [format!("1 200 x-long={long} end")]);
}

#[test]
fn priorities_and_padding_of_heads_are_skipped() {
    let mut client = Client::greeted(1);
    let block = block(&[(":status", "204")]);
    let payload = [&[2][..], &[0, 0, 0, 0, 16], &block, &[0, 0]].concat();
    client.take(&frame(2, 0, 1, &[0; 5])).unwrap();
    client.take(&frame(1, 0x2d, 1, &payload)).unwrap();
    assert_eq!(client.events, ["1 204  end"]);
}

#[test]
fn a_smaller_table_of_the_server_is_announced_once() {
    let mut client = Client::greeted(0);
    client.take(&settings(&[(1, 0)])).unwrap();
    client.sent.clear();
    client.get();
    client.get();
    let block = block(&[(":method", "GET"), (":path", "/")]);
    let announced = [&[0x20][..], &block].concat();
    assert_eq!(client.frames(), [(1, 5, 1, announced), (1, 5, 3, block)]);
}

#[test]
fn after_goaway_it_is_known_what_was_not_processed() {
    let mut client = Client::greeted(3);
    client.take(&go_away(3, Code::NoError)).unwrap();
    assert!(!client.connection.can_open() && client.connection.is_ending());
    client.take(&headers(3, END_STREAM, &[(":status", "200")])).unwrap();
    // A second one may name fewer, never more.
    client.take(&go_away(7, Code::EnhanceYourCalm)).unwrap();
    assert_eq!(
        client.events,
        ["goaway NO_ERROR", "5 unprocessed", "3 200  end", "goaway ENHANCE_YOUR_CALM"]
    );
    client.take(&go_away(0, Code::NoError)).unwrap();
    assert_eq!(client.events[4..], ["goaway NO_ERROR", "1 unprocessed"]);
}

#[test]
fn resets_of_both_sides_end_streams() {
    let mut client = Client::greeted(2);
    client.take(&reset(1, Code::RefusedStream)).unwrap();
    client.take(&reset(1, Code::NoError)).unwrap();
    assert_eq!(client.events, ["1 reset REFUSED_STREAM"]);
    client.connection.reset(3, Code::Cancel, &mut client.sent);
    assert_eq!(client.frames(), [(3, 0, 3, 8_u32.to_be_bytes().to_vec())]);
    // What was on its way is read for the tables' and windows' sake, and dropped.
    client.take(&headers(3, 0, &[(":status", "200")])).unwrap();
    client.take(&data(3, END_STREAM, b"late")).unwrap();
    client.take(&window_update(3, 1)).unwrap();
    assert_eq!(client.events.len(), 1);
}

#[test]
fn a_response_before_the_requests_end_stops_the_request() {
    let mut client = Client::greeted(0);
    client.take(&settings(&[(4, 0)])).unwrap();
    client.request(b"never sent", false);
    client.sent.clear();
    client.take(&headers(1, END_STREAM, &[(":status", "413")])).unwrap();
    assert_eq!(client.events, ["1 413  end"]);
    assert_eq!(client.frames(), [(3, 0, 1, vec![0; 4])]);
    client.take(&window_update(1, 10)).unwrap();
    client.take(&settings(&[(4, 10)])).unwrap();
    assert_eq!(client.frames().last().unwrap().0, 4);
}

#[test]
fn answers_to_head_requests_have_no_body() {
    let mut client = Client::greeted(0);
    client.request(b"", true);
    client.take(&headers(1, END_STREAM, &[(":status", "200"), ("content-length", "5")])).unwrap();
    assert_eq!(client.events, ["1 200 content-length=5 end"]);
}

#[test]
fn a_whole_body_is_taken_at_once() {
    let mut client = Client::greeted(1);
    client.take(&headers(1, 0, &[(":status", "200"), ("content-length", "5")])).unwrap();
    let wire = [data(1, END_STREAM, b"hello"), settings(&[])].concat();
    let mut take = |input: &[u8]| {
        let taken = client.connection.take_whole_body(1, input, &Limits::DEFAULT, &mut client.sent);
        taken.map(|(len, body)| (len, body.to_vec()))
    };
    assert_eq!(take(&wire[..13]), None);
    assert_eq!(take(&data(1, 0, b"hello")), None);
    assert_eq!(take(&data(1, END_STREAM, b"hell")), None, "it is too short");
    assert_eq!(take(&wire), Some((14, b"hello".to_vec())));
    assert_eq!(client.connection.open_count(), 0);
    let mut scratch = Scratch::default();
    let rest =
        client.connection.decode(&wire[14..], &Limits::DEFAULT, &mut scratch, &mut client.sent);
    assert_eq!(rest, Ok((9, None)));
}

#[test]
fn numbers_of_streams_run_out() {
    let mut client = Client::greeted(1);
    client.take(&headers(1, END_STREAM, &[(":status", "200")])).unwrap();
    assert!(!client.connection.is_ending());
}
