//! Reading the peer's bytes: one form of decoder and of event for all protocols.

use proto::{Limits, frame, http1, sse, ws};
use record::Outcome;

/// The decoder of a connection's bytes. It is taken out of its connection while the events, which
/// may borrow from it, are acted on.
#[derive(Debug)]
pub(crate) enum Decoder<'p> {
    Http(http1::Decoder),
    WebSocket(ws::Reader),
    /// The body of an event stream.
    Sse(sse::Decoder),
    Tcp(&'p frame::Framing, frame::Decoder),
}

/// An event in the bytes that the peer sent.
#[derive(Debug)]
pub(crate) enum Event<'a> {
    Head(http1::Head<'a>),
    /// A piece of a response's body.
    Body(&'a [u8]),
    /// A response has ended.
    End,
    Frame(ws::Event<'a>),
    Sse(sse::Event<'a>),
    Message(frame::Frame<'a>),
}

/// The result of decoding: how many bytes were consumed, and the event in them.
#[derive(Debug)]
pub(crate) struct DecodedEvent<'a> {
    pub(crate) consumed: usize,
    /// The event, and what it took on the wire: a message all of its frames.
    pub(crate) event: Option<(Event<'a>, usize)>,
}

impl Decoder<'_> {
    /// Decodes from the front of `bytes`. Nothing consumed and no event: more bytes are needed.
    pub(crate) fn decode<'a>(
        &'a mut self,
        bytes: &'a [u8],
        limits: &Limits,
    ) -> Result<DecodedEvent<'a>, Failure> {
        let (consumed, event) = match self {
            Decoder::Http(decoder) => {
                let (consumed, event) = decoder.decode(bytes, limits).map_err(Failure::Http)?;
                (consumed, event.map(|event| (event.into(), consumed)))
            }
            Decoder::WebSocket(reader) => {
                let gathered_len = reader.gathered_len();
                let decoded = reader.decode(bytes, limits);
                let (consumed, event) = decoded.map_err(Failure::WebSocket)?;
                let wire_len = |event: &ws::Event<'_>| match event.is_message() {
                    true => gathered_len + consumed,
                    false => consumed,
                };
                let sized = event.map(|event| {
                    let len = wire_len(&event);
                    (Event::Frame(event), len)
                });
                (consumed, sized)
            }
            Decoder::Sse(decoder) => {
                let (consumed, event) = decoder.decode(bytes, limits).map_err(Failure::Sse)?;
                (consumed, event.map(|event| (Event::Sse(event), consumed)))
            }
            Decoder::Tcp(framing, decoder) => {
                let decoded = decoder.decode(framing, bytes, limits);
                let (consumed, frame) = decoded.map_err(Failure::Tcp)?;
                (consumed, frame.map(|frame| (Event::Message(frame), consumed)))
            }
        };
        Ok(DecodedEvent { consumed, event })
    }
}

impl<'a> From<http1::Event<'a>> for Event<'a> {
    fn from(event: http1::Event<'a>) -> Event<'a> {
        match event {
            http1::Event::Head(head) => Event::Head(head),
            http1::Event::Body(piece) => Event::Body(piece),
            http1::Event::End => Event::End,
        }
    }
}

/// Bytes that cannot be understood.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Http(http1::Error),
    #[error("{0}")]
    WebSocket(ws::Error),
    #[error("{0}")]
    Sse(sse::TooLarge),
    #[error("{0}")]
    Tcp(frame::DecodeError),
}

impl Failure {
    /// The outcome as which the failure is counted.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Failure::Http(error) => http_outcome(error),
            Failure::WebSocket(ws::Error::InvalidUtf8) => Outcome::InvalidUtf8,
            Failure::WebSocket(ws::Error::TooLarge { .. })
            | Failure::Sse(_)
            | Failure::Tcp(frame::DecodeError::TooLarge { .. }) => Outcome::TooLarge,
            Failure::WebSocket(_) => Outcome::WsProtocol,
            Failure::Tcp(frame::DecodeError::TooShort { .. }) => Outcome::Protocol,
        }
    }
}

/// The outcome as which a broken response is counted.
pub(crate) fn http_outcome(error: &http1::Error) -> Outcome {
    if error.is_too_large() { Outcome::TooLarge } else { Outcome::HttpProtocol }
}
