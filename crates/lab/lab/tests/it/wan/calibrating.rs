use std::time::Duration;

use lab::wan::calibrate::{Pair, Plan, calibrate, measure_rate};
use lab::wan::{Backlog, Link, Loss, Rate};

use crate::wan::support::{between_two, network};

/// 20 ms, less what a wake-up of the forwarder is taken to have lasted.
const EARLIEST_NS: u64 = 20_000_000 - 150_000;

#[test]
fn each_direction_is_measured_by_itself() {
    let mut links = between_two(Link::new(0));
    links[1] = Link::new(20_000_000);
    links[2].loss = Loss::Independent { p: 0.5 };
    let Some(network) = network(links) else {
        return;
    };
    let [from, to] = [0, 1].map(|host| &network.hosts[host]);
    let plan = Plan {
        packets: 200,
        interval: Duration::from_millis(1),
        wait: Duration::from_millis(200),
        ..Plan::default()
    };
    let pairs = [Pair { from, to }, Pair { from: to, to: from }];
    let measured = calibrate(&pairs, &plan).unwrap();
    for (pair, losses) in measured.iter().zip([(0.0, 0.5), (0.5, 0.0)]) {
        assert_eq!(pair.sent, 200);
        assert_eq!((pair.missed_there, pair.missed_back), (0, 0));
        assert!((pair.loss_there() - losses.0).abs() < 0.15, "{pair:?}");
        assert!((pair.loss_back() - losses.1).abs() < 0.15, "{pair:?}");
        // No packet is earlier, however busy the machine is.
        assert!(pair.round_trip.quantile(0.0) >= Some(EARLIEST_NS), "{pair:?}");
    }
    assert!(measured[0].there.quantile(0.0) >= Some(EARLIEST_NS));
    assert!(measured[1].back.quantile(0.0) >= Some(EARLIEST_NS));
    assert!(measured[1].there.quantile(0.0) < Some(EARLIEST_NS));
}

#[test]
fn no_more_arrives_than_the_rate() {
    let mut links = between_two(Link::new(1_000_000));
    links[1].rate = Some(Rate { bits_per_s: 8_000_000, backlog: Backlog::Bytes(30_000) });
    let Some(network) = network(links) else {
        return;
    };
    let [from, to] = [0, 1].map(|host| &network.hosts[host]);
    let bits = measure_rate(Pair { from, to }, 16_000_000, Duration::from_millis(500)).unwrap();
    assert!((0.0..10_000_000.0).contains(&bits), "{bits}");
    assert!(network.forwarder.counts().unwrap().pair(0, 1).unwrap().queue_full > 0);
}
