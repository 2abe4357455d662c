//! Replies of name servers that wait until they are decided. One thread sends those of all servers.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::send;
use crate::clock::now;
use crate::events::Events;

/// The longest wait for a reply that is to be sent.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// A reply that waits.
#[derive(Debug)]
pub(super) struct DelayedReply {
    pub(super) socket: Arc<UdpSocket>,
    pub(super) message: Vec<u8>,
    pub(super) to: SocketAddr,
}

/// The replies that wait, up to a maximum. Further ones are sent at once, which is counted and said.
#[derive(Debug)]
pub(super) struct Delays {
    waiting_max: usize,
    queue: Mutex<DelayQueue>,
    /// Signals a new reply, or the end.
    changed: Condvar,
    events: Arc<Events>,
}

#[derive(Debug, Default)]
struct DelayQueue {
    /// By when they are due, then by their numbers.
    replies: BTreeMap<(Instant, u64), DelayedReply>,
    /// Replies that have waited.
    count: u64,
    /// Replies that were sent before they were decided.
    early: u64,
    is_over: bool,
}

impl DelayedReply {
    fn send(&self) {
        send(&self.socket, &self.message, self.to);
    }
}

impl Delays {
    /// So many replies may wait; the events say if there are more.
    pub(super) fn new(waiting_max: usize, events: Arc<Events>) -> Delays {
        Delays { waiting_max, queue: Mutex::default(), changed: Condvar::new(), events }
    }

    /// Has a reply sent at this time, or at once if too many wait.
    pub(super) fn add(&self, due: Instant, reply: DelayedReply) {
        let mut queue = self.queue();
        if queue.replies.len() >= self.waiting_max {
            queue.early += 1;
            let is_first = queue.early == 1;
            drop(queue);
            reply.send();
            if is_first {
                let max = self.waiting_max;
                self.events.add(format!(
                    "{max} replies of name servers wait for matchmaking: further ones are sent at once"
                ));
            }
            return;
        }
        queue.count += 1;
        let key = (due, queue.count);
        queue.replies.insert(key, reply);
        drop(queue);
        self.changed.notify_one();
    }

    /// Sends replies when they are due, until the end.
    pub(super) fn send_all(&self) {
        let mut queue = self.queue();
        while !queue.is_over {
            let first = queue.replies.first_key_value();
            let left = first.map(|((due, _), _)| due.saturating_duration_since(now()));
            match left {
                Some(left) if left.is_zero() => {
                    let first = queue.replies.pop_first();
                    drop(queue);
                    if let Some((_, reply)) = first {
                        reply.send();
                    }
                    queue = self.queue();
                }
                left => {
                    let woken = self.changed.wait_timeout(queue, left.unwrap_or(WAIT_MAX));
                    queue = woken.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }

    /// Ends the thread that sends, and says how many replies were early. What waits is not sent any more.
    pub(super) fn end(&self) {
        let mut queue = self.queue();
        queue.is_over = true;
        let early = queue.early;
        drop(queue);
        self.changed.notify_one();
        if early > 0 {
            self.events.add(format!(
                "{early} replies of name servers were sent without matchmaking's delay"
            ));
        }
    }

    fn queue(&self) -> MutexGuard<'_, DelayQueue> {
        // Each change is one step.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client, and what makes replies to it.
    fn client() -> (UdpSocket, impl Fn(&str) -> DelayedReply) {
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
        let to = client.local_addr().unwrap();
        let reply = move |text: &str| DelayedReply {
            socket: Arc::clone(&socket),
            message: text.as_bytes().to_vec(),
            to,
        };
        (client, reply)
    }

    fn received(client: &UdpSocket) -> String {
        let mut buffer = [0; 16];
        let length = client.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    }

    #[test]
    fn replies_are_sent_in_the_order_in_which_they_are_due() {
        let folder = tempfile::tempdir().unwrap();
        let events = Arc::new(Events::create(&folder.path().join("events")).unwrap());
        let delays = Delays::new(8, events);
        let (client, reply) = client();
        let begun = now();
        for (after_ms, text) in [(30, "b"), (60, "c"), (20, "a")] {
            delays.add(begun + Duration::from_millis(after_ms), reply(text));
        }
        let (order, took, last) = std::thread::scope(|scope| {
            scope.spawn(|| delays.send_all());
            let order = [(); 3].map(|()| received(&client));
            // None is early, however late the machine is.
            let took = begun.elapsed();
            // The thread waits for a new one as well.
            delays.add(now(), reply("d"));
            let last = received(&client);
            delays.end();
            (order, took, last)
        });
        assert_eq!((order, last.as_str()), (["a", "b", "c"].map(str::to_owned), "d"));
        assert!(took >= Duration::from_millis(60), "{took:?}");
    }

    #[test]
    fn a_reply_beyond_the_maximum_is_sent_at_once_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events");
        let delays = Delays::new(1, Arc::new(Events::create(&path).unwrap()));
        let (client, reply) = client();
        let late = now() + Duration::from_secs(3600);
        for text in ["waits", "b", "c"] {
            delays.add(late, reply(text));
        }
        assert_eq!([received(&client), received(&client)], ["b", "c"]);
        delays.end();
        let events = std::fs::read_to_string(path).unwrap();
        assert_eq!(events.lines().count(), 2, "{events}");
        assert!(events.contains("2 replies of name servers were sent without"), "{events}");
    }
}
