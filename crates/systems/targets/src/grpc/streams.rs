//! Methods with streams.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::{Buf, Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use hyper::body::{Body as HttpBody, Frame};
use prost::Message;
use tokio::time::{Sleep, sleep};

use super::{
    INVALID_ARGUMENT, MESSAGE_BYTES_MAX, OK, PREFIX_BYTES, Words, answered, framed, only_message,
    reply, status_fields,
};

/// A frame of a body, or that there is none.
type FramePoll = Poll<Option<Result<Frame<Bytes>, std::convert::Infallible>>>;

/// Sends a message several times.
pub(super) async fn repeat(request: Request) -> Result<Response, u32> {
    let (words, _) = only_message(request.into_body()).await?;
    let delay = server::stretch(Duration::from_millis(u64::from(words.delay_ms)));
    let body = Repeat {
        message: framed(&words.encode_to_vec(), false),
        left: words.count,
        delay,
        pause: None,
        trailers: Some(status_fields(words.status)),
    };
    Ok(answered(Body::new(body)))
}

struct Repeat {
    message: Bytes,
    left: u32,
    delay: Duration,
    /// Before the next message.
    pause: Option<Pin<Box<Sleep>>>,
    trailers: Option<HeaderMap>,
}

impl HttpBody for Repeat {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> FramePoll {
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(cx));
            self.pause = None;
        }
        if self.left == 0 {
            let trailers = self.trailers.take().map(Frame::trailers);
            return Poll::Ready(trailers.map(Ok));
        }
        self.left -= 1;
        if !self.delay.is_zero() && self.left > 0 {
            self.pause = Some(Box::pin(sleep(self.delay)));
        }
        Poll::Ready(Some(Ok(Frame::data(self.message.clone()))))
    }
}

/// Counts messages.
pub(super) async fn collect(request: Request) -> Result<Response, u32> {
    let mut pieces = request.into_body().into_data_stream();
    let mut inbox = BytesMut::new();
    let mut count = 0;
    while let Some(piece) = pieces.next().await {
        inbox.extend_from_slice(&piece.map_err(|_| INVALID_ARGUMENT)?);
        while let Some(message) = next_message(&mut inbox)? {
            let words = Words::decode(message).map_err(|_| INVALID_ARGUMENT)?;
            if words.status != OK {
                return Err(words.status);
            }
            count += 1;
        }
    }
    let words = Words { numbers: vec![count], ..Words::default() };
    Ok(reply(&words.encode_to_vec(), false))
}

/// The next whole message of what has come. The error is the status for what is none.
fn next_message(inbox: &mut BytesMut) -> Result<Option<Bytes>, u32> {
    let Some(prefix) = inbox.first_chunk::<PREFIX_BYTES>() else {
        return Ok(None);
    };
    let len = u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]) as usize;
    if prefix[0] != 0 || len > MESSAGE_BYTES_MAX {
        return Err(INVALID_ARGUMENT);
    }
    if inbox.len() < PREFIX_BYTES + len {
        return Ok(None);
    }
    inbox.advance(PREFIX_BYTES);
    Ok(Some(inbox.split_to(len).freeze()))
}

/// Answers each message with the same one.
pub(super) async fn talk(request: Request) -> Response {
    answer_each(request, |message| match Words::decode(message.clone()) {
        Ok(words) if words.status == OK => Ok(message),
        Ok(words) => Err(words.status),
        Err(_) => Err(INVALID_ARGUMENT),
    })
}

/// Gives the answer to a message. The error is the status that ends the call.
type Answer = fn(Bytes) -> Result<Bytes, u32>;

/// Answers each message by itself.
pub(super) fn answer_each(request: Request, answer: Answer) -> Response {
    let body = Talk {
        pieces: request.into_body().into_data_stream(),
        inbox: BytesMut::new(),
        answer,
        has_ended: false,
    };
    answered(Body::new(body))
}

struct Talk {
    pieces: BodyDataStream,
    inbox: BytesMut,
    answer: Answer,
    has_ended: bool,
}

impl Talk {
    fn end(&mut self, status: u32) -> FramePoll {
        self.has_ended = true;
        Poll::Ready(Some(Ok(Frame::trailers(status_fields(status)))))
    }
}

impl HttpBody for Talk {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> FramePoll {
        if self.has_ended {
            return Poll::Ready(None);
        }
        loop {
            let message = match next_message(&mut self.inbox) {
                Ok(message) => message,
                Err(status) => return self.end(status),
            };
            if let Some(message) = message {
                return match (self.answer)(message) {
                    Ok(answer) => Poll::Ready(Some(Ok(Frame::data(framed(&answer, false))))),
                    Err(status) => self.end(status),
                };
            }
            match ready!(Pin::new(&mut self.pieces).poll_next(cx)) {
                Some(Ok(piece)) => self.inbox.extend_from_slice(&piece),
                Some(Err(_)) => return self.end(INVALID_ARGUMENT),
                None => return self.end(OK),
            }
        }
    }
}
