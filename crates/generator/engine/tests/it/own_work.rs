//! Work of our own: what is computed for a step takes time, which is neither the target's nor lost.

use std::io::Write;

use engine::sim::{Link, PeerAction};
use flate2::Compression;
use flate2::write::GzEncoder;
use record::schema::{StepWork, WorkKind};

use crate::http2_peer::{self, Http2Peer};
use crate::peers::{HttpPeer, ok};
use crate::support::{MS, Ran, S, run_over};

/// One user that takes these steps.
fn scenario(target: &str, steps: &str) -> String {
    format!(
        "
name: own_work
target: {target}
options: {{ timeout: 1s, accept_encoding: [gzip] }}
sessions:
  main:
{steps}
arrivals: [ {{ constant: 1/s, for: 1s }}, {{ hold: 4s }} ]
"
    )
}

/// Each kind of work takes a time of its own.
fn work_ns(kind: WorkKind) -> u64 {
    match kind {
        WorkKind::Step => 8 * MS,
        WorkKind::Encoding => 15 * MS,
        WorkKind::Decoding => 5 * MS,
        WorkKind::Save => 13 * MS,
    }
}

fn ran(latency_ns: u64, steps: &str, answer: &[PeerAction]) -> Ran {
    let mut peer = HttpPeer::new(|_| MS, |_| answer.to_vec());
    let link = Link { work_ns, ..Link::new(latency_ns) };
    run_over(&scenario("http://target.test/", steps), &mut peer, link)
}

/// When the operations of a measure were due, sent and done, in milliseconds.
fn times(ran: &Ran, measure: &str) -> Vec<[u64; 3]> {
    let rows = ran.rows(measure);
    rows.iter().map(|row| [row.due_ns, row.sent_ns, row.done_ns].map(|ns| ns / MS)).collect()
}

/// All work of a run, by its kind and step.
fn work(ran: &Ran) -> Vec<(WorkKind, String, u64, u64)> {
    let mut all: Vec<StepWork> = Vec::new();
    for work in ran.run.deltas.iter().flat_map(|delta| &delta.own_work) {
        work.add_to(&mut all);
    }
    let name = |work: &StepWork| match (work.measure, &work.own_step) {
        (Some(measure), _) => ran.plan.measures[usize::from(measure)].name.clone(),
        (None, step) => step.clone().unwrap_or_default(),
    };
    all.iter().map(|work| (work.kind, name(work), work.count, work.total_ns / MS)).collect()
}

#[test]
fn an_answer_is_done_when_it_came_and_the_next_request_is_sent_once_values_are_saved() {
    let steps =
        "    - { get: /page, as: page, save: { all: body } }\n    - { get: /fast, as: fast }";
    let ran = ran(0, steps, &ok("a page"));
    assert_eq!(times(&ran, "page"), [[0, 0, 1]]);
    assert_eq!(times(&ran, "fast"), [[1, 14, 15]]);
    assert_eq!(work(&ran), [(WorkKind::Save, "page".to_owned(), 1, 13)]);
    let lags = ran.deltas("fast").map(|delta| delta.lag.max());
    // The histogram rounds.
    assert!(lags.max().is_some_and(|lag_ns| lag_ns.abs_diff(13 * MS) < MS / 10));
}

#[test]
fn others_who_are_due_meanwhile_are_late_by_the_rest_of_it() {
    let text =
        scenario("http://target.test/", "    - { get: /page, as: page, save: { all: body } }");
    let text = text.replace("constant: 1/s, for: 1s", "constant: 250/s, for: 8ms");
    let mut peer = HttpPeer::new(|_| MS, |_| ok("a page"));
    let ran = run_over(&text, &mut peer, Link { work_ns, ..Link::new(0) });
    // The second is due at 4 ms; the first works from 1 ms to 14 ms.
    assert_eq!(times(&ran, "page"), [[0, 0, 1], [4, 14, 15]]);
}

#[test]
fn a_request_is_sent_once_it_is_signed() {
    let steps = "    - { get: /, as: page }
    - { get: /pay, as: pay, headers: { x-digest: \"${sha256(user)}\" } }";
    let signed = ran(0, steps, &ok("ok"));
    assert_eq!(times(&signed, "pay"), [[1, 16, 17]]);
    assert_eq!(work(&signed), [(WorkKind::Encoding, "pay".to_owned(), 1, 15)]);
}

#[test]
fn what_is_signed_once_a_connection_is_there_is_no_time_of_its_server() {
    let steps = "    - { get: /pay, as: pay, headers: { x-digest: \"${sha256(user)}\" } }";
    // The connection takes 4 ms, the answer 5 ms.
    assert_eq!(times(&ran(2 * MS, steps, &ok("ok")), "pay"), [[0, 15, 24]]);
    assert_eq!(times(&ran(0, steps, &ok("ok")), "pay"), [[0, 15, 16]]);
}

#[test]
fn all_that_branches_send_in_one_turn_leaves_behind_the_work_of_all() {
    let steps = "    - { get: /, as: page }
    - parallel:
        - { get: /b, as: b, headers: { x-digest: \"${sha256(user)}\" } }
        - { get: /c, as: c, headers: { x-digest: \"${sha256(user)}\" } }";
    let mut peer = Http2Peer::new(MS, |got: &http2_peer::Got| http2_peer::ok(got, "ok"));
    let text = scenario("{ url: 'http://target.test/', http: 2 }", steps);
    let ran = run_over(&text, &mut peer, Link { work_ns, ..Link::new(0) });
    assert_eq!(times(&ran, "b"), [[1, 31, 32]]);
    assert_eq!(times(&ran, "c"), [[1, 31, 32]]);
}

#[test]
fn a_step_in_javascript_delays_the_request_behind_it() {
    let steps = "    - { js: \"return { n: 1 }\", sets: [ n ] }\n    - { get: /, as: page }";
    let ran = ran(0, steps, &ok("ok"));
    assert_eq!(times(&ran, "page"), [[0, 8, 9]]);
    assert_eq!(work(&ran), [(WorkKind::Step, "`js`".to_owned(), 1, 8)]);
}

#[test]
fn a_body_is_decompressed_and_read_on_our_own_account() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(b"a page").expect("a Vec takes all");
    let body = encoder.finish().expect("a Vec takes all");
    let length = body.len();
    let head =
        format!("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {length}\r\n\r\n");
    let answer = [PeerAction::Send([head.as_bytes(), body.as_slice()].concat())];
    let steps =
        "    - { get: /page, as: page, save: { all: body } }\n    - { get: /fast, as: fast }";
    let ran = ran(0, steps, &answer);
    assert_eq!(times(&ran, "page"), [[0, 0, 1]]);
    assert_eq!(times(&ran, "fast"), [[1, 19, 20]]);
    let expected =
        [(WorkKind::Decoding, "page".to_owned(), 1, 5), (WorkKind::Save, "page".to_owned(), 1, 13)];
    assert_eq!(work(&ran), expected);
}

#[test]
fn steps_that_compute_nothing_are_not_timed() {
    let steps = "    - { get: \"/${user}/${uuid()}\", as: page, save: { code: status }, check: code == 200 }
    - { post: /pay, as: pay, json: { user: \"${user}\" } }";
    let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
    let text = scenario("http://target.test/", steps);
    let ran = run_over(&text, &mut peer, Link { work_ns: |_| S, ..Link::new(0) });
    assert_eq!(times(&ran, "pay"), [[1, 1, 2]]);
    assert!(work(&ran).is_empty());
}
