//! The market as its connections see it: a desk, and a channel for each game.

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use axum::Router;
use bytes::Bytes;
use tokio::task::spawn_local;

use super::bus::{Delivery, Subscription};
use super::desk::Visitor;
use super::hub::Hub;
use super::model::{GameId, User};
use super::protocol::STREAM;
use super::rest;
use server::http::{Asked, Door};
use server::metrics::Connections;
use server::reactor::{self, Admitted, Answered, Habit, Heard, House, Later, Shared};

/// Longest name of a user.
const NAME_MAX: usize = 64;
const BAD_USER: &str = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

impl House for Hub {
    type Guest = Visitor;
    type Local = ();

    fn door(path: &str) -> Option<Door> {
        (path == STREAM).then_some(Door::WebSocket)
    }

    fn router(self: &Arc<Self>) -> Router {
        rest::router(self)
    }

    fn connections(&self) -> &Connections {
        &self.metrics.connections
    }

    fn local(self: &Arc<Self>) {}

    fn begin(self: &Arc<Self>, front: &Shared<Self>) {
        for game in self.games() {
            let channel = self.bus.subscribe(game);
            spawn_local(fan_out(Arc::clone(self), Rc::clone(front), game, channel));
        }
    }

    fn admit(
        self: &Arc<Self>,
        (): &mut Self::Local,
        asked: &Asked,
    ) -> Result<Admitted<Visitor>, Bytes> {
        let name = user_name(asked.query.as_deref())
            .map_err(|()| Bytes::from_static(BAD_USER.as_bytes()))?;
        let user = match name {
            Some(name) => User::Named(name),
            None => User::Connection(self.next_connection()),
        };
        Ok(Admitted {
            guest: Visitor::new(user),
            habit: Habit::Both,
            protocol: None,
            greeting: Vec::new(),
            greetings_count: 0,
            channel: None,
        })
    }

    fn hear(
        self: &Arc<Self>,
        (): &mut Self::Local,
        mut visitor: Visitor,
        text: &str,
    ) -> Heard<Visitor> {
        let (hub, text) = (Arc::clone(self), text.to_owned());
        let mut asking = Box::pin(async move {
            let answered = visitor.ask(&hub, &text).await;
            (visitor, answered)
        });
        match poll_once(asking.as_mut()) {
            Poll::Ready((visitor, answered)) => Heard::Now(visitor, answered),
            Poll::Pending => Heard::Later(asking),
        }
    }

    fn reads_binary(&self, _: &Visitor) -> bool {
        false
    }

    fn hear_binary(&self, visitor: &Visitor) -> Answered {
        visitor.hear_binary()
    }

    fn dismiss(self: &Arc<Self>, visitor: Visitor) -> Option<Later<()>> {
        if !visitor.has_to_leave() {
            return None;
        }
        let hub = Arc::clone(self);
        let mut leaving = Box::pin(async move { visitor.leave(&hub).await });
        match poll_once(leaving.as_mut()) {
            Poll::Ready(()) => None,
            Poll::Pending => Some(leaving),
        }
    }

    fn last_words(&self, _: &Visitor) -> Bytes {
        Bytes::new()
    }

    fn emptied((): &mut Self::Local, _: u32) {}
}

/// Brings everything published for `game` to the thread's subscribers, for ever. Notices that
/// come faster wait on the bus.
async fn fan_out(
    hub: Arc<Hub>,
    front: Shared<Hub>,
    game: GameId,
    mut subscription: Box<dyn Subscription>,
) {
    while let Some(delivery) = subscription.next().await {
        match delivery {
            Delivery::Notice(notice) => {
                front.borrow_mut().begin_broadcast(game.channel());
                reactor::broadcast(&front, game.channel(), &notice).await;
            }
            Delivery::Lost(count) => hub.metrics.bus_lost.add(count),
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
fn user_name(query: Option<&str>) -> Result<Option<Arc<str>>, ()> {
    let mut fields = query.unwrap_or_default().split('&');
    let Some(name) = fields.find_map(|field| field.strip_prefix("user=")) else {
        return Ok(None);
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let good = (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(plain);
    if good { Ok(Some(name.into())) } else { Err(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

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
