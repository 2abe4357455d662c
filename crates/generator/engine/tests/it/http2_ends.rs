//! Ends of connections and streams of HTTP/2: what is sent again, what reconnects, what is not used any more.

use std::sync::Arc;

use engine::sim::{Link, Packet, PeerAction, Verdict};
use engine::tables::budget::Budget;
use record::Outcome;

use crate::http2_peer::{Got, Http2Peer, body, go_away, head, ok, reset, sent};
use crate::support::{MS, run, run_over};

/// Users that take these steps, over HTTP/2 without TLS.
fn scenario(options: &str, steps: &str, arrivals: &str) -> String {
    format!(
        "
name: http2
target: {{ url: 'http://target.test/', http: 2 }}
options: {{ timeout: 500ms, drain: 1s{options} }}
sessions:
  main:
{steps}
arrivals:
  - {{ constant: {arrivals} }}
  - {{ hold: 5s }}
"
    )
}

const ONE: &str = "1/s, for: 1s";

/// The head of an event stream, and one event.
fn events(got: &Got) -> Vec<Vec<u8>> {
    let fields = [(":status", "200"), ("content-type", "text/event-stream")];
    let event = body(got.stream, false, "data: {\"n\":1}\n\n");
    vec![head(got.stream, false, &fields), event]
}

#[test]
fn an_event_stream_that_the_server_resets_reconnects() {
    let steps = "
    - sse: /events
      as: events
      reconnect: 100ms
    - expect: { when: { /n: 1 }, as: one }
    - expect: { when: { /n: 1 }, as: again, within: 1s }";
    for (code, reconnects) in [(0, true), (2, true), (7, true), (8, true), (11, false)] {
        let mut opened = 0;
        let mut peer = Http2Peer::new(MS, move |got: &Got| {
            opened += 1;
            let mut frames = events(got);
            if opened == 1 {
                frames.push(reset(got.stream, code));
            }
            sent(&frames)
        });
        let ran = run(&scenario("", steps, ONE), &mut peer);
        let expected = if reconnects { vec![Outcome::Ok] } else { vec![] };
        assert_eq!(ran.outcomes("reconnect"), expected, "{:?}", ran.details());
        assert_eq!(ran.outcomes("again").first() == Some(&Outcome::Ok), reconnects);
        // The stream failed, not its connection.
        assert_eq!(peer.connections_count, 1);
    }
}

/// Whoever opens one waits for a connection that is being set up, as requests do; if it cannot be, each opens its own.
#[test]
fn event_streams_that_begin_together_share_a_connection() {
    let steps = "
    - sse: /events
      as: events
    - expect: { when: { /n: 1 }, as: one }";
    let text = scenario(", http_connections: shared", steps, "2000/s, for: 10ms");
    for (is_refused, connections) in [(false, 1), (true, 19)] {
        let mut peer = Http2Peer::new(MS, |got: &Got| sent(&events(got)));
        let mut connects = 0;
        let link = Link {
            rule: Box::new(move |_, packet| {
                connects += u32::from(packet == Packet::Connect);
                match packet {
                    Packet::Connect if is_refused && connects == 1 => Verdict::Refuse,
                    _ => Verdict::Pass,
                }
            }),
            ..Link::new(20 * MS)
        };
        let ran = run_over(&text, &mut peer, link);
        let opened = ran.outcomes("events");
        let refused = opened.iter().filter(|&&own| own == Outcome::Refused);
        assert_eq!((opened.len(), refused.count()), (20, usize::from(is_refused)));
        assert_eq!(ran.outcomes("one").len(), 20 - usize::from(is_refused));
        assert_eq!(peer.connections_count, connections);
    }
}

/// A request is sent again on another connection if it was not processed; so is that for an event stream,
/// with the same values.
#[test]
fn an_event_stream_that_was_not_processed_is_opened_again() {
    let steps = "
    - get: /
      as: page
    - sse: /events?x=${random(1, 1000000000)}
      as: events
    - expect: { when: { /n: 1 }, as: one }";
    let mut peer = Http2Peer::new(MS, |got: &Got| match got.stream {
        1 if got.line == "GET /" => ok(got, "first"),
        3 => sent(&[go_away(1, 0)]),
        _ => sent(&events(got)),
    });
    let ran = run(&scenario("", steps, ONE), &mut peer);
    for measure in ["page", "events", "one"] {
        assert_eq!(ran.outcomes(measure), [Outcome::Ok], "{:?}", ran.details());
    }
    assert_eq!(ran.outcomes("connect"), [Outcome::Ok; 2]);
    assert_eq!(ran.total(|counts| counts.requests_retried), 1);
    assert_eq!(ran.total(|counts| counts.requests_goaway), 1);
    assert_eq!(ran.total(|counts| counts.sends), 3);
    assert_eq!(peer.requests[1].line, peer.requests[2].line);
    // Twice as long as one attempt.
    assert_eq!(ran.rows("events")[0].response_ns(), 2 * MS);
}

#[test]
fn a_request_that_is_sent_again_is_the_same() {
    let steps = "
    - get: /
      as: page
    - get: /?x=${random(1, 1000000000)}
      as: page
    - get: /?x=${random(1, 1000000000)}
      as: page";
    for options in ["", ", redirects: 0"] {
        // The server closes; or says that it did not process the request; or that it may have, and closes.
        let mut last = sent(&[go_away(3, 0)]);
        last.push(PeerAction::Close);
        let answers = [(vec![PeerAction::Close], 0), (sent(&[go_away(1, 0)]), 1), (last, 1)];
        for (answer, announced) in answers {
            let mut peer = Http2Peer::new(MS, move |got: &Got| match got.stream {
                3 if got.conn == 0 => answer.clone(),
                _ => ok(got, "fine"),
            });
            let ran = run(&scenario(options, steps, ONE), &mut peer);
            assert_eq!(ran.outcomes("page"), [Outcome::Ok; 3]);
            let lines = peer.lines();
            assert_eq!((lines.len(), lines[1]), (4, lines[2]));
            assert_ne!(lines[2], lines[3]);
            assert_eq!(ran.total(|counts| counts.requests_retried), 1);
            assert_eq!(ran.total(|counts| counts.requests_goaway), announced);
        }
    }
}

/// Of two shared connections that have served, the first closes at a request: the request is sent again on a
/// fresh one, not on the other, so that once is all.
#[test]
fn what_may_have_been_carried_out_is_sent_again_once() {
    let steps = "
    - get: /a
      as: page
    - if: user == 0
      then: [ { get: /b, as: last } ]
      else: [ { think: 1s } ]";
    let mut peer = Http2Peer::new(20 * MS, |got: &Got| match &*got.line {
        "GET /b" => vec![PeerAction::Close],
        _ => ok(got, "fine"),
    });
    peer.settings = vec![(3, 1)];
    let text = scenario(", http_connections: shared", steps, "100/s, for: 20ms");
    let ran = run(&text, &mut peer);
    assert_eq!(ran.outcomes("page"), [Outcome::Ok; 2]);
    assert_eq!(ran.outcomes("last"), [Outcome::Closed]);
    assert_eq!(ran.total(|counts| counts.requests_retried), 1);
    assert_eq!((peer.connections_count, peer.requests.len()), (3, 4));
}

/// Those that wait for a connection go out over that one, not over one that has served.
#[test]
fn what_waits_for_a_fresh_connection_goes_out_over_that_one() {
    let steps = "
    - get: /a
      as: page
    - if: user < 2
      then: [ { get: /b, as: last } ]
      else: [ { think: 1s } ]";
    let mut peer = Http2Peer::new(20 * MS, |got: &Got| match &*got.line {
        "GET /b" => vec![PeerAction::Close],
        _ => ok(got, "fine"),
    });
    peer.settings = vec![(3, 2)];
    let text = scenario(", http_connections: shared", steps, "400/s, for: 10ms");
    let ran = run_over(&text, &mut peer, Link::new(MS));
    assert_eq!(ran.outcomes("page"), [Outcome::Ok; 4]);
    assert_eq!(ran.outcomes("last"), [Outcome::Closed; 2]);
    assert_eq!(ran.total(|counts| counts.requests_retried), 2);
    assert_eq!(peer.connections_count, 3);
}

/// A peer that vanished answers nothing, and resets nothing either.
#[test]
fn a_connection_on_which_nothing_comes_is_not_used_again() {
    let steps = "
    - loop: 4
      steps: [ { get: /, as: page }, { think: 1s } ]";
    for options in ["", ", http_connections: shared"] {
        let mut peer = Http2Peer::new(MS, |got: &Got| ok(got, "fine"));
        let mut link = Link::new(0);
        // Settings, their acknowledgement and one response come over the first connection, then nothing.
        let mut connects = 0;
        let mut packets = 0;
        link.rule = Box::new(move |_, packet| {
            connects += u32::from(packet == Packet::Connect);
            packets += u32::from(packet == Packet::ToUser);
            match packet {
                Packet::ToUser if connects == 1 && packets > 3 => Verdict::Drop,
                _ => Verdict::Pass,
            }
        });
        let ran = run_over(&scenario(options, steps, ONE), &mut peer, link);
        let expected = [Outcome::Ok, Outcome::Timeout, Outcome::Ok, Outcome::Ok];
        assert_eq!(ran.outcomes("page"), expected);
        // It is closed, too: nothing is left on it.
        assert_eq!(peer.connections_count, 2);
        assert_eq!(peer.closed_ns[0], ran.rows("page")[1].done_ns);
    }
}

/// One stream that is slow does not end the others' connection.
#[test]
fn a_connection_on_which_something_comes_stays() {
    let steps = "
    - get: /
      as: page
    - poll: /news
      every: 100ms
      as: poll
    - get: /slow
      as: slow
    - get: /
      as: page";
    let mut peer = Http2Peer::new(MS, |got: &Got| match &*got.line {
        "GET /slow" => vec![],
        _ => ok(got, "{}"),
    });
    let ran = run(&scenario("", steps, ONE), &mut peer);
    assert_eq!(ran.outcomes("slow"), [Outcome::Timeout]);
    assert_eq!(ran.outcomes("page"), [Outcome::Ok; 2]);
    assert_eq!(peer.connections_count, 1);
}

#[test]
fn a_connection_is_closed_when_its_last_request_is_given_up_after_goaway() {
    let steps = "
    - get: /slow
      as: slow
    - think: 2s";
    let mut peer = Http2Peer::new(MS, |got: &Got| sent(&[go_away(got.stream, 0)]));
    let ran = run(&scenario("", steps, ONE), &mut peer);
    assert_eq!(ran.outcomes("slow"), [Outcome::Timeout]);
    let at_ns = ran.rows("slow")[0].done_ns;
    assert_eq!((&*peer.resets, &*peer.closed_ns), (&[(1, 8)][..], &[at_ns][..]));
}

/// A body waits for the server's windows as long as there is memory for it.
#[test]
fn bodies_that_wait_take_memory() {
    let body = "x".repeat(200_000);
    for path in ["/", "/${user}"] {
        let steps = format!("    - post: '{path}'\n      as: page\n      body: '{body}'");
        let mut peer = Http2Peer::new(MS, |got: &Got| ok(got, "never"));
        // After the first 64 KiB, 132 KiB wait: they count as 192.
        let link = Link { buffers: Arc::new(Budget::new(400 << 10)), ..Link::new(0) };
        let ran = run_over(&scenario("", &steps, "10/s, for: 400ms"), &mut peer, link);
        let lost = Outcome::NoMemory;
        let waited = Outcome::Timeout;
        assert_eq!(ran.outcomes("page"), [waited, waited, lost, lost]);
        let resets: Vec<_> = peer.resets.iter().map(|&(_, code)| code).collect();
        assert_eq!(resets, [8; 4]);
    }
}
