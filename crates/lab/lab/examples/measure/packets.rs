//! How many packets the forwarder handles.

use std::time::Duration;

use lab::wan::Link;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::Outcome;
use crate::net::{Net, now};

/// Of the packet, with its headers.
const SIZES: [usize; 2] = [100, 1500];
const HEADERS: usize = 28;
const ROUND_TRIP_MS: u64 = 20;

pub(crate) fn measure(time: Duration) -> Outcome {
    for bytes in SIZES {
        flood(bytes, time)?;
    }
    Ok(())
}

/// One host sends as fast as its core allows and another one receives, on the same core and thread, as a busy event
/// loop would; the forwarder has the other core.
fn flood(bytes: usize, time: Duration) -> Outcome {
    pin(0)?;
    let net = Net::two(Link::new(ROUND_TRIP_MS * 500_000))?;
    pin(1)?;
    let sender = net.udp(0)?;
    let receiver = net.udp(1)?;
    sender.connect(receiver.local_addr()?)?;
    receiver.set_nonblocking(true)?;
    let payload = vec![0; bytes - HEADERS];
    let mut buffer = [0; 2048];
    let mut flood = |time: Duration| {
        let start = now();
        let mut sent = 0_u64;
        let mut received = 0_u64;
        while now() - start < time {
            for _ in 0..32 {
                sent += u64::from(sender.send(&payload).is_ok());
            }
            while receiver.recv(&mut buffer).is_ok() {
                received += 1;
            }
        }
        (sent, received, now() - start)
    };
    flood(Duration::from_millis(300));
    net.forwarder.reset_counts()?;
    let dropped_before = net.hosts[0].dropped()?;
    let (sent, received, elapsed) = flood(time);
    let counts = net.forwarder.counts()?;
    let departed = counts.lateness.count() as f64;
    println!(
        "{{\"measured\": \"packets\", \"bytes\": {bytes}, \"sent\": {sent}, \"forwarded_per_s\": {:.0}, \
         \"per_cpu_second\": {:.0}, \"gbit_per_s\": {:.2}, \"received\": {received}, \"dropped\": {}, \"lateness_p99_us\": {:.1}, \
         \"forwarder_cpu_share\": {:.3}, \"polled_share\": {:.3}}}",
        departed / elapsed.as_secs_f64(),
        departed / (counts.cpu - counts.polled).as_secs_f64(),
        departed * bytes as f64 * 8.0 / elapsed.as_secs_f64() / 1e9,
        net.hosts[0].dropped()? - dropped_before,
        counts.lateness.quantile(0.99) as f64 / 1e3,
        counts.cpu.as_secs_f64() / elapsed.as_secs_f64(),
        counts.polled.as_secs_f64() / elapsed.as_secs_f64(),
    );
    Ok(())
}

/// Keeps this thread, and those that it starts, on a core.
pub(crate) fn pin(core: usize) -> std::io::Result<()> {
    let mut set = CpuSet::new();
    set.set(core);
    Ok(sched_setaffinity(None, &set)?)
}
