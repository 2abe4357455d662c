//! Event streams over real sockets.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use crate::support::{Ended, Space, server};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

/// Says one event and leaves; to who has heard it, another one.
fn tells_two(mut stream: TcpStream) -> io::Result<()> {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        request.push(byte[0]);
    }
    let heard = String::from_utf8_lossy(&request).contains("\r\nlast-event-id: 1\r\n");
    stream.write_all(HEAD.as_bytes())?;
    if !heard {
        return stream.write_all(b"retry: 50\nid: 1\ndata: one\n\n");
    }
    stream.write_all(b"event: second\ndata: two\n\n")?;
    stream.read_to_end(&mut Vec::new()).map(drop)
}

#[test]
fn a_lost_stream_is_opened_anew() {
    let space = Space::new();
    let address = server(tells_two);
    let text = format!(
        "
target: http://{address}
sessions:
  reader:
    - sse: /stream
    - expect: {{ when: {{ id: \"1\" }}, as: first }}
    - expect: {{ when: {{ event: second, body: two }}, as: second }}
    - close:
arrivals: [ {{ constant: 20/s, for: 500ms }}, {{ hold: 500ms }} ]
thresholds: [ errors == 0 ]
"
    );
    Ended::of(&mut space.run_text(&text, &[])).with(0);
    let summary = space.summary();
    for measure in ["stream", "first", "second", "reconnect"] {
        let found = summary.measures.iter().find(|m| m.name == measure);
        let found = found.unwrap_or_else(|| panic!("no {measure}"));
        assert_eq!((found.count, found.errors), (10, 0), "{measure}");
    }
}
