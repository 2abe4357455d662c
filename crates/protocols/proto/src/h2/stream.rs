//! One stream's state, and the table of them (RFC 9113 §5.1).

use alloc::boxed::Box;
use alloc::vec::Vec;

/// Streams whose places are kept while none is open.
const PLACES_KEPT: usize = 1;

/// The token of a stream that its caller has closed: no event has it.
pub(super) const NOBODY: u32 = u32::MAX;

/// A request whose response has not ended.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) id: u32,
    /// The caller's name for it, or [`NOBODY`].
    pub(super) token: u32,
    /// Bytes that we may still send; below zero after the peer made its window smaller (§6.9.2).
    pub(super) send_window: i64,
    /// Bytes that the peer may still send.
    pub(super) receive_window: u32,
    pub(super) interim_count: u8,
    /// It answers a HEAD request: no body, whatever its head says.
    pub(super) is_head: bool,
    /// The body may be of any length.
    pub(super) is_endless: bool,
    /// More of its request's body may follow.
    pub(super) is_open: bool,
    /// It is a tunnel: its bodies are what both sides say (RFC 8441).
    pub(super) is_tunnel: bool,
    /// The final head has come.
    pub(super) has_head: bool,
    /// Bytes of the body so far.
    pub(super) body_bytes: u64,
    /// The length of the body by the head.
    pub(super) content_length: Option<u64>,
    /// The part of the request's body that the peer's windows did not take.
    unsent: Option<Box<Unsent>>,
}

/// A body that waits for the peer's windows.
#[derive(Debug)]
pub(super) struct Unsent {
    /// The caller's name for its stream.
    pub(super) token: u32,
    pub(super) body: Vec<u8>,
    /// How much of it was sent.
    pub(super) sent: usize,
    /// The end of the body is the end of its stream.
    pub(super) ends: bool,
}

impl Stream {
    /// One that was opened just now, with these windows.
    pub(super) fn new(id: u32, token: u32, send_window: i64, receive_window: u32) -> Stream {
        Stream {
            id,
            token,
            send_window,
            receive_window,
            interim_count: 0,
            is_head: false,
            is_endless: false,
            is_open: false,
            is_tunnel: false,
            has_head: false,
            body_bytes: 0,
            content_length: None,
            unsent: None,
        }
    }

    /// True if somebody waits for what comes over it.
    pub(super) fn is_awaited(&self) -> bool {
        self.token != NOBODY
    }

    /// True if a part of its request's body waits for the peer's windows.
    pub(super) fn has_unsent(&self) -> bool {
        self.unsent.is_some()
    }
}

/// Streams in the order in which they were opened. Empty, it owns next to no memory.
#[derive(Debug, Default)]
pub(super) struct Streams {
    list: Vec<Stream>,
    /// Bytes of the bodies that are kept for the peer's windows. A sum, as it is needed at each read.
    unsent_bytes: usize,
}

impl Streams {
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn unsent_bytes(&self) -> usize {
        self.unsent_bytes
    }

    /// Keeps a body that waits, unless its stream is gone.
    pub(super) fn keep_unsent(&mut self, id: u32, unsent: Box<Unsent>) {
        let len = unsent.body.len();
        if let Some(stream) = self.get_mut(id) {
            stream.unsent = Some(unsent);
            self.unsent_bytes += len;
        }
    }

    pub(super) fn take_unsent(&mut self, id: u32) -> Option<Box<Unsent>> {
        let unsent = self.get_mut(id)?.unsent.take()?;
        self.unsent_bytes -= unsent.body.len();
        Some(unsent)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Stream> {
        self.list.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.list.iter_mut()
    }

    pub(super) fn push(&mut self, stream: Stream) {
        if self.list.capacity() == 0 {
            self.list.reserve_exact(1);
        }
        self.list.push(stream);
    }

    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut Stream> {
        let place = self.place(id)?;
        self.list.get_mut(place)
    }

    pub(super) fn remove(&mut self, id: u32) -> Option<Stream> {
        let stream = self.list.remove(self.place(id)?);
        let unsent = stream.unsent.as_ref();
        self.unsent_bytes -= unsent.map_or(0, |unsent| unsent.body.len());
        if self.list.is_empty() {
            self.list.shrink_to(PLACES_KEPT);
        }
        Some(stream)
    }

    /// The first stream that was opened after this one.
    pub(super) fn first_after(&self, id: u32) -> Option<u32> {
        let place = self.list.partition_point(|stream| stream.id <= id);
        self.list.get(place).map(|stream| stream.id)
    }

    fn place(&self, id: u32) -> Option<usize> {
        self.list.binary_search_by_key(&id, |stream| stream.id).ok()
    }
}
