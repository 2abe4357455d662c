//! The receiving side of a connection, from the first piece of the stream on.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer, pull};
use async_nats::jetstream::stream::Stream;
use futures_util::StreamExt;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{AGAIN, Link, RUN_OVER, UNSIGNED};
use crate::names;
use crate::nats::ANSWER_TIME_MAX;
use crate::stream;

/// Bytes that wait for their reader before no more are fetched.
const IN_BYTES_MAX: usize = 4 << 20;
/// Messages that are requested at a time, and for how long. Workers report once a second, and this is no multiple of it:
/// if a message comes in the moment in which a request expires, NATS 2.9 may not say that it did.
const BATCH: usize = 16;
const BATCH_TIME: Duration = Duration::from_millis(2_350);
/// How long after that NATS may take to say it. The client itself would wait for five seconds.
const EXPIRY_TIME_MAX: Duration = Duration::from_secs(1);
/// We see by ourselves what is missing: nothing is delivered again.
const ACK_WAIT: Duration = Duration::from_secs(24 * 3_600);
/// A consumer that is not used for this long goes.
const CONSUMER_AGE: Duration = Duration::from_secs(60);

/// How far the stream was read.
#[derive(Debug, Default)]
struct Read {
    /// When the stream was made, as NATS says it: a lost one is made again.
    stream: String,
    /// The number of the message that follows.
    next: u64,
    /// The message before which pieces were missing when the stream was last read from its beginning.
    gap: Option<u64>,
}

/// Receives pieces until the end.
pub(super) async fn receive_all(mut link: Link) {
    let mut read = Read::default();
    while !is_over(&link) {
        let found = timeout(ANSWER_TIME_MAX, consumer(&link, &mut read)).await;
        if let Ok(Some(consumer)) = found {
            while receive_batch(&mut link, &consumer, &mut read).await {}
        } else if stream::is_over(&link.jet, &link.ways.run).await == Some(true) {
            // It was removed before we had its end. One that NATS has lost is made again by the sender.
            link.shared.fail(RUN_OVER);
        }
        sleep(AGAIN).await;
    }
}

fn is_over(link: &Link) -> bool {
    let state = link.shared.state();
    state.is_over() || state.closed && state.all_sent
}

async fn consumer(link: &Link, read: &mut Read) -> Option<PullConsumer> {
    let name = names::stream(&link.ways.run);
    let stream: Stream = link.jet.get_stream(&name).await.ok()?;
    let info = stream.cached_info();
    let made = info.created.to_string();
    // It may also have lost its newest messages, whose numbers are given again.
    if made != read.stream || info.state.last_sequence + 1 < read.next {
        read.stream = made;
        read.next = 1;
    }
    let config = pull::Config {
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: read.next },
        filter_subject: link.ways.incoming.clone(),
        ack_policy: AckPolicy::All,
        ack_wait: ACK_WAIT,
        max_ack_pending: -1,
        inactive_threshold: CONSUMER_AGE,
        ..pull::Config::default()
    };
    stream.create_consumer(config).await.ok()
}

/// Receives for a moment; `false`: begin again, or it is over.
async fn receive_batch(link: &mut Link, consumer: &PullConsumer, read: &mut Read) -> bool {
    link.connected.mark_unchanged();
    let request = consumer.batch().max_messages(BATCH).expires(BATCH_TIME).messages();
    let Ok(Ok(mut batch)) = timeout(ANSWER_TIME_MAX, request).await else {
        return false;
    };
    let expired = Instant::now() + BATCH_TIME + EXPIRY_TIME_MAX;
    let mut last = None;
    loop {
        // A request of before does not survive a new connection.
        let next = tokio::select! {
            next = batch.next() => next,
            _ = link.connected.changed() => return false,
            () = sleep_until(expired) => return false,
        };
        let message = match next {
            Some(Ok(message)) => message,
            Some(Err(_)) => return false,
            None => break,
        };
        let Ok(number) = message.info().map(|info| info.stream_sequence) else {
            return false;
        };
        if !link.keys.admit(&link.ways.incoming, &message.payload, message.headers.as_ref()) {
            link.shared.fail(UNSIGNED);
            return false;
        }
        let taken = link.shared.state().take(&message.payload);
        if !taken {
            if read.gap.replace(number) == Some(number) {
                link.shared.fail("pieces of what it sent are missing: NATS has lost them");
            }
            read.next = 1;
            return false;
        }
        read.next = number + 1;
        link.shared.changed.notify_all();
        last = Some(message);
    }
    if let Some(message) = last {
        // It stands for all before it, so that NATS need not remember them.
        let _ = message.ack().await;
    }
    // A reader that does not keep up lets further pieces wait in the stream.
    loop {
        if is_over(link) {
            return false;
        }
        if link.shared.state().incoming.len() <= IN_BYTES_MAX {
            return true;
        }
        sleep(AGAIN).await;
    }
}
