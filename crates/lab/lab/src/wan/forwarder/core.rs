//! The forwarder's loop: departures that are due, a wait, packets that have arrived.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use stats::hist::LogHistogram;

use super::counts::{Counts, PairCounts};
use super::pacer::{Pacer, Wait};
use super::ports::Ports;
use super::{Port, Task};
use crate::wan::WanError;
use crate::wan::buffers::Buffers;
use crate::wan::departures::Departures;
use crate::wan::flow::Flow;
use crate::wan::link::{Fate, Link, LinkState};
use crate::wan::packet::{self, FRAME_BYTES_MAX, Head, Segments, VNET_BYTES};

/// Frames read from one device, or written, before the loop looks at the others.
const BATCH: usize = 32;
/// Devices whose packets one call of epoll reports.
const EVENTS: usize = 64;
/// The memory that packets under way may occupy, in bytes: 10 Gbit/s for 0.4 s.
const QUEUED_BYTES_MAX: usize = 512 << 20;
/// Segments of a super-packet whose departures lie so close together leave as one, at the last one's time; in
/// nanoseconds.
const TOGETHER_NS: u64 = 50_000;
/// The name of the event descriptor in epoll; devices have their numbers.
const WAKE: u64 = u64::MAX;

/// All that the thread owns.
#[derive(Debug)]
pub(super) struct Core {
    epoll: OwnedFd,
    wake: Arc<OwnedFd>,
    ports: Ports,
    places: u16,
    links: Vec<(Link, LinkState)>,
    departures: Departures,
    buffers: Buffers,
    /// A frame is read into it.
    incoming: Box<[u8]>,
    pairs: Vec<PairCounts>,
    /// Bytes that passed, by the addresses of sender and receiver.
    flows: HashMap<(u32, u32), u64>,
    lateness: LogHistogram,
    unread: LogHistogram,
    unroutable: u64,
    unknown: u64,
    refused: u64,
    pacer: Pacer,
    cpu_before: Duration,
    /// The thread runs before all ordinary ones.
    pub(super) is_first: bool,
    is_stopping: bool,
}

impl Core {
    pub(super) fn new(wake: &Arc<OwnedFd>, links: Vec<Link>, seed: u64) -> Result<Core, WanError> {
        let places = links.len().isqrt();
        let not_a_matrix = WanError::NotAMatrix(links.len());
        if places * places != links.len() {
            return Err(not_a_matrix);
        }
        let places = u16::try_from(places).map_err(|_| not_a_matrix)?;
        let numbered = links.iter().enumerate();
        for (number, link) in numbered {
            let from = number / usize::from(places);
            let to = number % usize::from(places);
            link.check_between(from as u16, to as u16)?;
        }
        let states = (0..).map(|number| LinkState::new(seed, number));
        let pairs = vec![PairCounts::default(); links.len()];
        let failed = |e| WanError::system("make an epoll instance", e);
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        let name = epoll::EventData::new_u64(WAKE);
        epoll::add(&epoll, &**wake, name, epoll::EventFlags::IN).map_err(failed)?;
        Ok(Core {
            epoll,
            wake: Arc::clone(wake),
            ports: Ports::default(),
            places,
            links: links.into_iter().zip(states).collect(),
            departures: Departures::default(),
            buffers: Buffers::default(),
            incoming: vec![0; FRAME_BYTES_MAX].into_boxed_slice(),
            pairs,
            flows: HashMap::new(),
            lateness: LogHistogram::new(),
            unread: LogHistogram::new(),
            unroutable: 0,
            unknown: 0,
            refused: 0,
            pacer: Pacer::new(),
            cpu_before: Duration::ZERO,
            is_first: false,
            is_stopping: false,
        })
    }

    pub(super) fn add_port(&mut self, port: Port) -> Result<(), WanError> {
        self.check_place(port.place)?;
        let number = self.ports.add(port)?;
        let (device, address) = self.ports.by_number(number).expect("it was just added");
        let name = epoll::EventData::new_u64(u64::from(number));
        let added = epoll::add(&self.epoll, &device.tun, name, epoll::EventFlags::IN);
        added.map_err(|e| {
            let removed = self.ports.remove(Ipv4Addr::from(address));
            drop(removed);
            WanError::system("watch a device", e)
        })
    }

    pub(super) fn remove_port(&mut self, address: Ipv4Addr) -> Result<OwnedFd, WanError> {
        let tun = self.ports.remove(address)?;
        epoll::delete(&self.epoll, &tun)
            .map_err(|e| WanError::system("stop watching a device", e))?;
        Ok(tun)
    }

    pub(super) fn set_link(&mut self, from: u16, to: u16, link: Link) -> Result<(), WanError> {
        let pair = self.pair(from, to)?;
        link.check_between(from, to)?;
        self.links[pair].0 = link;
        Ok(())
    }

    pub(super) fn link(&self, from: u16, to: u16) -> Result<Link, WanError> {
        Ok(self.links[self.pair(from, to)?].0)
    }

    pub(super) fn counts(&self) -> Counts {
        Counts {
            places: self.places,
            pairs: self.pairs.clone(),
            lateness: self.lateness.clone(),
            unread: self.unread.clone(),
            unroutable: self.unroutable,
            unknown: self.unknown,
            refused: self.refused,
            cpu: cpu_time().saturating_sub(self.cpu_before),
            polled: Duration::from_nanos(self.pacer.polled_ns),
            wake: Duration::from_nanos(self.pacer.wake_ns),
            away: self.pacer.away.clone(),
            queued_frames: self.departures.count(),
            queued_bytes: self.departures.held_bytes(),
            is_first: self.is_first,
        }
    }

    /// The traffic between hosts, in no order.
    pub(super) fn flows(&self) -> Vec<Flow> {
        let flows = self.flows.iter().map(|(&(from, to), &bytes)| Flow {
            from: Ipv4Addr::from(from),
            to: Ipv4Addr::from(to),
            bytes,
        });
        flows.collect()
    }

    pub(super) fn reset_counts(&mut self) {
        self.flows.clear();
        self.pairs.fill(PairCounts::default());
        self.lateness.clear();
        self.unread.clear();
        (self.unroutable, self.unknown, self.refused) = (0, 0, 0);
        self.pacer.reset();
        self.cpu_before = cpu_time();
    }

    pub(super) fn stop(&mut self) {
        self.is_stopping = true;
    }

    /// Forwards until it is stopped.
    pub(super) fn run(&mut self, tasks: &Receiver<Task>) {
        // The default lets each sleep last 50 µs longer. Refused by no kernel that knows it.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut events = Vec::with_capacity(EVENTS);
        while !self.is_stopping {
            self.depart();
            let start_ns = now_ns();
            let wait = self.pacer.wait(start_ns, self.departures.next_ns());
            let timeout = match wait {
                Wait::Poll => Some(timespec(0)),
                Wait::Sleep(ns) => Some(timespec(ns)),
                Wait::Forever => None,
            };
            events.clear();
            let waited = epoll::wait(&self.epoll, spare_capacity(&mut events), timeout.as_ref());
            match waited {
                Ok(_) | Err(Errno::INTR) => {}
                Err(e) => panic!("epoll refuses its own instance: {e}"),
            }
            let is_empty = events.is_empty();
            let looked_ns = now_ns();
            let since_ns = self.pacer.account(wait, start_ns, looked_ns, is_empty);
            let unseen_ns = looked_ns.saturating_sub(self.pacer.away_ns);
            for event in &events {
                match event.data.u64() {
                    WAKE => self.work(tasks),
                    number => self.receive(number as u32, since_ns, unseen_ns),
                }
            }
        }
    }

    fn work(&mut self, tasks: &Receiver<Task>) {
        let mut count = [0; 8];
        // It was readable; should it be no more, the tasks were taken by an earlier turn.
        let _ = rustix::io::read(&*self.wake, &mut count);
        for task in tasks.try_iter() {
            task(self);
        }
    }

    /// Writes what is due.
    fn depart(&mut self) {
        for _ in 0..BATCH {
            let now_ns = now_ns();
            let Some(departure) = self.departures.pop_due(now_ns) else {
                return;
            };
            self.lateness.record(now_ns - departure.at_ns);
            match self.ports.by_address(departure.destination) {
                Some(device) => {
                    let written = rustix::io::write(&device.tun, departure.frame.bytes());
                    self.refused += u64::from(written.is_err());
                }
                None => self.unroutable += 1,
            }
            self.buffers.release(departure.frame);
        }
    }

    /// Reads what a host sent, and how long ago. Nobody has looked at the device since `unseen_ns`.
    fn receive(&mut self, number: u32, since_ns: u64, unseen_ns: u64) {
        for _ in 0..BATCH {
            // A task of this turn may have removed it.
            let Some((device, _)) = self.ports.by_number(number) else {
                return;
            };
            let place = device.place;
            // Nothing more, or a device that was taken down.
            let Ok(length) = rustix::io::read(device.tun.as_fd(), &mut *self.incoming) else {
                return;
            };
            match packet::parse(&self.incoming[..length]) {
                Some(head) => {
                    let now_ns = now_ns();
                    self.unread.record(now_ns.saturating_sub(unseen_ns));
                    self.forward(place, &head, length, now_ns - since_ns);
                }
                None => self.unknown += 1,
            }
        }
    }

    fn forward(&mut self, from: u16, head: &Head, length: usize, now_ns: u64) {
        let Some(to) = self.ports.by_address(head.destination) else {
            self.unroutable += 1;
            return;
        };
        let pair = usize::from(from) * usize::from(self.places) + usize::from(to.place);
        if let Some(segments) = &head.segments {
            self.forward_segments(pair, head, segments, length, now_ns);
            return;
        }
        let (link, state) = &mut self.links[pair];
        let bytes = (length - VNET_BYTES) as u64;
        match state.pass(link, now_ns, bytes, head.flow) {
            Fate::Lost(why) => self.pairs[pair].count_lost(why),
            Fate::Depart(_) if self.is_full(length) => self.pairs[pair].overflow += 1,
            Fate::Depart(at_ns) => {
                self.pairs[pair].count_passed(bytes);
                self.count_flow(head, bytes);
                let incoming = &self.incoming[..length];
                let frame = self.buffers.frame(length, |target| target.copy_from_slice(incoming));
                self.departures.push(at_ns, head.destination, frame);
            }
        }
    }

    /// Each segment of a super-packet is a packet to the link. Neighbours that depart together stay together.
    fn forward_segments(
        &mut self,
        pair: usize,
        head: &Head,
        segments: &Segments,
        length: usize,
        now_ns: u64,
    ) {
        let is_full = self.is_full(length);
        let mut first = 0;
        let mut first_ns = 0;
        let mut last_ns = 0;
        let mut passed_bytes = 0;
        for segment in 0..segments.count() {
            let bytes = segments.packet_bytes(segment) as u64;
            let (link, state) = &mut self.links[pair];
            let fate = state.pass(link, now_ns, bytes, head.flow);
            let counts = &mut self.pairs[pair];
            match fate {
                Fate::Depart(at_ns) if !is_full => {
                    counts.count_passed(bytes);
                    passed_bytes += bytes;
                    let is_apart = at_ns.abs_diff(first_ns) > TOGETHER_NS || at_ns < last_ns;
                    if segment > first && is_apart {
                        self.send_segments(head, segments, first..segment, last_ns);
                        first = segment;
                    }
                    if segment == first {
                        first_ns = at_ns;
                    }
                    last_ns = at_ns;
                    continue;
                }
                Fate::Depart(_) => counts.overflow += 1,
                Fate::Lost(why) => counts.count_lost(why),
            }
            self.send_segments(head, segments, first..segment, last_ns);
            first = segment + 1;
        }
        self.send_segments(head, segments, first..segments.count(), last_ns);
        if passed_bytes > 0 {
            self.count_flow(head, passed_bytes);
        }
    }

    fn count_flow(&mut self, head: &Head, bytes: u64) {
        *self.flows.entry((head.source, head.destination)).or_default() += bytes;
    }

    fn send_segments(
        &mut self,
        head: &Head,
        segments: &Segments,
        range: std::ops::Range<usize>,
        at_ns: u64,
    ) {
        if range.is_empty() {
            return;
        }
        let incoming = &self.incoming;
        let length = segments.frame_bytes(&range);
        let frame = self.buffers.frame(length, |target| {
            packet::cut_out(incoming, segments, range, target);
        });
        self.departures.push(at_ns, head.destination, frame);
    }

    fn is_full(&self, length: usize) -> bool {
        self.departures.held_bytes() + Buffers::held_bytes(length) > QUEUED_BYTES_MAX
    }

    fn check_place(&self, place: u16) -> Result<(), WanError> {
        match place < self.places {
            true => Ok(()),
            false => Err(WanError::NoSuchPlace { place, places: self.places }),
        }
    }

    fn pair(&self, from: u16, to: u16) -> Result<usize, WanError> {
        self.check_place(from)?;
        self.check_place(to)?;
        Ok(usize::from(from) * usize::from(self.places) + usize::from(to))
    }
}

fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
}

/// The clock of departures.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// CPU time of the calling thread.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
