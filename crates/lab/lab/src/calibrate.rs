//! The network of a lab, measured: round trips and losses between all regions, requested against found.

use std::time::Duration;

use crate::wan::WanError;
use crate::wan::calibrate::{Measurement, Pair, Plan, calibrate};
use machine::clock::Dilation;

use crate::clock::stretch;
use crate::message::PairStatus;
use crate::system::System;

/// Between two datagrams of a pair.
const INTERVAL: Duration = Duration::from_millis(10);
/// Added to the longest round trip: how late the last echo may be.
const SLACK: Duration = Duration::from_millis(500);

/// Sends this many datagrams between each two regions, from the hosts of their users.
pub(crate) fn measure(system: &System, packets: u32) -> Result<Vec<PairStatus>, WanError> {
    let file = &system.directory.file;
    let regions = file.regions.len();
    let loss = |from: usize, to: usize| file.links[from * regions + to].loss.mean();
    let ends = (0..regions).flat_map(|from| (from + 1..regions).map(move |to| (from, to)));
    let ends: Vec<(usize, usize)> = ends.collect();
    let crowd = |region: usize| system.namespace_of_crowd(region);
    let pairs = ends.iter().map(|(from, to)| Pair { from: crowd(*from), to: crowd(*to) });
    let round_trip = |(from, to): &(usize, usize)| file.round_trip_ns(*from, *to);
    let longest = ends.iter().map(round_trip).max();
    let plan = Plan {
        packets,
        interval: INTERVAL,
        wait: stretch(Duration::from_nanos(longest.unwrap_or(0))) + SLACK,
        ..Plan::default()
    };
    let measured = calibrate(&pairs.collect::<Vec<_>>(), &plan)?;
    let statuses = ends.iter().zip(measured);
    Ok(statuses
        .map(|((from, to), measured)| {
            let lost = 1.0 - (1.0 - loss(*from, *to)) * (1.0 - loss(*to, *from));
            status(
                &file.regions[*from],
                &file.regions[*to],
                file.round_trip_ns(*from, *to),
                lost,
                &measured,
            )
        })
        .collect())
}

fn status(
    from: &str,
    to: &str,
    requested_ns: u64,
    lost_requested: f64,
    measured: &Measurement,
) -> PairStatus {
    let round_trips = &measured.round_trip;
    let shown_ns = |ns| Dilation::of_process().shrink_ns(ns);
    PairStatus {
        from: from.to_owned(),
        to: to.to_owned(),
        requested_ns,
        median_ns: round_trips.quantile(0.5).map(shown_ns),
        p99_ns: round_trips.quantile(0.99).map(shown_ns),
        lost_requested,
        lost: 1.0 - (1.0 - measured.loss_there()) * (1.0 - measured.loss_back()),
    }
}
