//! The market as its connections see it: a desk, and a channel for each game.

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use axum::Router;
use bytes::Bytes;
use tokio::task::spawn_local;

use super::connection::{self, Connection};
use super::envelope;
use super::options::Listing;
use super::protocol::{STREAM, is_user_name, listed, opened};
use super::rest;
use super::state::MarketState;
use crate::bus::model::{GameId, User};
use crate::bus::{Delivery, Subscription};
use server::http::{Endpoint, OpenRequest};
use server::metrics::Connections;
use server::reactor::{
    self, AcceptedConnection, HandleResult, KeepAlive, Kind, Later, Response, Service,
    SharedReactor,
};

pub(crate) const BAD_USER: &str =
    "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// The peer of a connection.
pub(crate) enum Peer {
    User(Connection),
    /// A relay, which speaks for its users.
    Relay,
}

fn accepted(peer: Peer) -> AcceptedConnection<Peer> {
    AcceptedConnection {
        connection: peer,
        keep_alive: KeepAlive::PingAndTimeout,
        protocol: None,
        greeting: Vec::new(),
        greetings_count: 0,
        channel: None,
    }
}

impl Service for MarketState {
    type Connection = Peer;
    type ThreadState = ();

    fn endpoint(path: &str) -> Option<Endpoint> {
        matches!(path, STREAM | envelope::PATH).then_some(Endpoint::WebSocket)
    }

    fn router(self: &Arc<Self>) -> Router {
        rest::router(self)
    }

    fn connections(&self) -> &Connections {
        &self.metrics.connections
    }

    fn thread_state(self: &Arc<Self>) {}

    fn start(self: &Arc<Self>, reactor: &SharedReactor<Self>) {
        for game in self.games() {
            let channel = self.bus.subscribe(game);
            spawn_local(fan_out(Arc::clone(self), Rc::clone(reactor), game, channel));
        }
    }

    fn accept(
        self: &Arc<Self>,
        (): &mut Self::ThreadState,
        open_request: &OpenRequest,
    ) -> Result<AcceptedConnection<Peer>, Bytes> {
        if open_request.path == envelope::PATH {
            return Ok(accepted(Peer::Relay));
        }
        let name = user_name(open_request.query.as_deref())
            .map_err(|()| Bytes::from_static(BAD_USER.as_bytes()))?;
        let user = match name {
            Some(name) => User::Named(name),
            None => User::Connection(self.next_connection()),
        };
        Ok(accepted(Peer::User(Connection::new(user))))
    }

    fn on_text(
        self: &Arc<Self>,
        (): &mut Self::ThreadState,
        mut peer: Peer,
        text: &str,
    ) -> HandleResult<Peer> {
        let state = Arc::clone(self);
        let text = text.to_owned();
        let mut request = Box::pin(async move {
            let response = match &mut peer {
                Peer::User(connection) => connection.handle(&state, &text).await,
                Peer::Relay => connection::answer_relay(&state, &text).await,
            };
            (peer, response)
        });
        match poll_once(request.as_mut()) {
            Poll::Ready((peer, response)) => HandleResult::Now(peer, response),
            Poll::Pending => HandleResult::Later(request),
        }
    }

    fn binary_as_text(&self, _: &Peer) -> bool {
        false
    }

    fn on_binary(&self, peer: &Peer) -> Response {
        match peer {
            Peer::User(connection) => connection.on_binary(),
            Peer::Relay => connection::no_relay(),
        }
    }

    fn on_close(self: &Arc<Self>, peer: Peer) -> Option<Later<()>> {
        let connection = match peer {
            Peer::User(connection) if connection.has_to_leave() => connection,
            _ => return None,
        };
        let state = Arc::clone(self);
        let mut leaving = Box::pin(async move { connection.leave(&state).await });
        match poll_once(leaving.as_mut()) {
            Poll::Ready(()) => None,
            Poll::Pending => Some(leaving),
        }
    }

    fn closing_message(&self, _: &Peer) -> Bytes {
        Bytes::new()
    }

    fn on_empty_channel((): &mut Self::ThreadState, _: u32) {}
}

/// Brings everything published for `game` to the thread's subscribers, for ever. Notices that
/// come faster wait on the bus.
async fn fan_out(
    state: Arc<MarketState>,
    reactor: SharedReactor<MarketState>,
    game: GameId,
    mut subscription: Box<dyn Subscription>,
) {
    while let Some(delivery) = subscription.next().await {
        match delivery {
            Delivery::Notice(notice) => {
                if notice.kind == Kind::State
                    && state.distribution == Listing::Full
                    && let Some((pool, last)) = listed(&notice.frame)
                {
                    // Another process may have published it.
                    state.saw_listed(game, pool, last);
                }
                if notice.kind == Kind::Event {
                    // The game has another open pool.
                    state.touch(game);
                    if state.outside.has_ledger()
                        && let Some(open) = opened(&notice.frame)
                    {
                        state.outside.announce(game, open);
                    }
                }
                reactor.borrow_mut().begin_broadcast(game.channel());
                reactor::broadcast(&reactor, game.channel(), &notice).await;
            }
            Delivery::Lost(count) => state.metrics.bus_lost.add(count),
        }
    }
}

/// Whether a future is ready without waiting. Nobody is woken for it: one that is not ready must
/// be polled again at once by whoever waits for it, here by a task made for that.
fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// The user named in a query such as `user=ann`: 1 to 64 letters, digits, `-`, `.`, `_` or `~`
/// (what a URI leaves unescaped: RFC 3986, section 2.3).
pub(crate) fn user_name(query: Option<&str>) -> Result<Option<Arc<str>>, ()> {
    let mut fields = query.unwrap_or_default().split('&');
    let Some(name) = fields.find_map(|field| field.strip_prefix("user=")) else {
        return Ok(None);
    };
    if is_user_name(name) { Ok(Some(name.into())) } else { Err(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::NAME_MAX;

    #[test]
    fn names_of_users() {
        assert_eq!(user_name(None), Ok(None));
        assert_eq!(user_name(Some("a=b")), Ok(None));
        assert_eq!(user_name(Some("a=b&user=ann-1")), Ok(Some("ann-1".into())));
        let long = format!("user={}", "x".repeat(NAME_MAX + 1));
        for bad in ["user=", "user=a%20b", "user=ä", &long] {
            assert_eq!(user_name(Some(bad)), Err(()), "{bad}");
        }
    }
}
