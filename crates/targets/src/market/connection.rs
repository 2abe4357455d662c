//! One WebSocket from its handshake to its end: a single small task that reads and writes.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::desk::{Answered, Visitor};
use super::line::{Errand, Fate, Line};
use super::model::{GameId, User};
use super::protocol::{Fault, Reply};
use super::shard::{Alive, Shard};
use crate::wire::Socket;

/// How long a peer may take over its part of the closing handshake.
const FAREWELL: Duration = Duration::from_secs(2);

/// How a connection ends.
#[derive(Debug, Clone, Copy)]
enum Ending {
    /// The peer is gone, or the closing handshake is done.
    Gone,
    /// We give up without a word: the peer does not read.
    Cut,
    /// We say why and wait for the peer.
    Shut(CloseCode, &'static str),
}

/// What happened to a connection.
enum Event {
    Message(Message),
    End(Ending),
}

/// A connection's entry in the thread's roster, struck out when dropped.
struct Presence {
    shard: Arc<Shard>,
    line: Arc<Line>,
    number: u64,
    joined: Option<GameId>,
}

impl Presence {
    fn new(shard: Arc<Shard>, number: u64) -> Self {
        let line = Arc::new(Line::default());
        shard.hub.metrics.connections_opened.add(1);
        shard.roster.enter(number, &line);
        if shard.hub.draining() {
            line.end(Fate::Stop);
        }
        Self {
            shard,
            line,
            number,
            joined: None,
        }
    }

    fn move_to(&mut self, game: Option<GameId>) {
        if game != self.joined {
            self.shard
                .roster
                .subscribe(self.number, &self.line, self.joined, game);
            self.joined = game;
        }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.shard.roster.strike(self.number, self.joined);
        self.shard.hub.metrics.connections_closed.add(1);
    }
}

/// A connection between its two handshakes.
pub(super) struct Connection {
    socket: Socket,
    presence: Presence,
    visitor: Visitor,
    errors: u32,
    /// Dropped last of all: the thread waits for it when it stops.
    _alive: Alive,
}

impl Connection {
    /// A connection that is on the roster from now on. `name` is the user's, if one was given.
    pub(super) fn new(
        shard: Arc<Shard>,
        socket: Socket,
        name: Option<Arc<str>>,
        alive: Alive,
    ) -> Self {
        let number = shard.hub.next_connection();
        let user = name.map_or(User::Connection(number), User::Named);
        let presence = Presence::new(shard, number);
        let visitor = Visitor::new(user);
        Self {
            socket,
            presence,
            visitor,
            errors: 0,
            _alive: alive,
        }
    }

    /// Serves the connection to its end.
    ///
    /// What is rarely under way is boxed: while a connection is idle, that costs nothing.
    #[expect(
        clippy::manual_async_fn,
        reason = "an `async fn` keeps room for `self` twice"
    )]
    pub(super) fn converse(mut self) -> impl Future<Output = ()> {
        async move {
            let ending = loop {
                match poll_fn(|cx| self.poll_event(cx)).await {
                    Event::Message(message) => {
                        if let Some(ending) = Box::pin(self.receive(message)).await {
                            break ending;
                        }
                    }
                    Event::End(ending) => break ending,
                }
            };
            Box::pin(self.end(ending)).await;
        }
    }

    /// First writes what waits, then reads: a peer that does not read is not listened to.
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        loop {
            match self.socket.poll_flush(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Event::End(ending_of(&error))),
                Poll::Pending => {
                    let fate = self.presence.line.fate(cx);
                    return fate.map_or(Poll::Pending, |fate| Poll::Ready(Event::End(fate.into())));
                }
            }
            let message = match self.presence.line.take(cx) {
                Some(Errand::Send(text)) => Message::Text(text),
                Some(Errand::Ping) => Message::Ping(bytes::Bytes::new()),
                Some(Errand::End(fate)) => return Poll::Ready(Event::End(fate.into())),
                None => break,
            };
            if let Err(error) = self.write(cx, message) {
                return Poll::Ready(Event::End(ending_of(&error)));
            }
        }
        self.socket.poll_read(cx).map(|read| match read {
            Ok(message) => Event::Message(message),
            Err(error) => Event::End(ending_of(&error)),
        })
    }

    fn write(&mut self, cx: &mut Context<'_>, message: Message) -> Result<(), Error> {
        self.presence.shard.hub.metrics.messages_sent.add(1);
        self.socket.write(cx, message)
    }

    /// Deals with a message; the ending, if that was the last one.
    async fn receive(&mut self, message: Message) -> Option<Ending> {
        self.presence.line.hear(self.presence.shard.roster.tick());
        let answered = match message {
            Message::Text(text) => self.visitor.ask(&self.presence.shard.hub, &text).await,
            Message::Binary(_) => binary(),
            // tungstenite answers pings and closes by itself.
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_) => {
                return None;
            }
        };
        let shard = &self.presence.shard;
        shard.hub.metrics.messages_received.add(1);
        let errors_max = shard.errors_max;
        if !answered.good {
            shard.hub.metrics.bad_requests.add(1);
            self.errors += 1;
        }
        self.presence.move_to(self.visitor.joined());
        if let Err(error) = with_context(|cx| self.write(cx, Message::Text(answered.text))).await {
            return Some(ending_of(&error));
        }
        let too_many = self.errors > errors_max;
        too_many.then_some(Ending::Shut(CloseCode::Policy, "too many bad requests"))
    }

    async fn end(mut self, ending: Ending) {
        self.visitor.leave(&self.presence.shard.hub).await;
        if let Ending::Shut(code, reason) = ending {
            // Whoever does not take part in the farewell is left without one.
            let _ = timeout(FAREWELL, farewell(self.socket, code, reason)).await;
        }
    }
}

/// Sends a close frame and waits for the peer to leave.
///
/// What the peer still sends is read and thrown away: a socket closed with bytes unread is reset,
/// and the reset can overtake the close frame.
async fn farewell(mut socket: Socket, code: CloseCode, reason: &'static str) {
    let close = Message::Close(Some(CloseFrame {
        code,
        reason: reason.into(),
    }));
    let queued = with_context(|cx| socket.write(cx, close)).await;
    if queued.is_err() || poll_fn(|cx| socket.poll_flush(cx)).await.is_err() {
        return;
    }
    let mut stream = socket.into_stream();
    if stream.shutdown().await.is_ok() {
        let mut waste = [0; 512];
        while matches!(stream.read(&mut waste).await, Ok(count) if count > 0) {}
    }
}

/// Does something at once that wants the task's context.
async fn with_context<T>(act: impl FnOnce(&mut Context<'_>) -> T + Unpin) -> T {
    let mut act = Some(act);
    poll_fn(|cx| act.take().map_or(Poll::Pending, |act| Poll::Ready(act(cx)))).await
}

fn binary() -> Answered {
    let error = Fault::new("binary", "requests are text messages");
    Answered {
        text: Reply::Fault { error }.encode(None, None),
        good: false,
    }
}

/// How a connection ends on which tungstenite reported `error`; the codes are those of RFC 6455,
/// section 7.4.1.
fn ending_of(error: &Error) -> Ending {
    use tokio_tungstenite::tungstenite::error::ProtocolError::ResetWithoutClosingHandshake;
    match error {
        Error::Capacity(_) => Ending::Shut(CloseCode::Size, "message too long"),
        Error::Utf8(_) => Ending::Shut(CloseCode::Invalid, "text is not UTF-8"),
        Error::Protocol(ResetWithoutClosingHandshake) => Ending::Gone,
        Error::Protocol(_) => Ending::Shut(CloseCode::Protocol, "protocol violated"),
        _ => Ending::Gone,
    }
}

impl From<Fate> for Ending {
    fn from(fate: Fate) -> Self {
        match fate {
            Fate::Slow => Self::Cut,
            Fate::Idle => Self::Shut(CloseCode::Away, "silent for too long"),
            Fate::Stop => Self::Shut(CloseCode::Away, "the market stops"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a task holds for each connection is most of what an idle one costs.
    #[test]
    fn an_idle_connection_is_small() {
        fn size<F>(_: impl Fn(Connection) -> F) -> usize {
            size_of::<F>()
        }
        let (task, line) = (size(Connection::converse), size_of::<Line>());
        assert!(task <= 512, "{task} bytes");
        assert!(line <= 128, "{line} bytes");
    }
}
