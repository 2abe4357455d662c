use super::*;

const US: u64 = 1000;

/// A pacer whose wake-ups took this time.
fn learned(late_ns: u64) -> Pacer {
    let mut pacer = Pacer::new();
    for turn in 0..100 {
        let start_ns = turn * 1000 * US;
        let wait = Wait::Sleep(100 * US);
        pacer.account(wait, start_ns, start_ns + 100 * US + late_ns, true);
    }
    pacer
}

#[test]
fn the_loop_wakes_up_before_a_departure_by_what_wake_ups_took() {
    let pacer = learned(30 * US);
    assert!(pacer.wake_ns.abs_diff(30 * US) < US, "{}", pacer.wake_ns);
    assert_eq!(pacer.wait(0, None), Wait::Forever);
    let Wait::Sleep(ns) = pacer.wait(1000 * US, Some(2000 * US)) else {
        panic!("1 ms is long enough to sleep");
    };
    assert!(ns.abs_diff(940 * US) < 2 * US, "{ns}");
    assert_eq!(pacer.wait(1000 * US, Some(1065 * US)), Wait::Poll);
    assert_eq!(pacer.wait(1000 * US, Some(900 * US)), Wait::Poll);
}

#[test]
fn a_wake_up_beyond_the_limit_does_not_count_in_full() {
    assert!(learned(20_000 * US).wake_ns <= WAKE_NS_MAX);
}

#[test]
fn packets_that_end_a_sleep_arrived_before_it_was_noticed() {
    let mut pacer = learned(30 * US);
    let wake_ns = pacer.wake_ns;
    assert_eq!(pacer.account(Wait::Forever, 0, 500 * US, false), wake_ns);
    assert_eq!(pacer.account(Wait::Sleep(9), 0, 500 * US, false), wake_ns);
    // But not before the sleep began, when nothing was there.
    assert_eq!(pacer.account(Wait::Forever, 0, 10 * US, false), 10 * US);
    assert_eq!(pacer.account(Wait::Poll, 0, 500 * US, false), 0);
}

#[test]
fn time_between_looks_counts_without_sleeps() {
    let mut pacer = Pacer::new();
    // Begins to sleep at 10 µs; wakes up, works until 40 µs, looks until 41 µs, and is kept from working until 900 µs.
    pacer.account(Wait::Forever, 10 * US, 20 * US, false);
    pacer.account(Wait::Poll, 40 * US, 41 * US, true);
    assert_eq!(pacer.away.max(), 21 * US);
    pacer.account(Wait::Forever, 900 * US, 5000 * US, false);
    assert_eq!((pacer.away.max(), pacer.away_ns), (859 * US, 859 * US));
    assert_eq!(pacer.polled_ns, US);
    pacer.reset();
    assert_eq!((pacer.away.count(), pacer.polled_ns), (0, 0));
}
