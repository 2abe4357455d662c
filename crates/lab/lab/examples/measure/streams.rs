//! TCP: how fast with segmentation offload, and over losses beside the formula of Mathis et al.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use lab::wan::{Link, Loss};

use crate::Outcome;
use crate::net::{Net, now};
use crate::packets::pin;

const ROUND_TRIPS_MS: [u64; 4] = [10, 50, 100, 300];
const LOSSES: [f64; 3] = [0.0, 0.001, 0.01];
/// Payload of a segment with an MTU of 1500 bytes and timestamps.
const SEGMENT_BYTES: f64 = 1448.0;
const CHUNK: usize = 256 << 10;
/// Connections at once where packets are lost: one alone loses too few of them in the time.
const STREAMS: u32 = 32;

type Failure = Box<dyn std::error::Error>;

struct Transfer {
    bits_per_s: f64,
    cpu_share: f64,
    lost: f64,
    segments: u64,
}

/// Sends over several connections for a time after a warm-up, and counts what arrives.
fn transfer(
    net: &Net,
    streams: u32,
    warm_up: Duration,
    time: Duration,
) -> Result<Transfer, Failure> {
    let listener = net.listen(1)?;
    let bytes = AtomicU64::new(0);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..streams {
            let mut stream = net.connect(0, &listener)?;
            let (receiving, _) = listener.accept()?;
            scope.spawn(move || {
                let chunk = vec![0; CHUNK];
                // Until the receiver closes.
                while stream.write_all(&chunk).is_ok() {}
            });
            let bytes = &bytes;
            let is_over = &is_over;
            scope.spawn(move || {
                let mut receiving = receiving;
                let mut buffer = vec![0; CHUNK];
                while !is_over.load(Ordering::Relaxed) {
                    let read = receiving.read(&mut buffer)?;
                    bytes.fetch_add(read as u64, Ordering::Relaxed);
                }
                receiving.shutdown(Shutdown::Both)
            });
        }
        wait(net, warm_up)?;
        net.forwarder.reset_counts()?;
        let start = now();
        let before = bytes.load(Ordering::Relaxed);
        wait(net, time)?;
        let elapsed = (now() - start).as_secs_f64();
        let bytes = bytes.load(Ordering::Relaxed) - before;
        let counts = net.forwarder.counts()?;
        is_over.store(true, Ordering::Relaxed);
        let pair = *counts.pair(0, 1).ok_or("there are two places")?;
        Ok(Transfer {
            bits_per_s: bytes as f64 * 8.0 / elapsed,
            cpu_share: counts.cpu.as_secs_f64() / elapsed,
            lost: pair.lost as f64 / pair.arrived() as f64,
            segments: pair.arrived(),
        })
    })
}

/// Waits, on a socket to which nobody sends.
fn wait(net: &Net, time: Duration) -> std::io::Result<()> {
    let socket = net.udp(0)?;
    socket.set_read_timeout(Some(time))?;
    let _ = socket.recv(&mut [0]);
    Ok(())
}

/// One stream over 1 ms, as fast as it gets.
pub(crate) fn fast(time: Duration) -> Outcome {
    pin(0)?;
    let net = Net::two(Link::new(500_000))?;
    pin(1)?;
    let transfer = transfer(&net, 1, Duration::from_secs(1), time)?;
    println!(
        "{{\"measured\": \"stream\", \"gbit_per_s\": {:.2}, \"gbit_per_cpu_second\": {:.2}, \
         \"segments_per_s\": {:.0}, \"forwarder_cpu_share\": {:.3}}}",
        transfer.bits_per_s / 1e9,
        transfer.bits_per_s / 1e9 / transfer.cpu_share,
        transfer.segments as f64 / time.as_secs_f64(),
        transfer.cpu_share,
    );
    Ok(())
}

/// Reno, at each round trip and loss, the rate of one connection. Mathis, Semke, Mahdavi and Ott, "The Macroscopic Behavior
/// of the TCP Congestion Avoidance Algorithm" (1997): rate = segment / round trip · √(3/2) / √loss. Linux grows its
/// window by the bytes that are acknowledged, so delayed acknowledgements do not halve the factor.
pub(crate) fn lossy(time: Duration) -> Outcome {
    for loss in LOSSES {
        for ms in ROUND_TRIPS_MS {
            let link = Link::new(ms * 500_000);
            let there = Link { loss: Loss::Independent { p: loss }, ..link };
            let own = Link::new(0);
            let net = Net::new(vec![own, there, link, own], ms)?;
            for host in &net.hosts {
                let set = host.run(|| {
                    std::fs::write("/proc/sys/net/ipv4/tcp_congestion_control", "reno")?;
                    // Or the window's limit, not the losses, would be the limit.
                    std::fs::write("/proc/sys/net/ipv4/tcp_wmem", "4096 1048576 67108864")?;
                    std::fs::write("/proc/sys/net/ipv4/tcp_rmem", "4096 1048576 67108864")
                });
                set??;
            }
            let streams = if loss > 0.0 { STREAMS } else { 1 };
            let warm_up = Duration::from_millis(50 * ms).max(Duration::from_secs(2));
            let transfer = transfer(&net, streams, warm_up, time)?;
            let mathis =
                SEGMENT_BYTES * 8.0 / (ms as f64 / 1e3) * (1.5 / transfer.lost).sqrt() / 1e6;
            println!(
                "{{\"measured\": \"losses\", \"round_trip_ms\": {ms}, \"requested_loss\": {loss}, \"loss\": {:.6}, \
                 \"segments\": {}, \"streams\": {streams}, \"mbit_per_s\": {:.3}, \"forwarder_cpu_share\": {:.3}, \
                 \"mathis_mbit_per_s\": {}}}",
                transfer.lost,
                transfer.segments,
                transfer.bits_per_s / 1e6 / f64::from(streams),
                transfer.cpu_share,
                if mathis.is_finite() { format!("{mathis:.3}") } else { "null".to_owned() },
            );
        }
    }
    Ok(())
}
