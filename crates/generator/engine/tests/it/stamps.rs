//! Latencies by the stamps in messages: clocks that differ, and loops that read late.

use engine::sequences::ClockReading;
use engine::sim::{Link, PeerAction};
use record::{Measurement, Outcome};

use crate::peers::{CastPeer, WsPeer, text};
use crate::support::{MS, Ran, S, run_over};

/// The target's clock is ahead by this.
const AHEAD_NS: u64 = 400 * MS;

fn scenario(message: &str) -> String {
    format!(
        "
name: stamps
target: http://target.test/
messages:
  said: {{ when: {{ /t: said }}, sent_at: /at, unit: ns{message} }}
sessions:
  main:
    - ws: /stream
    - send: hello
      reply: {{ when: {{ /t: said }} }}
    - think: 1s
    - send: hello
      reply: {{ when: {{ /t: said }} }}
    - think: 9s
arrivals: [ {{ constant: 1/s, for: 1s }}, {{ hold: 14s }} ]
"
    )
}

fn said(at_ns: u64) -> PeerAction {
    text(&format!("{{\"t\":\"said\",\"at\":{at_ns}}}"))
}

/// Each request is answered with a pushed message before its reply, and one after it.
fn play(message: &str) -> Ran {
    let mut peer = WsPeer::new(|now_ns, _| {
        let at_ns = now_ns + AHEAD_NS;
        vec![said(at_ns), said(at_ns)]
    });
    run_over(&scenario(message), &mut peer, Link::new(MS))
}

/// What all replies say of the clock.
fn clock(ran: &Ran) -> ClockReading {
    let mut readings = ran.run.deltas.iter().flat_map(|delta| &delta.clocks);
    let mut best = *readings.next().expect("a reply had a stamp");
    readings.for_each(|reading| best.merge(reading));
    best
}

#[test]
fn a_message_from_the_future_has_no_latency_and_is_counted_apart() {
    let ran = play("");
    assert_eq!(ran.counted("said", Outcome::Ok), 2);
    assert_eq!(ran.rows("said").len(), 0);
    assert_eq!(ran.counted("said.ahead", Outcome::Ok), 2);
    let (ahead, response) = response(&ran, "said.ahead");
    assert_eq!(ahead, 2);
    // Sent 1 ms before it arrived, and stamped 400 ms later.
    assert!(response.abs_diff(AHEAD_NS - MS) < MS, "{response}");
    assert_eq!(response_count(&ran, "said"), 0);
}

fn response(ran: &Ran, measure: &str) -> (u64, u64) {
    let id = ran.plan.measures.iter().position(|m| m.name == measure);
    let deltas = ran.run.deltas.iter().flat_map(|delta| &delta.measures);
    let of = deltas.filter(|delta| Some(delta.measure.index()) == id);
    of.fold((0, 0), |(count, max), delta| {
        let hist = &delta.response;
        (count + hist.count(), max.max(hist.max()))
    })
}

fn response_count(ran: &Ran, measure: &str) -> u64 {
    response(ran, measure).0
}

#[test]
fn replies_show_the_offset_to_half_their_round_trip() {
    let reading = clock(&play(""));
    assert_eq!((reading.offset_ns, reading.replies), (AHEAD_NS as i64, 2));
    assert_eq!(reading.round_trip_ns, 2 * MS);
    assert_eq!(reading.bound_ns(), MS + 1);
}

#[test]
fn stamps_are_corrected_on_request() {
    let ran = play(", stamps: { correct: true }");
    let latencies: Vec<u64> = ran.rows("said").iter().map(Measurement::response_ns).collect();
    assert_eq!(latencies, [MS, MS]);
    assert_eq!(ran.counted("said.ahead", Outcome::Ok), 0);
}

/// A loop knows nothing of the clock before its first reply.
#[test]
fn what_comes_before_the_first_reply_cannot_be_corrected() {
    let mut peer = WsPeer::new(|now_ns, _| vec![said(now_ns + AHEAD_NS)]);
    peer.greeting = vec![said(AHEAD_NS)];
    let text =
        scenario(", stamps: { correct: true }").replacen("- send", "- think: 1s\n    - send", 1);
    let ran = run_over(&text, &mut peer, Link::new(MS));
    assert_eq!(ran.counted("said", Outcome::Ok), 1);
    assert_eq!(ran.rows("said").len(), 0);
    assert_eq!(ran.total(|counts| counts.stamps_uncorrected), 1);
}

/// A number counts even if the stamp beside it is missing, and a message without both is one message.
#[test]
fn a_missing_stamp_loses_no_number() {
    let message = |number: u64| text(&format!("{{\"t\":\"said\",\"n\":{number}}}"));
    let mut peer = WsPeer::new(|_, _| (1..=4).map(message).collect());
    let ran = run_over(&scenario(", seq: /n, numbers: own"), &mut peer, Link::new(MS));
    assert_eq!(ran.counted("said.lost", Outcome::Ok), 0);
    assert_eq!(ran.counted("said.duplicated", Outcome::Ok), 4);
}

/// The generator gets no CPU for half a second in which messages go on coming: what is late because of
/// that is their lag.
#[test]
fn messages_that_a_loop_reads_late_have_that_as_their_lag() {
    let steps = scenario("")
        .replace("- send: hello\n      reply: { when: { /t: said } }\n", "- think: 1ms\n");
    let mut peer = CastPeer::new(|_, opened_ns| {
        let times = (1..80).map(|n| opened_ns + n * 100 * MS);
        times.map(|at_ns| (at_ns, vec![said(at_ns)])).collect()
    });
    let mut link = Link::new(MS);
    link.frozen = vec![(3 * S, 3 * S + 500 * MS)];
    let ran = run_over(&steps, &mut peer, link);
    let rows = ran.rows("said");
    assert_eq!(rows.len(), 79);
    let slowest = rows.iter().map(Measurement::response_ns).max();
    assert!(slowest > Some(400 * MS));
    let id = ran.plan.measures.iter().position(|m| m.name == "said");
    let deltas = ran.run.deltas.iter().flat_map(|delta| &delta.measures);
    for delta in deltas.filter(|delta| Some(delta.measure.index()) == id) {
        assert_eq!(delta.lag.count(), delta.response.count());
        assert!(delta.service.max() <= MS + MS / 100, "{}", delta.service.max());
        let late = delta.lag.max() > 0;
        assert_eq!(late, delta.response.max() > 2 * MS);
    }
}
