//! TCP: how fast with segmentation offload, and over losses beside the formula of Mathis et al.

use std::io::{Read, Write};
use std::thread;
use std::time::Duration;

use wan::{Link, Loss};

use crate::Outcome;
use crate::net::{Net, now};
use crate::packets::pin;

const ROUND_TRIPS_MS: [u64; 4] = [10, 50, 100, 300];
const LOSSES: [f64; 3] = [0.0, 0.001, 0.01];
/// Payload of a segment with an MTU of 1500 bytes and timestamps.
const SEGMENT_BYTES: f64 = 1448.0;
const CHUNK: usize = 256 << 10;

struct Transfer {
    bits_per_s: f64,
    cpu_share: f64,
    lost: f64,
    segments: u64,
}

/// Sends for a time after a warm-up, and counts what arrives.
fn transfer(
    net: &Net,
    warm_up: Duration,
    time: Duration,
) -> Result<Transfer, Box<dyn std::error::Error>> {
    let listener = net.listen(1)?;
    let mut stream = net.connect(0, &listener)?;
    let (mut receiving, _) = listener.accept()?;
    thread::scope(|scope| {
        scope.spawn(move || {
            let chunk = vec![0; CHUNK];
            // Until the receiver closes.
            while stream.write_all(&chunk).is_ok() {}
        });
        let mut buffer = vec![0; CHUNK];
        let start = now();
        while now() - start < warm_up {
            receiving.read(&mut buffer)?;
        }
        net.forwarder.reset_counts()?;
        let (start, mut bytes) = (now(), 0);
        while now() - start < time {
            bytes += receiving.read(&mut buffer)?;
        }
        let elapsed = (now() - start).as_secs_f64();
        let counts = net.forwarder.counts()?;
        receiving.shutdown(std::net::Shutdown::Both)?;
        drop(receiving);
        let pair = *counts.pair(0, 1).ok_or("there are two places")?;
        Ok(Transfer {
            bits_per_s: bytes as f64 * 8.0 / elapsed,
            cpu_share: counts.cpu.as_secs_f64() / elapsed,
            lost: pair.lost as f64 / pair.arrived() as f64,
            segments: pair.arrived(),
        })
    })
}

/// One stream over 1 ms, as fast as it gets.
pub(crate) fn fast(time: Duration) -> Outcome {
    pin(0)?;
    let net = Net::two(Link::new(500_000))?;
    pin(1)?;
    let transfer = transfer(&net, Duration::from_secs(1), time)?;
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

/// Reno and CUBIC, each round trip and loss. Mathis, Semke, Mahdavi and Ott, "The Macroscopic Behavior of the TCP
/// Congestion Avoidance Algorithm" (1997): rate = segment / round trip · C / √loss, C = √(3/2) if each segment is
/// acknowledged, √(3/4) with delayed acknowledgements.
pub(crate) fn lossy(time: Duration) -> Outcome {
    for loss in LOSSES {
        for ms in ROUND_TRIPS_MS {
            let link = Link::new(ms * 500_000);
            let there = Link {
                loss: Loss::Independent { p: loss },
                ..link
            };
            let own = Link::new(0);
            let net = Net::new(vec![own, there, link, own], 1)?;
            for host in &net.hosts {
                let set = host.run(|| {
                    std::fs::write("/proc/sys/net/ipv4/tcp_congestion_control", "reno")?;
                    // Or the window's limit, not the losses, would be the limit.
                    std::fs::write("/proc/sys/net/ipv4/tcp_wmem", "4096 1048576 67108864")?;
                    std::fs::write("/proc/sys/net/ipv4/tcp_rmem", "4096 1048576 67108864")
                });
                set??;
            }
            let warm_up = Duration::from_millis(20 * ms).max(Duration::from_secs(2));
            let transfer = transfer(&net, warm_up, time)?;
            let round_trip = ms as f64 / 1e3;
            let mathis = |c: f64| SEGMENT_BYTES * 8.0 / round_trip * c / transfer.lost.sqrt() / 1e6;
            let mathis = match transfer.lost > 0.0 {
                true => format!(
                    "{:.3}, \"mathis_delayed_mbit_per_s\": {:.3}",
                    mathis(1.5_f64.sqrt()),
                    mathis(0.75_f64.sqrt())
                ),
                false => "null".to_owned(),
            };
            println!(
                "{{\"measured\": \"losses\", \"round_trip_ms\": {ms}, \"requested_loss\": {loss}, \"loss\": {:.5}, \
                 \"segments\": {}, \"mbit_per_s\": {:.3}, \"forwarder_cpu_share\": {:.3}, \
                 \"mathis_mbit_per_s\": {mathis}}}",
                transfer.lost,
                transfer.segments,
                transfer.bits_per_s / 1e6,
                transfer.cpu_share,
            );
        }
    }
    Ok(())
}
