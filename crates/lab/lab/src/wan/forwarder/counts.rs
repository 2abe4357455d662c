//! Counts of the forwarder, so that a network that could not do what was requested shows it.

use std::time::Duration;

use stats::hist::LogHistogram;

use crate::wan::link::LossReason;

/// Beyond this a departure is late, in nanoseconds.
const LATE_NS: u64 = 300_000;
/// Beyond this it is very late, in nanoseconds.
const VERY_LATE_NS: u64 = 1_000_000;

/// Counts of one direction between two places. A segment of a super-packet is a packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PairCounts {
    /// Packets that departed or will.
    pub packets: u64,
    /// Their bytes, with IP headers.
    pub bytes: u64,
    /// Packets lost by the link's loss.
    pub lost: u64,
    /// Packets lost because the link's queue was full.
    pub queue_full: u64,
    /// Packets lost because the link was cut.
    pub cut: u64,
    /// Packets lost because the forwarder held as much as it may.
    pub overflow: u64,
}

impl PairCounts {
    pub(super) fn count_passed(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }

    pub(super) fn count_lost(&mut self, why: LossReason) {
        match why {
            LossReason::Loss => self.lost += 1,
            LossReason::Queue => self.queue_full += 1,
            LossReason::Cut => self.cut += 1,
        }
    }

    /// Packets that arrived at the forwarder.
    pub fn arrived(&self) -> u64 {
        self.packets + self.lost + self.queue_full + self.cut + self.overflow
    }
}

/// Counts of the forwarder.
#[derive(Debug, Clone)]
pub struct Counts {
    pub(super) places: u16,
    /// By pair: from place `a` to place `b` at `a` · places + `b`.
    pub pairs: Vec<PairCounts>,
    /// How late frames departed, in nanoseconds.
    pub lateness: LogHistogram,
    /// For how long at a time the thread did not look for packets, but for sleeps, in nanoseconds: a packet that arrived
    /// meanwhile is late by up to that time, which `lateness` does not show.
    pub away: LogHistogram,
    /// For each packet that was read, how long it had waited for that at most, in nanoseconds: since the thread had
    /// looked for packets before. What waits in a device for longer, or for the thread to wake up, is not in it.
    pub unread: LogHistogram,
    /// Packets to an address that no host has.
    pub unroutable: u64,
    /// Packets other than IPv4, or malformed. IPv6 sends a few by itself.
    pub unknown: u64,
    /// Packets that a host's device did not take.
    pub refused: u64,
    /// CPU time of the forwarder's thread; the hosts' receipt of packets is a part of it.
    pub cpu: Duration,
    /// The part of it in which the thread looked for packets shortly before a departure and found none.
    pub polled: Duration,
    /// How long the thread takes to wake up, on average. As much is taken off the delay of packets that woke it.
    pub wake: Duration,
    /// Frames that wait now; a super-packet is one.
    pub queued_frames: usize,
    /// The memory that they occupy, in bytes.
    pub queued_bytes: usize,
    /// The thread runs before all ordinary ones. Without CAP_SYS_NICE it does not, and is later on a busy machine.
    pub is_first: bool,
}

impl Counts {
    /// From one place to another; `None` if a place does not exist.
    pub fn pair(&self, from: u16, to: u16) -> Option<&PairCounts> {
        let exist = from < self.places && to < self.places;
        let index = usize::from(from) * usize::from(self.places) + usize::from(to);
        exist.then(|| self.pairs.get(index)).flatten()
    }

    /// All pairs as one.
    pub fn total(&self) -> PairCounts {
        let mut total = PairCounts::default();
        for pair in &self.pairs {
            total.packets += pair.packets;
            total.bytes += pair.bytes;
            total.lost += pair.lost;
            total.queue_full += pair.queue_full;
            total.cut += pair.cut;
            total.overflow += pair.overflow;
        }
        total
    }

    /// The 99th percentile of how late packets were, in nanoseconds: read, or sent.
    pub fn late_p99_ns(&self) -> u64 {
        let late = [&self.lateness, &self.unread];
        late.map(|late| late.quantile(0.99)).into_iter().fold(0, u64::max)
    }

    /// The latest, in nanoseconds.
    pub fn late_max_ns(&self) -> u64 {
        self.lateness.max().max(self.unread.max())
    }

    /// Frames that departed more than 0.3 ms late.
    pub fn late(&self) -> u64 {
        self.lateness.count() - self.lateness.count_at_most(LATE_NS)
    }

    /// Frames that departed more than 1 ms late.
    pub fn very_late(&self) -> u64 {
        self.lateness.count() - self.lateness.count_at_most(VERY_LATE_NS)
    }
}

#[cfg(test)]
mod tests;
