//! Listens to the database's notifications of messages, and wakes the pops that wait for them.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use server::database::connect_postgres;
use tokio::time::{sleep, timeout};

use crate::store::postgres::Settings;
use crate::store::{APPLICATION, drive};
use crate::waiters::Waiters;

/// How long to wait before the next attempt to connect.
const PAUSE: Duration = Duration::from_millis(500);

/// Listens for ever.
pub(crate) async fn listen(settings: Arc<Settings>, waiters: Arc<Waiters>) {
    loop {
        listen_once(&settings, &waiters).await;
        sleep(PAUSE).await;
    }
}

/// Listens until the connection ends, if there is one.
async fn listen_once(settings: &Settings, waiters: &Waiters) {
    let connecting = connect_postgres(&settings.address, APPLICATION, settings.limit);
    // The workers report that the database cannot be reached.
    let Ok((client, mut connection)) = connecting.await else {
        return;
    };
    let listening = drive(client.batch_execute("LISTEN throng_queue"), &mut connection);
    let Ok(Ok(())) = timeout(settings.limit, listening).await else {
        return;
    };
    // What came before was not heard.
    waiters.wake_all();
    while let Some(payload) = poll_fn(|cx| connection.poll_notification(cx)).await {
        match parse(&payload) {
            Some((queue, receiver)) => waiters.wake(queue, receiver),
            None => waiters.wake_all(),
        }
    }
}

/// A queue and a receiver, 0 for anybody.
fn parse(payload: &str) -> Option<(i32, Option<i32>)> {
    let (queue, receiver) = payload.split_once(' ')?;
    let receiver = receiver.parse().ok()?;
    Some((queue.parse().ok()?, Some(receiver).filter(|&it| it != 0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_name_a_queue_and_a_receiver() {
        assert_eq!(parse("3 7"), Some((3, Some(7))));
        assert_eq!(parse("3 0"), Some((3, None)));
        for wrong in ["", "3", "3 x", "x 3"] {
            assert_eq!(parse(wrong), None);
        }
    }
}
