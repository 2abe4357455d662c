//! Tunnels for other protocols over HTTP/2 (RFC 8441): CONNECT with a protocol, and the end of each side.

use proto::Limits;
use proto::h2::{Code, Request};

use crate::h2_server::{
    Client, END_STREAM, block, data, go_away, headers, reset, settings, window_update,
};

const OK: (&str, &str) = (":status", "200");
const DATA: u8 = 0;
const RESET: u8 = 3;

/// A client with one tunnel, to a server that takes them and has not answered.
fn tunnelled() -> Client {
    let mut client = Client::greeted(0);
    client.take(&settings(&[(8, 1)])).expect("a setting");
    open(&mut client);
    client.sent.clear();
    client
}

fn open(client: &mut Client) -> u32 {
    let block = block(&[(":method", "CONNECT"), (":protocol", "websocket")]);
    let request = Request { token: 1, block: &block, body: b"", is_head: false, is_endless: true };
    client.connection.tunnel(&request, &mut client.sent)
}

fn close(client: &mut Client, id: u32) {
    client.connection.close(id, &mut client.sent);
}

#[test]
fn a_server_announces_that_it_takes_tunnels() {
    let mut client = Client::greeted(0);
    assert!(!client.connection.takes_connect());
    client.take(&settings(&[(8, 0)])).unwrap();
    assert!(!client.connection.takes_connect());
    client.take(&settings(&[(8, 1)])).unwrap();
    assert!(client.connection.takes_connect());
    // What says nothing of it changes nothing.
    client.take(&settings(&[(3, 10)])).unwrap();
    assert!(client.connection.takes_connect());
    // It is never taken back, and is no other number (§3).
    for value in [0, 2] {
        let mut client = Client::greeted(0);
        client.take(&settings(&[(8, 1)])).unwrap();
        let error = client.take(&settings(&[(8, value)])).unwrap_err();
        assert_eq!(error.code, Code::ProtocolError, "{value}");
    }
}

#[test]
fn bytes_go_both_ways_until_the_server_ends_its_side() {
    let mut client = tunnelled();
    // A length is ignored (RFC 9110 §9.3.6).
    let head = headers(1, 0, &[OK, ("content-length", "3")]);
    client.take(&head).unwrap();
    client.take(&data(1, 0, b"hello")).unwrap();
    client.send(1, b"there", false);
    client.take(&data(1, END_STREAM, b" and bye")).unwrap();
    assert_eq!(client.events, ["1 200 content-length=3", "1 body hello and bye", "1 end"]);
    // Our side ends, too, in good order.
    let expected = [(DATA, 0, 1, b"there".to_vec()), (DATA, END_STREAM, 1, vec![])];
    assert_eq!(client.frames(), expected);
    assert_eq!(client.connection.open_count(), 0);
    // What comes after the end breaks the connection (RFC 9113 §5.1).
    let error = client.take(&data(1, 0, b"more")).unwrap_err();
    assert_eq!(error.code, Code::StreamClosed);
}

#[test]
fn the_body_of_a_refusal_has_its_length() {
    let mut client = tunnelled();
    let head = headers(1, 0, &[(":status", "403"), ("content-length", "3")]);
    client.take(&head).unwrap();
    client.take(&data(1, END_STREAM, b"no")).unwrap();
    assert_eq!(client.events[1..], ["1 body no", "1 broken PROTOCOL_ERROR"]);
}

#[test]
fn a_closed_tunnel_is_silent_until_the_server_ends_it() {
    let mut client = tunnelled();
    client.take(&headers(1, 0, &[OK])).unwrap();
    close(&mut client, 1);
    assert_eq!(client.frames(), [(DATA, END_STREAM, 1, vec![])]);
    // Nobody waits for it.
    assert_eq!(client.connection.open_count(), 0);
    client.take(&data(1, 0, b"")).unwrap();
    client.take(&data(1, END_STREAM, b"")).unwrap();
    assert_eq!(client.events, ["1 200 "]);
    assert_eq!(client.frames().len(), 1);
    // It has ended on both sides.
    let error = client.take(&data(1, 0, b"x")).unwrap_err();
    assert_eq!(error.code, Code::StreamClosed);
}

#[test]
fn a_closed_tunnel_ends_in_any_way() {
    for wire in [
        headers(1, END_STREAM, &[("x", "trailer")]),
        headers(1, 0, &[("x", "trailer")]),
        reset(1, Code::InternalError),
        window_update(1, 0),
        go_away(0, Code::NoError),
    ] {
        let mut client = tunnelled();
        client.take(&headers(1, 0, &[OK])).unwrap();
        close(&mut client, 1);
        client.take(&wire).unwrap();
        let of_stream = |event: &&String| event.starts_with("1 ");
        assert_eq!(client.events.iter().filter(of_stream).count(), 1);
        // It is gone: another frame that ends it is of a stream that has ended.
        let memory = client.connection.memory_bytes();
        assert_eq!(memory, Client::greeted(0).connection.memory_bytes());
    }
}

/// As TCP does when bytes come for a socket that was closed.
#[test]
fn bytes_for_a_closed_tunnel_reset_it() {
    let mut client = tunnelled();
    client.take(&headers(1, 0, &[OK])).unwrap();
    close(&mut client, 1);
    client.sent.clear();
    client.take(&data(1, 0, b"more")).unwrap();
    let code = (Code::Cancel as u32).to_be_bytes().to_vec();
    assert_eq!(client.frames(), [(RESET, 0, 1, code)]);
    // Frames that were on their way are no error.
    client.take(&data(1, END_STREAM, b"more")).unwrap();
    assert_eq!(client.events, ["1 200 "]);
}

#[test]
fn a_tunnel_whose_bytes_wait_is_reset() {
    let mut client = Client::new(Limits::DEFAULT);
    client.take(&settings(&[(8, 1), (4, 0)])).unwrap();
    open(&mut client);
    client.sent.clear();
    client.take(&headers(1, 0, &[OK])).unwrap();
    client.send(1, b"waits", false);
    assert_eq!(client.frames(), []);
    close(&mut client, 1);
    let code = (Code::Cancel as u32).to_be_bytes().to_vec();
    assert_eq!(client.frames(), [(RESET, 0, 1, code)]);
    assert!(!client.connection.has_unsent());
}

/// A window that is opened a little at a time: what was sent is not kept.
#[test]
fn what_was_sent_of_a_tunnel_is_forgotten() {
    let mut client = Client::new(Limits::DEFAULT);
    client.take(&settings(&[(8, 1), (4, 0)])).unwrap();
    open(&mut client);
    client.take(&headers(1, 0, &[OK])).unwrap();
    let mut sent = Vec::new();
    let mut wanted = Vec::new();
    client.send(1, &[0; 250], false);
    wanted.extend_from_slice(&[0; 250]);
    for round in 1..=200_u8 {
        client.sent.clear();
        client.take(&window_update(1, 100)).unwrap();
        client.send(1, &[round; 100], false);
        wanted.extend_from_slice(&[round; 100]);
        for frame in client.frames() {
            sent.extend_from_slice(&frame.3);
        }
        client.connection.allow_more();
    }
    assert_eq!(sent, wanted[..sent.len()]);
    assert_eq!(sent.len(), 200 * 100);
    assert!(client.connection.memory_bytes() < 1 << 10);
}

/// A server that never ends its side has as many streams of ours as are kept, and no more.
#[test]
fn closed_tunnels_do_not_pile_up() {
    let mut client = tunnelled();
    client.take(&headers(1, 0, &[OK])).unwrap();
    close(&mut client, 1);
    for _ in 0..1_000 {
        let id = open(&mut client);
        client.take(&headers(id, 0, &[OK])).unwrap();
        close(&mut client, id);
    }
    let resets = client.frames().iter().filter(|own| own.0 == RESET).count();
    assert_eq!(resets, 1_001 - 100);
    assert!(client.connection.memory_bytes() < 16 << 10);
}
