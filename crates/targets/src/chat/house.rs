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
use super::connection::Guest;
use super::fault::Fault;
use super::http;
use super::hub::{Hub, LOBBY};
use super::paths;
use super::phoenix::{Framing, Phoenix};
use super::reply::{Deed, missed};
use super::socket::Socket;
use server::http::{Asked, Door};
use server::metrics::Connections;
use server::reactor::{self, Admitted, Answered, Habit, Heard, House, Kind, Later, Notice, Shared};
use server::websocket::frames;
use server::{sse, wall_ms};

impl House for Hub {
    type Guest = Guest;
    type Local = Channels;

    fn door(path: &str) -> Option<Door> {
        match path {
            paths::SOCKET | paths::CABLE | paths::PHOENIX => Some(Door::WebSocket),
            paths::STREAM => Some(Door::Stream),
            _ => None,
        }
    }

    fn router(self: &Arc<Self>) -> Router {
        http::router(self)
    }

    fn connections(&self) -> &Connections {
        &self.metrics.connections
    }

    fn local(self: &Arc<Self>) -> Channels {
        Channels::new(self.heads())
    }

    fn begin(self: &Arc<Self>, front: &Shared<Self>) {
        spawn_local(send_on(Arc::clone(self), Rc::clone(front)));
        spawn_local(ping_cables(Arc::clone(self), Rc::clone(front)));
    }

    fn admit(
        self: &Arc<Self>,
        channels: &mut Channels,
        asked: &Asked,
    ) -> Result<Admitted<Guest>, Bytes> {
        let admitted = match &*asked.path {
            paths::CABLE => Ok(admit_cable(asked)),
            paths::PHOENIX => admit_phoenix(asked),
            _ => admit_to_room(self, channels, asked),
        };
        admitted.map_err(|fault| {
            self.metrics.connections.bad_requests.add(1);
            refusal(&fault)
        })
    }

    fn hear(
        self: &Arc<Self>,
        channels: &mut Channels,
        mut guest: Guest,
        text: &str,
    ) -> Heard<Guest> {
        match guest.hear(self, channels, text) {
            Deed::Reply(reply) => Heard::Now(guest, reply.answered()),
            Deed::Speak { room, said, then } => match self.speak(&room, said) {
                Ok(spoken) => spoken.then(self, |number| (guest, then(number).answered())),
                Err(fault) => {
                    self.metrics.refused.add(1);
                    Heard::Now(guest, then(Err(fault)).answered())
                }
            },
        }
    }

    fn reads_binary(&self, guest: &Guest) -> bool {
        matches!(guest, Guest::Phoenix(phoenix) if phoenix.reads_binary())
    }

    fn hear_binary(&self, guest: &Guest) -> Answered {
        guest.hear_binary()
    }

    fn dismiss(self: &Arc<Self>, _: Guest) -> Option<Later<()>> {
        None
    }

    fn last_words(&self, guest: &Guest) -> Bytes {
        match guest {
            Guest::Cable(_) => frame(cable::RESTART),
            Guest::Stream | Guest::Socket(_) | Guest::Phoenix(_) => Bytes::new(),
        }
    }

    fn emptied(channels: &mut Channels, channel: u32) {
        channels.close(channel);
    }
}

fn frame(text: &str) -> Bytes {
    frames::text(|bytes| bytes.extend_from_slice(text.as_bytes()))
}

/// The answer to a request that opens nothing.
fn refusal(fault: &Fault) -> Bytes {
    let status = match fault {
        Fault::TooManyRooms { .. } => "503 Service Unavailable",
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
fn field<'a>(asked: &'a Asked, name: &str) -> Option<&'a str> {
    let mut fields = asked.query.as_deref().unwrap_or_default().split('&');
    fields.find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
}

fn admit_cable(asked: &Asked) -> Admitted<Guest> {
    let speaks = asked.protocols.iter().any(|name| name == cable::PROTOCOL);
    Admitted {
        guest: Guest::Cable(Box::default()),
        habit: Habit::Left,
        protocol: speaks.then_some(cable::PROTOCOL),
        greeting: frame(cable::WELCOME).to_vec(),
        greetings_count: 1,
        channel: Some(CABLE),
    }
}

fn admit_phoenix(asked: &Asked) -> Result<Admitted<Guest>, Fault> {
    let framing = Framing::of_version(field(asked, "vsn"))
        .ok_or_else(|| Fault::Invalid("vsn is 1.0.0 or 2.0.0".to_owned()))?;
    Ok(Admitted {
        guest: Guest::Phoenix(Box::new(Phoenix::new(framing))),
        habit: Habit::Closed,
        protocol: None,
        greeting: Vec::new(),
        greetings_count: 0,
        channel: None,
    })
}

/// A WebSocket or a stream of one room.
fn admit_to_room(
    hub: &Hub,
    channels: &mut Channels,
    asked: &Asked,
) -> Result<Admitted<Guest>, Fault> {
    let room = hub.room(field(asked, "room").unwrap_or(LOBBY))?;
    // A client that comes back says what it had last, and means that.
    let after = asked.last_event_id.as_deref().or(field(asked, "after"));
    let after = after
        .map(str::parse)
        .transpose()
        .map_err(|_| Fault::Invalid("a cursor is a whole number".to_owned()))?;
    let (form, mut greeting) = if asked.path == paths::STREAM {
        let mut head = sse::HEAD.as_bytes().to_vec();
        head.extend_from_slice(&sse::retry(hub.options.retry));
        (Form::Stream, head)
    } else {
        (Socket::FORM, Vec::new())
    };
    let (missed, greetings_count) = missed(hub, &room, channels, after, &form);
    greeting.extend_from_slice(&missed);
    let (guest, habit) = if form == Form::Stream {
        (Guest::Stream, Habit::Stream)
    } else {
        let room = Arc::clone(&room);
        (Guest::Socket(Socket { room }), Habit::Pinged)
    };
    Ok(Admitted {
        guest,
        habit,
        protocol: None,
        greeting,
        greetings_count,
        channel: Some(channels.open(room.id, form)),
    })
}

/// Sends every room's messages on to the thread's connections, for ever.
async fn send_on(hub: Arc<Hub>, front: Shared<Hub>) {
    let mut news = hub.news();
    loop {
        while let Some(notices) = begin_next(&hub, &front) {
            for (channel, notice) in notices {
                reactor::broadcast(&front, channel, &notice).await;
            }
        }
        if news.changed().await.is_err() {
            return;
        }
    }
}

/// Begins the broadcast of the next message of any room, in all its channels at once: whoever
/// comes from now on has it from the log.
fn begin_next(hub: &Hub, front: &Shared<Hub>) -> Option<Vec<(u32, Notice)>> {
    let mut front = front.borrow_mut();
    let room = hub.room_with_news(front.local.positions())?;
    let found = room.read(front.local.position(room.id), u64::MAX, 1);
    hub.metrics.overrun.add(found.forgotten);
    front.local.advance(room.id, found.last);
    let message = found.messages.first()?;
    let notices = front.local.of_room(room.id).map(|(channel, form)| {
        let frame = form.encode(message);
        let kind = Kind::News;
        (channel, Notice { kind, frame })
    });
    let notices: Vec<_> = notices.collect();
    for (channel, _) in &notices {
        front.begin_broadcast(*channel);
    }
    Some(notices)
}

/// Pings everybody who speaks ActionCable, for ever.
async fn ping_cables(hub: Arc<Hub>, front: Shared<Hub>) {
    loop {
        sleep(hub.options.cable_ping).await;
        let notice = Notice {
            kind: Kind::State,
            frame: frame(&cable::ping(wall_ms())),
        };
        front.borrow_mut().begin_broadcast(CABLE);
        reactor::broadcast(&front, CABLE, &notice).await;
    }
}
