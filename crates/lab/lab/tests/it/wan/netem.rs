//! The same network by the forwarder and by netem, where the kernel has it.

use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use lab::wan::calibrate::{Measurement, Pair, Plan, calibrate, measure_rate};
use lab::wan::{
    Backlog, Emulator, Jitter, Link, Loss, Namespace, Network, Rate, Subnet, WanError,
    netem_available,
};
use testkit::needs;

use crate::wan::support::{between_two, udp};

/// 20 ms, less what a wake-up of the forwarder is taken to have lasted.
const EARLIEST_NS: u64 = 20_000_000 - 150_000;

/// Two places with a host each, and the network between them.
struct Two {
    network: Box<dyn Network>,
    hosts: [Namespace; 2],
}

/// With this link in both directions; `None`, reported as skipped, where this emulator cannot be.
fn two(emulator: Emulator, link: Link) -> Option<Two> {
    if emulator == Emulator::Netem
        && let Err(error) = netem_available()
    {
        needs::skip(&error.to_string());
        return None;
    }
    let subnets =
        [0, 4].map(|third| Subnet { first: Ipv4Addr::new(198, 18, third, 0), prefix: 22 });
    let network = lab::wan::start(emulator, &subnets, between_two(link), 1).unwrap();
    assert_eq!(network.emulator(), emulator);
    let host = |place: u16| network.add_host(place, Ipv4Addr::new(198, 18, 4 * place as u8, 1));
    match (host(0), host(1)) {
        (Ok(here), Ok(there)) => Some(Two { network, hosts: [here, there] }),
        (Err(error @ (WanError::NotPermitted { .. } | WanError::NoTun)), _) => {
            needs::skip(&error.to_string());
            None
        }
        (here, there) => panic!("{here:?} {there:?}"),
    }
}

impl Two {
    fn measure(&self, packets: u32) -> Measurement {
        let [from, to] = self.hosts.each_ref();
        let plan = Plan {
            packets,
            interval: Duration::from_millis(1),
            wait: Duration::from_millis(300),
            ..Plan::default()
        };
        calibrate(&[Pair { from, to }], &plan).unwrap().remove(0)
    }

    fn sockets(&self) -> [UdpSocket; 2] {
        self.hosts.each_ref().map(udp)
    }
}

fn delays_losses_cuts(emulator: Emulator) {
    let link = Link::new(20_000_000);
    let Some(two) = two(emulator, link) else {
        return;
    };
    let measured = two.measure(50);
    assert_eq!((measured.arrived, measured.returned), (50, 50));
    assert!(measured.there.quantile(0.0) >= Some(EARLIEST_NS), "{measured:?}");
    assert!(measured.back.quantile(0.0) >= Some(EARLIEST_NS), "{measured:?}");

    two.network.reset().unwrap();
    let loss = Loss::Independent { p: 0.5 };
    two.network.set_link(0, 1, Link { loss, ..link }).unwrap();
    let measured = two.measure(400);
    assert!((measured.loss_there() - 0.5).abs() < 0.15, "{measured:?}");
    assert_eq!(measured.loss_back(), 0.0);
    let done = two.network.done().unwrap();
    let lost = u64::from(measured.sent - measured.arrived);
    assert_eq!((done.lost, done.overflow), (lost, 0));
    assert_eq!(done.packets, u64::from(measured.arrived + measured.returned));

    let cut = Link { cut: true, ..link };
    two.network.set_link(0, 1, cut).unwrap();
    assert_eq!(two.network.link(0, 1).unwrap(), cut);
    assert_eq!(two.measure(20).arrived, 0);
    two.network.set_link(0, 1, link).unwrap();
    assert_eq!(two.measure(20).returned, 20);
}

fn order_under_jitter(emulator: Emulator) {
    let link = Link { jitter: Jitter::Normal { sd_ns: 2_000_000 }, ..Link::new(10_000_000) };
    let Some(two) = two(emulator, link) else {
        return;
    };
    let [here, there] = two.sockets();
    for number in 0..200_u8 {
        here.send_to(&[number], there.local_addr().unwrap()).unwrap();
    }
    for number in 0..200_u8 {
        let mut buffer = [0];
        there.recv(&mut buffer).unwrap();
        assert_eq!(buffer[0], number);
    }
}

fn bursts_and_rates(emulator: Emulator) {
    let bursts =
        Loss::GilbertElliott { good_to_bad: 0.1, bad_to_good: 0.3, loss_good: 0.0, loss_bad: 1.0 };
    let link = Link { loss: bursts, ..Link::new(1_000_000) };
    let Some(two) = two(emulator, link) else {
        return;
    };
    let measured = two.measure(1_000);
    // A quarter; of 2,000 packets in bursts of 3 or 4.
    assert!((measured.loss_there() - 0.25).abs() < 0.12, "{measured:?}");
    let rate = Rate { bits_per_s: 8_000_000, backlog: Backlog::Bytes(30_000) };
    let slow = Link { rate: Some(rate), ..Link::new(1_000_000) };
    two.network.set_link(0, 1, slow).unwrap();
    let [from, to] = two.hosts.each_ref();
    let bits = measure_rate(Pair { from, to }, 16_000_000, Duration::from_millis(500)).unwrap();
    assert!((0.0..10_000_000.0).contains(&bits), "{bits}");
    assert!(two.network.done().unwrap().lost > 0);
}

#[test]
fn the_forwarder_does_what_links_say() {
    delays_losses_cuts(Emulator::Forwarder);
    order_under_jitter(Emulator::Forwarder);
    bursts_and_rates(Emulator::Forwarder);
}

#[test]
fn netem_delays_loses_and_cuts() {
    delays_losses_cuts(Emulator::Netem);
}

#[test]
fn netem_keeps_the_order_of_packets_under_jitter() {
    order_under_jitter(Emulator::Netem);
}

#[test]
fn netem_loses_in_bursts_and_has_rates() {
    bursts_and_rates(Emulator::Netem);
}
