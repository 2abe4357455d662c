//! Due, sent, done: what is measured, against figures worked out on paper.

use engine::sim::Link;
use record::Outcome;

use crate::peers::{HttpPeer, WsPeer, ok, response, text};
use crate::support::{MS, S, run, run_over};

/// Answers after 1 ms, but stalls for the last second of every ten.
fn stalling(now_ns: u64) -> u64 {
    let phase = now_ns % (10 * S);
    if phase >= 9 * S { 10 * S - phase + MS } else { MS }
}

#[test]
fn a_stall_counts_from_when_each_request_was_due() {
    let text = "
name: stall
target: http://target.test/
options: { http_connections: shared }
sessions:
  main:
    - get: /
      as: request
arrivals:
  - { constant: 500/s, for: 30s }
";
    let ran = run(text, &mut HttpPeer::new(stalling, |_| ok("ok")));
    let rows = ran.rows("request");
    let due: Vec<u64> = (0..15_000).map(|i| i * 2 * MS).collect();
    assert!(rows.iter().map(|row| row.due_ns).eq(due), "one every 2 ms");
    for row in &rows {
        assert_eq!(row.outcome, Outcome::Ok);
        assert_eq!(row.lag_ns(), 0);
        assert_eq!(row.response_ns(), stalling(row.due_ns), "due at {}", row.due_ns);
    }
    let mut responses: Vec<u64> = rows.iter().map(record::Measurement::response_ns).collect();
    responses.sort_unstable();
    let at = |share: f64| responses[(share * 15_000.0) as usize - 1] / MS;
    // 1,500 of 15,000 meet a stall and wait for what is left of it: 3 each of 1000, 998, … 2 ms.
    assert_eq!((at(0.5), at(0.95), at(0.99), at(1.0)), (1, 501, 901, 1001));
}

#[test]
fn a_frozen_generator_reports_its_lag() {
    let text = "
name: frozen
target: http://target.test/
options: { http_connections: shared }
sessions:
  main:
    - get: /
      as: request
arrivals:
  - { constant: 100/s, for: 10s }
";
    let mut link = Link::new(0);
    link.frozen = vec![(5 * S, 6 * S)];
    let ran = run_over(text, &mut HttpPeer::new(|_| MS, |_| ok("ok")), link);
    for row in ran.rows("request") {
        let lag_ns = if (5 * S..6 * S).contains(&row.due_ns) { 6 * S - row.due_ns } else { 0 };
        assert_eq!(row.lag_ns(), lag_ns, "due at {}", row.due_ns);
        assert_eq!(row.service_ns(), MS);
        assert_eq!(row.response_ns(), lag_ns + MS);
    }
}

/// The generator has no CPU while a connection, an answer or a redirect comes: the target waits for it, not it for the
/// target.
#[test]
fn what_is_read_late_on_the_way_to_an_answer_is_the_generators_part_of_it() {
    let text = "
name: late
target: http://target.test/
options: { redirects: 3 }
sessions:
  main:
    - get: /
      as: request
arrivals:
  - { constant: 1/s, for: 5s }
";
    let mut link = Link::new(MS);
    // An answer takes 304 ms: the connection of the second came 400 ms before it was seen, the answer to the third 300 ms,
    // and the redirect of the fourth 500 ms.
    link.frozen = vec![
        (S + MS, S + 402 * MS),
        (2 * S + 204 * MS, 2 * S + 604 * MS),
        (3 * S + 204 * MS, 3 * S + 804 * MS),
    ];
    let mut requests = 0;
    let respond = |_: &str| {
        requests += 1;
        match requests {
            4 => response("302 Found", "location: /again\r\n", ""),
            _ => ok("ok"),
        }
    };
    let ran = run_over(text, &mut HttpPeer::new(|_| 300 * MS, respond), link);
    let services = ran.rows("request").into_iter().map(|row| row.service_ns() / MS);
    assert_eq!(services.collect::<Vec<_>>(), [304, 704, 604, 1106, 304]);
    let late = ran.deltas("request").map(|delta| &delta.late);
    let late: Vec<u64> = late.filter(|late| !late.is_empty()).map(|late| late.max() / MS).collect();
    assert_eq!(late, [400, 300, 500]);
}

#[test]
fn a_step_after_a_think_is_due_at_the_reply_plus_the_think() {
    let text = "
name: think
target: http://target.test/
sessions:
  main:
    - get: /
      as: first
    - think: 2s
    - get: /
      as: second
arrivals:
  - { constant: 1/s, for: 1s }
  - { hold: 9s }
";
    let ran = run_over(text, &mut HttpPeer::new(|_| 30 * MS, |_| ok("ok")), Link::new(10 * MS));
    let first = ran.rows("first")[0];
    let second = ran.rows("second")[0];
    // Connect there and back, request there, 30 ms, response back.
    assert_eq!((first.due_ns, first.done_ns), (0, 70 * MS));
    assert_eq!(second.due_ns, 70 * MS + 2 * S);
    assert_eq!(second.response_ns(), 50 * MS);
    assert_eq!(ran.rows("connect")[0].response_ns(), 20 * MS);
}

#[test]
fn a_pace_is_a_schedule_that_replies_cannot_delay() {
    let text = "
name: pace
target: http://target.test/
sessions:
  main:
    - forever:
        - pace: 100ms
        - get: /
          as: request
arrivals:
  - { constant: 1/s, for: 1s }
  - { hold: 9s }
";
    // From 3 s to 4 s nothing is answered.
    let delay = |now_ns| {
        if (3 * S..4 * S).contains(&now_ns) { 4 * S - now_ns } else { MS }
    };
    let ran = run(text, &mut HttpPeer::new(delay, |_| ok("ok")));
    let rows = ran.rows("request");
    for (place, row) in rows.iter().enumerate() {
        assert_eq!(row.due_ns, place as u64 * 100 * MS);
    }
    assert_eq!(rows[30].response_ns(), S);
    // Due at 3.1 s, sent at 4 s when the user was free: 900 ms of waiting are the target's.
    assert_eq!(rows[31].sent_ns, 4 * S);
    assert_eq!(rows[31].response_ns(), 901 * MS);
    assert_eq!(rows[60].response_ns(), MS);
    let lag_max = ran.run.deltas.iter().map(|delta| delta.lag.max()).max();
    assert_eq!(lag_max, Some(0), "the user's own waiting is no fault of the generator");
}

#[test]
fn the_age_of_a_pushed_message_counts_from_its_stamp() {
    let scenario = "
name: broadcast
target: http://target.test/
messages:
  update: { when: { /type: update }, sent_at: /at, as: broadcast }
sessions:
  main:
    - ws: /stream
    - send: { op: go }
      reply: { when: { /re: go } }
    - think: 5s
arrivals:
  - { constant: 1/s, for: 1s }
  - { hold: 9s }
";
    let mut peer = WsPeer::new(|now_ns, _| {
        let stamp = now_ns as f64 / 1e6 - 40.0;
        vec![
            text(&format!(r#"{{"type":"update","at":{stamp}}}"#)),
            text(r#"{"re":"go"}"#),
            text(r#"{"type":"other"}"#),
        ]
    });
    // The stamp must not lie before the run's zero, which is the link's business here.
    let ran = run_over(scenario, &mut peer, Link::new(50 * MS));
    assert_eq!(ran.rows("broadcast")[0].response_ns(), 90 * MS);
    assert_eq!(ran.total(|counts| counts.unmatched), 1);
}

#[test]
fn the_users_peak_is_that_within_the_second() {
    let text = "
name: peak
target: http://target.test/
sessions:
  main: [ { get: / } ]
arrivals: [ { constant: 100/s, for: 100ms }, { hold: 2s } ]
";
    let ran = run(text, &mut HttpPeer::new(|_| 50 * MS, |_| ok("ok")));
    let gauges = ran.run.deltas.iter().map(|delta| delta.gauges);
    let users: Vec<_> = gauges.map(|g| (g.users, g.users_peak)).collect();
    // Each stays for 50 ms, and one comes every 10 ms.
    // A reply at the very end of an interval counts to the next one.
    assert_eq!(users[..3], [(5, 5), (0, 5), (0, 0)]);
}

#[test]
fn an_interval_says_how_late_it_was_closed() {
    let text = "
name: late
target: http://target.test/
sessions:
  main: [ { get: / } ]
arrivals: [ { constant: 100/s, for: 6s } ]
";
    let mut link = Link::new(MS);
    link.frozen = vec![(2 * S + S / 2, 4 * S + S / 4)];
    let ran = run_over(text, &mut HttpPeer::new(|_| MS, |_| ok("ok")), link);
    let late = ran.run.deltas.iter().map(|delta| delta.gauges.closed_late_ns);
    let late: Vec<u64> = late.take(6).collect();
    assert_eq!(late, [0, 0, S + S / 4, S / 4, 0, 0]);
}

/// A generator that gets its CPU back finds a reply first, and that came now, not in the seconds before.
#[test]
fn what_comes_after_an_interval_is_not_counted_in_it() {
    let text = "
name: late
target: http://target.test/
sessions:
  main: [ { get: / } ]
arrivals: [ { constant: 1/s, for: 6s } ]
";
    let mut link = Link::new(MS);
    link.frozen = vec![(2 * S + S / 2, 4 * S + S / 4)];
    let ran = run_over(text, &mut HttpPeer::new(|_| 700 * MS, |_| ok("ok")), link);
    let request = ran.plan.measures.iter().position(|m| m.name == "GET /");
    let done_in = |from: u64| -> u64 {
        let deltas = ran.run.deltas.iter().filter(|delta| delta.start_ns == from);
        let own = deltas.flat_map(|delta| &delta.measures);
        let own = own.filter(|m| Some(m.measure.index()) == request);
        own.map(|m| m.response.count()).sum()
    };
    let done: Vec<u64> = (0..5).map(|second| done_in(second * S)).collect();
    // The reply to the third waited for the CPU, and with it two users who were due.
    assert_eq!(done, [1, 1, 0, 0, 3], "{:?}", ran.rows("GET /"));
}
