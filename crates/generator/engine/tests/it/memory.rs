//! The memory for what users save and what connections buffer.

use std::sync::Arc;

use engine::sim::{Link, Peer, PeerAction};
use engine::tables::budget::Budget;
use record::Outcome;

use crate::peers::{HttpPeer, WsPeer, ok};
use crate::support::{MS, Ran, run_over};

const KIB: usize = 1 << 10;
const EXHAUSTED: &str = "the generator's memory for saved values and buffers is used up";

fn scenario(steps: &str, users: u32) -> String {
    format!(
        "
name: memory
target: http://target.test/
options: {{ timeout: 2s, drain: 1s }}
sessions:
  main:
{steps}
arrivals:
  - {{ constant: {users}/s, for: 1s }}
  - {{ hold: 9s }}
"
    )
}

fn ran(text: &str, budget_kib: usize, peer: &mut dyn Peer) -> Ran {
    let link = Link { buffers: Arc::new(Budget::new((budget_kib * KIB) as u64)), ..Link::new(0) };
    run_over(text, peer, link)
}

fn stopped(ran: &Ran) -> u64 {
    ran.total(|counts| counts.users_stopped)
}

#[test]
fn users_save_as_much_as_there_is_memory_for() {
    let steps = "
    - get: /
      as: page
      save: { all: body }
    - think: 5s";
    // 100 KiB count as 128.
    let body = "x".repeat(100 * KIB);
    let mut peer = HttpPeer::new(|_| MS, |_| ok(&body));
    let ran = ran(&scenario(steps, 10), 512, &mut peer);
    let expected = [vec![Outcome::Ok; 4], vec![Outcome::NoMemory; 6]].concat();
    assert_eq!(ran.outcomes("page"), expected);
    assert_eq!(stopped(&ran), 6);
    assert!(ran.details().contains(&EXHAUSTED.to_owned()));
}

#[test]
fn memory_comes_back_when_sessions_end_and_values_are_replaced() {
    let steps = "
    - loop: 3
      steps:
        - { get: /, as: page, save: { all: body } }
    - set: { all: none }
    - get: /
      as: last
      save: { other: body }";
    let body = "x".repeat(100 * KIB);
    // One user after the other.
    let mut peer = HttpPeer::new(|_| MS, |_| ok(&body));
    let ran = ran(&scenario(steps, 5), 128, &mut peer);
    assert_eq!(ran.outcomes("page"), [Outcome::Ok; 15]);
    assert_eq!(ran.outcomes("last"), [Outcome::Ok; 5]);
}

#[test]
fn small_values_do_not_count() {
    let steps = "
    - get: /
      as: page
      save: { all: body }
    - think: 5s";
    let body = "x".repeat(15 * KIB);
    let mut peer = HttpPeer::new(|_| MS, |_| ok(&body));
    let ran = ran(&scenario(steps, 50), 64, &mut peer);
    assert_eq!(ran.outcomes("page"), [Outcome::Ok; 50]);
}

#[test]
fn a_computed_value_without_memory_stops_the_session() {
    let steps = "
    - get: /
      as: page
      save: { all: body }
    - set: { all: \"${all}${all}\" }
    - get: /
      as: never";
    let body = "x".repeat(100 * KIB);
    let mut peer = HttpPeer::new(|_| MS, |_| ok(&body));
    let ran = ran(&scenario(steps, 1), 128, &mut peer);
    assert_eq!(ran.outcomes("page"), [Outcome::Ok]);
    assert_eq!(ran.outcomes("never"), []);
    assert_eq!((stopped(&ran), ran.counted("connect", Outcome::NoMemory)), (1, 1));
}

/// Sends the head of a response and half of its body in pieces, and then no more.
fn half(bytes: usize) -> Vec<PeerAction> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {bytes}\r\n\r\n");
    let pieces = (0..bytes / 2 / KIB).map(|_| PeerAction::Send(vec![b'x'; KIB]));
    std::iter::once(PeerAction::Send(head.into_bytes())).chain(pieces).collect()
}

#[test]
fn a_response_that_is_buffered_counts() {
    let steps = "
    - get: /
      as: page
      save: { all: { from: body, default: none } }
    - get: /
      as: next";
    let mut first = true;
    let mut peer = HttpPeer::new(
        |_| MS,
        |_| match std::mem::take(&mut first) {
            true => half(1 << 20),
            false => ok("ok"),
        },
    );
    let ran = ran(&scenario(steps, 1), 256, &mut peer);
    assert_eq!(ran.outcomes("page"), [Outcome::NoMemory]);
    assert_eq!(ran.details(), [EXHAUSTED]);
    assert_eq!(ran.outcomes("next"), [Outcome::Ok]);
}

#[test]
fn a_body_that_nothing_reads_is_not_buffered() {
    let steps = "
    - get: /
      as: page";
    let mut peer = HttpPeer::new(
        |_| MS,
        |_| {
            let mut pieces = half(1 << 20);
            pieces.extend(half(1 << 20).into_iter().skip(1));
            pieces
        },
    );
    let ran = ran(&scenario(steps, 1), 64, &mut peer);
    assert_eq!(ran.outcomes("page"), [Outcome::Ok]);
}

#[test]
fn half_a_message_counts() {
    // A frame of 1 MiB, in pieces.
    let frame = [&[0x82, 127][..], &(1u64 << 20).to_be_bytes()].concat();
    let mut peer = WsPeer::new(|_, _| Vec::new());
    peer.greeting = std::iter::once(frame)
        .chain((0..512).map(|_| vec![0; KIB]))
        .map(PeerAction::Send)
        .collect();
    let steps = "
    - ws: /stream
    - expect: { when: { /x: 1 }, as: message }";
    let ran = ran(&scenario(steps, 1), 256, &mut peer);
    assert_eq!(ran.outcomes("message"), [Outcome::NoMemory]);
    assert_eq!(stopped(&ran), 1);
    assert_eq!(ran.details(), [EXHAUSTED]);
}

#[test]
fn a_document_counts_while_it_is_parsed() {
    let steps = "
    - get: /
      as: page
      save: { ids: \"$[*].id\" }";
    // 8 bytes each; of an object with a pair 512 bytes at most, so that some 20 KiB take more than 1 MiB.
    let body = format!("[{}{{\"id\":1}}]", "{\"id\":1},".repeat(2_300));
    for (budget_kib, expected) in [(1 << 10, Outcome::NoMemory), (4 << 10, Outcome::Ok)] {
        let mut peer = HttpPeer::new(|_| MS, |_| ok(&body));
        let ran = ran(&scenario(steps, 20), budget_kib, &mut peer);
        assert_eq!(ran.outcomes("page"), vec![expected; 20], "{budget_kib}");
        let is_refused = expected == Outcome::NoMemory;
        assert_eq!(ran.details().contains(&EXHAUSTED.to_owned()), is_refused);
    }
}

#[test]
fn a_page_counts_while_it_is_searched() {
    let steps = "
    - loop: 3
      steps:
        - { get: /, as: page, save: { title: { css: title } } }";
    let body = format!("<title>x</title>{}", "<p>x".repeat(2 * KIB));
    let page = |budget_kib| {
        let mut peer = HttpPeer::new(|_| MS, |_| ok(&body));
        ran(&scenario(steps, 1), budget_kib, &mut peer).outcomes("page")
    };
    assert_eq!(page(256), [Outcome::NoMemory]);
    assert_eq!(page(4 * KIB), [Outcome::Ok; 3]);
}
