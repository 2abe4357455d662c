//! Arrivals that are paused and resumed while a run continues.

use engine::sim::{self, Link};
use record::Outcome;

use crate::peers::{HttpPeer, ok};
use crate::support::{MS, Ran, S, plan, run_over};

fn paused(pauses: &[(u64, u64)]) -> Link<'static> {
    Link { pauses: pauses.to_vec(), ..Link::new(0) }
}

fn ran(text: &str, pauses: &[(u64, u64)]) -> Ran {
    let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
    run_over(text, &mut peer, paused(pauses))
}

/// Users started, and users that were due in a pause, second by second.
fn by_second(ran: &Ran) -> Vec<(u64, u64)> {
    let deltas = ran.run.deltas.iter();
    deltas.map(|delta| (delta.counts.users_started, delta.counts.users_paused)).collect()
}

const OPEN: &str = "
name: paused
target: http://target.test/
sessions:
  main:
    - get: /
      as: first
    - think: 2s
    - get: /
      as: second
arrivals:
  - { constant: 10/s, for: 5s }
  - { hold: 3s }
";

/// Users are due every 100 ms. Those of the pause never come, and the load that follows is the one
/// that was planned for then; nobody is late for it.
#[test]
fn users_due_in_a_pause_are_skipped_and_present_ones_continue() {
    let ran = ran(OPEN, &[(1_050 * MS, 3_050 * MS)]);
    assert_eq!(by_second(&ran)[..5], [(10, 0), (1, 9), (0, 10), (9, 1), (10, 0)]);
    assert_eq!(ran.outcomes("first"), [Outcome::Ok; 30]);
    assert_eq!(ran.outcomes("second"), [Outcome::Ok; 30]);
    let first = ran.rows("first");
    let numbers: Vec<u64> = first.iter().map(|row| row.user).collect();
    let expected: Vec<u64> = (0..11).chain(31..50).collect();
    assert_eq!(numbers, expected, "the others keep their numbers");
    for row in &first {
        assert_eq!(row.due_ns, row.user * 100 * MS);
    }
    let longest = ran.run.rows.iter().map(record::Measurement::lag_ns).max();
    assert_eq!(longest, Some(0));
    assert!(ran.run.ended_ns >= 7 * S, "the run keeps its length");
}

#[test]
fn pauses_may_follow_each_other_and_last_to_the_end() {
    let ran = ran(OPEN, &[(S, 2 * S), (3 * S, 99 * S)]);
    assert_eq!(by_second(&ran)[..5], [(10, 0), (0, 10), (10, 0), (0, 10), (0, 10)]);
}

#[test]
fn a_paused_run_is_the_same_with_any_number_of_loops() {
    let plan = plan(&OPEN.replace("constant: 10/s", "poisson: 40/s"));
    let of = |shards_count| {
        let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
        let link = paused(&[(700 * MS, 1_900 * MS)]);
        let run = sim::run(&plan, shards_count, &mut peer, link).expect("the plan can be run");
        let passed: u64 = run.deltas.iter().map(|d| d.counts.users_paused).sum();
        let users = run.rows.iter().map(|row| (row.user, row.due_ns));
        (passed, users.collect::<Vec<_>>())
    };
    let one = of(1);
    assert!(one.0 > 20, "{} were due in the pause", one.0);
    assert_eq!(of(2), one);
    assert_eq!(of(5), one);
}

/// Closed populations and single users are meant to be present: they start when the pause
/// is over, and are due then.
#[test]
fn populations_and_single_users_start_when_the_pause_is_over() {
    let text = "
name: paused
target: http://target.test/
sessions:
  main: [ { get: /, as: request }, { think: 1s } ]
  alone: [ { get: /, as: alone } ]
arrivals:
  - { users: 4, for: 6s, session: main }
  - { at: 1500ms, session: alone }
";
    let mut peer = HttpPeer::new(|_| 0, |_| ok("ok"));
    let ran = run_over(text, &mut peer, paused(&[(0, 2_500 * MS)]));
    assert_eq!(ran.total(|counts| counts.users_paused), 5);
    let requests = ran.rows("request");
    let first = requests.iter().map(|row| row.due_ns).min();
    assert_eq!(first, Some(2_500 * MS));
    // From 2.5 s on, every second until the phase ends.
    assert_eq!(requests.len(), 4 * 4);
    let alone = ran.rows("alone");
    assert_eq!((alone[0].due_ns, alone[0].lag_ns()), (2_500 * MS, 0), "the pause is no lag");
}

#[test]
fn after_a_pause_only_populations_of_running_phases_return() {
    let text = "
name: paused
target: http://target.test/
sessions:
  main: [ { get: /, as: request }, { think: 1s } ]
arrivals:
  - { users: 5, for: 4s }
  - { users: 3, for: 2s }
  - { hold: 2s }
";
    let mut peer = HttpPeer::new(|_| 0, |_| ok("ok"));
    let ran = run_over(text, &mut peer, paused(&[(500 * MS, 6_500 * MS)]));
    assert_eq!(ran.outcomes("request"), [Outcome::Ok; 5 * 4]);
    assert_eq!(ran.total(|counts| counts.users_paused), 3);
}

#[test]
fn a_run_until_done_waits_for_users_of_a_pause() {
    let text = "
name: paused
target: http://target.test/
sessions:
  main: [ { get: /, as: request } ]
arrivals:
  - { at: 1s, session: main }
  - { hold: 60s, until: done }
";
    let mut peer = HttpPeer::new(|_| 0, |_| ok("ok"));
    let ran = run_over(text, &mut peer, paused(&[(500 * MS, 10 * S)]));
    assert_eq!(ran.rows("request")[0].due_ns, 10 * S);
    assert_eq!(ran.run.ended_ns, 10 * S);
}
