//! One serving thread: its listener, its connections, its end of the bus.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::connection::Connection;
use super::hub::Hub;
use super::line::{Fate, Patience};
use super::options::MarketOptions;
use super::rest;
use super::roster::{Roster, Silence, fan_out, sweep};
use crate::wire::{
    Limits, Opening, Post, Route, Socket, accept_all, read_opening, serve_http, stopped,
};

/// Where WebSockets are opened.
pub(super) const STREAM: &str = "/v1/stream";
/// Longest name of a user.
const NAME_MAX: usize = 64;
const BAD_USER: &str = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// What the connections of one thread share.
pub(super) struct Shard {
    pub(super) hub: Arc<Hub>,
    pub(super) roster: Arc<Roster>,
    pub(super) errors_max: u32,
    limits: Limits,
    router: Router,
}

/// Held by whoever must be waited for when the thread stops.
pub(super) type Alive = mpsc::Sender<Infallible>;

/// Serves on one thread until told to stop, and then until the last connection has ended or the
/// time for stopping is over.
pub(super) async fn serve(hub: Arc<Hub>, options: MarketOptions, post: Post) {
    let Post { listener, mut stop } = post;
    let roster = Arc::new(Roster::new(options.games as usize));
    spawn_fan_out(&hub, &roster, &options);
    let shard = Arc::new(Shard {
        hub: Arc::clone(&hub),
        roster: Arc::clone(&roster),
        errors_max: options.errors_max,
        limits: Limits {
            message_max: options.message_max,
        },
        router: rest::router(Arc::clone(&hub)),
    });
    let (alive, mut last_gone) = mpsc::channel(1);
    let stopping = stop.clone();
    let open = |stream| {
        let (shard, stop, alive) = (Arc::clone(&shard), stopping.clone(), alive.clone());
        tokio::task::spawn_local(receive(shard, stream, stop, alive));
    };
    tokio::select! {
        () = accept_all(&listener, open, |_| hub.metrics.accept_errors.add(1)) => {}
        () = stopped(&mut stop) => {}
    }
    drop((listener, alive));
    roster.end_all(Fate::Stop);
    if timeout(options.stop_within, last_gone.recv())
        .await
        .is_err()
    {
        hub.metrics.connections_cut.add(roster.len() as u64);
    }
}

fn spawn_fan_out(hub: &Arc<Hub>, roster: &Arc<Roster>, options: &MarketOptions) {
    let patience = Patience {
        news_max: options.news_max,
        missed_max: options.missed_max,
    };
    for game in hub.games() {
        let channel = hub.bus.subscribe(game);
        tokio::task::spawn_local(fan_out(
            Arc::clone(hub),
            Arc::clone(roster),
            game,
            channel,
            patience,
        ));
    }
    if let Some(silence) = Silence::new(options.ping_after, options.idle_timeout) {
        tokio::task::spawn_local(sweep(Arc::clone(hub), Arc::clone(roster), silence));
    }
}

/// Finds out what a new connection is and hands it on.
async fn receive(
    shard: Arc<Shard>,
    mut stream: TcpStream,
    mut stop: watch::Receiver<bool>,
    alive: Alive,
) {
    let opening = tokio::select! {
        opening = read_opening(&mut stream, STREAM) => opening,
        () = stopped(&mut stop) => return,
    };
    // A peer that breaks off before its first request has nothing to be told.
    let Ok(Some(Opening { route, bytes })) = opening else {
        return;
    };
    match route {
        Route::WebSocket { accept, query } => match user_name(query.as_deref()) {
            Ok(name) => {
                let Ok(socket) = Socket::open(stream, &accept, bytes, shard.limits).await else {
                    return;
                };
                // A task of its own: it is smaller than this one, and stays much longer.
                let connection = Connection::new(shard, socket, name, alive);
                tokio::task::spawn_local(connection.converse());
            }
            Err(()) => refuse(stream, BAD_USER).await,
        },
        Route::Refused(answer) => refuse(stream, answer).await,
        Route::Http => serve_http(stream, bytes, shard.router.clone(), stop).await,
    }
}

async fn refuse(mut stream: TcpStream, answer: &str) {
    // The connection ends either way.
    if stream.write_all(answer.as_bytes()).await.is_ok() {
        let _ = stream.shutdown().await;
    }
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
