//! The link that carries the bytes of a connection, and reads those of the peer.

use proto::{frame, http1, ws};

use crate::conn::carried::CarriedWebSocket;
use crate::conn::http2::{Carrier, Stream};

/// How a row of the table reaches its server, whatever it speaks.
#[derive(Debug)]
pub(crate) enum Link {
    /// A connection of its own with HTTP/1.1; that of a WebSocket until its upgrade was answered.
    Http1(http1::Decoder),
    /// A connection with HTTP/2, which carries requests that have rows of their own.
    Carrier(Box<Carrier>),
    /// A request over such a connection.
    Stream(Stream),
    /// A connection of its own with the frames of a WebSocket.
    Frames(ws::Reader),
    /// A WebSocket that goes over HTTP/2, or may do so.
    Carried(Box<CarriedWebSocket>),
    /// A connection of its own with nothing between TCP or TLS and what is spoken.
    Bare(frame::Decoder),
}

impl Link {
    /// HTTP/1.1 with no response due.
    pub(crate) fn http1() -> Link {
        Link::Http1(http1::Decoder::new())
    }

    /// Nothing between the connection and what is spoken.
    pub(crate) fn bare() -> Link {
        Link::Bare(frame::Decoder::new())
    }

    /// A request is about to be sent.
    pub(crate) fn begin(&mut self) {
        if let Link::Http1(http) = self {
            *http = http1::Decoder::new();
            http.begin(false);
        }
    }

    /// The connection is given up; another one will take its place.
    pub(crate) fn reset(&mut self) {
        match self {
            Link::Carried(own) => {
                own.stream = None;
                own.reader = ws::Reader::default();
            }
            Link::Bare(decoder) => *decoder = frame::Decoder::new(),
            Link::Http1(_) | Link::Carrier(_) | Link::Stream(_) | Link::Frames(_) => {
                *self = Link::http1();
            }
        }
    }

    /// From now on the peer sends frames of a WebSocket.
    pub(crate) fn read_frames(&mut self, reader: ws::Reader) {
        match self {
            Link::Carried(own) => own.reader = reader,
            Link::Bare(_) => {}
            _ => *self = Link::Frames(reader),
        }
    }

    /// The decoder of HTTP/1.1 responses.
    pub(crate) fn http(&mut self) -> Option<&mut http1::Decoder> {
        match self {
            Link::Http1(decoder) => Some(decoder),
            _ => None,
        }
    }

    /// The reader of WebSocket frames.
    pub(crate) fn reader(&mut self) -> Option<&mut ws::Reader> {
        match self {
            Link::Frames(reader) => Some(reader),
            Link::Carried(own) => Some(&mut own.reader),
            _ => None,
        }
    }

    /// The stream, if another connection carries it.
    #[inline]
    pub(crate) fn stream(&self) -> Option<Stream> {
        match self {
            Link::Stream(stream) => Some(*stream),
            Link::Carried(own) => own.stream,
            _ => None,
        }
    }

    /// The number of the stream in flight; 0: none is.
    pub(crate) fn set_stream_id(&mut self, id: u32) {
        match self {
            Link::Stream(stream) => stream.id = id,
            Link::Carried(own) => {
                if let Some(stream) = &mut own.stream {
                    stream.id = id;
                }
            }
            _ => {}
        }
    }

    /// Bytes of messages and frames that have come in part.
    pub(crate) fn gathered_bytes(&self) -> usize {
        match self {
            Link::Http1(_) | Link::Stream(_) | Link::Bare(_) => 0,
            Link::Carrier(carrier) => carrier.h2.memory_bytes(),
            Link::Frames(reader) => reader.gathered_len(),
            Link::Carried(own) => own.reader.gathered_len(),
        }
    }
}
