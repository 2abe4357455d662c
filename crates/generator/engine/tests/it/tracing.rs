//! A traced user: what it sends and receives, in order, as it was before compression and after decoding.

use std::sync::mpsc::{Receiver, channel};

use engine::sim::{Link, PeerAction};
use engine::trace::{TraceEvent, TraceRequest, TracedEvent};
use plan::SessionId;
use record::Outcome;

use crate::peers::{HttpPeer, WsPeer, frame, ok, response};
use crate::support::{MS, run_over};

/// A link over which the first session's user of this number is traced.
fn traced(user: u64, steps_max: u64) -> (Link<'static>, Receiver<TracedEvent>) {
    let (sink, events) = channel();
    let mut link = Link::new(MS);
    link.trace = Some(TraceRequest { user, session: SessionId(0), steps_max, sink });
    (link, events)
}

/// What happened, in a word each.
fn words(events: &[TracedEvent]) -> Vec<String> {
    let words = events.iter().map(|traced| match &traced.event {
        TraceEvent::Step { pc, .. } => format!("step {pc}"),
        TraceEvent::Sent { bytes, .. } => {
            let text = String::from_utf8_lossy(bytes);
            format!("sent {}", text.lines().next().unwrap_or_default())
        }
        TraceEvent::SentMessage { bytes, .. } => {
            format!("message {}", String::from_utf8_lossy(bytes))
        }
        TraceEvent::Response { body, .. } => format!("response {}", String::from_utf8_lossy(body)),
        TraceEvent::Message { bytes, .. } => format!("received {}", String::from_utf8_lossy(bytes)),
        TraceEvent::Set { slot, value } => format!("slot {} = {}", slot.index(), value.to_text()),
        TraceEvent::Checked { text, .. } => text.clone(),
        TraceEvent::Recorded { metric, value } => format!("metric {} {value}", metric.index()),
        TraceEvent::Console { text } => format!("console {text}"),
        TraceEvent::Operation(row) => {
            format!("{} after {} ms", row.outcome.name(), row.service_ns() / MS)
        }
        TraceEvent::Retried { attempt, .. } => format!("attempt {attempt} failed"),
        TraceEvent::Error { detail, .. } => format!("error {detail}"),
        TraceEvent::Enough => "enough".to_owned(),
        TraceEvent::Ended { end } => format!("ended {end:?}"),
    });
    words.collect()
}

const HTTP: &str = "
target: http://target.test/
sessions:
  main:
    - set: { kind: new }
    - post: /orders
      json: { kind: \"${kind}\", of: \"${user}\" }
      as: order
      save: { total: /total }
      check: [total > 1, total > 5]
    - get: /after
arrivals: [ { hold: 10s } ]
";

#[test]
fn a_request_is_traced_from_its_step_to_its_outcome() {
    let (link, events) = traced(7, 100);
    let mut peer = HttpPeer::new(|_| 0, |_| ok(r#"{"total":4}"#));
    let ran = run_over(HTTP, &mut peer, link);
    assert_eq!(ran.outcomes("order"), [Outcome::Check]);
    let events: Vec<TracedEvent> = events.try_iter().collect();
    assert_eq!(
        words(&events),
        [
            "step 0",
            "slot 0 = new",
            "step 1",
            "ok after 2 ms",
            "sent POST /orders HTTP/1.1",
            r#"response {"total":4}"#,
            "slot 1 = 4",
            "`total > 1` is true: total = 4",
            "`total > 5` is false: total = 4",
            r#"error `total > 5` is false: total = 4; received `{"total":4}`"#,
            "check after 4 ms",
            "step 2",
            "sent GET /after HTTP/1.1",
            r#"response {"total":4}"#,
            "ok after 2 ms",
            "ended None",
        ]
    );
    let body = events.iter().find_map(|traced| match &traced.event {
        TraceEvent::Sent { bytes, .. } => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    });
    assert!(body.is_some_and(|body| body.ends_with(r#"{"kind":"new","of":7}"#)));
    // Times are those of the run.
    let times: Vec<u64> = events.iter().map(|traced| traced.at_ns).collect();
    assert!(times.is_sorted());
    assert_eq!(times.last(), Some(&(6 * MS)));
}

#[test]
fn what_declines_a_websocket_is_shown_with_its_body() {
    let (link, events) = traced(0, 100);
    let decline = |_: &str| response("400 Bad Request", "", "no transport");
    let text = "target: http://target.test/
sessions: { main: [ { ws: /socket } ] }
arrivals: [ { hold: 10s } ]
";
    run_over(text, &mut HttpPeer::new(|_| 0, decline), link);
    let words = words(&events.try_iter().collect::<Vec<_>>());
    let expected = [
        "step 0",
        "ok after 2 ms",
        "sent GET /socket HTTP/1.1",
        "response no transport",
        "error server declined the WebSocket with status 400: `no transport`",
        "status after 4 ms",
    ];
    assert_eq!(words[..6], expected);
}

#[test]
fn a_traced_user_leaves_after_its_steps() {
    let (link, events) = traced(0, 1);
    let mut peer = HttpPeer::new(|_| 0, |_| ok(r#"{"total":9}"#));
    let ran = run_over(HTTP, &mut peer, link);
    assert_eq!(ran.rows("order").len(), 1);
    assert_eq!(ran.rows("GET /after").len(), 0);
    let last = events.try_iter().last();
    assert!(last.is_some_and(|traced| traced.event == TraceEvent::Enough));
}

/// Whether the end comes while it is idle or while it works, and whoever looks first.
#[test]
fn the_end_of_a_loop_that_never_ends_is_traced_once() {
    for step in ["think: 1s", "think: 700ms", "get: /", "set: { a: 1 }"] {
        let (link, events) = traced(0, 100_000);
        let mut peer = HttpPeer::new(|_| 0, |_| ok("{}"));
        let text = format!(
            "
target: http://target.test/
sessions: {{ main: [ {{ get: /first }}, {{ forever: [ {{ {step} }}, {{ think: 1s }} ] }} ] }}
arrivals: [ {{ hold: 4s }} ]
options: {{ drain: 0s }}
"
        );
        run_over(&text, &mut peer, link);
        let words = words(&events.try_iter().collect::<Vec<_>>());
        let ends = words.iter().filter(|word| word.starts_with("ended"));
        assert_eq!(ends.count(), 1, "{step}: {words:?}");
        assert_eq!(words.last().unwrap(), "ended Some(CutOff)", "{step}");
    }
}

#[test]
fn compressed_messages_are_traced_as_text() {
    let text = "
target: http://target.test/
sessions:
  main:
    - ws: { path: /stream, compress: shared }
    - send: { op: ask, text: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa }
      reply: { when: { body: Hello }, as: ask }
arrivals: [ { hold: 10s } ]
";
    let (link, events) = traced(0, 100);
    // "Hello", an example of RFC 7692 section 7.2.3.1.
    let hello = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
    let mut peer = WsPeer::new(move |_, _| vec![PeerAction::Send(frame(0xc1, &hello))]);
    peer.headers = "sec-websocket-extensions: permessage-deflate\r\n";
    let ran = run_over(text, &mut peer, link);
    assert_eq!(ran.outcomes("ask"), [Outcome::Ok]);
    let words = words(&events.try_iter().collect::<Vec<_>>());
    let sent = r#"message {"op":"ask","text":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}"#;
    assert!(words.iter().any(|word| word == sent), "{words:?}");
    assert!(words.iter().any(|word| word == "received Hello"), "{words:?}");
    // Control frames, such as the close, are not shown.
    assert_eq!(words.iter().filter(|word| word.starts_with("message")).count(), 1);
}
