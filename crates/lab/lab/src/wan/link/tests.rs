use super::*;

const MS: u64 = 1_000_000;

/// The fates of `count` packets of 1000 bytes, one flow, one every `gap_ns`.
fn fates(link: &Link, count: u64, gap_ns: u64) -> Vec<Fate> {
    link.check().unwrap();
    let mut state = LinkState::new(1, 0);
    (0..count).map(|number| state.pass(link, number * gap_ns, 1000, 7)).collect()
}

fn departures(fates: &[Fate]) -> Vec<u64> {
    let departs = |fate: &Fate| match fate {
        Fate::Depart(at_ns) => Some(*at_ns),
        Fate::Lost(_) => None,
    };
    fates.iter().filter_map(departs).collect()
}

fn lost(fates: &[Fate], why: LossReason) -> usize {
    fates.iter().filter(|fate| **fate == Fate::Lost(why)).count()
}

#[test]
fn a_plain_link_delays_each_packet_alike() {
    let fates = fates(&Link::new(10 * MS), 3, MS);
    assert_eq!(departures(&fates), [10 * MS, 11 * MS, 12 * MS]);
}

#[test]
fn a_stretched_link_does_the_same_in_slower_time() {
    let link = Link {
        jitter: Jitter::Uniform { ns: 2 * MS },
        loss: Loss::Independent { p: 0.1 },
        rate: Some(Rate { bits_per_s: 1_000_000, backlog: Backlog::Time(100 * MS) }),
        reorder: 0.1,
        ..Link::new(10 * MS)
    };
    let plain = fates(&link, 1_000, 7 * MS);
    let slower = fates(&link.stretched(5), 1_000, 35 * MS);
    for (plain, slower) in plain.iter().zip(&slower) {
        match (plain, slower) {
            // Nanoseconds are rounded.
            (Fate::Depart(plain), Fate::Depart(slower)) => assert!(slower.abs_diff(5 * plain) < 10),
            (plain, slower) => assert_eq!(plain, slower),
        }
    }
    assert_eq!(link.stretched(1), link);
}

#[test]
fn a_cut_link_passes_nothing() {
    let link = Link { cut: true, ..Link::new(0) };
    assert_eq!(lost(&fates(&link, 9, MS), LossReason::Cut), 9);
}

#[test]
fn independent_losses_have_their_share_and_no_memory() {
    let link = Link { loss: Loss::Independent { p: 0.1 }, ..Link::new(0) };
    let fates = fates(&link, 100_000, MS);
    // The standard deviation of the count is 95.
    let count = lost(&fates, LossReason::Loss);
    assert!(count.abs_diff(10_000) < 450, "{count}");
    let pairs = fates.windows(2).filter(|two| lost(two, LossReason::Loss) == 2).count();
    assert!(pairs.abs_diff(1000) < 200, "{pairs}");
}

#[test]
fn bursts_have_their_share_and_their_length() {
    let loss = Loss::GilbertElliott {
        good_to_bad: 0.01,
        bad_to_good: 0.2,
        loss_good: 0.001,
        loss_bad: 0.8,
    };
    // By hand: the bad state takes 1/21 of the time.
    assert!((loss.mean() - (0.8 + 20.0 * 0.001) / 21.0).abs() < 1e-12);
    let link = Link { loss, ..Link::new(0) };
    let fates = fates(&link, 400_000, MS);
    let share = lost(&fates, LossReason::Loss) as f64 / 400_000.0;
    assert!((share - loss.mean()).abs() < 0.002, "{share}");
    // After a loss the state is bad almost surely, so the next packet is lost with about 0.8 · 0.8.
    let after = fates.windows(2).filter(|two| two[0] == Fate::Lost(LossReason::Loss));
    let (lost_again, all) =
        after.fold((0, 0), |(lost, all), two| (lost + usize::from(two[1] == two[0]), all + 1));
    let again = f64::from(lost_again as u32) / f64::from(all);
    assert!((again - 0.63).abs() < 0.03, "{again}");
}

#[test]
fn a_rate_spaces_packets_and_its_queue_has_a_limit() {
    // 1000 bytes take 1 ms.
    let rate =
        |backlog| Link { rate: Some(Rate { bits_per_s: 8_000_000, backlog }), ..Link::new(5 * MS) };
    let packets = fates(&rate(Backlog::Bytes(3000)), 10, 0);
    assert_eq!(departures(&packets), [6 * MS, 7 * MS, 8 * MS]);
    assert_eq!(lost(&packets, LossReason::Queue), 7);
    let packets = fates(&rate(Backlog::Time(4 * MS)), 10, 0);
    assert_eq!(departures(&packets).len(), 4);
    // Sent more slowly than the rate, none waits.
    let packets = fates(&rate(Backlog::Bytes(1000)), 5, 2 * MS);
    assert_eq!(departures(&packets)[4], 8 * MS + 6 * MS);
    // Twice the rate: half is lost in the long run.
    let packets = fates(&rate(Backlog::Bytes(10_000)), 1000, MS / 2);
    assert!(lost(&packets, LossReason::Queue).abs_diff(500) < 20);
}

#[test]
fn an_idle_link_takes_a_packet_larger_than_its_queue() {
    let rate = Rate { bits_per_s: 8_000_000, backlog: Backlog::Bytes(500) };
    let link = Link { rate: Some(rate), ..Link::new(0) };
    assert_eq!(departures(&fates(&link, 5, 0)), [MS]);
}

#[test]
fn jitter_has_its_distribution_when_packets_are_apart() {
    let delays = |jitter| {
        let link = Link { jitter, ..Link::new(500 * MS) };
        let gap_ns = 60_000 * MS;
        let departures = departures(&fates(&link, 20_000, gap_ns));
        let late = departures
            .iter()
            .zip(0_u64..)
            .map(|(at, n)| *at as f64 / MS as f64 - (n * gap_ns / MS) as f64 - 500.0);
        let late: Vec<f64> = late.collect();
        let mean = late.iter().sum::<f64>() / late.len() as f64;
        let squares = late.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
        let least = late.iter().copied().fold(f64::INFINITY, f64::min);
        (mean, (squares / late.len() as f64).sqrt(), least)
    };
    let (mean, sd, least) = delays(Jitter::Uniform { ns: 30 * MS });
    assert!(mean.abs() < 0.6 && (sd - 30.0 / 3_f64.sqrt()).abs() < 0.5);
    assert!((-30.0..-29.9).contains(&least), "{least}");
    let (mean, sd, _) = delays(Jitter::Normal { sd_ns: 20 * MS });
    assert!(mean.abs() < 0.6 && (sd - 20.0).abs() < 0.5, "{mean} {sd}");
    let (mean, _, least) = delays(Jitter::Pareto { scale_ns: 40 * MS, shape: 3.0 });
    assert!((mean - 20.0).abs() < 1.0, "{mean}");
    assert!((0.0..0.1).contains(&least), "{least}");
}

#[test]
fn jitter_keeps_the_order_of_a_flow_and_of_no_others() {
    let link = Link { jitter: Jitter::Uniform { ns: 9 * MS }, ..Link::new(10 * MS) };
    let one = departures(&fates(&link, 1000, MS / 10));
    assert!(one.is_sorted());
    let mut state = LinkState::new(1, 0);
    let flows: Vec<Fate> = (0..200).map(|flow| state.pass(&link, 0, 100, flow)).collect();
    let flows = departures(&flows);
    assert!(!flows.is_sorted());
    // Or the slowest would hold up all others: the mean would be far above the delay.
    let mean = flows.iter().sum::<u64>() / 200;
    assert!(mean.abs_diff(10 * MS) < MS, "{mean}");
}

#[test]
fn jitter_takes_no_packet_back_in_time() {
    let link = Link { jitter: Jitter::Normal { sd_ns: 50 * MS }, ..Link::new(MS) };
    for (fate, number) in fates(&link, 1000, MS).into_iter().zip(0..) {
        assert!(matches!(fate, Fate::Depart(at_ns) if at_ns >= number * MS));
    }
}

#[test]
fn reordered_packets_skip_the_delay_but_not_the_rate() {
    let link = Link { reorder: 0.25, ..Link::new(10 * MS) };
    let all = departures(&fates(&link, 10_000, MS));
    let early = all.iter().zip(0..).filter(|(at, n)| **at == n * MS).count();
    assert!(early.abs_diff(2500) < 180, "{early}");
    assert!(!all.is_sorted());
    let rate = Rate { bits_per_s: 8_000_000, backlog: Backlog::Time(MS) };
    let slow = Link { reorder: 1.0, rate: Some(rate), ..link };
    assert_eq!(departures(&fates(&slow, 1, 0)), [MS]);
}

#[test]
fn a_shorter_delay_does_not_reorder_a_flow() {
    let mut state = LinkState::new(1, 0);
    let slow = state.pass(&Link::new(100 * MS), 0, 100, 3);
    assert_eq!(slow, Fate::Depart(100 * MS));
    let fast = Link::new(MS);
    assert_eq!(state.pass(&fast, MS, 100, 3), Fate::Depart(100 * MS));
    assert_eq!(state.pass(&fast, MS, 100, 4), Fate::Depart(2 * MS));
    assert_eq!(state.pass(&fast, 200 * MS, 100, 3), Fate::Depart(201 * MS));
}

#[test]
fn the_same_seed_has_the_same_fates_and_another_link_others() {
    let link = Link {
        loss: Loss::Independent { p: 0.5 },
        jitter: Jitter::Normal { sd_ns: MS },
        ..Link::new(10 * MS)
    };
    let fates = |seed, number| {
        let mut state = LinkState::new(seed, number);
        (0..100).map(|n| state.pass(&link, n * 100 * MS, 100, 0)).collect::<Vec<_>>()
    };
    assert_eq!(fates(1, 0), fates(1, 0));
    assert_ne!(fates(1, 0), fates(1, 1));
    assert_ne!(fates(1, 0), fates(2, 0));
}

#[test]
fn values_out_of_range_are_named() {
    let good = Link::new(0);
    let rate =
        |bits_per_s| Link { rate: Some(Rate { bits_per_s, backlog: Backlog::Bytes(1) }), ..good };
    let cases = [
        (Link::new(DELAY_NS_MAX + 1), "delay must be from 0 to 60000000000, not 60000000001"),
        (
            Link { loss: Loss::Independent { p: f64::NAN }, ..good },
            "loss must be a share from 0 to 1, not NaN",
        ),
        (
            Link { jitter: Jitter::Pareto { scale_ns: 1, shape: 1.0 }, ..good },
            "jitter's shape must be above 1, or its mean would be infinite; it is 1",
        ),
        (rate(0), "rate must be from 1000 to 1000000000000, not 0"),
    ];
    for (link, message) in cases {
        assert_eq!(link.check().unwrap_err().to_string(), message);
    }
}

#[test]
fn flows_with_links_of_their_own_do_not_wait_for_each_other_nor_lose_together() {
    let shared = Link {
        rate: Some(Rate { bits_per_s: 8_000_000, backlog: Backlog::Bytes(10_000) }),
        ..Link::new(MS)
    };
    let own = Link { each_flow: true, ..shared };
    let last = |link: &Link| {
        let mut state = LinkState::new(1, 0);
        let fates = (0..5).map(|flow| state.pass(link, 0, 1000, flow));
        fates.last().unwrap()
    };
    assert_eq!(last(&shared), Fate::Depart(6 * MS), "behind four others");
    assert_eq!(last(&own), Fate::Depart(2 * MS));
    let bursts = Link {
        loss: Loss::GilbertElliott {
            good_to_bad: 0.01,
            bad_to_good: 0.1,
            loss_good: 0.0,
            loss_bad: 1.0,
        },
        ..Link::new(MS)
    };
    // Of two packets in a row, each of another flow: how often the second is lost with the first.
    let together = |link: &Link| {
        let mut state = LinkState::new(1, 0);
        let fates = (0..200_000).map(|number| state.pass(link, number, 100, number % 2));
        let lost: Vec<bool> = fates.map(|fate| fate == Fate::Lost(LossReason::Loss)).collect();
        let first = lost.iter().filter(|lost| **lost).count();
        let both = lost.windows(2).filter(|two| two[0] && two[1]).count();
        (both as f64 / first as f64, first)
    };
    let (again, _) = together(&bursts);
    assert!((again - 0.9).abs() < 0.02, "{again}");
    let own = Link { each_flow: true, ..bursts };
    let (again, lost) = together(&own);
    assert!((again - 1.0 / 11.0).abs() < 0.04, "{again}");
    assert!(lost.abs_diff(200_000 / 11) < 2_000, "the same share: {lost}");
    // A retransmission after a pause meets the long run's state, not the burst of before.
    let mut state = LinkState::new(1, 0);
    let fates = (0..50_000).map(|number| state.pass(&own, number * 300 * MS, 100, 7));
    let lost: Vec<bool> = fates.map(|fate| fate == Fate::Lost(LossReason::Loss)).collect();
    let first = lost.iter().filter(|lost| **lost).count();
    let both = lost.windows(2).filter(|two| two[0] && two[1]).count();
    let again = both as f64 / first as f64;
    assert!((again - 1.0 / 11.0).abs() < 0.03, "{again}");
    assert!(first.abs_diff(50_000 / 11) < 400, "{first}");
}

#[test]
fn a_link_through_an_access_link_has_what_both_have() {
    let far = Link {
        jitter: Jitter::Uniform { ns: MS },
        loss: Loss::Independent { p: 0.1 },
        rate: Some(Rate { bits_per_s: 1_000_000, backlog: Backlog::Bytes(1) }),
        ..Link::new(50 * MS)
    };
    let chain =
        Loss::GilbertElliott { good_to_bad: 0.1, bad_to_good: 0.4, loss_good: 0.0, loss_bad: 0.5 };
    let access = Link {
        loss: chain,
        rate: Some(Rate { bits_per_s: 8_000_000, backlog: Backlog::Bytes(2) }),
        ..Link::new(35 * MS)
    };
    let both = far.through(&access);
    assert_eq!((both.delay_ns, both.jitter), (85 * MS, far.jitter));
    assert_eq!(both.rate, far.rate, "the slower one");
    // What neither loses: 90 % of 90 %.
    assert!((both.loss.mean() - 0.19).abs() < 1e-12, "{:?}", both.loss);
    let other = Link::new(0).through(&access).through(&access);
    assert!((other.loss.mean() - 0.19).abs() < 1e-12, "{:?}", other.loss);
    assert!(both.each_flow && both.check().is_ok());
}
