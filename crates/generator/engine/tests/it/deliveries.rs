//! Numbered messages to many users: what one got, others who were subscribed must have got, too. The
//! peers count for themselves what they sent to whom.

use plan::MessageId;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use engine::sequences::Ledger;
use engine::sim::{self, Link, PeerAction};
use record::Outcome;

use crate::peers::{CastPeer, WsPeer, text};
use crate::support::{MS, Ran, S, plan, run_over};

/// Users come over one second, unless `arrivals` says otherwise, and stay for 20 s each.
fn scenario(message: &str, arrivals: &str) -> String {
    format!(
        "
name: casts
target: http://target.test/
messages:
  said: {{ when: {{ /t: said }}, seq: /n{message} }}
sessions:
  main: [ {{ ws: /stream }}, {{ think: 20s }} ]
  brief:
    - ws: /stream
    - think: 4s
    - close:
    - think: 9s
  other: [ {{ ws: /other }}, {{ think: 20s }} ]
arrivals: [ {arrivals} ]
"
    )
}

const TWENTY: &str = "{ constant: 20/s, for: 1s, session: main }, { hold: 29s }";

fn said(number: u64) -> Vec<PeerAction> {
    vec![text(&format!("{{\"t\":\"said\",\"n\":{number}}}"))]
}

/// When number `n` of ten is published: from 3 s on, every second.
fn published_ns(number: u64) -> u64 {
    (number + 2) * S
}

/// What became of `said` over all loops: lost, duplicated, out of order, unreadable, silent.
fn counted(ran: &Ran) -> [u64; 5] {
    let mut ledger = Ledger::default();
    for delta in &ran.run.deltas {
        ledger.see(&delta.heads);
    }
    for delta in &ran.run.deltas {
        ledger.settle(&delta.settlements);
    }
    let elsewhere = ledger.take_found().get(&MessageId(0)).copied().unwrap_or_default();
    assert_eq!(elsewhere.unaccounted, 0);
    let silent = ledger.take_silent().get(&MessageId(0)).copied().unwrap_or(0);
    let own = |part: &str| ran.counted(&format!("said.{part}"), Outcome::Ok);
    [
        own("lost") + elsewhere.lost,
        own("duplicated"),
        own("out_of_order"),
        own("unreadable"),
        silent,
    ]
}

/// Plays a scenario on this many loops. `sends` says what the connection of that number is sent, after
/// it was opened: times and numbers.
fn play(text: &str, loops: u32, mut sends: impl FnMut(u64, u64) -> Vec<(u64, u64)>) -> Ran {
    let plan = plan(text);
    let mut peer = CastPeer::new(|conn, opened_ns| {
        let sent = sends(conn, opened_ns).into_iter();
        sent.map(|(at_ns, number)| (at_ns, said(number))).collect()
    });
    let run = sim::run(&plan, loops, &mut peer, Link::new(MS)).expect("the plan can be run");
    let ran = Ran { plan, run };
    ran.check_sums();
    ran
}

/// Ten numbers to each connection, those published after it was opened, but for what `drops` says.
fn ten(drops: impl Fn(u64, u64) -> bool) -> impl FnMut(u64, u64) -> Vec<(u64, u64)> {
    move |conn, opened_ns| {
        let numbers = (1..=10).map(|number| (published_ns(number), number));
        let numbers = numbers.filter(|&(at_ns, number)| at_ns > opened_ns && !drops(conn, number));
        numbers.collect()
    }
}

#[test]
fn what_everybody_got_is_not_lost() {
    for loops in [1, 4] {
        let ran = play(&scenario("", TWENTY), loops, ten(|_, _| false));
        assert_eq!(counted(&ran), [0; 5]);
        assert_eq!(ran.counted("said", Outcome::Ok), 200);
    }
}

#[test]
fn a_last_number_that_half_the_users_miss_is_lost_to_them() {
    for loops in [1, 4] {
        let lost = Cell::new(0);
        let ran = play(
            &scenario("", TWENTY),
            loops,
            ten(|conn, number| {
                let dropped = number == 10 && conn % 2 == 1;
                lost.set(lost.get() + u64::from(dropped));
                dropped
            }),
        );
        assert_eq!(lost.get(), 10);
        assert_eq!(counted(&ran), [lost.get(), 0, 0, 0, 0]);
    }
}

#[test]
fn users_who_never_get_any_number_have_lost_all() {
    for loops in [1, 2, 4] {
        let ran = play(&scenario("", TWENTY), loops, ten(|conn, _| conn % 2 == 1));
        assert_eq!(counted(&ran), [100, 0, 0, 0, 0]);
    }
}

/// With numbers of its own for each connection, nobody else knows what a user should have got.
#[test]
fn own_numbers_are_not_compared_with_those_of_others() {
    let text = scenario(", numbers: own", TWENTY);
    let ran = play(&text, 2, ten(|conn, number| number > conn % 10 || (conn == 19 && number == 5)));
    assert_eq!(counted(&ran), [1, 0, 0, 0, 0]);
}

/// One user each half second for ten seconds: who comes later has lost nothing of before.
#[test]
fn a_late_subscriber_expects_later_messages_only() {
    let arrivals = "{ constant: 2/s, for: 10s, session: main }, { hold: 25s }";
    let ran = play(&scenario("", arrivals), 2, ten(|_, _| false));
    assert_eq!(counted(&ran), [0; 5]);
    assert!(ran.counted("said", Outcome::Ok) < 200);
    // The first three are there by 1 s, long before number 1: they miss the first three numbers, and
    // get the fourth.
    let ran = play(&scenario("", arrivals), 2, ten(|conn, number| conn < 3 && number <= 3));
    assert_eq!(counted(&ran), [9, 0, 0, 0, 0]);
}

/// Sessions that close their stream after 4 s, of users that stay for longer.
#[test]
fn what_is_published_after_a_session_closed_its_stream_is_not_lost() {
    let arrivals = "{ constant: 5/s, for: 1s, session: main },
        { constant: 5/s, for: 1s, session: brief }, { hold: 28s }";
    let got = RefCell::new(BTreeMap::<u64, u64>::new());
    let ran = play(
        &scenario("", arrivals),
        2,
        ten(|conn, _| {
            *got.borrow_mut().entry(conn).or_default() += 1;
            false
        }),
    );
    assert_eq!(got.borrow().len(), 10);
    // Numbers 1 to 3, and of some the fourth, reach the five that stay for 4 s.
    let received = ran.counted("said", Outcome::Ok);
    assert!((65..=70).contains(&received), "{received}");
    assert_eq!(counted(&ran), [0; 5]);
}

#[test]
fn duplicates_and_another_order_are_counted_apart() {
    let ran = play(&scenario("", TWENTY), 3, |conn, _| {
        let at = |number| published_ns(number) + conn * MS;
        let mut sent: Vec<(u64, u64)> = (1..=10).map(|number| (at(number), number)).collect();
        match conn {
            // First arrivals 2, 1, 3.
            0 => (sent[0].0, sent[1].0) = (sent[1].0, sent[0].0),
            1 => sent.extend([(at(4) + 1, 4), (at(9), 3)]),
            2 => sent[6].0 = at(9) + 1,
            _ => {}
        }
        sent
    });
    assert_eq!(counted(&ran), [0, 2, 2, 0, 0]);
}

#[test]
fn numbers_that_cannot_be_read_are_counted_as_such() {
    let plan = plan(&scenario("", TWENTY));
    let mut peer = CastPeer::new(|_, _| {
        let numbers = (1..=10).map(published_ns);
        let unreadable = "{\"t\":\"said\",\"n\":\"first\"}";
        numbers.map(|at_ns| (at_ns, vec![text(unreadable)])).collect()
    });
    let run = sim::run(&plan, 1, &mut peer, Link::new(MS)).expect("the plan can be run");
    let ran = Ran { plan, run };
    ran.check_sums();
    assert_eq!(counted(&ran), [0, 0, 0, 200, 0]);
    assert_eq!(ran.counted("said", Outcome::Save), 200);
    assert!(ran.details()[0].starts_with("no number in"));
}

/// A connection that is reset ends its subscription: what others got more than the grace before is
/// lost, what they got later is not.
#[test]
fn a_reset_ends_the_subscription() {
    let plan = plan(&scenario("", TWENTY));
    let mut peer = CastPeer::new(|conn, _| {
        let is_reset = conn % 2 == 1;
        // 8.5 s: between numbers 6 and 7. Number 6 is dropped 0.5 s before, 4 long before.
        let numbers = (1..=10).filter(|number| !is_reset || ![4, 6].contains(number));
        let mut sent: Vec<_> = numbers.map(|n| (published_ns(n), said(n))).collect();
        if is_reset {
            sent.push((8 * S + 500 * MS, vec![PeerAction::Reset]));
        }
        sent
    });
    let run = sim::run(&plan, 2, &mut peer, Link::new(MS)).expect("the plan can be run");
    let ran = Ran { plan, run };
    assert_eq!(counted(&ran), [10, 0, 0, 0, 0]);
    // The session of each has failed.
    assert_eq!(ran.total(|counts| counts.users_failed), 10);
}

/// Streams that another step opened are subscribed to something else, unless one of them gets a number.
#[test]
fn streams_of_another_step_are_set_apart() {
    let arrivals = "{ constant: 10/s, for: 1s, session: main },
        { constant: 10/s, for: 1s, session: other }, { hold: 28s }";
    let ran = play(&scenario("", arrivals), 2, ten(|conn, _| conn >= 10));
    assert_eq!(counted(&ran), [0, 0, 0, 0, 10]);
    let ran = play(
        &scenario("", arrivals),
        2,
        ten(|conn, number| conn >= 11 || (conn == 10 && number < 9)),
    );
    let [lost, .., silent] = counted(&ran);
    assert_eq!(silent, 0);
    // Nine got none, the tenth the last two.
    assert_eq!(lost, 9 * 10 + 8);
}

/// Who joined a topic is owed its numbers until it leaves, also if it never got any. Each push brings
/// the number of the second; users leave the topic long before they leave.
#[test]
fn a_member_of_a_topic_expects_its_numbers_until_it_leaves() {
    let scenario = "
name: topics
target: http://target.test/
messages:
  said: { when: { event: said }, seq: /n }
sessions:
  main:
    - ws: { path: /socket, protocol: phoenix }
    - join: lobby
    - loop: 10
      steps:
        - think: 1s
        - push: { event: tick, payload: { by: \"${user}\" } }
    - leave:
    - think: 9s
arrivals: [ { constant: 4/s, for: 1s }, { hold: 25s } ]
";
    let mut peer = WsPeer::new(|now_ns, message| {
        let number = now_ns / S;
        let parts: Vec<&str> = message.split('"').collect();
        let reply = format!(
            "[\"1\",\"{}\",\"lobby\",\"phx_reply\",{{\"status\":\"ok\",\"response\":{{}}}}]",
            parts[3]
        );
        let by = |user: &str| message.contains(&format!("{{\"by\":{user}}}"));
        if !message.contains("tick") {
            return vec![text(&reply)];
        }
        // User 3 gets none, user 2 none from 6 on.
        if by("3") || (by("2") && number > 5) {
            return Vec::new();
        }
        vec![text(&format!("[null,null,\"lobby\",\"said\",{{\"n\":{number}}}]"))]
    });
    let ran = run_over(scenario, &mut peer, Link::new(MS));
    // User 3 was there from 0.75 to 10.75 s: it is owed 2 to 9; user 2 6 to 9.
    assert_eq!(counted(&ran), [8 + 4, 0, 0, 0, 0]);
    assert_eq!(ran.counted("said", Outcome::Ok), 10 + 10 + 5);
}

/// Rooms by path, without a key: who is in another room is owed nothing of this one.
#[test]
fn streams_of_different_paths_are_not_compared() {
    let text = scenario("", TWENTY).replace("ws: /stream", "ws: \"/rooms/${user}\"");
    let ran = play(&text, 2, ten(|conn, number| number > conn || (conn == 19 && number == 5)));
    assert_eq!(counted(&ran), [1, 0, 0, 0, 0]);
    let text = scenario("", TWENTY).replace("ws: /stream", "ws: \"/stream?token=${user}\"");
    let ran = play(&text, 2, ten(|conn, _| conn == 3));
    assert_eq!(counted(&ran), [10, 0, 0, 0, 0]);
}
