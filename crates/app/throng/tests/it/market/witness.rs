//! What is published in Redis, seen by a client of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often it looks whether it shall end.
const LOOK: Duration = Duration::from_millis(100);

/// Listens to the channels of all games.
pub(super) struct Witness {
    end: Arc<AtomicBool>,
    all: Arc<Mutex<Vec<Message>>>,
    thread: JoinHandle<()>,
}

struct Message {
    game: u64,
    number: u64,
    text: String,
}

impl Witness {
    /// Listens to the games of the market that is the only one in this Redis.
    pub(super) fn new(url: &str) -> Witness {
        let client = redis::Client::open(url).unwrap();
        let mut connection = client.get_connection().unwrap();
        let end = Arc::new(AtomicBool::new(false));
        let ending = Arc::clone(&end);
        let all = Arc::<Mutex<Vec<Message>>>::default();
        let heard = Arc::clone(&all);
        let (listens, ready) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut channels = connection.as_pubsub();
            channels.psubscribe("market:*:bus:g*").unwrap();
            channels.set_read_timeout(Some(LOOK)).unwrap();
            listens.send(()).unwrap();
            while !ending.load(Ordering::Relaxed) {
                match channels.get_message() {
                    Ok(message) => heard.lock().unwrap().push(read(&message)),
                    Err(error) => assert!(error.is_timeout(), "{error}"),
                }
            }
        });
        ready.recv().unwrap();
        Witness { end, all, thread }
    }

    /// By game: the number of the last message until now.
    pub(super) fn last(&self) -> BTreeMap<u64, u64> {
        let all = self.all.lock().unwrap();
        all.iter().map(|one| (one.game, one.number)).collect()
    }

    /// Insists that each number was used once and none was left out, and that no pool was settled twice. Returns how
    /// many were.
    pub(super) fn end(self) -> i64 {
        self.end.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        let mut last = BTreeMap::new();
        let mut settled = BTreeSet::new();
        for Message { game, number, text } in self.all.lock().unwrap().iter() {
            let before = last.insert(*game, *number).unwrap_or_default();
            assert_eq!(*number, before + 1, "g{game}: {text}");
            let text: serde_json::Value = serde_json::from_str(text).unwrap();
            if text["type"] == "settled" {
                assert!(settled.insert(text["pool"].to_string()), "twice: {text}");
            }
        }
        settled.len() as i64
    }
}

/// A message is its kind, its number, the number of its event, and its text.
fn read(message: &redis::Msg) -> Message {
    let channel = message.get_channel_name();
    let payload: String = message.get_payload().unwrap();
    let mut fields = payload.splitn(4, ' ').skip(1);
    Message {
        game: channel.rsplit_once(":g").unwrap().1.parse().unwrap(),
        number: fields.next().unwrap().parse().unwrap(),
        text: fields.nth(1).unwrap().to_owned(),
    }
}
