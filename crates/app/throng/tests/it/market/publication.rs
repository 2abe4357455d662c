//! What subscribers get: each message once, in order, on every API process.

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use tungstenite::{Message, WebSocket};

use crate::support::pass;

const GAMES: u64 = 4;
/// How often a subscriber looks whether it shall end.
const LOOK: Duration = Duration::from_millis(100);

/// Somebody who joined a game and only listens.
pub(super) struct Subscriber {
    end: Arc<AtomicBool>,
    /// Whether anything came.
    got_some: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Value>>,
}

impl Subscriber {
    /// Returns once it has joined.
    pub(super) fn join(url: &str, game: u64) -> Subscriber {
        let address = url.strip_prefix("http://").unwrap();
        let stream = TcpStream::connect(address).unwrap();
        let url = format!("ws://{address}/v1/stream");
        let (mut socket, _) = tungstenite::client(url, stream).unwrap();
        let join = format!(r#"{{"op":"join","game":"g{game}"}}"#);
        socket.send(Message::text(join)).unwrap();
        let mut received = Vec::new();
        loop {
            let message = text(&mut socket).unwrap();
            if message["re"] == "join" {
                break;
            }
            received.push(message);
        }
        socket.get_mut().set_read_timeout(Some(LOOK)).unwrap();
        let end = Arc::new(AtomicBool::new(false));
        let ending = Arc::clone(&end);
        let got_some = Arc::new(AtomicBool::new(!received.is_empty()));
        let got = Arc::clone(&got_some);
        let thread = std::thread::spawn(move || {
            while !ending.load(Ordering::Relaxed) {
                received.extend(text(&mut socket));
                got.store(!received.is_empty(), Ordering::Relaxed);
            }
            received
        });
        Subscriber { end, got_some, thread }
    }

    pub(super) fn got_some(&self) -> bool {
        self.got_some.load(Ordering::Relaxed)
    }

    pub(super) fn end(self) -> Vec<Value> {
        // What is under way still comes.
        pass(LOOK * 5);
        self.end.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// The next text; `None` if none comes in time.
fn text(socket: &mut WebSocket<TcpStream>) -> Option<Value> {
    match socket.read() {
        Ok(Message::Text(text)) => Some(serde_json::from_str(&text).unwrap()),
        Ok(_) => None,
        Err(tungstenite::Error::Io(error)) if is_timeout(&error) => None,
        Err(error) => panic!("a subscriber lost its connection: {error}"),
    }
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
}

/// Two subscribers of each game on each API process.
pub(super) fn subscribe(urls: &[String]) -> Vec<(u64, Subscriber)> {
    let each = urls.iter().flat_map(|url| (1..=GAMES).map(move |game| (url, game)));
    each.flat_map(|(url, game)| {
        [(game, Subscriber::join(url, game)), (game, Subscriber::join(url, game))]
    })
    .collect()
}

/// What all subscribers of a game got, by number; each of them got it once, in order.
pub(super) struct Published {
    pub(super) by_number: BTreeMap<u64, Value>,
    /// The numbers that a subscriber did not get, between its first and its last.
    pub(super) gaps: Vec<u64>,
}

/// Ends the subscribers and compares what they got.
pub(super) fn compare(subscribers: Vec<(u64, Subscriber)>) -> BTreeMap<u64, Published> {
    let mut games: BTreeMap<u64, Published> = BTreeMap::new();
    let all: Vec<_> =
        subscribers.into_iter().map(|(game, subscriber)| (game, subscriber.end())).collect();
    for (game, received) in all {
        let published = games
            .entry(game)
            .or_insert_with(|| Published { by_number: BTreeMap::new(), gaps: Vec::new() });
        let mut last = None;
        for message in received {
            let number = message["seq"].as_u64().unwrap();
            if let Some(last) = last {
                assert!(number > last, "g{game}: {number} came after {last}");
                published.gaps.extend(last + 1..number);
            }
            last = Some(number);
            let known = published.by_number.entry(number).or_insert_with(|| message.clone());
            assert_eq!(*known, message, "g{game}: two messages have number {number}");
        }
    }
    games
}
