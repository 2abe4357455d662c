//! Server-sent events (WHATWG HTML, section 9.2), and their chunks in one endless HTTP/1.1 answer
//! (RFC 9112, section 7.1) for connections that own no buffer: a chunk is the same for whoever
//! gets it.

use std::time::Duration;

use bytes::Bytes;

/// A comment, which clients ignore: it shows that the stream is alive.
pub const COMMENT: &str = ":\n\n";
/// [`COMMENT`] as a chunk.
pub const HEARTBEAT: Bytes = Bytes::from_static(b"3\r\n:\n\n\r\n");
/// The end of the stream.
pub const END: Bytes = Bytes::from_static(b"0\r\n\r\n");

/// The answer's head. Caches keep no events, and proxies are asked not to gather them.
pub const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
    Cache-Control: no-store\r\nX-Accel-Buffering: no\r\nTransfer-Encoding: chunked\r\n\r\n";

/// How long a client shall wait before it connects again.
pub fn retry_text(after: Duration) -> String {
    format!("retry: {}\n\n", after.as_millis())
}

/// [`retry_text`] as a chunk.
pub fn retry(after: Duration) -> Bytes {
    chunk(&retry_text(after))
}

/// An event with the number `id`. `data` is one line.
pub fn event_text(id: u64, data: &str) -> String {
    debug_assert!(!data.contains(['\r', '\n']), "data of one line");
    format!("id: {id}\ndata: {data}\n\n")
}

/// [`event_text`] as a chunk.
pub fn event(id: u64, data: &str) -> Bytes {
    chunk(&event_text(id, data))
}

/// [`event_text`] of an event with a name.
pub fn named_event_text(name: &str, id: u64, data: &str) -> String {
    format!("event: {name}\n{}", event_text(id, data))
}

/// [`named_event_text`] as a chunk.
pub fn named_event(name: &str, id: u64, data: &str) -> Bytes {
    chunk(&named_event_text(name, id, data))
}

fn chunk(text: &str) -> Bytes {
    Bytes::from(format!("{:x}\r\n{text}\r\n", text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_say_how_long_they_are() {
        assert_eq!(event(7, "{}"), "10\r\nid: 7\ndata: {}\n\n\r\n");
        assert_eq!(
            named_event("refresh", 7, "{}"),
            "1f\r\nevent: refresh\nid: 7\ndata: {}\n\n\r\n"
        );
        assert_eq!(retry(Duration::from_secs(2)), "d\r\nretry: 2000\n\n\r\n");
        assert_eq!(HEARTBEAT, chunk(COMMENT));
    }
}
