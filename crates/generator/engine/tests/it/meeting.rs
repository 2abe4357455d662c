//! Several desks at one meeting, as loops use them.

use std::sync::Arc;
use std::thread;

use plan::expr::Value;
use plan::{Counter, Meetings, Queue, Rendezvous};

use engine::meeting::{Desk, FinishedWait, LOOK_NS, Meeting, RELEASE_NS, RunPart};

fn declared(users: u64, values_max: u64) -> Meetings {
    let name = "one".to_owned();
    Meetings {
        rendezvous: vec![Rendezvous { name: name.clone(), users }],
        counters: vec![Counter { name: name.clone(), first: 100 }],
        queues: vec![Queue { name, values_max }],
    }
}

fn desks(declared: &Meetings, loops_count: u32) -> Vec<Desk<u32>> {
    let shared = Arc::new(Meeting::new(declared, RunPart::all(loops_count)));
    (0..loops_count).map(|number| Desk::new(&shared, number)).collect()
}

fn released(user: u32, at_ns: u64) -> Option<FinishedWait<u32>> {
    Some(FinishedWait { user, at_ns, value: None })
}

fn handed(user: u32, at_ns: u64, value: i64) -> Option<FinishedWait<u32>> {
    Some(FinishedWait { user, at_ns, value: Some(Value::Int(value)) })
}

#[test]
fn all_loops_release_at_the_same_instant() {
    let mut desks = desks(&declared(3, 1), 2);
    desks[0].arrive(1_000, 7, 0);
    desks[1].arrive(2_000, 8, 0);
    assert_eq!(desks[0].look(2_500), None);
    desks[1].arrive(3_000, 9, 0);
    let at_ns = 3_000 + RELEASE_NS;
    for desk in &mut desks {
        assert_eq!(desk.due_ns(), 0);
        assert_eq!(desk.look(4_000), None);
        assert_eq!(desk.due_ns(), at_ns);
    }
    assert_eq!(desks[0].look(at_ns), released(7, at_ns));
    assert_eq!(desks[1].look(at_ns + 5), released(8, at_ns));
    assert_eq!(desks[1].look(at_ns + 5), released(9, at_ns));
    for desk in &mut desks {
        assert_eq!(desk.look(u64::MAX), None);
        assert_eq!((desk.waiting_count(), desk.due_ns()), (0, u64::MAX));
    }
}

#[test]
fn a_loop_with_waiting_users_looks_again_and_again() {
    let mut desk = desks(&declared(2, 1), 1).remove(0);
    assert_eq!(desk.due_ns(), u64::MAX);
    desk.arrive(10, 1, 0);
    assert_eq!(desk.due_ns(), 10 + LOOK_NS);
    assert_eq!(desk.look(10 + LOOK_NS), None);
    assert_eq!(desk.due_ns(), 10 + 2 * LOOK_NS);
}

#[test]
fn a_user_that_gives_up_blocks_nobody_and_a_released_one_cannot() {
    let mut desks = desks(&declared(2, 1), 2);
    desks[0].arrive(0, 1, 0);
    assert_eq!(desks[0].present(0), (1, 2));
    assert!(desks[0].give_up(1));
    assert!(!desks[0].give_up(1));
    desks[0].arrive(5, 2, 0);
    desks[1].arrive(6, 3, 0);
    // Its letter is in the mailbox.
    assert!(!desks[0].give_up(2));
    let at_ns = 6 + RELEASE_NS;
    assert_eq!(desks[0].look(at_ns), released(2, at_ns));
    // One that has gone is released for nobody.
    desks[1].leave(at_ns, 3);
    assert_eq!(desks[1].look(at_ns), None);
    assert_eq!(desks[1].waiting_count(), 0);
}

#[test]
fn values_reach_the_loop_of_whoever_waited_for_longest() {
    let mut desks = desks(&declared(2, 2), 2);
    assert_eq!(desks[1].take(0, 5, 0), None);
    assert_eq!(desks[0].take(0, 6, 0), None);
    desks[0].put(0, Value::Int(1)).unwrap();
    assert_eq!((desks[1].due_ns(), desks[0].due_ns()), (0, LOOK_NS));
    assert_eq!(desks[1].look(40), handed(5, 40, 1));
    desks[1].put(0, Value::Int(2)).unwrap();
    assert_eq!(desks[0].look(50), handed(6, 50, 2));
    desks[0].put(0, Value::Int(3)).unwrap();
    assert_eq!(desks[1].take(60, 5, 0), Some(Value::Int(3)));
}

#[test]
fn a_value_on_its_way_to_someone_who_is_gone_is_kept() {
    let mut desks = desks(&declared(2, 2), 2);
    assert_eq!(desks[1].take(0, 5, 0), None);
    desks[0].put(0, Value::Int(1)).unwrap();
    desks[0].put(0, Value::Int(2)).unwrap();
    desks[1].leave(10, 5);
    assert_eq!((desks[1].look(20), desks[1].waiting_count()), (None, 0));
    assert_eq!(desks[0].take(30, 1, 0), Some(Value::Int(1)));
    assert_eq!(desks[0].take(30, 1, 0), Some(Value::Int(2)));
}

#[test]
fn a_full_queue_says_so() {
    let desk = desks(&declared(2, 1), 1).remove(0);
    assert_eq!(desk.put(0, Value::Int(1)), Ok(()));
    let full = desk.put(0, Value::Int(2)).unwrap_err();
    assert_eq!(full.to_string(), "it holds 1 values already");
}

/// Threads with a desk each: what goes in comes out once, and every number is drawn once.
#[test]
fn nothing_is_lost_or_doubled_between_threads() {
    const THREADS: u32 = 4;
    const EACH: i64 = 2_000;
    let all = desks(&declared(2, u64::MAX), THREADS);
    let works = all.into_iter().enumerate().map(|(index, mut desk)| {
        thread::spawn(move || {
            let mut got = Vec::new();
            let mut drawn = Vec::new();
            let mut waits = false;
            for number in 0..EACH {
                let now_ns = number.unsigned_abs();
                drawn.push(desk.next(0));
                desk.put(0, Value::Int(index as i64 * EACH + number)).unwrap();
                if !waits {
                    match desk.take(now_ns, 1, 0) {
                        Some(value) => got.push(value),
                        None => waits = true,
                    }
                }
                if let Some(handed) = desk.look(now_ns) {
                    waits = false;
                    got.extend(handed.value);
                }
                if waits && number % 7 == 0 {
                    desk.leave(now_ns, 1);
                    waits = false;
                }
            }
            desk.leave(u64::MAX >> 1, 1);
            (got, drawn, desk)
        })
    });
    let works: Vec<_> = works.collect();
    let ended: Vec<_> = works.into_iter().map(|work| work.join().unwrap()).collect();
    let number = |value: &Value| match value {
        Value::Int(number) => *number,
        other => panic!("{other:?}"),
    };
    let mut got: Vec<i64> = Vec::new();
    let mut drawn: Vec<i64> = Vec::new();
    for (values, numbers, mut desk) in ended {
        got.extend(values.iter().map(number));
        drawn.extend(numbers.iter().map(number));
        while let Some(value) = desk.take(0, 1, 0) {
            got.push(number(&value));
        }
        desk.leave(0, 1);
    }
    got.sort_unstable();
    drawn.sort_unstable();
    let all = i64::from(THREADS) * EACH;
    assert_eq!(got, (0..all).collect::<Vec<_>>());
    assert_eq!(drawn, (100..100 + all).collect::<Vec<_>>());
}
