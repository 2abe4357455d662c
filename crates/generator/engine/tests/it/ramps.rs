//! Closed populations whose number of users rises and falls.

use engine::sim;
use record::Outcome;

use crate::peers::{HttpPeer, ok};
use crate::support::{MS, Ran, S, plan, run};

/// Sessions of 100 ms: a request, and a pause.
fn scenario(phases: &str) -> String {
    format!(
        "
name: ramps
target: http://target.test/
sessions:
  main:
    - get: /
      as: request
    - think: 90ms
arrivals:
{phases}
"
    )
}

const STAGES: &str = "
  - { users: 0..20, for: 10s }
  - { users: 20, for: 5s }
  - { users: 20..0, for: 10s }
";

fn ran(phases: &str) -> Ran {
    let mut peer = HttpPeer::new(|_| 10 * MS, |_| ok("ok"));
    run(&scenario(phases), &mut peer)
}

/// Users present at the end of each second.
fn present(ran: &Ran) -> Vec<u64> {
    let gauges = ran.run.deltas.iter().map(|delta| &delta.gauges);
    gauges.map(|gauges| gauges.users).collect()
}

#[test]
fn the_number_of_users_follows_its_line() {
    let ran = ran(STAGES);
    let found = present(&ran);
    // At the end of second n, 2(n + 1) users are to be present, rounded up. On the way down a user who is to
    // leave at that moment finishes its session first, which takes 100 ms at most.
    for (second, &users) in found.iter().take(10).enumerate() {
        assert_eq!(users, 2 * (second as u64 + 1), "{found:?}");
    }
    assert_eq!(found[10..15], [20; 5]);
    for (second, &users) in found[15..24].iter().enumerate() {
        let line = 20 - 2 * (second as u64 + 1);
        assert!((line..=line + 1).contains(&users), "{second}: {found:?}");
    }
    // Each of the twenty came once, and nobody stayed into the drain for longer than a session.
    let started = ran.total(|counts| counts.users_started - counts.users_repeated);
    assert_eq!(started, 20);
    assert!(ran.run.ended_ns <= 25 * S + 200 * MS, "{}", ran.run.ended_ns);
    assert!(ran.outcomes("request").iter().all(|&o| o == Outcome::Ok));
}

/// User n is due when the line reaches n, and its sessions follow each other; those who came last leave first.
#[test]
fn users_come_and_leave_in_order_and_finish_their_sessions() {
    let ran = ran(STAGES);
    let rows = ran.rows("request");
    for user in 0..20 {
        let of_user = || rows.iter().filter(|row| row.user == user);
        let first = of_user().map(|row| row.due_ns).min().unwrap();
        let last = of_user().map(|row| row.due_ns).max().unwrap();
        assert_eq!(first, user * 500 * MS);
        let leaves_ns = 15 * S + (20 - user) * 500 * MS;
        assert!((leaves_ns - 100 * MS..leaves_ns).contains(&last), "{user}: {last}");
    }
    let finished = ran.total(|counts| counts.users_finished);
    assert_eq!(finished, rows.len() as u64);
}

#[test]
fn users_who_are_too_many_leave_between_phases_and_new_ones_come() {
    let ran = ran("
  - { users: 8..10, for: 2s }
  - { users: 3, for: 2s }
  - { users: 5, for: 2s }
");
    let found = present(&ran);
    // Those who leave at 2 s are there until their sessions end.
    assert_eq!([found[0], found[2], found[3], found[4]], [9, 3, 3, 5]);
    let started = ran.total(|counts| counts.users_started - counts.users_repeated);
    assert_eq!(started, 8 + 2 + 2);
}

/// As rows of a run with one loop, those with several.
#[test]
fn a_ramp_is_the_same_with_any_number_of_loops() {
    let plan = plan(&scenario(STAGES));
    let rows = |loops| {
        let mut peer = HttpPeer::new(|_| 10 * MS, |_| ok("ok"));
        let run = sim::run(&plan, loops, &mut peer, sim::Link::new(0)).unwrap();
        let mut rows: Vec<_> =
            run.rows.iter().map(|row| (row.user, row.due_ns, row.done_ns)).collect();
        rows.sort_unstable();
        rows
    };
    let one = rows(1);
    assert!(one.len() > 1000);
    assert_eq!(one, rows(3));
}
