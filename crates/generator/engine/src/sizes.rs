//! The memory that a user costs, state by state, its socket aside, of which `driver` asserts that it takes 24 bytes.
//! Millions of users exist: what one costs is a decision, not an accident. `docs/architecture-reference.md` lists these
//! figures, sockets included.

use plan::expr::Value;
use proto::ws::{self, Deflater, InflatingDecoder};
use rustls::client::Tls13ClientSessionValue;

use crate::conn::carried::CarriedWebSocket;
use crate::conn::{Carrier, Conn, PendingOperation};
use crate::messages::early::EarlyMessage;
use crate::protocols::DividedSocket;
use crate::protocols::channels::state::{Channels, Topic};
use crate::protocols::mqtt::client::Mqtt;
use crate::protocols::poll::Poller;
use crate::protocols::sse::EventStream;
use crate::protocols::websocket::deflate::Compression;
use crate::protocols::websocket::pauses::Reconnectable;
use crate::schedule::wheel;
use crate::tables::slots;
use crate::tls::{ServerSessions, TICKETS_MAX};
use crate::users::User;

/// The most that the allocator adds to a block of memory: its header and rounding to 16 bytes.
const BLOCK: usize = 24;

/// A user that thinks, or waits for a reply, on one open connection, without its socket.
fn idle() -> usize {
    size_of::<slots::Entry<User>>() + size_of::<wheel::Entry>() + size_of::<slots::Entry<Conn>>()
}

#[test]
fn a_user_stays_small() {
    let user = size_of::<slots::Entry<User>>();
    let timer = size_of::<wheel::Entry>();
    assert!(user <= 160, "a user has {user} bytes");
    assert!(timer <= 24, "a timer has {timer} bytes");
}

#[test]
fn a_connection_stays_small() {
    let conn = size_of::<slots::Entry<Conn>>();
    assert!(conn <= 104, "a connection has {conn} bytes");
}

/// Waiting for a reply takes no more than idling: the operation in flight is part of the user.
#[test]
fn an_idle_or_waiting_user_takes_288_bytes_and_its_socket() {
    let idle = idle();
    assert!(idle <= 288, "an idle user has {idle} bytes");
}

/// While the upgrade is in flight its key is kept.
#[test]
fn a_connecting_user_takes_104_bytes_more() {
    let key = size_of::<PendingOperation>() + BLOCK;
    assert!(size_of::<ws::Key>() <= size_of::<PendingOperation>());
    assert!(key <= 104, "an upgrade in flight keeps {key} bytes");
}

/// An event stream has this beside its connection, its last id, and an event that came in part.
#[test]
fn an_event_stream_takes_176_bytes_more() {
    let stream = size_of::<EventStream>() + BLOCK;
    assert!(stream <= 176, "an event stream has {stream} bytes");
}

/// A plain WebSocket that reconnects has this beside its connection.
#[test]
fn reconnecting_takes_160_bytes_more() {
    let own = size_of::<Reconnectable>() + BLOCK;
    assert!(own <= 160, "a WebSocket that reconnects has {own} bytes");
}

/// A WebSocket whose messages hold several records has this beside its connection.
#[test]
fn records_take_48_bytes_more() {
    let own = size_of::<DividedSocket>() + BLOCK;
    assert!(own <= 48, "a WebSocket of records has {own} bytes");
}

/// A WebSocket over HTTP/2 has this beside its row, and the state of its stream.
#[test]
fn being_carried_takes_80_bytes_more() {
    let own = size_of::<CarriedWebSocket>() + BLOCK;
    assert!(own <= 80, "a WebSocket over HTTP/2 has {own} bytes");
}

/// A connection of HTTP/2 has this beside its row until it is used; requests in flight have rows of their own.
#[test]
fn an_idle_connection_of_http_2_takes_272_bytes_more() {
    let carrier = size_of::<Carrier>() + BLOCK;
    assert!(carrier <= 272, "a connection of HTTP/2 has {carrier} bytes");
    let whole = carrier + size_of::<slots::Entry<Conn>>();
    assert!(whole <= 376, "an idle connection of HTTP/2 has {whole} bytes");
}

/// A poll has this beside its connection, and a response while it comes.
#[test]
fn a_poll_takes_160_bytes_more() {
    let poller = size_of::<Poller>() + BLOCK;
    assert!(poller <= 160, "a poll has {poller} bytes");
}

/// A protocol of channels has this beside its WebSocket, and the names of the topics joined.
#[test]
fn a_protocol_of_channels_takes_216_bytes_more() {
    let channels = size_of::<Channels>() + BLOCK;
    assert!(channels <= 216, "a protocol of channels has {channels} bytes");
    let topic = size_of::<Topic>();
    assert!(topic <= 40, "a topic has {topic} bytes");
}

/// MQTT has this beside a protocol of channels, and the packets in flight.
#[test]
fn mqtt_takes_184_bytes_more() {
    let mqtt = size_of::<Mqtt>() + BLOCK;
    assert!(mqtt <= 184, "MQTT has {mqtt} bytes");
}

/// A user that keeps TLS sessions of a server has this, and of each ticket its bytes, its secret and the server's
/// certificates. The table of all users' is up to half empty.
#[test]
fn tls_sessions_of_its_own_take_512_bytes_more() {
    let entry = 2 * (size_of::<(u32, Vec<ServerSessions>)>() + 1);
    let tickets = TICKETS_MAX * size_of::<Tls13ClientSessionValue>() + BLOCK;
    let own = entry + size_of::<ServerSessions>() + BLOCK + tickets;
    assert!(own <= 512, "TLS sessions of a user's own take {own} bytes");
}

/// A message that came before a step which may take it has this beside its bytes.
#[test]
fn a_message_that_is_kept_takes_80_bytes() {
    let early = size_of::<EarlyMessage>();
    assert!(early <= 80, "a message that is kept has {early} bytes");
}

/// Compressed messages: this much is there from the start, the rest from the first message on.
#[test]
fn compression_takes_what_is_documented() {
    let start = size_of::<Compression>() + size_of::<InflatingDecoder>() + 2 * BLOCK;
    assert!(start <= 176, "a compressed connection begins with {start} bytes");
    let deflater = Deflater::BYTES;
    assert!(deflater <= 320 << 10, "a deflater has {deflater} bytes");
}

/// Each variable of a session, and each of its counters.
#[test]
fn a_variable_takes_24_bytes() {
    let value = size_of::<Value>();
    assert!(value <= 24, "a value has {value} bytes");
}
