use super::*;

fn counts() -> Counts {
    Counts {
        places: 2,
        pairs: vec![PairCounts::default(); 4],
        lateness: LogHistogram::new(),
        away: LogHistogram::new(),
        unread: LogHistogram::new(),
        unroutable: 0,
        unknown: 0,
        refused: 0,
        cpu: Duration::ZERO,
        polled: Duration::ZERO,
        wake: Duration::ZERO,
        queued_frames: 0,
        queued_bytes: 0,
        is_first: false,
    }
}

#[test]
fn a_pair_stands_at_its_place_in_the_matrix() {
    let mut counts = counts();
    counts.pairs[1].count_passed(100);
    counts.pairs[1].count_lost(LossReason::Loss);
    counts.pairs[2].count_lost(LossReason::Queue);
    counts.pairs[3].count_lost(LossReason::Cut);
    let pair = counts.pair(0, 1).unwrap();
    assert_eq!((pair.packets, pair.bytes, pair.lost), (1, 100, 1));
    assert_eq!(pair.arrived(), 2);
    assert_eq!(counts.pair(1, 0).unwrap().queue_full, 1);
    assert_eq!(counts.pair(1, 1).unwrap().cut, 1);
    // Not the first of the next row.
    assert_eq!(counts.pair(0, 2), None);
    assert_eq!(counts.total().arrived(), 4);
}

#[test]
fn packets_that_were_read_late_are_late() {
    let mut counts = counts();
    // They depart at once, as on a link without delay.
    counts.lateness.record_n(5_000, 1_000);
    counts.unread.record_n(1_000, 900);
    assert!(counts.late_p99_ns() < 6_000);
    counts.unread.record_n(5_000_000, 100);
    assert!(counts.late_p99_ns() >= 4_900_000);
    assert!(counts.late_max_ns() >= 4_900_000);
}

#[test]
fn departures_are_late_beyond_their_limits() {
    let mut counts = counts();
    for ns in [0, 290_000, 310_000, 990_000, 1_100_000, 5_000_000] {
        counts.lateness.record(ns);
    }
    assert_eq!((counts.late(), counts.very_late()), (4, 2));
}
