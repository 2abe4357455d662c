//! The sending side of a connection, until the stream has everything.

use std::sync::atomic::Ordering;

use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{LastRawMessageErrorKind, Stream};
use bytes::Bytes;
use machine::clock::monotonic_ns;
use tokio::time::{sleep, timeout};

use super::{ABORT, AGAIN, Link, RUN_OVER, piece, split};
use crate::cards::RENEW;
use crate::names;
use crate::nats::ANSWER_TIME_MAX;
use crate::signed;
use crate::stream::{self, StreamState};

/// Most bytes of a piece; half of what NATS allows a message by default.
const PIECE_BYTES_MAX: usize = 512 << 10;
/// Bytes of a message besides its piece: headers, subject.
const HEAD_BYTES: usize = 4 << 10;

/// The end of our subject in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StreamEnd {
    /// The position of what follows; [`ABORT`]: nothing does.
    pub(super) position: u64,
    /// The number of the last message; 0: there is none.
    sequence: u64,
    /// Whether the last message was the end.
    is_end: bool,
}

impl StreamEnd {
    const BEGINNING: StreamEnd = StreamEnd { position: 0, sequence: 0, is_end: false };

    /// Behind the last message.
    fn behind(payload: &[u8], sequence: u64) -> Option<StreamEnd> {
        let (position, bytes) = split(payload)?;
        Some(StreamEnd {
            position: position.saturating_add(bytes.len() as u64),
            sequence,
            is_end: bytes.is_empty(),
        })
    }
}

/// The next thing to be done.
enum Next {
    Send {
        position: u64,
        bytes: Vec<u8>,
    },
    /// The end is to be sent.
    End,
    /// The connection was lost, or is back.
    Look,
    /// Nothing will ever be sent.
    Nothing,
}

/// Sends pieces until the last.
pub(super) async fn send_all(mut link: Link) {
    let mut place = None;
    loop {
        if link.shared.state().failed.is_some() {
            return;
        }
        let Some(at) = place else {
            link.connected.mark_unchanged();
            place = locate(&link).await;
            if place.is_none() {
                sleep(AGAIN).await;
            }
            continue;
        };
        place = match next(&mut link, at).await {
            Next::Nothing => return,
            Next::Look => None,
            Next::Send { position, bytes } => publish(&link, at, position, &bytes).await,
            Next::End => publish_end(&link, at).await,
        };
    }
}

/// Waits until there is something to send behind `at`.
async fn next(link: &mut Link, at: StreamEnd) -> Next {
    let allowed = link.client.server_info().max_payload;
    let bytes_max = PIECE_BYTES_MAX.min(allowed.saturating_sub(HEAD_BYTES));
    loop {
        if at.position < link.shared.log().end() {
            let read = link.shared.log().read(at.position, bytes_max.max(1_024));
            match read {
                Ok(bytes) if !bytes.is_empty() => {
                    return Next::Send { position: at.position, bytes };
                }
                Ok(_) => link.shared.fail("a part of the spool is gone"),
                Err(error) => link.shared.fail(&format!("the spool cannot be read: {error}")),
            }
        }
        {
            let mut state = link.shared.state();
            if state.failed.is_some() {
                return Next::Nothing;
            }
            if at.position == ABORT {
                state.all_sent = true;
            } else if let Some(why) = &state.abort {
                return Next::Send { position: ABORT, bytes: why.clone().into_bytes() };
            } else if state.closed {
                if at.is_end {
                    state.all_sent = true;
                    link.shared.changed.notify_all();
                    return Next::Nothing;
                }
                return Next::End;
            }
        }
        tokio::select! {
            () = link.shared.wake.notified() => {}
            changed = link.connected.changed() => {
                return if changed.is_ok() { Next::Look } else { Next::Nothing };
            }
        }
    }
}

/// Ends the connection. A controller does so only while it conducts the run: another one may have come that has sent
/// nothing yet, and the end would be its worker's.
async fn publish_end(link: &Link, at: StreamEnd) -> Option<StreamEnd> {
    let is_ours = match &link.lease {
        // Many connections end at once.
        Some(lease) => lease.confirm(RENEW).await,
        None => Some(true),
    };
    match is_ours {
        Some(true) => publish(link, at, at.position, &[]).await,
        Some(false) => {
            link.shared.note_taken_over();
            None
        }
        None => {
            sleep(AGAIN).await;
            None
        }
    }
}

/// Sends a piece behind `at`. `None`: it is not known where the stream is.
async fn publish(link: &Link, at: StreamEnd, position: u64, bytes: &[u8]) -> Option<StreamEnd> {
    let payload = piece(position, bytes);
    let sent_ns = monotonic_ns();
    let mut message = PublishMessage::build()
        .payload(Bytes::clone(&payload))
        .expected_stream(names::stream(&link.ways.run))
        .expected_last_subject_sequence(at.sequence);
    if let Some(signature) = link.keys.sign(&link.ways.out, &payload) {
        message = message.header(signed::HEADER, signature);
    }
    let sent = async { link.jet.send_publish(link.ways.out.clone(), message).await?.await };
    match timeout(ANSWER_TIME_MAX, sent).await {
        Ok(Ok(ack)) => {
            link.shared.contact_ns.store(sent_ns, Ordering::Relaxed);
            StreamEnd::behind(&payload, ack.sequence)
        }
        _ => {
            sleep(AGAIN).await;
            None
        }
    }
}

/// The end of our subject in the stream, which is made again if NATS has lost it. `None`: it is not known now.
async fn locate(link: &Link) -> Option<StreamEnd> {
    let stream = match stream::find(&link.jet, &link.ways.run, link.kept.as_deref()).await {
        StreamState::There(stream) => stream,
        StreamState::Unknown => return None,
        StreamState::Over => {
            link.shared.fail(RUN_OVER);
            return None;
        }
    };
    // A worker that was away may have been given up: before it sends anything it looks whether it was.
    let is_worker = link.shared.state().has_terms;
    if is_worker && last(&stream, &link.ways.incoming).await.ok()?.is_end {
        link.shared.fail("the controller has ended the connection");
        return None;
    }
    let place = last(&stream, &link.ways.out).await.ok()?;
    let (start, end) = {
        let log = link.shared.log();
        (log.start(), log.end())
    };
    if place.position > end && place.position != ABORT {
        link.shared.note_taken_over();
        return None;
    }
    Some(StreamEnd {
        // What is no longer kept was stored by the controller.
        position: place.position.max(start),
        ..place
    })
}

/// Behind the last message of a subject. The error is for people.
pub(super) async fn last<I: Sync>(stream: &Stream<I>, subject: &str) -> Result<StreamEnd, String> {
    let look = stream.get_last_raw_message_by_subject(subject);
    match timeout(ANSWER_TIME_MAX, look).await {
        Ok(Ok(message)) => StreamEnd::behind(&message.payload, message.sequence)
            .ok_or_else(|| "a message has no position".to_owned()),
        Ok(Err(error)) if error.kind() == LastRawMessageErrorKind::NoMessageFound => {
            Ok(StreamEnd::BEGINNING)
        }
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("NATS does not answer".to_owned()),
    }
}
