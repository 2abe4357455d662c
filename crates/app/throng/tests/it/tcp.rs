//! Framed messages over real sockets.

use crate::support::{Ended, Served, Space};

/// What is sent comes back, whatever frames it is in.
#[test]
fn framed_messages_are_echoed() {
    let space = Space::new();
    let echo = Served::start(&["echo", "--raw"]);
    let url = &echo.url;
    assert!(url.starts_with("tcp://"), "{url}");
    let address = url.trim_start_matches("tcp://");
    let text = format!(
        "
target: {url}
sessions:
  queue:
    - tcp:
      framing: {{ length: 4, counts: payload, header: 1 }}
    - loop: 3
      steps:
        - send:
          bytes: [u8: 7, u32be: \"${{user}}\", text: \"${{random_string(3000)}}\"]
          reply: {{ when: {{ \"u8@0\": 7, \"u32be@1\": \"${{user}}\" }}, as: framed }}
    - close:
    - tcp: {address}
      framing: {{ delimiter: \"\\r\\n\" }}
      as: lines
    - send: {{ user: \"${{user}}\" }}
      reply: {{ when: {{ /user: \"${{user}}\" }}, as: line }}
arrivals: [ {{ constant: 40/s, for: 500ms }} ]
thresholds:
  - errors == 0
  - count(framed) == 60
  - count(line) == 20
  - count(connect) == 40
  - retransmits == 0
  - ip_bytes_out > 180000
"
    );
    Ended::of(&mut space.run_text(&text, &[])).with(0);
    // Every connection was measured when it was closed, so that the payload is known to the byte.
    let traffic = space.summary().traffic.expect("TCP was spoken");
    let lines: usize = (0..20).map(|user| format!("{{\"user\":{user}}}\r\n").len()).sum();
    let payload = (60 * (4 + 1 + 4 + 3000) + lines) as f64;
    assert_eq!(traffic.connections, 40);
    assert_eq!(traffic.total.payload_out, payload);
    assert_eq!(traffic.total.payload_in, payload);
    assert!(traffic.total.segments_out >= (40 + 60 + 20) as f64, "{traffic:?}");
    assert_eq!(traffic.per_connection.payload_out, payload / 40.0);
}
