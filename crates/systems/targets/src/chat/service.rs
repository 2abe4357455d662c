//! The chat as its connections see it: who is let in where, and how a room's messages reach a
//! thread's connections.
//!
//! Each thread reads every room's log by a cursor of its own, as a polling client would. So no
//! message can be lost between threads, and a newcomer with a cursor gets what the thread has sent
//! on already from the log, and all the rest as everybody does.

use std::rc::Rc;
use std::sync::Arc;

use axum::Router;
use bytes::Bytes;
use tokio::task::spawn_local;
use tokio::time::sleep;

use super::cable;
use super::channels::{CABLE, Channels, Form};
use super::connection::Connection;
use super::http;
use super::paths;
use super::phoenix::{Framing, Phoenix};
use super::reply::{Action, missed};
use super::request_error::RequestError;
use super::socket::Socket;
use super::state::{ChatState, LOBBY};
use server::http::{Endpoint, OpenRequest};
use server::metrics::Connections;
use server::reactor::{
    self, AcceptedConnection, HandleResult, KeepAlive, Kind, Later, Notice, Response, Service,
    SharedReactor,
};
use server::websocket::frames;
use server::{sse, wall_ms};

impl Service for ChatState {
    type Connection = Connection;
    type ThreadState = Channels;

    fn endpoint(path: &str) -> Option<Endpoint> {
        match path {
            paths::SOCKET | paths::CABLE | paths::PHOENIX => Some(Endpoint::WebSocket),
            paths::STREAM => Some(Endpoint::Stream),
            _ => None,
        }
    }

    fn router(self: &Arc<Self>) -> Router {
        http::router(self)
    }

    fn connections(&self) -> &Connections {
        &self.metrics.connections
    }

    fn thread_state(self: &Arc<Self>) -> Channels {
        Channels::new(self.heads())
    }

    fn start(self: &Arc<Self>, reactor: &SharedReactor<Self>) {
        spawn_local(send_on(Arc::clone(self), Rc::clone(reactor)));
        spawn_local(ping_cables(Arc::clone(self), Rc::clone(reactor)));
    }

    fn accept(
        self: &Arc<Self>,
        channels: &mut Channels,
        open_request: &OpenRequest,
    ) -> Result<AcceptedConnection<Connection>, Bytes> {
        let accepted = match &*open_request.path {
            paths::CABLE => Ok(accept_cable(open_request)),
            paths::PHOENIX => accept_phoenix(open_request),
            _ => accept_to_room(self, channels, open_request),
        };
        accepted.map_err(|fault| {
            self.metrics.connections.bad_requests.add(1);
            refusal(&fault)
        })
    }

    fn on_text(
        self: &Arc<Self>,
        channels: &mut Channels,
        mut connection: Connection,
        text: &str,
    ) -> HandleResult<Connection> {
        match connection.on_text(self, channels, text) {
            Action::Reply(reply) => HandleResult::Now(connection, reply.into_response()),
            Action::Speak { room, said, then } => match self.speak(&room, said) {
                Ok(spoken) => {
                    spoken.then(self, |number| (connection, then(number).into_response()))
                }
                Err(fault) => {
                    self.metrics.refused.add(1);
                    HandleResult::Now(connection, then(Err(fault)).into_response())
                }
            },
        }
    }

    fn binary_as_text(&self, connection: &Connection) -> bool {
        matches!(connection, Connection::Phoenix(phoenix) if phoenix.binary_as_text())
    }

    fn on_binary(&self, connection: &Connection) -> Response {
        connection.on_binary()
    }

    fn on_close(self: &Arc<Self>, _: Connection) -> Option<Later<()>> {
        None
    }

    fn closing_message(&self, connection: &Connection) -> Bytes {
        match connection {
            Connection::Cable(_) => frame(cable::RESTART),
            Connection::Stream | Connection::Socket(_) | Connection::Phoenix(_) => Bytes::new(),
        }
    }

    fn on_empty_channel(channels: &mut Channels, channel: u32) {
        channels.close(channel);
    }
}

fn frame(text: &str) -> Bytes {
    frames::text(|bytes| bytes.extend_from_slice(text.as_bytes()))
}

/// The answer to a request that opens nothing.
fn refusal(fault: &RequestError) -> Bytes {
    let status = match fault {
        RequestError::TooManyRooms { .. } => "503 Service Unavailable",
        _ => "400 Bad Request",
    };
    let body = fault.json();
    let length = body.len();
    Bytes::from(format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    ))
}

/// The value of a field in a query; names of rooms and numbers need no decoding.
fn field<'a>(open_request: &'a OpenRequest, name: &str) -> Option<&'a str> {
    let mut fields = open_request.query.as_deref().unwrap_or_default().split('&');
    fields.find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
}

fn accept_cable(open_request: &OpenRequest) -> AcceptedConnection<Connection> {
    let speaks = open_request.protocols.iter().any(|name| name == cable::PROTOCOL);
    AcceptedConnection {
        connection: Connection::Cable(Box::default()),
        keep_alive: KeepAlive::OwnHeartbeats,
        protocol: speaks.then_some(cable::PROTOCOL),
        greeting: frame(cable::WELCOME).to_vec(),
        greetings_count: 1,
        channel: Some(CABLE),
    }
}

fn accept_phoenix(
    open_request: &OpenRequest,
) -> Result<AcceptedConnection<Connection>, RequestError> {
    let framing = Framing::of_version(field(open_request, "vsn"))
        .ok_or_else(|| RequestError::Invalid("vsn is 1.0.0 or 2.0.0".to_owned()))?;
    Ok(AcceptedConnection {
        connection: Connection::Phoenix(Box::new(Phoenix::new(framing))),
        keep_alive: KeepAlive::Timeout,
        protocol: None,
        greeting: Vec::new(),
        greetings_count: 0,
        channel: None,
    })
}

/// A WebSocket or a stream of one room.
fn accept_to_room(
    state: &ChatState,
    channels: &mut Channels,
    open_request: &OpenRequest,
) -> Result<AcceptedConnection<Connection>, RequestError> {
    let room = state.room(field(open_request, "room").unwrap_or(LOBBY))?;
    // A client that comes back says what it had last, and means that.
    let after = open_request.last_event_id.as_deref().or(field(open_request, "after"));
    let after = after
        .map(str::parse)
        .transpose()
        .map_err(|_| RequestError::Invalid("a cursor is a whole number".to_owned()))?;
    let (form, mut greeting) = if open_request.path == paths::STREAM {
        let mut head = sse::HEAD.as_bytes().to_vec();
        head.extend_from_slice(&sse::retry(state.options.retry));
        (Form::Stream, head)
    } else {
        (Socket::FORM, Vec::new())
    };
    let (missed, greetings_count) = missed(state, &room, channels, after, &form);
    greeting.extend_from_slice(&missed);
    let (connection, keep_alive) = if form == Form::Stream {
        (Connection::Stream, KeepAlive::Stream)
    } else {
        let room = Arc::clone(&room);
        (Connection::Socket(Socket { room }), KeepAlive::Ping)
    };
    Ok(AcceptedConnection {
        connection,
        keep_alive,
        protocol: None,
        greeting,
        greetings_count,
        channel: Some(channels.open(room.id, form)),
    })
}

/// Sends every room's messages on to the thread's connections, for ever.
async fn send_on(state: Arc<ChatState>, reactor: SharedReactor<ChatState>) {
    let mut news = state.news();
    loop {
        while let Some(notices) = begin_next(&state, &reactor) {
            for (channel, notice) in notices {
                reactor::broadcast(&reactor, channel, &notice).await;
            }
        }
        if news.changed().await.is_err() {
            return;
        }
    }
}

/// Begins the broadcast of the next message of any room, in all its channels at once: whoever
/// comes from now on has it from the log.
fn begin_next(state: &ChatState, reactor: &SharedReactor<ChatState>) -> Option<Vec<(u32, Notice)>> {
    let mut reactor = reactor.borrow_mut();
    let room = state.room_with_unsent(reactor.thread_state.positions())?;
    let found = room.read(reactor.thread_state.position(room.id), u64::MAX, 1);
    state.metrics.overrun.add(found.forgotten);
    reactor.thread_state.advance(room.id, found.last);
    let message = found.messages.first()?;
    let notices = reactor.thread_state.of_room(room.id).map(|(channel, form)| {
        let frame = form.encode(message, state.options.names);
        let kind = Kind::Event;
        (channel, Notice { kind, frame })
    });
    let notices: Vec<_> = notices.collect();
    for (channel, _) in &notices {
        reactor.begin_broadcast(*channel);
    }
    Some(notices)
}

/// Pings everybody who speaks ActionCable, for ever.
async fn ping_cables(state: Arc<ChatState>, reactor: SharedReactor<ChatState>) {
    loop {
        sleep(state.options.cable_ping).await;
        let notice = Notice { kind: Kind::State, frame: frame(&cable::ping(wall_ms())) };
        reactor.borrow_mut().begin_broadcast(CABLE);
        reactor::broadcast(&reactor, CABLE, &notice).await;
    }
}
