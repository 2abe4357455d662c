//! Listens to the database's notifications of messages, and wakes the pops that wait for them.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use server::database::{PostgresConnection, connect_postgres};
use tokio::time::{sleep, timeout};
use tokio_postgres::Client;

use crate::state::State;
use crate::store::postgres::Settings;
use crate::store::{APPLICATION, drive, drive_receiving};
use crate::waiters::Waiters;

/// How long to wait before the next attempt to connect.
const PAUSE: Duration = Duration::from_millis(500);
/// After how long without a notification the database is to show that it is still there. A listener sends nothing else,
/// so that it would not notice a path that was cut in silence.
const PROBE_AFTER: Duration = Duration::from_secs(5);

/// Listens for ever.
pub(crate) async fn listen(settings: Arc<Settings>, state: Arc<State>) {
    let probe_after = server::stretch(PROBE_AFTER);
    loop {
        listen_once(&settings, &state, probe_after).await;
        sleep(PAUSE).await;
    }
}

/// Listens until the connection ends or the database is silent, if there is a connection.
async fn listen_once(settings: &Settings, state: &State, probe_after: Duration) {
    let connecting = connect_postgres(&settings.address, APPLICATION, settings.limit);
    // The workers report that the database cannot be reached.
    let Ok((client, mut connection)) = connecting.await else {
        return;
    };
    let listening = drive(client.batch_execute("LISTEN throng_queue"), &mut connection);
    let Ok(Ok(())) = timeout(settings.limit, listening).await else {
        return;
    };
    state.metrics.listening.up();
    // What came before was not received.
    state.waiters.wake_all();
    receive(&client, &mut connection, &state.waiters, probe_after, settings.limit).await;
    state.metrics.listening.down();
    state.metrics.links_lost.add(1);
}

/// Wakes pops until the connection ends, or the database does not answer a probe in time.
async fn receive(
    client: &Client,
    connection: &mut PostgresConnection,
    waiters: &Waiters,
    probe_after: Duration,
    limit: Duration,
) {
    loop {
        let next = poll_fn(|cx| connection.poll_notification(cx));
        match timeout(probe_after, next).await {
            Ok(Some(payload)) => wake(waiters, &payload),
            Ok(None) => return,
            Err(_) => {
                let probe = client.batch_execute("");
                let probing = drive_receiving(probe, connection, |payload| wake(waiters, payload));
                let Ok(Ok(())) = timeout(limit, probing).await else {
                    return;
                };
            }
        }
    }
}

fn wake(waiters: &Waiters, payload: &str) {
    match Notification::parse(payload) {
        Some(Notification::Message { queue, receiver }) => waiters.wake(queue, receiver),
        Some(Notification::Deleted { queue }) => waiters.wake_queue(queue),
        None => waiters.wake_all(),
    }
}

/// The events that the stored functions notify of.
#[derive(Debug, PartialEq, Eq)]
enum Notification {
    /// A message to a receiver, or to anybody.
    Message { queue: i32, receiver: Option<i32> },
    /// The end of a queue.
    Deleted { queue: i32 },
}

impl Notification {
    /// `QUEUE RECEIVER`, where receiver 0 is anybody, or `QUEUE deleted`.
    fn parse(payload: &str) -> Option<Notification> {
        let (queue, rest) = payload.split_once(' ')?;
        let queue = queue.parse().ok()?;
        if rest == "deleted" {
            return Some(Notification::Deleted { queue });
        }
        let receiver = Some(rest.parse().ok()?).filter(|&receiver| receiver != 0);
        Some(Notification::Message { queue, receiver })
    }
}

#[cfg(test)]
mod tests {
    use server::database::StoreAddress;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::jobs;
    use crate::options::{PopLocking, QueueOptions};

    /// AuthenticationOk and ReadyForQuery of PostgreSQL's protocol 3.0.
    const ACCEPTED: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
    /// CommandComplete and ReadyForQuery.
    const LISTENING: &[u8] = b"C\0\0\0\x0bLISTEN\0Z\0\0\0\x05I";
    /// NotificationResponse "3 7", EmptyQueryResponse and ReadyForQuery.
    const NOTICED: &[u8] = b"A\0\0\0\x19\0\0\0\x01throng_queue\x003 7\0I\0\0\0\x04Z\0\0\0\x05I";

    /// Answers a session, LISTEN and the first probe, and no more; the number of queries that it got.
    async fn fall_silent(listener: TcpListener) -> usize {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 1024];
        let mut queries = 0;
        for answer in [ACCEPTED, LISTENING, NOTICED] {
            let count = stream.read(&mut buffer).await.unwrap();
            queries += usize::from(buffer[..count].first() == Some(&b'Q'));
            stream.write_all(answer).await.unwrap();
        }
        while let Ok(1..) = stream.read(&mut buffer).await {
            queries += usize::from(buffer[0] == b'Q');
        }
        queries
    }

    #[tokio::test]
    async fn a_database_that_falls_silent_is_left() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let address = format!("postgres://throng@127.0.0.1:{port}/queue");
        let StoreAddress::Server(address) = StoreAddress::parse(&address).unwrap() else {
            panic!("{address} is no server");
        };
        let settings = Settings {
            address,
            limit: Duration::from_secs(3),
            pop: PopLocking::Skip,
            is_durable: true,
            notifies: true,
            texts_max: 1_000,
        };
        let (sender, _receiver) = jobs::queue(1);
        let state = State::new(&QueueOptions::default(), sender.waiting());
        let place = state.waiters.join(3, Some(7));
        let listening = listen_once(&settings, &state, Duration::from_millis(10));
        // When it listens, and for the notification.
        let woken = async {
            place.woken().await;
            place.woken().await;
        };
        let all = async { tokio::join!(fall_silent(listener), listening, woken).0 };
        let ended = timeout(Duration::from_secs(60), all).await;
        let queries = ended.expect("it listens to nobody, or missed one");
        // LISTEN and two probes, the first of which was answered, behind a notification.
        assert_eq!(queries, 3);
        assert_eq!(state.metrics.listening.get(), 0);
        assert_eq!(state.metrics.links_lost.get(), 1);
    }

    #[test]
    fn notifications_name_a_queue_and_a_receiver_or_its_end() {
        let message = |receiver| Some(Notification::Message { queue: 3, receiver });
        assert_eq!(Notification::parse("3 7"), message(Some(7)));
        assert_eq!(Notification::parse("3 0"), message(None));
        assert_eq!(Notification::parse("3 deleted"), Some(Notification::Deleted { queue: 3 }));
        for wrong in ["", "3", "3 x", "x 3", "x deleted"] {
            assert_eq!(Notification::parse(wrong), None);
        }
    }
}
