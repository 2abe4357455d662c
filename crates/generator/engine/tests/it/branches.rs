//! Branches of a user that run at the same time (`parallel`).

use std::sync::Arc;

use engine::sim::{self, Link, PeerAction};
use engine::tables::budget::Budget;
use record::{Measurement, Outcome};

use crate::branches_peer::Server;
use crate::support::{MS, Ran, S, plan, run, run_over};

/// One user, over 10 s.
pub(crate) fn scenario(options: &str, steps: &str) -> String {
    format!(
        "
name: branches
target: http://target.test/
options: {{ timeout: 1s{options} }}
sessions:
  main:
{steps}
arrivals:
  - {{ constant: 1/s, for: 1s }}
  - {{ hold: 9s }}
"
    )
}

fn ran(steps: &str) -> (Ran, Server) {
    let mut server = Server::default();
    let ran = run(&scenario("", steps), &mut server);
    (ran, server)
}

/// When operations of a measure were due and done, in milliseconds.
fn times(ran: &Ran, measure: &str) -> Vec<(u64, u64)> {
    let rows = ran.rows(measure);
    rows.iter().map(|row| (row.due_ns / MS, row.done_ns / MS)).collect()
}

const PAGE: &str = "
    - { get: /page/5, as: page }
    - transaction: resources
      steps:
        - parallel:
            - [ { get: /a/30, as: a } ]
            - [ { get: /b/10, as: b }, { think: 5ms }, { get: /c/15, as: c } ]
            - { get: /d/40, as: d }
    - { get: /after/1, as: after }
";

#[test]
fn branches_are_due_together_and_the_user_continues_after_the_last() {
    let (ran, server) = ran(PAGE);
    assert_eq!(times(&ran, "page"), [(0, 5)]);
    assert_eq!(times(&ran, "a"), [(5, 35)]);
    assert_eq!(times(&ran, "b"), [(5, 15)]);
    assert_eq!(times(&ran, "c"), [(20, 35)]);
    assert_eq!(times(&ran, "d"), [(5, 45)]);
    assert_eq!(times(&ran, "resources"), [(5, 45)]);
    assert_eq!(times(&ran, "after"), [(45, 46)]);
    assert!(ran.run.rows.iter().all(|row| row.lag_ns() == 0));
    // The page's connection, and one more for each other branch; they stay.
    assert_eq!((server.connections, server.at_once_max), (3, 3));
    let paths = ["/page/5", "/a/30", "/b/10", "/d/40", "/c/15", "/after/1"];
    assert_eq!(server.paths(), paths);
    // One user, whatever the number of its branches.
    let users = ran.run.deltas.iter().map(|delta| delta.gauges.users_peak);
    assert_eq!(users.max(), Some(1));
    assert_eq!(ran.total(|counts| counts.users_connected), 1);
    assert_eq!(ran.total(|counts| counts.users_finished), 1);
}

#[test]
fn a_branch_has_the_values_of_its_beginning_and_the_user_those_of_all() {
    let (ran, server) = ran("
    - set: { x: old, z: old }
    - parallel:
        - [ { get: /slow/30, save: { x: body } }, { set: { y: \"${x}\" } } ]
        - [ { think: 50ms }, { get: '/fast/1?x=${x}' }, { set: { z: new } } ]
        - [ { set: { w: \"${z}\" } } ]
    - get: /after/1?x=${x}&y=${y}&z=${z}&w=${w}
      as: after
");
    assert_eq!(server.paths()[1], "/fast/1?x=old");
    assert_eq!(server.paths()[2], "/after/1?x=slow&y=slow&z=new&w=old");
    assert_eq!(times(&ran, "after"), [(51, 52)]);
}

#[test]
fn branches_without_a_wait_end_at_once_and_any_number_of_times() {
    let (ran, _) = ran("
    - set: { n: 0 }
    - loop: 1000
      steps:
        - parallel: [ { set: { n: '${n + 1}' } }, [ { check: n >= 0 } ] ]
    - { get: '/after/${n}', as: after }
");
    assert_eq!(times(&ran, "after"), [(0, 1000)]);
}

#[test]
fn a_failed_step_fails_the_transactions_around_it_and_the_user_continues() {
    let (ran, _) = ran("
    - transaction: outer
      steps:
        - parallel:
            - [ { get: /a/30, as: a } ]
            - transaction: inner
              steps: [ { get: /500/10, as: b }, { get: /c/5, as: c } ]
    - { get: /after/1, as: after }
");
    assert_eq!(ran.outcomes("b"), [Outcome::Status]);
    assert_eq!(ran.outcomes("inner"), [Outcome::Status]);
    assert_eq!(ran.outcomes("outer"), [Outcome::Status]);
    assert_eq!(times(&ran, "inner"), [(0, 15)]);
    assert_eq!(times(&ran, "outer"), [(0, 30)]);
    assert_eq!(times(&ran, "after"), [(30, 31)]);
}

#[test]
fn a_branch_that_cannot_continue_ends_the_session_and_interrupts_the_others() {
    let (ran, server) = ran("
    - transaction: outer
      steps:
        - parallel:
            - transaction: first
              steps: [ { get: /a/30, as: a }, { get: /never/1, as: further } ]
            - [ { get: /b/10, as: b, save: { n: /n } } ]
            - [ { think: 1s }, { get: /d/1, as: d } ]
    - { get: /after/1, as: after }
");
    assert_eq!(ran.outcomes("b"), [Outcome::Save]);
    assert_eq!(ran.outcomes("a"), [Outcome::Unfinished]);
    assert_eq!(times(&ran, "a"), [(0, 10)]);
    assert_eq!(ran.outcomes("first"), [Outcome::Unfinished]);
    assert_eq!(ran.outcomes("outer"), [Outcome::Save]);
    assert_eq!(ran.rows("after").len() + ran.rows("d").len(), 0);
    assert_eq!(ran.total(|counts| counts.users_failed), 1);
    assert_eq!(server.paths(), ["/a/30", "/b/10"]);
    let endings: Vec<_> = ran.run.deltas.iter().flat_map(|d| &d.endings).collect();
    let step = endings[0].step.expect("a step");
    assert_eq!(ran.plan.measures[usize::from(step)].name, "b");
}

#[test]
fn a_retry_around_branches_runs_all_of_them_again() {
    let (ran, server) = ran("
    - retry: 3
      pause: 100ms
      jitter: none
      steps:
        - parallel:
            - [ { get: /once/10, as: a } ]
            - [ { get: /b/20, as: b } ]
    - { get: /after/1, as: after }
");
    assert_eq!(ran.outcomes("a"), [Outcome::Status, Outcome::Ok]);
    assert_eq!(ran.outcomes("b"), [Outcome::Unfinished, Outcome::Ok]);
    assert_eq!(ran.outcomes("retry"), [Outcome::Ok]);
    assert_eq!(times(&ran, "b"), [(0, 10), (110, 130)]);
    assert_eq!(times(&ran, "after"), [(130, 131)]);
    assert_eq!(server.paths().len(), 5);
    let retried = |measure| ran.deltas(measure).map(|delta| delta.retried).sum::<u64>();
    assert_eq!((retried("a"), retried("b"), retried("retry")), (1, 0, 1));
}

#[test]
fn a_retry_in_a_branch_leaves_the_others_alone() {
    let (ran, _) = ran("
    - parallel:
        - retry: 3
          pause: 100ms
          jitter: none
          steps: [ { get: /once/10, as: a } ]
        - [ { get: /b/20, as: b } ]
    - { get: /after/1, as: after }
");
    assert_eq!(ran.outcomes("a"), [Outcome::Status, Outcome::Ok]);
    assert_eq!(ran.outcomes("b"), [Outcome::Ok]);
    assert_eq!(times(&ran, "after"), [(120, 121)]);
}

#[test]
fn the_end_of_the_run_cuts_branches_off() {
    let steps = "
    - parallel:
        - [ { get: /never/1, as: a, timeout: 60s } ]
        - [ { think: 60s }, { get: /b/20, as: b } ]
        - [ { get: /c/20, as: c } ]
";
    let mut server = Server::default();
    let ran = run(&scenario(", drain: 1s", steps), &mut server);
    assert_eq!(ran.outcomes("a"), [Outcome::Unfinished]);
    assert_eq!(times(&ran, "a"), [(0, 11_000)]);
    assert_eq!(ran.outcomes("c"), [Outcome::Ok]);
    assert_eq!(ran.total(|counts| counts.users_cut), 1);
}

#[test]
fn users_in_a_loop_that_never_ends_leave_when_their_branches_have() {
    let forever = |branch: &str| {
        format!(
            "
    - forever:
        - parallel:
            - [ {{ get: /a/400, as: a }}, {{ get: /b/400, as: b }} ]
            - [ {branch} ]
"
        )
    };
    // The end comes 400 ms after a round has begun, or while a branch thinks.
    for (branch, ended_ms) in [("{ get: /c/300 }", 10_400), ("{ think: 60s }", 10_000)] {
        let mut server = Server::default();
        let ran = run(&scenario(", drain: 5s", &forever(branch)), &mut server);
        assert_eq!(ran.total(|counts| counts.users_finished), 1, "{branch}");
        assert!(ran.run.ended_ns <= ended_ms * MS, "{} {branch}", ran.run.ended_ns);
        let outcomes = ran.outcomes("a");
        assert!(outcomes.iter().all(|&outcome| outcome == Outcome::Ok));
    }
}

#[test]
fn what_branches_hold_counts_as_memory() {
    let steps = "
    - { get: /large/1, save: { all: body } }
    - parallel:
        - [ { get: /a/1, as: a } ]
        - [ { get: /b/1, as: b } ]
    - { get: /after/1, as: after }
";
    // 100 KiB count as 128: for the user, and for each branch.
    for (budget_kib, finished) in [(3 * 128, 1), (3 * 128 - 1, 0)] {
        let link = Link { buffers: Arc::new(Budget::new(budget_kib << 10)), ..Link::new(0) };
        let ran = run_over(&scenario("", steps), &mut Server::default(), link);
        assert_eq!(ran.total(|counts| counts.users_finished), finished);
        assert_eq!(ran.total(|counts| counts.users_stopped), 1 - finished);
    }
}

const CROWD: &str = "
name: crowd
seed: 11
target: http://target.test/
options: { connections_max: 2 }
sessions:
  main:
    - loop: 3
      steps:
        - parallel:
            - [ { think: { exponential: 50ms } }, { get: '/a/5?${random(1, 1000)}', as: a } ]
            - choose:
                - { steps: [ { get: '/b/7?${random(1, 1000)}', as: b } ] }
                - { steps: [ { get: '/c/9?${random(1, 1000)}', as: c } ] }
            - retry: 3
              pause: 40ms
              else: [ { think: 1ms } ]
              steps: [ { get: '/d/1?${random(1, 1000)}', as: d, check: \"random(1, 3) > 1\" } ]
    - { get: '/after/1?${random(1, 1000)}', as: after }
arrivals:
  - { poisson: 40/s, for: 5s }
  - { hold: 5s }
";

/// Every record but for the loop that made it, and the requests, in an order of their own.
fn records(shards: u32, latency_ns: u64) -> (Vec<Measurement>, Vec<String>) {
    let plan = plan(CROWD);
    let mut server = Server::default();
    let run = sim::run(&plan, shards, &mut server, Link::new(latency_ns)).expect("a run");
    let rows = run.rows.iter().map(|row| Measurement { loop_id: 0, ..*row });
    let mut rows: Vec<Measurement> = rows.collect();
    // What ends at the same time has no order.
    rows.sort_by_key(|row| (row.user, row.done_ns, row.due_ns, row.measure, row.sent_ns));
    let mut paths: Vec<String> = server.requests.into_iter().map(|r| r.path).collect();
    paths.sort_unstable();
    (rows, paths)
}

#[test]
fn draws_of_branches_follow_from_the_seed_alone() {
    let (rows, paths) = records(1, MS);
    assert!(rows.len() > 2_000, "{}", rows.len());
    let two = records(2, MS);
    assert!(rows == two.0 && paths == two.1);
    // Other times: the same requests.
    assert!(paths == records(3, 17 * MS).1);
    // Branches draw by themselves.
    let all = |of: &str| {
        let of = paths.iter().filter_map(|path| path.strip_prefix(of));
        of.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_ne!(all("/a/5?"), all("/d/1?"));
}

#[test]
fn a_lost_connection_fails_its_own_branch() {
    let (ran, _) = ran("
    - parallel:
        - [ { get: /close/10, as: a }, { get: /b/1, as: b } ]
        - [ { get: /c/20, as: c } ]
    - { get: /after/1, as: after }
");
    assert_eq!(ran.outcomes("a"), [Outcome::Closed]);
    assert_eq!(times(&ran, "b"), [(10, 11)]);
    assert_eq!(ran.outcomes("c"), [Outcome::Ok]);
    assert_eq!(times(&ran, "after"), [(20, 21)]);
}

#[test]
fn a_websocket_stays_open_beside_branches() {
    let text = scenario(
        "",
        "
    - ws: /socket
    - parallel: [ { think: 10ms }, { think: 20ms } ]
    - send: hello
      reply: { when: { body: hello }, as: echo }
",
    );
    let mut peer = crate::peers::WsPeer::new(|_, message: &str| {
        vec![PeerAction::Send(crate::peers::frame(0x81, message.as_bytes()))]
    });
    let ran = run(&text, &mut peer);
    assert_eq!(times(&ran, "echo"), [(20, 20)]);
    assert!(ran.run.ended_ns < 11 * S);
}

const ITEMS: &str = "
    - set: { list: '[\"a\",\"b\",\"c\",\"d\",\"e\"]', kept: old }
    - parallel:
        foreach: list
        as: item
        index: number
        at_once: 2
        steps:
          - { get: \"/${item}${number}/10\", as: item }
          - set: { kept: new }
    - { get: \"/${kept}/1\", as: after }
";

/// Two branches take turns through the list: the first has items 0, 2 and 4.
#[test]
fn branches_take_turns_through_a_list() {
    let (ran, server) = ran(ITEMS);
    let expected = [(0, 10), (0, 10), (10, 20), (10, 20), (20, 30)];
    assert_eq!(times(&ran, "item"), expected);
    assert_eq!(times(&ran, "after"), [(30, 31)]);
    let paths = ["/a0/10", "/b1/10", "/c2/10", "/d3/10", "/e4/10", "/old/1"];
    assert_eq!(server.paths(), paths);
    assert_eq!(server.at_once_max, 2);
    assert_eq!(ran.total(|counts| counts.users_finished), 1);
}

#[test]
fn few_items_and_none_leave_branches_without_one() {
    for (list, count) in [("[]", 0), ("[7]", 1), ("[7, 8, 9]", 3)] {
        let steps = format!(
            "
    - parallel: {{ foreach: \"'{list}'\", as: item, steps: [ {{ get: \"/${{item}}/10\", as: item }} ] }}
    - {{ get: /after/1, as: after }}
"
        );
        let (ran, server) = ran(&steps);
        assert_eq!(ran.outcomes("item"), vec![Outcome::Ok; count], "{list}");
        assert_eq!(ran.outcomes("after"), [Outcome::Ok]);
        assert_eq!(server.at_once_max, count.max(1));
    }
}

/// What is no list ends the session, once.
#[test]
fn items_of_what_is_no_list_are_a_failure() {
    let (ran, server) = ran("
    - parallel: { foreach: \"'no list'\", as: item, steps: [ { get: /x/10 } ] }
    - { get: /after/1, as: after }
");
    assert!(server.paths().is_empty());
    assert_eq!(ran.total(|counts| counts.users_failed), 1);
}
