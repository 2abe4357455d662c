//! Peers that do not do what was agreed.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use super::{all_of, event_has_detail, fails_as};
use crate::support::{Ended, Nobody, Space, read_head, server, websocket};

#[test]
fn a_missing_reply_times_out() {
    let silent = server(|mut stream| stream.read_to_end(&mut Vec::new()).map(drop));
    fails_as("timeout", &format!("http://{silent}/"), &["options.timeout=200ms"]);
}

#[test]
fn a_refused_connection_is_counted() {
    let nobody = Nobody::new();
    fails_as("refused", &format!("http://{}/", nobody.address), &[]);
}

#[test]
fn a_reset_connection_is_counted() {
    let rude = server(|stream| {
        // To close with the request unread is to reset.
        stream.peek(&mut [0]).map(drop)
    });
    fails_as("reset", &format!("http://{rude}/"), &[]);
}

#[test]
fn a_close_instead_of_a_response_fails_the_request() {
    let leaving = server(|mut stream| read_head(&mut stream));
    fails_as("closed", &format!("http://{leaving}/"), &[]);
}

#[test]
fn a_response_above_the_size_limit_fails() {
    let verbose = server(|mut stream| {
        read_head(&mut stream)?;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4096\r\n\r\n")?;
        stream.write_all(&[b'x'; 4096])?;
        stream.read_to_end(&mut Vec::new()).map(drop)
    });
    fails_as("too-large", &format!("http://{verbose}/"), &["options.response_max=1KiB"]);
}

#[test]
fn a_response_that_is_not_http_fails() {
    let babbling = server(|mut stream| {
        read_head(&mut stream)?;
        stream.write_all(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")?;
        stream.read_to_end(&mut Vec::new()).map(drop)
    });
    fails_as("http-protocol", &format!("http://{babbling}/"), &[]);
}

/// They answer nobody: the request is answered, its connection closed, and the run says so.
#[test]
fn bytes_after_a_response_are_unsolicited() {
    let wordy = server(|mut stream| {
        read_head(&mut stream)?;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok and more")?;
        stream.read_to_end(&mut Vec::new()).map(drop)
    });
    let space = Space::new();
    Ended::of(&mut space.load(&format!("http://{wordy}/"), "20/s", "500ms")).with(0);
    let findings = space.summary().findings;
    let reported = findings
        .iter()
        .any(|f| f.text.starts_with("10 HTTP connections") && f.text.contains("answer no request"));
    assert!(reported, "{findings:?}");
}

/// Ten users open a WebSocket and expect a message; all must fail in this one way.
#[track_caller]
fn websocket_fails_as(kind: &str, address: SocketAddr) {
    let space = Space::new();
    let text = format!(
        "
target: ws://{address}
options: {{ timeout: 1s, message_max: 1KiB }}
sessions:
  reader: [ {{ ws: / }}, {{ expect: }} ]
arrivals: [ {{ constant: 20/s, for: 500ms }}, {{ hold: 300ms }} ]
thresholds: [ errors == 0 ]
"
    );
    Ended::of(&mut space.run_text(&text, &[])).with(1);
    all_of(&space.summary(), kind);
    event_has_detail(&space, kind);
}

/// A server that sends these bytes over a WebSocket, and closes its side if `leaves`.
fn websocket_server(bytes: &'static [u8], leaves: bool) -> SocketAddr {
    server(move |stream| {
        let mut socket = websocket(stream)?;
        let stream: &mut TcpStream = socket.get_mut();
        stream.write_all(bytes)?;
        if leaves {
            stream.shutdown(Shutdown::Write)?;
        }
        stream.read_to_end(&mut Vec::new()).map(drop)
    })
}

#[test]
fn a_close_within_a_frame_fails_the_message() {
    // Text of 10 bytes, of which 4 come.
    websocket_fails_as("closed", websocket_server(b"\x81\x0ahalf", true));
}

#[test]
fn text_that_is_not_utf8() {
    websocket_fails_as("invalid-utf8", websocket_server(b"\x81\x02\xc3\x28", false));
}

#[test]
fn an_invalid_frame_is_a_protocol_error() {
    // Reserved bits without an extension (RFC 6455 section 5.2).
    websocket_fails_as("ws-protocol", websocket_server(b"\xf1\x02ok", false));
}

#[test]
fn a_missing_message_times_out() {
    websocket_fails_as("timeout", websocket_server(b"", false));
}

#[test]
fn a_message_above_the_size_limit_fails() {
    // Text of 4,096 bytes, of which none has come.
    websocket_fails_as("too-large", websocket_server(b"\x81\x7e\x10\x00", false));
}
