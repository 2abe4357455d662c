//! Channels over real sockets, against `throng serve chat`.

use crate::support::{Ended, Served, Space};

/// Runs users who join, speak and hear themselves, of whom each does `steps`.
fn run(steps: &str) {
    let space = Space::new();
    let chat = Served::start(&["chat"]);
    let url = &chat.url;
    let text = format!(
        "
target: {url}
messages:
  said: {{ when: {{ event: message }} }}
sessions:
  visitor:
{steps}
arrivals: [ {{ constant: 20/s, for: 500ms }}, {{ hold: 1s }} ]
thresholds: [ errors == 0, count(handshake) == 10, count(join) == 10, count(speak) == 10 ]
"
    );
    Ended::of(&mut space.run_text(&text, &[])).with(0);
}

#[test]
fn phoenix_in_both_versions() {
    for vsn in ["2.0.0", "1.0.0"] {
        run(&format!(
            "
    - ws: {{ path: /socket/websocket, protocol: phoenix, vsn: {vsn}, heartbeat: 100ms }}
    - join: \"room:${{user}}\"
    - push: {{ event: speak, payload: {{ message: hello }} }}
      reply: {{ save: {{ id: /id }} }}
    - expect: {{ when: {{ event: message, topic: \"room:${{user}}\", /message: hello }}, as: heard }}
    - check: id > 0
    - think: 500ms
    - leave:
"
        ));
    }
}

#[test]
fn actioncable() {
    run("
    - ws: { path: /cable, protocol: actioncable }
    - join: ChatChannel
      params: { room: \"r${user}\" }
    - perform: { action: speak, data: { message: hello } }
      reply: { when: { /message: hello } }
    - leave:
");
}

/// A room that cannot be joined is reported as such.
#[test]
fn a_refused_upgrade_fails_the_handshake() {
    let space = Space::new();
    let chat = Served::start(&["chat"]);
    let url = &chat.url;
    let text = format!(
        "
target: {url}
sessions:
  phoenix:
    - ws: {{ path: /socket/websocket, protocol: phoenix }}
    - join: nowhere
  cable:
    - ws: {{ path: /cable, protocol: actioncable }}
    - join: SecretChannel
arrivals: [ {{ constant: 20/s, for: 500ms }} ]
"
    );
    Ended::of(&mut space.run_text(&text, &[])).stdout_contains("rejected");
}

/// Everybody in one room hears the last ones speak: of all loops together there is one first and one
/// last receiver.
#[test]
fn broadcasts_are_accounted_for_over_workers() {
    let space = Space::new();
    let chat = Served::start(&["chat"]);
    let url = &chat.url;
    let text = format!(
        "
target: {url}
options: {{ loops: 4 }}
messages:
  said: {{ when: {{ event: message }}, seq: /id, sent_at: /sent_at_ms }}
sessions:
  visitor:
    - ws: {{ path: /socket/websocket, protocol: phoenix }}
    - join: chat
    - think: 3s
  speaker:
    - ws: {{ path: /socket/websocket, protocol: phoenix }}
    - join: chat
    - push: {{ event: speak, payload: {{ message: hello }} }}
      reply: {{}}
    - think: 1s
arrivals:
  - {{ constant: 40/s, for: 500ms, session: visitor }}
  - {{ constant: 10/s, for: 500ms, session: speaker }}
  - {{ hold: 3s }}
thresholds:
  - errors == 0
  - count(said) >= 100
  - count(said.first) == 5
  - count(said.last) == 5
  - count(said.lost) == 0
  - p99(said.last) < 10s
"
    );
    let ended = Ended::of(&mut space.run_text(&text, &["--workers", "2"]));
    ended.with(0);
}
