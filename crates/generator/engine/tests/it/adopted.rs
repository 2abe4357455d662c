//! Users of a share that another shard starts from a moment on, and users that wait for leave.

use std::sync::Arc;

use engine::command::Command;
use engine::schedule::share::Share;
use engine::{Setup, Shard};
use plan::Plan;
use record::Outcome;

use crate::support::{MS, S, plan};

const OPEN: &str = "
name: adopted
target: http://target.test/
sessions:
  main: [ { get: / } ]
arrivals:
  - { ARRIVALS, for: 4s }
  - { hold: 2s }
";

fn open(arrivals: &str) -> Plan {
    plan(&OPEN.replace("ARRIVALS", arrivals))
}

fn shard(plan: &Plan, share: Share) -> Shard<'_> {
    let setup = Setup {
        share,
        rows_max: 1_024,
        tls: None,
        buffers: Arc::default(),
        meeting: Arc::default(),
    };
    Shard::new(plan, &setup).expect("the plan can be run")
}

/// Goes on until this moment. Nobody can connect.
fn play(shard: &mut Shard<'_>, until_ns: u64) {
    let mut now_ns = 0;
    while now_ns <= until_ns && !shard.is_over() {
        while shard.advance(now_ns) || !shard.commands().list.is_empty() {
            for command in std::mem::take(shard.commands()).list {
                if let Command::Connect { conn, .. } = command {
                    shard.handle_connect_failed(now_ns, conn, Outcome::Refused, "nobody is there");
                }
            }
        }
        now_ns = shard.next_ns().max(now_ns + 1);
    }
}

/// Numbers of the users that came so far, in their order, and when each was due.
fn came(shard: &mut Shard<'_>) -> Vec<(u64, u64)> {
    let rows = shard.take_rows(true).unwrap_or_default();
    let mut users: Vec<(u64, u64)> = rows.iter().map(|row| (row.user, row.due_ns)).collect();
    users.sort_unstable();
    // A connection that failed, and the request without it.
    users.dedup();
    users
}

/// Users who were due before are nobody's, and each of the others is one shard's.
#[test]
fn adopted_users_start_from_the_stated_moment_on_and_each_once() {
    for arrivals in ["constant: 40/s", "poisson: 40/s"] {
        let plan = open(arrivals);
        let mut alone = shard(&plan, Share::new(0, 1));
        play(&mut alone, 9 * S);
        let all = came(&mut alone);
        let lost = Share::new(1, 3);
        let mut found = Vec::new();
        for (number, part) in [(0, 0), (2, 1)] {
            let mut left = shard(&plan, Share::new(number, 3));
            play(&mut left, 500 * MS);
            left.adopt(lost.part(part, 2), 2 * S);
            play(&mut left, 9 * S);
            found.extend(came(&mut left));
        }
        found.sort_unstable();
        let begins = |&(user, due_ns): &(u64, u64)| !lost.takes(user) || due_ns >= 2 * S;
        let expected: Vec<_> = all.into_iter().filter(begins).collect();
        assert!(expected.len() > 100, "{}", expected.len());
        assert_eq!(found, expected, "{arrivals}");
    }
}

/// Nothing that is due is skipped: the lag shows it.
#[test]
fn users_that_are_adopted_late_start_late() {
    let plan = open("constant: 40/s");
    let mut left = shard(&plan, Share::new(0, 2));
    play(&mut left, 3 * S);
    assert_eq!(came(&mut left).len(), 61);
    left.adopt(Share::new(1, 2), 2 * S);
    while left.advance(3 * S) {}
    assert_eq!(came(&mut left).len(), 0, "they connect");
    left.finish(3 * S);
    let started: u64 = left.take_deltas().iter().map(|d| d.counts.users_started).sum();
    // Twenty a second: those of a second that has passed.
    assert_eq!(started, 61 + 20);
}

#[test]
fn users_wait_until_they_have_leave() {
    let plan = open("constant: 10/s");
    let mut held = shard(&plan, Share::new(0, 1));
    held.hold_starts_from(S);
    play(&mut held, 1_500 * MS);
    assert_eq!(came(&mut held).len(), 10);
    held.hold_starts_from(u64::MAX);
    play(&mut held, 9 * S);
    let rest = came(&mut held);
    assert_eq!(rest.len(), 30);
    assert_eq!(rest[0], (10, S), "they count from when they were due");
}

#[test]
fn users_without_leave_are_unstarted_in_the_end() {
    let plan = open("constant: 10/s");
    let mut held = shard(&plan, Share::new(0, 2));
    held.hold_starts_from(S);
    held.adopt(Share::new(1, 2), 2 * S);
    play(&mut held, 9 * S);
    held.finish(9 * S);
    let deltas = held.take_deltas();
    let sum =
        |of: fn(&engine::measure::Counts) -> u64| deltas.iter().map(|d| of(&d.counts)).sum::<u64>();
    assert_eq!(sum(|c| c.users_started), 5);
    // Own ones of three seconds, and of the other's those from two seconds on.
    assert_eq!(sum(|c| c.users_unstarted), 15 + 10);
    assert_eq!(sum(|c| c.users_fell_due), 30);
}
