//! Numbered messages: what each user got, and when.

use engine::sim::{Link, PeerAction};
use record::Outcome;

use crate::peers::{WsPeer, frame, text};
use crate::support::{MS, Ran, run, run_over};

fn scenario(users: u32, message: &str) -> String {
    format!(
        "
name: pushes
target: http://target.test/
messages:
  said: {{ when: {{ /t: said }}, seq: /n, {message} }}
sessions:
  main:
    - ws: /stream
    - send: hello
    - expect: {{ when: {{ /n: 4 }}, within: 900ms }}
    - think: 1s
arrivals: [ {{ constant: {users}/s, for: 1s }}, {{ hold: 9s }} ]
"
    )
}

fn said(number: u64, room: &str) -> PeerAction {
    text(&format!("{{\"t\":\"said\",\"n\":{number},\"room\":\"{room}\",\"at\":0}}"))
}

fn counted(ran: &Ran) -> [u64; 4] {
    let names = ["said", "said.lost", "said.duplicated", "said.out_of_order"];
    names.map(|name| ran.counted(name, Outcome::Ok))
}

#[test]
fn lost_repeated_and_late_messages_are_counted() {
    for (numbers, expected) in [
        (&[1, 2, 3][..], [3, 0, 0, 0]),
        (&[1, 3, 2, 5], [4, 1, 0, 1]),
        (&[7, 7, 8, 7], [4, 0, 2, 0]),
        (&[1, 100], [2, 98, 0, 0]),
        // The message that a step waits for is one of them.
        (&[3, 4, 5], [2, 0, 0, 0]),
    ] {
        let mut peer = WsPeer::new(|_, _| numbers.iter().map(|&n| said(n, "a")).collect());
        let ran = run(&scenario(1, ""), &mut peer);
        assert_eq!(counted(&ran), expected, "{numbers:?}");
    }
}

#[test]
fn sequences_are_tracked_separately() {
    let messages = || vec![said(1, "a"), said(9, "b"), said(2, "a"), said(11, "b")];
    let mut peer = WsPeer::new(|_, _| messages());
    let ran = run(&scenario(1, "key: /room"), &mut peer);
    assert_eq!(counted(&ran), [4, 1, 0, 0]);
    let mut peer = WsPeer::new(|_, _| messages());
    let ran = run(&scenario(1, ""), &mut peer);
    assert_eq!(counted(&ran), [4, 7, 0, 1]);
}

#[test]
fn a_message_without_its_number_is_reported() {
    let mut peer = WsPeer::new(|_, _| {
        vec![
            text("{\"t\":\"said\"}"),
            text("{\"t\":\"said\",\"n\":-1}"),
            PeerAction::Send(frame(0x81, b"{\"t\":\"said\",\"n\":\"12\"}")),
        ]
    });
    let ran = run(&scenario(1, ""), &mut peer);
    assert_eq!(ran.counted("said", Outcome::Save), 2);
    assert_eq!(ran.counted("said.unreadable", Outcome::Ok), 2);
    assert_eq!(counted(&ran), [1, 0, 0, 0]);
}

/// The shard reports when its first and last user got a message, stamped or not.
#[test]
fn broadcasts_have_a_first_and_a_last_receiver() {
    for (message, sent_ns) in [("sent_at: /at, unit: s", 0), ("key: /room", 4 * MS)] {
        let mut greeted = 0;
        let mut peer = WsPeer::new(|_, _| {
            greeted += 1;
            vec![said(1, "a"), said(greeted, "b")]
        });
        let ran = run_over(&scenario(2, message), &mut peer, Link::new(MS));
        let broadcasts = ran.run.deltas.iter().flat_map(|delta| &delta.broadcasts);
        let times: Vec<_> = broadcasts
            .map(|b| (b.number, b.sent_ns, b.first_ns, b.last_ns))
            .filter(|(number, ..)| *number == 1)
            .collect();
        // Users come at 0 and 500 ms; 4 ms to open, 2 to be answered.
        let last_ns = 506 * MS;
        let sent_ns = if sent_ns == 0 { 0 } else { 6 * MS };
        assert!(times.contains(&(1, sent_ns, 6 * MS, last_ns)), "{times:?}");
    }
}

/// A user that restarts or leaves keeps no state.
#[test]
fn messages_missing_at_the_end_are_lost_once() {
    let text = "
name: restarts
target: http://target.test/
messages:
  said: { when: { /t: said }, seq: /n }
sessions:
  main:
    - ws: /stream
    - send: hello
    - think: 1s
arrivals: [ { users: 1, for: 3500ms } ]
";
    let mut peer = WsPeer::new(|_, _| vec![said(1, ""), said(3, "")]);
    let ran = run(text, &mut peer);
    assert_eq!(counted(&ran), [8, 4, 0, 0]);
}

/// Nobody could add up what lies between.
#[test]
fn a_number_far_ahead_restarts_its_sequence_and_is_counted() {
    let far = 1 << 40;
    let numbers = [1, far, 3, far + 2];
    let mut peer = WsPeer::new(|_, _| numbers.iter().map(|&n| said(n, "a")).collect());
    let ran = run(&scenario(1, ""), &mut peer);
    assert_eq!(counted(&ran), [4, 1, 0, 1]);
    assert_eq!(ran.total(|counts| counts.numbers_unaccounted), 1);
}

#[test]
fn a_stamp_from_before_the_run_gives_no_time() {
    let old = |number| text(&format!("{{\"t\":\"said\",\"n\":{number},\"at\":-5}}"));
    // The last one is what the step waits for.
    let mut peer = WsPeer::new(|_, _| vec![old(1), said(2, "a"), old(4)]);
    let ran = run(&scenario(1, "sent_at: /at, unit: s"), &mut peer);
    assert_eq!(counted(&ran), [2, 1, 0, 0]);
    assert_eq!(ran.rows("said").len(), 1);
    assert_eq!(ran.total(|counts| counts.stamps_before), 2);
    let broadcasts = ran.run.deltas.iter().flat_map(|delta| &delta.broadcasts);
    assert_eq!(broadcasts.map(|broadcast| broadcast.number).collect::<Vec<_>>(), [2]);
}
