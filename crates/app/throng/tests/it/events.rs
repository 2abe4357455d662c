//! Event streams and polls over real sockets.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use crate::support::{Ended, Space, server};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

/// A request's head.
fn request(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    String::from_utf8(head).map_err(io::Error::other)
}

/// Says one event and leaves; to who has heard it, another one.
fn sends_two(mut stream: TcpStream) -> io::Result<()> {
    let heard = request(&mut stream)?.contains("\r\nlast-event-id: 1\r\n");
    stream.write_all(HEAD.as_bytes())?;
    if !heard {
        return stream.write_all(b"retry: 50\nid: 1\ndata: one\n\n");
    }
    stream.write_all(b"event: second\ndata: two\n\n")?;
    stream.read_to_end(&mut Vec::new()).map(drop)
}

#[test]
fn a_lost_stream_reconnects() {
    let space = Space::new();
    let address = server(sends_two);
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
    for measure in ["stream", "first", "second", "reconnect"] {
        assert_eq!(counted(&space, measure), (10, 0), "{measure}");
    }
}

/// How many operations of a measure ended, and how many of them ill.
#[track_caller]
fn counted(space: &Space, measure: &str) -> (u64, u64) {
    let measures = space.summary().measures;
    let found = measures.iter().find(|m| m.name == measure);
    let found = found.unwrap_or_else(|| panic!("no {measure}"));
    (found.count, found.errors)
}

/// Has one message more at each request, two in all, then says nothing.
fn has_two(mut stream: TcpStream) -> io::Result<()> {
    loop {
        let request = request(&mut stream)?;
        let body = match request.split(['=', ' ']).nth(2) {
            Some("0") => r#"{"last":1,"messages":[{"n":1}]}"#,
            Some("1") => r#"{"last":2,"messages":[{"n":2}]}"#,
            _ => return stream.read_to_end(&mut Vec::new()).map(drop),
        };
        let length = body.len();
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}")?;
    }
}

#[test]
fn a_long_poll_brings_messages() {
    let space = Space::new();
    let address = server(has_two);
    let text = format!(
        "
target: http://{address}
sessions:
  reader:
    - set: {{ last: 0 }}
    - poll: /poll?after=${{last}}
      each: /messages
      save: {{ last: /last }}
      as: poll
    - expect: {{ when: {{ /n: 1 }}, as: first }}
    - expect: {{ when: {{ /n: 2 }}, as: second }}
    - think: 10ms
    - close:
arrivals: [ {{ constant: 20/s, for: 500ms }}, {{ hold: 500ms }} ]
thresholds: [ errors == 0 ]
"
    );
    Ended::of(&mut space.run_text(&text, &[])).with(0);
    for measure in ["first", "second"] {
        assert_eq!(counted(&space, measure), (10, 0), "{measure}");
    }
    assert_eq!(counted(&space, "poll").1, 0);
}
