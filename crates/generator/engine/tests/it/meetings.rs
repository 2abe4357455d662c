//! What users share: rendezvous, counters, and queues between users.

use engine::meeting::RELEASE_NS;
use engine::sim::{self, Link, Packet, Verdict};
use record::Outcome;

use crate::peers::{HttpPeer, WsPeer, ok, text};
use crate::reproducible::records;
use crate::support::{MS, Ran, S, plan, run, run_over};

fn ran(text: &str) -> Ran {
    let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
    run(text, &mut peer)
}

/// On this number of loops.
fn ran_on(text: &str, loops_count: u32) -> Ran {
    let plan = plan(text);
    let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
    let run = sim::run(&plan, loops_count, &mut peer, Link::new(0)).expect("the plan can be run");
    let ran = Ran { plan, run };
    ran.check_sums();
    ran
}

fn scenario(shared: &str, steps: &str, arrivals: &str) -> String {
    format!(
        "name: meeting\ntarget: http://target.test/\noptions: {{ drain: 2s }}\nshared: {shared}\nsessions:\n  main:\n\
         {steps}\narrivals: [ {arrivals} ]\n"
    )
}

const SALE: &str = "
    - rendezvous: sale
      timeout: 10s
    - get: /buy
      as: buy";

/// Users come every 100 ms; each fourth completes the rendezvous, and all four buy at one instant, on whichever loop.
#[test]
fn users_wait_for_each_other_and_continue_at_the_same_instant() {
    let text =
        scenario("{ rendezvous: { sale: 4 } }", SALE, "{ constant: 10/s, for: 1s }, { hold: 1s }");
    for loops_count in [1, 2, 3] {
        let ran = ran_on(&text, loops_count);
        let buy = ran.rows("buy");
        let due: Vec<u64> = buy.iter().map(|row| row.due_ns).collect();
        let first = 300 * MS + RELEASE_NS;
        let second = 700 * MS + RELEASE_NS;
        assert_eq!(
            due,
            [first, first, first, first, second, second, second, second],
            "{loops_count} loops"
        );
        assert!(buy.iter().all(|row| row.lag_ns() == 0));
        let waits = ran.rows("rendezvous sale");
        let times: Vec<u64> = waits[..4].iter().map(|row| row.response_ns() / MS).collect();
        assert_eq!(times, [305, 205, 105, 5]);
        // Two are left over, until the end.
        let left = &ran.outcomes("rendezvous sale")[8..];
        assert_eq!(left, [Outcome::Unfinished; 2]);
        assert_eq!(ran.total(|counts| counts.users_cut), 2);
    }
}

/// What waits for others is not on its way to the target.
#[test]
fn users_who_wait_are_not_in_flight() {
    let text = scenario(
        "{ rendezvous: { sale: 50 }, queues: { none: } }",
        "
    - rendezvous: sale
      timeout: 3s
    - dequeue: none
      save: x
      timeout: 3s",
        "{ constant: 5/s, for: 10s }",
    );
    let ran = ran(&text);
    let gauges = ran.run.deltas.iter().map(|delta| delta.gauges);
    assert!(gauges.clone().all(|gauges| gauges.in_flight == 0));
    assert!(gauges.map(|gauges| gauges.users).max() >= Some(20));
}

#[test]
fn a_user_whose_time_is_over_continues_or_fails() {
    let of = |on_timeout: &str| {
        let steps = format!(
            "
    - rendezvous: sale
      timeout: 1s
      on_timeout: {on_timeout}
    - get: /after
      as: after"
        );
        ran(&scenario(
            "{ rendezvous: { sale: 3 } }",
            &steps,
            "{ constant: 2/s, for: 1s }, { hold: 2s }",
        ))
    };
    let continues = of("continue");
    assert_eq!(continues.outcomes("rendezvous sale"), [Outcome::Timeout; 2]);
    assert_eq!(continues.outcomes("after"), [Outcome::Ok; 2]);
    assert_eq!(continues.rows("after")[0].due_ns, S);
    assert_eq!(
        continues.details(),
        ["2 of 3 users were there after 1000 ms", "1 of 3 users were there after 1000 ms"]
    );
    let fails = of("fail");
    assert_eq!(fails.outcomes("rendezvous sale"), [Outcome::Timeout; 2]);
    assert_eq!(fails.outcomes("after"), []);
    assert_eq!(fails.total(|counts| counts.users_failed), 2);
}

/// The first user's time is over before the third comes, who would otherwise complete the three.
#[test]
fn users_who_have_gone_do_not_count() {
    let ran = ran(&scenario(
        "{ rendezvous: { sale: 3 } }",
        "
    - rendezvous: sale
      timeout: 900ms
    - get: /buy
      as: buy",
        "{ constant: 2/s, for: 2s }, { hold: 1s }",
    ));
    // Due at 0, 500, 1000, 1500 ms: the first gives up at 900.
    let expected = [Outcome::Timeout, Outcome::Timeout, Outcome::Timeout, Outcome::Timeout];
    assert_eq!(ran.outcomes("rendezvous sale"), expected);
}

/// A rendezvous is complete within the release time of a member's timeout: the member belongs to it.
#[test]
fn a_user_about_to_be_released_does_not_time_out() {
    let ran = ran(&scenario(
        "{ rendezvous: { sale: 2 } }",
        "
    - rendezvous: sale
      timeout: 1002ms
    - get: /buy
      as: buy",
        "{ constant: 1/s, for: 2s }",
    ));
    assert_eq!(ran.outcomes("rendezvous sale"), [Outcome::Ok; 2]);
    let due: Vec<u64> = ran.rows("buy").iter().map(|row| row.due_ns).collect();
    assert_eq!(due, [S + RELEASE_NS; 2]);
}

/// A user whose WebSocket is lost while it waits fails, and the others wait on.
#[test]
fn a_user_that_fails_while_it_waits_blocks_nobody() {
    let steps = "
    - ws: /socket
    - if: user == 0
      then: [ { send: die } ]
    - rendezvous: sale
      timeout: 10s
    - set: { done: 1 }
    - close:";
    let mut peer = WsPeer::new(|_, message| match message {
        "die" => vec![sim::PeerAction::Reset],
        _ => vec![text("x")],
    });
    let ran = run(
        &scenario(
            "{ rendezvous: { sale: 2 } }",
            steps,
            "{ constant: 2/s, for: 1500ms }, { hold: 1s }",
        ),
        &mut peer,
    );
    assert_eq!(ran.outcomes("rendezvous sale"), [Outcome::Unfinished, Outcome::Ok, Outcome::Ok]);
    assert_eq!(ran.counted("steps", Outcome::Reset), 1);
    assert_eq!(ran.total(|counts| counts.users_failed), 1, "the one whose connection was lost");
    assert_eq!(ran.total(|counts| counts.users_finished), 2);
}

/// A branch that fails interrupts another one that waits; a later user is not paired with what is gone.
#[test]
fn a_branch_that_waits_is_interrupted_with_the_others() {
    let ran = ran(&scenario(
        "{ rendezvous: { sale: 2 } }",
        "
    - if: user == 0
      then:
        - parallel:
            - [ { rendezvous: sale, timeout: 10s } ]
            - [ { think: 100ms }, { set: { x: \"${int(user + 'x')}\" } } ]
      else:
        - rendezvous: sale
          timeout: 1s",
        "{ constant: 2/s, for: 1s }, { hold: 1s }",
    ));
    assert_eq!(ran.outcomes("rendezvous sale"), [Outcome::Unfinished, Outcome::Timeout]);
}

#[test]
fn users_in_endless_loops_leave_the_rendezvous_at_the_end() {
    let ran = ran(&scenario(
        "{ rendezvous: { sale: 3 } }",
        "
    - forever:
        - rendezvous: sale
          timeout: 60s
        - think: 200ms",
        "{ users: 4, for: 2s }",
    ));
    let outcomes = ran.outcomes("rendezvous sale");
    assert!(outcomes.contains(&Outcome::Ok));
    assert!(outcomes.contains(&Outcome::Unfinished));
    assert!(!outcomes.iter().any(|outcome| outcome.is_error()));
    assert!(ran.run.ended_ns <= 2 * S + MS, "{}", ran.run.ended_ns);
}

#[test]
fn counters_give_each_number_once() {
    let text = scenario(
        "{ counters: { orders: 1000, tickets: } }",
        "
    - next: { order: orders, ticket: tickets }
    - if: ticket <= 5
      then: [ { get: \"/buy/${order}\", as: buy } ]
      else: [ { get: /sold-out, as: sold out } ]",
        "{ constant: 20/s, for: 1s }",
    );
    for loops_count in [1, 3] {
        let plan = plan(&text);
        let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
        let run = sim::run(&plan, loops_count, &mut peer, Link::new(0)).expect("it can be run");
        let ran = Ran { plan, run };
        assert_eq!(ran.outcomes("buy").len(), 5);
        assert_eq!(ran.outcomes("sold out").len(), 15);
        let paths = peer.requests.iter().filter_map(|request| {
            let path = request.split(' ').nth(1)?;
            path.strip_prefix("/buy/").map(str::to_owned)
        });
        let mut orders: Vec<String> = paths.collect();
        orders.sort();
        assert_eq!(orders, ["1000", "1001", "1002", "1003", "1004"]);
    }
}

const QUEUE: &str = "
name: meeting
target: http://target.test/
options: { drain: 2s }
shared: { queues: { unpaid: 3 } }
sessions:
  buyer:
    - enqueue: unpaid
      value: \"order ${user}\"
  payer:
    - dequeue: unpaid
      save: order
      timeout: 1s
    - get: /pay/${order}
      as: pay
arrivals:
";

#[test]
fn values_are_taken_in_their_order() {
    let text = format!(
        "{QUEUE}  - {{ constant: 10/s, for: 300ms, sessions: {{ buyer: 1 }} }}\n  \
         - {{ constant: 10/s, for: 300ms, sessions: {{ payer: 1 }} }}\n"
    );
    for loops_count in [1, 2] {
        let plan = plan(&text);
        let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
        let run = sim::run(&plan, loops_count, &mut peer, Link::new(0)).expect("it can be run");
        let ran = Ran { plan, run };
        ran.check_sums();
        assert_eq!(ran.outcomes("enqueue unpaid"), [Outcome::Ok; 3]);
        let takes = ran.rows("dequeue unpaid");
        assert!(takes.iter().all(|row| row.outcome == Outcome::Ok && row.response_ns() == 0));
        let paths = peer.requests.iter().map(|request| request.split(' ').nth(1));
        let paths: Vec<Option<&str>> = paths.collect();
        let expected = ["/pay/order%200", "/pay/order%201", "/pay/order%202"];
        assert_eq!(paths, expected.map(Some));
    }
}

/// Payers are there first: each waits until a buyer has put something, the last one until its time is over.
#[test]
fn users_wait_for_values_in_turn() {
    let text = format!(
        "{QUEUE}  - {{ constant: 10/s, for: 300ms, sessions: {{ payer: 1 }} }}\n  \
         - {{ constant: 10/s, for: 200ms, sessions: {{ buyer: 1 }} }}\n  - {{ hold: 2s }}\n"
    );
    for loops_count in [1, 2] {
        let ran = ran_on(&text, loops_count);
        let takes = ran.rows("dequeue unpaid");
        let ended: Vec<(u64, Outcome)> =
            takes.iter().map(|row| (row.done_ns / MS, row.outcome)).collect();
        assert_eq!(
            ended,
            [(300, Outcome::Ok), (400, Outcome::Ok), (1200, Outcome::Timeout)],
            "{loops_count} loops"
        );
        assert_eq!(ran.details(), ["no value came within 1000 ms"]);
        // It has nothing to pay.
        assert_eq!(ran.total(|counts| counts.users_failed), 1);
        assert_eq!(ran.outcomes("pay"), [Outcome::Ok; 2]);
    }
}

#[test]
fn a_full_queue_refuses_and_users_continue() {
    let text = format!("{QUEUE}  - {{ constant: 10/s, for: 500ms, sessions: {{ buyer: 1 }} }}\n");
    let ran = ran(&text);
    let expected = [Outcome::Ok, Outcome::Ok, Outcome::Ok, Outcome::Step, Outcome::Step];
    assert_eq!(ran.outcomes("enqueue unpaid"), expected);
    let full = "the queue \"unpaid\" is full: it holds 3 values already";
    assert_eq!(ran.details(), [full; 2]);
    assert_eq!(ran.total(|counts| counts.users_finished), 5);
}

/// A queue that nobody fills, without any wait, and in a `retry`.
#[test]
fn an_empty_queue_can_be_tried_again() {
    let ran = ran(&scenario(
        "{ queues: { unpaid: 10 } }",
        "
    - if: user == 0
      then:
        - retry: 3
          pause: 500ms
          factor: 1
          jitter: none
          steps: [ { dequeue: unpaid, save: order, timeout: 0s } ]
          else: [ { get: /gave-up, as: gave up } ]
      else:
        - set: { order: none }
        - dequeue: unpaid
          save: order
          timeout: 0s
        - check: order == 'none'
          as: kept",
        "{ constant: 2/s, for: 1s }, { hold: 2s }",
    ));
    assert_eq!(ran.outcomes("dequeue unpaid"), [Outcome::Timeout; 4]);
    assert_eq!(ran.outcomes("gave up"), [Outcome::Ok]);
    assert_eq!(ran.rows("gave up")[0].due_ns, S);
    assert_eq!(ran.counted("kept", Outcome::Check), 0);
    assert_eq!(ran.total(|counts| counts.users_failed), 0);
}

/// Everything at once, also with faults, is the same run twice.
#[test]
fn the_same_seed_gives_the_same_rows_on_one_loop() {
    let text = scenario(
        "{ rendezvous: { sale: 7 }, counters: { orders: }, queues: { unpaid: 5 } }",
        "
    - next: { order: orders }
    - think: { exponential: 300ms }
    - rendezvous: sale
      timeout: 500ms
    - get: /${order}
      as: buy
    - choose:
        - steps: [ { enqueue: unpaid, value: \"${order}\" } ]
        - steps: [ { dequeue: unpaid, save: other, timeout: 300ms }, { get: \"/pay/${other}\", as: pay } ]",
        "{ poisson: 60/s, for: 5s }",
    );
    let one = records(&text, 1, 7);
    assert!(one.0.len() > 900, "only {} records", one.0.len());
    assert_eq!(one, records(&text, 1, 7));
    let faulty = || {
        let mut n = 0;
        let link = Link {
            rule: Box::new(move |_, _: Packet| {
                n += 1;
                match n % 9 {
                    0 => Verdict::Refuse,
                    1 => Verdict::Delay(30 * MS),
                    _ => Verdict::Pass,
                }
            }),
            ..Link::new(MS)
        };
        let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
        run_over(&text, &mut peer, link).run.rows
    };
    assert_eq!(faulty(), faulty());
}

/// A traced user is alone.
#[test]
fn a_traced_user_passes_a_rendezvous_by_itself() {
    let mut plan =
        plan(&scenario("{ rendezvous: { sale: 500 } }", SALE, "{ constant: 1000/s, for: 1s }"));
    plan.without_crowd("alone", S);
    let (sink, traced) = std::sync::mpsc::channel();
    let link = Link {
        trace: Some(engine::trace::TraceRequest {
            user: 0,
            session: plan::SessionId(0),
            steps_max: 100,
            sink,
        }),
        ..Link::new(0)
    };
    let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
    let run = sim::run(&plan, 1, &mut peer, link).expect("the plan can be run");
    drop(traced);
    let ran = Ran { plan, run };
    assert_eq!(ran.rows("buy")[0].due_ns, RELEASE_NS);
}
