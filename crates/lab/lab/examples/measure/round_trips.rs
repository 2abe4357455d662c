//! Round trips requested and measured, at several rates of packets.

use std::time::Duration;

use lab::wan::Link;
use lab::wan::calibrate::{Pair, Plan, calibrate};

use crate::Outcome;
use crate::net::{Net, now};

const ROUND_TRIPS_MS: [u64; 5] = [1, 20, 78, 194, 314];
/// Of packets that the forwarder handles: each echo is two.
const RATES: [u32; 3] = [10, 1000, 50_000];
const PAYLOAD_BYTES: usize = 72;

pub(crate) fn measure(time: Duration) -> Outcome {
    for rate in RATES {
        for ms in ROUND_TRIPS_MS {
            round_trips(ms, rate, time)?;
        }
    }
    Ok(())
}

fn round_trips(ms: u64, rate: u32, time: Duration) -> Outcome {
    let net = Net::two(Link::new(ms * 500_000))?;
    let plan = Plan {
        packets: (f64::from(rate) * time.as_secs_f64() / 2.0) as u32,
        interval: Duration::from_secs(2) / rate,
        payload_bytes: PAYLOAD_BYTES,
        wait: Duration::from_millis(ms + 500),
    };
    let pair = Pair { from: &net.hosts[0], to: &net.hosts[1] };
    // The first packets fill caches and find the kernel's stamps switched off.
    let warm_up = Plan { packets: 20, interval: Duration::from_millis(1), ..plan };
    calibrate(&[pair], &warm_up)?;
    net.forwarder.reset_counts()?;
    let start = now();
    let measured = calibrate(&[pair], &plan)?.remove(0);
    let elapsed = now() - start;
    let counts = net.forwarder.counts()?;
    let error_ms =
        |q| measured.round_trip.quantile(q).map_or(f64::NAN, |ns| ns as f64 / 1e6 - ms as f64);
    println!(
        "{{\"measured\": \"round-trips\", \"requested_ms\": {ms}, \"packets_per_s\": {rate}, \"sent\": {}, \"seconds\": {:.2}, \
         \"returned\": {}, \"missed\": {}, \"error_p1_ms\": {:.3}, \"error_median_ms\": {:.3}, \"error_p99_ms\": {:.3}, \
         \"error_max_ms\": {:.3}, \"late\": {}, \"very_late\": {}, \"lateness_median_us\": {:.1}, \"lateness_p99_us\": {:.1}, \
         \"away_max_us\": {:.1}, \"wake_us\": {:.1}, \"forwarder_cpu_share\": {:.4}, \"polled_share\": {:.4}, \"is_first\": {}}}",
        measured.sent,
        elapsed.as_secs_f64(),
        measured.returned,
        measured.missed_there + measured.missed_back,
        error_ms(0.01),
        error_ms(0.5),
        error_ms(0.99),
        error_ms(1.0),
        counts.late(),
        counts.very_late(),
        counts.lateness.quantile(0.5) as f64 / 1e3,
        counts.lateness.quantile(0.99) as f64 / 1e3,
        counts.away.max() as f64 / 1e3,
        counts.wake.as_secs_f64() * 1e6,
        counts.cpu.as_secs_f64() / elapsed.as_secs_f64(),
        counts.polled.as_secs_f64() / elapsed.as_secs_f64(),
        counts.is_first,
    );
    Ok(())
}

/// What the forwarder uses of a core while nothing is sent.
pub(crate) fn idle(time: Duration) -> Outcome {
    let net = Net::two(Link::new(10_000_000))?;
    let nobody = net.udp(0)?;
    let _receive = net.udp(1)?;
    nobody.set_read_timeout(Some(time))?;
    net.forwarder.reset_counts()?;
    let start = now();
    // Nothing arrives: a wait.
    let _ = nobody.recv(&mut [0]);
    let elapsed = now() - start;
    let counts = net.forwarder.counts()?;
    println!(
        "{{\"measured\": \"idle\", \"seconds\": {:.1}, \"forwarder_cpu_share\": {:.6}, \"unknown\": {}}}",
        elapsed.as_secs_f64(),
        counts.cpu.as_secs_f64() / elapsed.as_secs_f64(),
        counts.unknown,
    );
    Ok(())
}
