//! Counters, and their text for Prometheus.

use std::fmt::{Display, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};

/// A number that any thread may change.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Upper bounds of the bins of times, in microseconds.
const TIME_BOUNDS_US: [u32; 19] = [
    10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000,
    500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000,
];

/// Times by size, that any thread may add to.
#[derive(Debug, Default)]
pub struct TimeHistogram {
    /// One more than there are bounds.
    bins: [Counter; TIME_BOUNDS_US.len() + 1],
    sum_us: Counter,
}

impl TimeHistogram {
    /// Adds this time `count` times.
    pub fn add(&self, time_us: u64, count: u64) {
        let bin = TIME_BOUNDS_US.partition_point(|&bound| u64::from(bound) < time_us);
        self.bins[bin].add(count);
        self.sum_us.add(time_us.saturating_mul(count));
    }
}

/// Counts of a server of plain HTTP.
#[derive(Debug, Default)]
pub struct HttpConnections {
    /// Connections accepted.
    pub opened: Counter,
    /// Connections ended.
    pub closed: Counter,
    /// Connections dropped because too many were open.
    pub refused: Counter,
    /// Connections closed because a head was incomplete, or an answer unread, at its timeout.
    pub timed_out: Counter,
}

/// Counts of every reactor. Connections are those that became a WebSocket or a stream.
#[derive(Debug, Default)]
pub struct Connections {
    pub opened: Counter,
    pub closed: Counter,
    /// Still there when the time for stopping was over.
    pub cut: Counter,
    pub accept_errors: Counter,
    /// Connections closed because a head was incomplete, or an answer over plain HTTP unread, at its timeout.
    pub opening_timeouts: Counter,
    /// Connections that ended because TLS failed.
    pub tls_failures: Counter,
    pub messages_received: Counter,
    pub messages_sent: Counter,
    pub bad_requests: Counter,
    pub slow_disconnects: Counter,
    pub idle_disconnects: Counter,
    /// Connections closed between two requests, at the end of their life.
    pub lives_ended: Counter,
    /// States that a newer one overtook before they were sent.
    pub superseded: Counter,
}

/// A name without the system's, its help, and its value.
pub type Figure<'a, V> = (&'a str, &'a str, V);

/// The metrics page in Prometheus' text format. Names begin with the name of the system.
#[derive(Debug)]
pub struct Page {
    system: &'static str,
    text: String,
}

impl Page {
    pub fn new(system: &'static str) -> Self {
        Self { system, text: String::with_capacity(4096) }
    }

    /// Counters: figures that only rise.
    pub fn counters<const N: usize>(&mut self, figures: [Figure<'_, u64>; N]) {
        for (name, help, value) in figures {
            self.counter(name, help, value);
        }
    }

    /// A figure that only rises.
    pub fn counter(&mut self, name: &str, help: &str, value: u64) {
        let name = format!("{}_{name}", self.system);
        self.sample(&name, "counter", help, value);
    }

    /// A figure that rises and falls.
    pub fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        let name = format!("{}_{name}", self.system);
        self.sample(&name, "gauge", help, value);
    }

    /// Counts of the front; `connections` says what its connections are.
    pub fn connections(&mut self, connections: &'static str, all: &Connections) {
        let opened = all.opened.get();
        let open = opened.saturating_sub(all.closed.get());
        self.gauge("connections", &format!("{connections} open"), open);
        let counters = [
            ("connections_total", "Connections opened", opened),
            ("accept_errors_total", "Failures to accept a connection", all.accept_errors.get()),
            (
                "opening_timeouts_total",
                "Connections closed because a request was incomplete or an answer unread at the timeout",
                all.opening_timeouts.get(),
            ),
            (
                "tls_failures_total",
                "Connections closed because their TLS failed, or because they had none",
                all.tls_failures.get(),
            ),
            ("messages_received_total", "WebSocket messages received", all.messages_received.get()),
            ("messages_sent_total", "Messages sent to connections", all.messages_sent.get()),
            ("bad_requests_total", "Requests answered with an error", all.bad_requests.get()),
            (
                "slow_disconnects_total",
                "Connections closed because they read too slowly",
                all.slow_disconnects.get(),
            ),
            (
                "idle_disconnects_total",
                "Connections closed by the idle timeout",
                all.idle_disconnects.get(),
            ),
            (
                "lives_ended_total",
                "Connections closed so that their peers connect again",
                all.lives_ended.get(),
            ),
        ];
        for (name, help, value) in counters {
            self.counter(name, help, value);
        }
    }

    /// A figure for each of several labels, such as `operation="send"`; counters only rise.
    pub fn labelled(
        &mut self,
        name: &str,
        is_counter: bool,
        help: &str,
        values: impl IntoIterator<Item = (String, u64)>,
    ) {
        let name = format!("{}_{name}", self.system);
        let kind = if is_counter { "counter" } else { "gauge" };
        self.head(&name, kind, help);
        for (labels, value) in values {
            writeln!(self.text, "{name}{{{labels}}} {value}").expect("a string takes any text");
        }
    }

    /// Histograms of times in seconds, one for each label.
    pub fn histograms<'a>(
        &mut self,
        name: &str,
        help: &str,
        histograms: impl IntoIterator<Item = (&'a str, &'a TimeHistogram)>,
    ) {
        let name = format!("{}_{name}", self.system);
        self.head(&name, "histogram", help);
        for (labels, histogram) in histograms {
            let mut count = 0;
            let bounds = TIME_BOUNDS_US.iter().map(|&us| f64::from(us) / 1e6);
            let bounds = bounds.map(|bound| bound.to_string());
            let bounds = bounds.chain(["+Inf".to_owned()]);
            for (bound, bin) in bounds.zip(&histogram.bins) {
                count += bin.get();
                writeln!(self.text, "{name}_bucket{{{labels},le=\"{bound}\"}} {count}")
                    .expect("a string takes any text");
            }
            let sum = histogram.sum_us.get() as f64 / 1e6;
            writeln!(self.text, "{name}_sum{{{labels}}} {sum}\n{name}_count{{{labels}}} {count}")
                .expect("a string takes any text");
        }
    }

    /// The page, with memory and CPU of this process; they are left out where `/proc` does not
    /// tell.
    pub fn finish(mut self) -> String {
        if let Some(bytes) = resident_bytes() {
            let help = "Resident memory in bytes";
            self.sample("process_resident_memory_bytes", "gauge", help, bytes);
        }
        if let Some(seconds) = cpu_seconds() {
            let help = "User and system CPU time in seconds";
            self.sample("process_cpu_seconds_total", "counter", help, seconds);
        }
        self.text
    }

    fn sample(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.head(name, kind, help);
        writeln!(self.text, "{name} {value}").expect("a string takes any text");
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}")
            .expect("a string takes any text");
    }
}

fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name, in brackets, may hold anything; user and system time are fields 14 and 15.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let user = ticks()?;
    let system = ticks()?;
    // The kernel shows clock ticks to user space as hundredths of a second (USER_HZ).
    Some((user + system) as f64 / 100.0)
}
