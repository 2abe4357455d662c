//! How long 64 hosts in 16 places take to come up, and the forwarder's pairs to be measured.

use std::net::Ipv4Addr;
use std::time::Duration;

use lab::wan::calibrate::{Pair, Plan, calibrate};
use lab::wan::{Forwarder, Link, Namespace, Port};

use crate::Outcome;
use crate::net::now;

const HOSTS: u16 = 64;
const PLACES: u16 = 16;
const ROUND_TRIP_MS: u64 = 100;

pub(crate) fn measure() -> Outcome {
    let start = now();
    let mut hosts = Vec::new();
    let mut ports = Vec::new();
    for number in 0..HOSTS {
        let address = Ipv4Addr::from(u32::from(Ipv4Addr::new(198, 18, 0, 1)) + u32::from(number));
        let (host, tun) = Namespace::create(address, 1500)?;
        let place = number % PLACES;
        ports.push(Port { address, place, tun });
        hosts.push(host);
    }
    let links = vec![Link::new(ROUND_TRIP_MS * 500_000); usize::from(PLACES).pow(2)];
    let forwarder = Forwarder::start(ports, links, 1)?;
    let up = now() - start;

    let places = &hosts[..usize::from(PLACES)];
    let others = |from| places.iter().filter(move |to| !std::ptr::eq(from, *to));
    let pairs = places.iter().flat_map(|from| others(from).map(move |to| Pair { from, to }));
    let pairs: Vec<Pair<'_>> = pairs.collect();
    let plan = Plan { packets: 50, interval: Duration::from_millis(20), ..Plan::default() };
    let measured = calibrate(&pairs, &plan)?;
    let returned = measured.iter().map(|pair| pair.returned).sum::<u32>();
    let error_ms = |q| {
        let errors = measured.iter().filter_map(|pair| pair.round_trip.quantile(q));
        let errors = errors.map(|ns| ns as f64 / 1e6 - ROUND_TRIP_MS as f64);
        errors.fold(f64::MIN, f64::max)
    };
    let pairs = pairs.len();
    let sent = pairs as u32 * plan.packets;
    let median = error_ms(0.5);
    let p99 = error_ms(0.99);
    let late = forwarder.counts()?.late();
    let start = now();
    drop((forwarder, measured, hosts));
    println!(
        "{{\"measured\": \"hosts\", \"hosts\": {HOSTS}, \"places\": {PLACES}, \"up_s\": {:.3}, \"down_s\": {:.3}, \
         \"pairs\": {pairs}, \"sent\": {sent}, \"returned\": {returned}, \"worst_median_ms\": {median:.3}, \
         \"worst_p99_ms\": {p99:.3}, \"late\": {late}}}",
        up.as_secs_f64(),
        (now() - start).as_secs_f64(),
    );
    Ok(())
}
