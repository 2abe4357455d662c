//! Measurements of a network: delays of both directions, losses and rates, as the kernel's stamps show them.
//!
//! Datagrams go from one host to another and back. The sender's clock is read before it sends; the times of arrival
//! are the kernel's, so that what this thread takes to notice them does not count as delay.

use std::io;
use std::net::UdpSocket;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::time::{ClockId, clock_gettime};

use crate::wan::{Namespace, WanError, sys};

/// Number of the datagram, when it was sent, when it arrived, when the echo was sent.
const STAMPS_BYTES: usize = 32;
/// The largest payload of a datagram that is not cut into several, with an MTU of 1500 bytes.
const PAYLOAD_BYTES_MAX: usize = 1472;
/// Size of a socket's receive buffer, in bytes; the kernel may grant less.
const RECEIVE_BYTES: usize = 8 << 20;
const EVENTS: usize = 64;
/// Datagrams read from one socket before the next one is due for sending.
const BATCH: usize = 16;

/// From one host to another and back.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// Sends, and gets the echoes.
    pub from: &'a Namespace,
    /// Host that echoes.
    pub to: &'a Namespace,
}

/// Number, distance and size of the datagrams.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Datagrams of each pair.
    pub packets: u32,
    /// Between two of the same pair.
    pub interval: Duration,
    /// Payload of each, in bytes; brought to the range 32 to 1472.
    pub payload_bytes: usize,
    /// How long the last echoes may take: above the longest round trip.
    pub wait: Duration,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            packets: 100,
            interval: Duration::from_millis(10),
            payload_bytes: STAMPS_BYTES,
            wait: Duration::from_secs(1),
        }
    }
}

/// Results for the datagrams of a pair. Times are in nanoseconds.
#[derive(Debug, Clone, Default)]
pub struct Measurement {
    /// Datagrams sent.
    pub sent: u32,
    /// Datagrams that arrived.
    pub arrived: u32,
    /// Datagrams whose echoes arrived.
    pub returned: u32,
    /// Datagrams that arrived when the socket was full, because this program was too slow to read it. They count as
    /// lost neither there nor back.
    pub missed_there: u32,
    /// Echoes of which the same is true.
    pub missed_back: u32,
    /// One-way delays there.
    pub there: Delays,
    /// One-way delays of the echoes.
    pub back: Delays,
    /// Sum of both delays, for each datagram that returned.
    pub round_trip: Delays,
}

impl Measurement {
    /// The share of datagrams that were lost on their way there.
    pub fn loss_there(&self) -> f64 {
        lost(self.sent, self.arrived + self.missed_there)
    }

    /// The share of echoes that were lost.
    pub fn loss_back(&self) -> f64 {
        lost(self.arrived, self.returned + self.missed_back)
    }
}

/// Exact times in nanoseconds, least first once all are there.
#[derive(Debug, Clone, Default)]
pub struct Delays(Vec<u64>);

impl Delays {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The time at or below which a share `q` of all lies: the one of rank ⌈`q` · count⌉, at least the least. `None` if
    /// there are none.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let rank = (q.clamp(0.0, 1.0) * self.0.len() as f64).ceil() as usize;
        self.0.get(rank.saturating_sub(1)).copied()
    }

    /// Mean and standard deviation; `None` if there are none.
    pub fn moments(&self) -> Option<(f64, f64)> {
        let count = self.0.len() as f64;
        let mean = self.0.iter().map(|&ns| ns as f64).sum::<f64>() / count;
        let squares = self.0.iter().map(|&ns| (ns as f64 - mean).powi(2));
        let variance = squares.sum::<f64>() / count;
        (count > 0.0).then(|| (mean, variance.sqrt()))
    }
}

fn lost(sent: u32, arrived: u32) -> f64 {
    match sent {
        0 => 0.0,
        sent => f64::from(sent.saturating_sub(arrived)) / f64::from(sent),
    }
}

/// Sends datagrams of all pairs at once, each pair's evenly, and waits for the echoes. Takes about `packets` ×
/// `interval` + `wait`, and more if this program cannot send as fast.
///
/// # Errors
/// A socket cannot be opened, or nothing can be sent.
pub fn calibrate(pairs: &[Pair<'_>], plan: &Plan) -> Result<Vec<Measurement>, WanError> {
    let failed = |e: io::Error| WanError::system("measure the network", e);
    let mut probes = Probes::open(pairs, plan).map_err(failed)?;
    probes.run(plan).map_err(failed)?;
    let measured = probes.pairs.into_iter().map(|probe| {
        let mut measured = probe.measured;
        let Measurement { there, back, round_trip, .. } = &mut measured;
        for delays in [there, back, round_trip] {
            delays.0.sort_unstable();
        }
        measured
    });
    Ok(measured.collect())
}

/// How many bits of UDP payload and headers arrive per second from one host at another, of `offered_bits_per_s` that
/// are sent for a time. Offer more than the link's rate to see the rate.
///
/// # Errors
/// A socket cannot be opened.
pub fn measure_rate(
    pair: Pair<'_>,
    offered_bits_per_s: u64,
    duration: Duration,
) -> Result<f64, WanError> {
    let plan = Plan { payload_bytes: PAYLOAD_BYTES_MAX, ..Plan::default() };
    let failed = |e: io::Error| WanError::system("measure a link's rate", e);
    let mut probes = Probes::open(&[pair], &plan).map_err(failed)?;
    probes.flood(offered_bits_per_s, duration).map_err(failed)
}

/// Longest lateness that is caught up with, in nanoseconds.
const ARREARS_NS_MAX: u64 = 1_000_000;

/// The sockets of one pair.
#[derive(Debug)]
struct Probe {
    client: UdpSocket,
    echo: UdpSocket,
    measured: Measurement,
}

#[derive(Debug)]
struct Probes {
    epoll: rustix::fd::OwnedFd,
    pairs: Vec<Probe>,
    payload: Vec<u8>,
}

impl Probes {
    fn open(pairs: &[Pair<'_>], plan: &Plan) -> io::Result<Probes> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut probes = Vec::new();
        for (number, pair) in pairs.iter().enumerate() {
            let [client, echo] = [pair.from, pair.to].map(|host| {
                let socket = host.run(|| UdpSocket::bind((host.address(), 0)))??;
                socket.set_nonblocking(true)?;
                // The second is the kernel's default limit; the first needs a permission.
                let _ = sockopt::set_socket_recv_buffer_size_force(&socket, RECEIVE_BYTES)
                    .or_else(|_| sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BYTES));
                sys::stamp_arrivals(&socket)?;
                io::Result::Ok(socket)
            });
            let client = client?;
            let echo = echo?;
            client.connect(echo.local_addr()?)?;
            for (socket, bit) in [(&client, 0), (&echo, 1)] {
                let name = epoll::EventData::new_u64(2 * number as u64 + bit);
                epoll::add(&epoll, socket, name, epoll::EventFlags::IN)?;
            }
            let measured = Measurement::default();
            probes.push(Probe { client, echo, measured });
        }
        let bytes = plan.payload_bytes.clamp(STAMPS_BYTES, PAYLOAD_BYTES_MAX);
        Ok(Probes { epoll, pairs: probes, payload: vec![0; bytes] })
    }

    fn run(&mut self, plan: &Plan) -> io::Result<()> {
        let pairs = self.pairs.len() as u64;
        let gap_ns = plan.interval.as_nanos() as u64 / pairs.max(1);
        let mut due_ns = monotonic_ns();
        for number in 0..u64::from(plan.packets) * pairs {
            while monotonic_ns() < due_ns {
                self.poll(due_ns)?;
            }
            self.send((number % pairs) as usize, number)?;
            // More would be a burst that waits for itself in the network.
            due_ns = (due_ns + gap_ns).max(monotonic_ns().saturating_sub(ARREARS_NS_MAX));
        }
        let end_ns = monotonic_ns() + plan.wait.as_nanos() as u64;
        let is_missing = |probe: &Probe| probe.measured.returned < probe.measured.sent;
        while monotonic_ns() < end_ns && self.pairs.iter().any(is_missing) {
            self.poll(end_ns)?;
        }
        for probe in &mut self.pairs {
            probe.measured.missed_there = sys::missed(&probe.echo)?;
            probe.measured.missed_back = sys::missed(&probe.client)?;
        }
        Ok(())
    }

    fn flood(&mut self, offered_bits_per_s: u64, duration: Duration) -> io::Result<f64> {
        let packet_bits = (self.payload.len() as u64 + 28) * 8;
        let gap_ns = (packet_bits * 1_000_000_000 / offered_bits_per_s.max(1)).max(1);
        let start_ns = monotonic_ns();
        let end_ns = start_ns + duration.as_nanos() as u64;
        let mut sent = 0;
        let mut arrived = 0_u64;
        let mut first = 0;
        let mut last = 0;
        let mut buffer = [0; 2048];
        // What is under way when the last one is sent does not matter: the rate is that between two arrivals.
        while monotonic_ns() < end_ns {
            for _ in 0..BATCH {
                if start_ns + sent * gap_ns > monotonic_ns() {
                    break;
                }
                self.send(0, sent)?;
                sent += 1;
            }
            let echo = &self.pairs[0].echo;
            while echo.recv(&mut buffer).is_ok() {
                let arrived_ns = sys::arrival_ns(echo)?;
                first = if arrived == 0 { arrived_ns } else { first };
                (arrived, last) = (arrived + 1, arrived_ns);
            }
        }
        let gaps = arrived.saturating_sub(1) * packet_bits;
        Ok(match last.saturating_sub(first) {
            0 => 0.0,
            ns => gaps as f64 * 1e9 / ns as f64,
        })
    }

    fn send(&mut self, pair: usize, number: u64) -> io::Result<()> {
        let probe = &mut self.pairs[pair];
        put(&mut self.payload, 0, number);
        put(&mut self.payload, 1, real_ns());
        match probe.client.send(&self.payload) {
            Ok(_) => probe.measured.sent += 1,
            // It counts as sent: that it was lost here is a loss, too.
            Err(e) if is_temporary(&e) => probe.measured.sent += 1,
            Err(e) => return Err(e),
        }
        Ok(())
    }

    /// Handles arrivals until a time, at least those that are there.
    fn poll(&mut self, until_ns: u64) -> io::Result<()> {
        let ns = until_ns.saturating_sub(monotonic_ns());
        let timeout =
            Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
        let mut events = Vec::with_capacity(EVENTS);
        match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        for event in events {
            let name = event.data.u64();
            let probe = &mut self.pairs[(name / 2) as usize];
            match name % 2 {
                0 => probe.returned()?,
                _ => probe.echo()?,
            }
        }
        Ok(())
    }
}

impl Probe {
    fn echo(&mut self) -> io::Result<()> {
        let mut buffer = [0; 2048];
        for _ in 0..BATCH {
            let (length, sender) = match self.echo.recv_from(&mut buffer) {
                Ok(received) => received,
                Err(e) if is_temporary(&e) => return Ok(()),
                Err(e) => return Err(e),
            };
            let arrived_ns = sys::arrival_ns(&self.echo)?;
            self.measured.arrived += 1;
            let delay_ns = arrived_ns.saturating_sub(get(&buffer, 1));
            self.measured.there.0.push(delay_ns);
            put(&mut buffer, 2, arrived_ns);
            put(&mut buffer, 3, real_ns());
            match self.echo.send_to(&buffer[..length], sender) {
                Err(e) if !is_temporary(&e) => return Err(e),
                _ => {}
            }
        }
        Ok(())
    }

    fn returned(&mut self) -> io::Result<()> {
        let mut buffer = [0; 2048];
        for _ in 0..BATCH {
            match self.client.recv(&mut buffer) {
                Ok(_) => {}
                Err(e) if is_temporary(&e) => return Ok(()),
                Err(e) => return Err(e),
            }
            let arrived_ns = sys::arrival_ns(&self.client)?;
            let back_ns = arrived_ns.saturating_sub(get(&buffer, 3));
            let there_ns = get(&buffer, 2).saturating_sub(get(&buffer, 1));
            self.measured.returned += 1;
            self.measured.back.0.push(back_ns);
            self.measured.round_trip.0.push(there_ns + back_ns);
        }
        Ok(())
    }
}

/// Nothing is there, or no more fits: not a fault.
fn is_temporary(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
        || error.raw_os_error() == Some(Errno::NOBUFS.raw_os_error())
}

fn get(buffer: &[u8], place: usize) -> u64 {
    let bytes = buffer[8 * place..].first_chunk();
    u64::from_ne_bytes(*bytes.expect("buffers are longer than the stamps"))
}

fn put(buffer: &mut [u8], place: usize, value: u64) {
    buffer[8 * place..8 * place + 8].copy_from_slice(&value.to_ne_bytes());
}

fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// The clock of the kernel's stamps.
fn real_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Realtime))
}

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
