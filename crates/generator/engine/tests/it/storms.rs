//! Starts that wait while many connections are being set up (`options.connecting_max`).

use engine::sim::{Link, Packet, Verdict};
use record::{Measurement, Outcome};

use crate::peers::{HttpPeer, WsPeer, ok};
use crate::support::{MS, Ran, S, run_over};

/// Ten users, 1 ms apart, whose first step takes connections over a link of 50 ms.
fn storm(option: &str, step: &str) -> String {
    format!(
        "
name: storm
target: http://target.test/
options: {{ {option} }}
sessions:
  main: [ {step}, {{ think: 5s }} ]
arrivals:
  - {{ constant: 1000/s, for: 10ms }}
  - {{ hold: 10s }}
"
    )
}

/// How many of these operations were under way at once, at most.
fn overlap(rows: &[Measurement]) -> usize {
    let under_way =
        |at_ns: u64| rows.iter().filter(|row| row.sent_ns <= at_ns && at_ns < row.done_ns).count();
    rows.iter().map(|row| under_way(row.sent_ns)).max().unwrap_or(0)
}

fn upgrades(option: &str) -> Ran {
    let mut peer = WsPeer::new(|_, _| Vec::new());
    run_over(&storm(option, "{ ws: / }"), &mut peer, Link::new(50 * MS))
}

#[test]
fn connecting_max_limits_connections_being_set_up() {
    let ran = upgrades("connecting_max: 3");
    let rows = ran.rows("handshake");
    assert_eq!(overlap(&rows), 3);
    assert_eq!(ran.outcomes("handshake"), [Outcome::Ok; 10]);
    // The first three find room; each of the others waits for one to be done.
    assert_eq!(ran.total(|counts| counts.users_held), 7);
    let last = rows.last().expect("ten rows");
    assert_eq!(last.due_ns, 9 * MS, "counted from when it was due");
    assert!(last.lag_ns() > 400 * MS, "it waited {} ns", last.lag_ns());
}

#[test]
fn users_that_never_start_wait_too() {
    // A target that takes no connection.
    let link = Link {
        rule: Box::new(|_, packet| match packet {
            Packet::Connect => Verdict::Drop,
            _ => Verdict::Pass,
        }),
        ..Link::new(0)
    };
    let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
    let text = storm("connecting_max: 2, connect_timeout: 60s", "{ get: / }");
    let ran = run_over(&text, &mut peer, link);
    assert_eq!(ran.total(|counts| counts.users_started), 2);
    // The third waits, the others behind it.
    assert_eq!(ran.total(|counts| counts.users_held), 1);
}

#[test]
fn without_a_limit_all_are_set_up_at_once() {
    let ran = upgrades("");
    assert_eq!(overlap(&ran.rows("handshake")), 10);
    assert_eq!(ran.total(|counts| counts.users_held), 0);
}

#[test]
fn failed_connections_make_room_for_held_users() {
    let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
    let mut left = [Verdict::Refuse; 6].into_iter();
    let link = Link {
        rule: Box::new(move |_, packet| match packet {
            Packet::Connect => left.next().unwrap_or(Verdict::Pass),
            _ => Verdict::Pass,
        }),
        ..Link::new(50 * MS)
    };
    let text = storm("connecting_max: 2", "{ get: /, as: page }");
    let ran = run_over(&text, &mut peer, link);
    let connects = ran.rows("connect");
    assert_eq!(overlap(&connects), 2);
    assert_eq!(connects.len(), 10);
    let good = ran.outcomes("page").iter().filter(|&&o| o == Outcome::Ok).count();
    assert_eq!(good, 4);
    assert!(ran.run.ended_ns >= 10 * S);
}
