//! Rows of users' own data: the same for any number of loops.

use engine::sim::{self, Link};
use record::Outcome;

use crate::peers::{HttpPeer, ok};
use crate::support::{MS, plan, run};

fn text(data: &str, arrivals: &str) -> String {
    format!(
        "
name: feeds
target: http://target.test/
data: {{ rows: {{ file: rows.csv, {data} }} }}
sessions:
  main:
    - loop: 2
      steps:
        - feed: rows
        - get: /${{user}}/${{name}}/${{word}}
          as: get
arrivals:
  - {{ {arrivals} }}
"
    )
}

/// The requested paths, sorted: `/user/name/word`.
fn paths(text: &str, shards: u32) -> Vec<String> {
    let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
    sim::run(&plan(text), shards, &mut peer, Link::new(MS)).expect("the plan can be run");
    let path = |request: &String| request.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut paths: Vec<_> = peer.requests.iter().map(path).collect();
    paths.sort_unstable();
    paths
}

#[test]
fn rows_are_the_same_with_any_number_of_loops() {
    for order in ["sequential", "random", "unique, end: wrap", "zipfian", "hotspot"] {
        let text = text(&format!("order: {order}"), "constant: 5/s, for: 4s");
        let one = paths(&text, 1);
        assert_eq!(one.len(), 40);
        assert_eq!(one, paths(&text, 2), "{order}");
        assert_eq!(one, paths(&text, 4), "{order}");
    }
}

#[test]
fn each_user_begins_with_its_own_row() {
    let sequential = paths(&text("order: sequential", "constant: 1/s, for: 4s"), 1);
    assert_eq!(
        sequential,
        [
            "/0/ann/a", "/0/bob/b", "/1/bob/b", "/1/cy/c", "/2/ann/a", "/2/cy/c", "/3/ann/a",
            "/3/bob/b"
        ]
    );
    let unique = paths(&text("order: unique, end: stop", "constant: 1/s, for: 4s"), 2);
    assert_eq!(unique, ["/0/ann/a", "/0/ann/a", "/1/bob/b", "/1/bob/b", "/2/cy/c", "/2/cy/c"]);
}

#[test]
fn users_without_a_row_leave_for_good() {
    let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
    let ran = run(&text("order: unique", "users: 5, for: 1s"), &mut peer);
    assert_eq!(ran.counted("steps", Outcome::Step), 2);
    assert_eq!(ran.total(|counts| counts.users_finished - counts.users_repeated), 3);
    assert_eq!(ran.total(|counts| counts.users_failed), 2);
    let details = ran.details();
    assert!(details[0].contains("\"rows\" have only 3 rows"), "{details:?}");
    let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
    let ran = run(&text("end: stop", "users: 5, for: 1s"), &mut peer);
    // Three rows, from the user's own on: 3 and 2 and 1 requests.
    assert_eq!(ran.rows("get").len(), 6);
    assert_eq!(ran.counted("steps", Outcome::Step), 0);
}

/// The rows that were requested, sorted, of a hundred that are used once. Three of four users do not use any.
fn used_once(end: &str, arrivals: &str, shards: u32) -> Vec<usize> {
    let text = format!(
        "
name: once
target: http://target.test/
data: {{ rows: {{ file: hundred.csv, order: once{end} }} }}
sessions:
  buyer:
    - feed: rows
    - get: /${{item}}
  other: {{ weight: 3, steps: [ {{ think: 1s }} ] }}
arrivals: [ {{ {arrivals} }} ]
"
    );
    let paths = paths(&text, shards);
    let mut rows: Vec<usize> = paths.iter().map(|path| path[1..].parse().expect("a row")).collect();
    rows.sort_unstable();
    rows
}

#[test]
fn each_row_is_used_once_by_a_closed_population_on_any_number_of_loops() {
    let all: Vec<usize> = (0..100).collect();
    for shards in [1, 2, 7] {
        for users in ["users: 3", "users: 40", "users: 200"] {
            let arrivals = format!("{users}, for: 60s, session: buyer");
            assert_eq!(used_once("", &arrivals, shards), all, "{users} on {shards}");
        }
        assert_eq!(used_once("", "users: 40, for: 60s", shards), all, "mixed, on {shards}");
        assert_eq!(used_once(", end: error", "users: 40, for: 60s", shards), all);
    }
}

#[test]
fn users_that_arrive_have_a_row_each() {
    for shards in [1, 7] {
        let some = used_once("", "constant: 20/s, for: 3s, session: buyer", shards);
        assert_eq!(some, (0..60).collect::<Vec<_>>());
        let all = used_once("", "constant: 50/s, for: 3s, session: buyer", shards);
        assert_eq!(all, (0..100).collect::<Vec<_>>());
    }
}

/// Users that take no rows have none: those of another phase, and single ones.
#[test]
fn rows_are_dealt_among_the_users_that_may_take_them() {
    let all: Vec<usize> = (0..100).collect();
    for shards in [1, 7] {
        let arrivals = "at: 1s, session: other }, { users: 5, for: 10s, session: other }, \
                        { users: 8, for: 60s, session: buyer }, { constant: 9/s, for: 5s, session: other";
        assert_eq!(used_once("", arrivals, shards), all, "on {shards}");
    }
}
