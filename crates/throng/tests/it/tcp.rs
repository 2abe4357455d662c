//! Framed messages over real sockets.

use crate::support::{Ended, Served, Space};

/// What is sent comes back, whatever frames it is in.
#[test]
fn frames_come_back() {
    let (space, echo) = (Space::new(), Served::start(&["echo", "--raw"]));
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
thresholds: [ errors == 0, count(framed) == 60, count(line) == 20, count(connect) == 40 ]
"
    );
    Ended::of(&mut space.run_text(&text, &[])).with(0);
}
