//! Closed populations that begin a number of sessions.

use engine::sim::{self, Link, SimRun};
use plan::builtin;
use record::Measurement;

use crate::peers::{HttpPeer, ok, response};
use crate::support::{MS, Ran, S, plan, run};

fn scenario(phases: &str) -> String {
    format!(
        "
name: iterations
target: http://target.test/
sessions:
  main: [ {{ get: /, as: request }}, {{ think: 5ms..50ms }} ]
  other: {{ weight: 0, steps: [ {{ get: /other, as: other }} ] }}
arrivals:
{phases}
"
    )
}

/// Answers after a time that differs from request to request.
fn ran(phases: &str, shards: u32) -> SimRun {
    let mut peer = HttpPeer::new(|n| (1 + n % 7) * MS, |_| ok("ok"));
    sim::run(&plan(&scenario(phases)), shards, &mut peer, Link::new(MS))
        .expect("the plan can be run")
}

/// The requests, one for each session.
fn requests(run: &SimRun) -> impl Iterator<Item = &Measurement> {
    run.rows.iter().filter(|row| row.measure != builtin::CONNECT.0)
}

/// The sessions that each user began.
fn by_user(run: &SimRun, users: u64) -> Vec<u64> {
    (0..users).map(|user| requests(run).filter(|row| row.user == user).count() as u64).collect()
}

fn sessions_begun(run: &SimRun) -> u64 {
    run.deltas.iter().map(|delta| delta.counts.users_started).sum()
}

#[test]
fn users_share_a_number_of_sessions_exactly_on_any_number_of_loops() {
    for shards in [1, 2, 7] {
        for users in [1, 3, 10, 100] {
            let run = ran(&format!("  - {{ users: {users}, iterations: 1000, for: 10m }}"), shards);
            assert_eq!(requests(&run).count(), 1000, "{users} users on {shards}");
            assert_eq!(sessions_begun(&run), 1000, "{users} users on {shards}");
            assert!(by_user(&run, users).iter().all(|&sessions| sessions > 0));
            // It is over with its last user, not with its time.
            assert!(run.ended_ns < 60 * S, "{}", run.ended_ns);
        }
    }
}

#[test]
fn each_user_begins_its_number_of_sessions() {
    for shards in [1, 2, 7] {
        let run = ran("  - { users: 9, iterations: 20 each, for: 10m }", shards);
        assert_eq!(by_user(&run, 9), [20; 9], "on {shards}");
        assert_eq!(sessions_begun(&run), 180);
        assert!(run.ended_ns < 60 * S, "{}", run.ended_ns);
    }
}

/// Whoever is faster begins more of them: all users end at about the same time.
#[test]
fn who_is_free_takes_the_next_session() {
    let run = ran("  - { users: 10, iterations: 1000, for: 10m }", 2);
    let ends = (0..10).map(|user| {
        requests(&run).filter(|row| row.user == user).map(|row| row.done_ns).max().unwrap()
    });
    let ends: Vec<u64> = ends.collect();
    let apart_ns = ends.iter().max().unwrap() - ends.iter().min().unwrap();
    assert!(apart_ns < 100 * MS, "{ends:?}");
}

#[test]
fn the_time_of_the_phase_is_their_limit() {
    let run = ran("  - { users: 2, iterations: 1000, for: 1s }", 2);
    let sessions = requests(&run).count();
    assert!((20..1000).contains(&sessions), "{sessions}");
    assert!(run.ended_ns < 2 * S);
}

#[test]
fn sessions_that_fail_are_among_them() {
    let text = scenario("  - { users: 3, iterations: 30, for: 10m }");
    let mut peer = HttpPeer::new(|_| MS, |_| response("500 No", "", ""));
    let ran: Ran = run(&text, &mut peer);
    assert_eq!(ran.rows("request").len(), 30);
    assert_eq!(ran.total(|counts| counts.users_started), 30);
}

#[test]
fn phases_have_numbers_of_their_own() {
    for shards in [1, 7] {
        let run = ran(
            "
  - { users: 4, iterations: 40, for: 10s }
  - { users: 5, for: 1s }
  - { users: 3, iterations: 5 each, for: 10s }
  - { users: 2, iterations: 7, for: 10s, session: other }
",
            shards,
        );
        let between = |from_s: u64, until_s: u64| {
            let within = |due_ns: u64| (from_s * S..until_s * S).contains(&due_ns);
            requests(&run).filter(|row| within(row.due_ns)).count()
        };
        assert_eq!((between(0, 10), between(11, 21), between(21, 31)), (40, 15, 7), "{shards}");
    }
}
