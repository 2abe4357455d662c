//! The effect of a link on packets: a pure function of the link, its state, the time and the packet's size.
//!
//! A packet meets, in this order: the cut, the loss, the queue of the rate, the delay with its jitter. The share that
//! is reordered skips the delay.

use stats::dist::Dist;
use stats::rng::{Purpose, Rng};

use crate::wan::WanError;

/// The longest one-way delay of a link, 60 s.
pub const DELAY_NS_MAX: u64 = 60_000_000_000;
/// The longest jitter of one packet, 10 s: tails of distributions are cut there.
pub const JITTER_NS_MAX: u64 = 10_000_000_000;
/// The slowest rate of a link, in bits per second: a packet of 64 KiB then takes 9 minutes.
pub const RATE_BITS_MIN: u64 = 1_000;
/// The fastest rate of a link, in bits per second.
pub const RATE_BITS_MAX: u64 = 1_000_000_000_000;
/// A burst of losses of one flow is over after this time without a packet. Its chain only moves with packets: otherwise
/// the next one, a retransmission, would still meet the state of long ago.
const BURST_NS: u64 = 200_000_000;
/// Flows that keep their order apart from each other; the others share one of these places.
const FLOWS: usize = 1024;

/// One direction between two places.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// One-way delay, in nanoseconds.
    pub delay_ns: u64,
    /// How the delay of a packet differs from it.
    pub jitter: Jitter,
    /// Which packets are lost.
    pub loss: Loss,
    /// How fast bits leave; `None`: at once.
    pub rate: Option<Rate>,
    /// The share of packets that skip the delay and so arrive before others, `0..=1`. Unless it is 0, jitter may
    /// reorder packets, too.
    pub reorder: f64,
    /// Each flow has losses and a rate of its own, as if it had a link of its own: phones share no access link. Flows
    /// that share a place of the 1,024 share these, too.
    pub each_flow: bool,
    /// True if nothing passes.
    pub cut: bool,
}

impl Link {
    /// A perfect link with this one-way delay.
    pub const fn new(delay_ns: u64) -> Link {
        Link {
            delay_ns,
            jitter: Jitter::None,
            loss: Loss::None,
            rate: None,
            reorder: 0.0,
            each_flow: false,
            cut: false,
        }
    }

    /// The same link where time passes `factor` times slower: it takes longer, and lets less through in a second.
    #[must_use]
    pub fn stretched(mut self, factor: u32) -> Link {
        let times = u64::from(factor.max(1));
        self.delay_ns = self.delay_ns.saturating_mul(times);
        match &mut self.jitter {
            Jitter::None => {}
            Jitter::Uniform { ns }
            | Jitter::Normal { sd_ns: ns }
            | Jitter::Pareto { scale_ns: ns, .. } => *ns = ns.saturating_mul(times),
        }
        if let Some(rate) = &mut self.rate {
            rate.bits_per_s /= times;
            if let Backlog::Time(ns) = &mut rate.backlog {
                *ns = ns.saturating_mul(times);
            }
        }
        self
    }

    /// This link and an access link as one. Delays add up, losses of either are lost, the slower rate counts, and of
    /// jitters that of the access link, if it has one. Each flow has an access link of its own.
    pub fn through(mut self, access: &Link) -> Link {
        self.delay_ns = self.delay_ns.saturating_add(access.delay_ns).min(DELAY_NS_MAX);
        if access.jitter != Jitter::None {
            self.jitter = access.jitter;
        }
        self.loss = access.loss.or_also(self.loss);
        let rates = [self.rate, access.rate].into_iter().flatten();
        self.rate = rates.min_by_key(|rate| rate.bits_per_s);
        self.reorder = self.reorder.max(access.reorder);
        self.cut |= access.cut;
        self.each_flow = true;
        self
    }

    /// Checks all values.
    ///
    /// # Errors
    /// The first value that lies outside of its range.
    pub fn check(&self) -> Result<(), LinkError> {
        whole("delay", self.delay_ns, 0, DELAY_NS_MAX)?;
        share("reorder", self.reorder)?;
        self.jitter.check()?;
        self.loss.check()?;
        match self.rate {
            Some(rate) => whole("rate", rate.bits_per_s, RATE_BITS_MIN, RATE_BITS_MAX),
            None => Ok(()),
        }
    }

    /// Checks all values; an error names the two places.
    pub(crate) fn check_between(&self, from: u16, to: u16) -> Result<(), WanError> {
        let wrong = |source| WanError::Link { from, to, source };
        self.check().map_err(wrong)
    }
}

/// By how much a packet's delay differs from the link's. No packet arrives before one of the same flow that was in
/// front of it, unless the link reorders.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Jitter {
    /// The delay does not vary.
    None,
    /// Uniform within ± `ns`.
    Uniform {
        /// The greatest difference, in nanoseconds.
        ns: u64,
    },
    /// Normal about the link's delay.
    Normal {
        /// Standard deviation, in nanoseconds.
        sd_ns: u64,
    },
    /// Only later: Pareto's distribution of type II (Lomax), whose mean is `scale_ns` / (`shape` − 1).
    Pareto {
        /// Scale of the distribution, in nanoseconds.
        scale_ns: u64,
        /// The tail's exponent, above 1.
        shape: f64,
    },
}

impl Jitter {
    fn check(self) -> Result<(), LinkError> {
        match self {
            Jitter::None => Ok(()),
            Jitter::Uniform { ns } => whole("jitter", ns, 0, JITTER_NS_MAX),
            Jitter::Normal { sd_ns } => whole("jitter's deviation", sd_ns, 0, JITTER_NS_MAX),
            Jitter::Pareto { scale_ns, shape } => {
                whole("jitter's scale", scale_ns, 0, JITTER_NS_MAX)?;
                match shape.is_finite() && shape > 1.0 {
                    true => Ok(()),
                    false => Err(LinkError::Shape(shape)),
                }
            }
        }
    }

    /// How much later than by the link's delay, in nanoseconds; negative: earlier.
    fn draw(self, rng: &mut Rng) -> i64 {
        let ns = match self {
            Jitter::None => 0.0,
            Jitter::Uniform { ns } => (2.0 * rng.unit() - 1.0) * ns as f64,
            Jitter::Normal { sd_ns } => {
                let sd = sd_ns as f64;
                Dist::Normal { mean: 0.0, sd }.sample(rng)
            }
            Jitter::Pareto { scale_ns, shape } => {
                let scale = scale_ns as f64;
                Dist::Pareto { scale, shape }.sample(rng) - scale
            }
        };
        let max = JITTER_NS_MAX as f64;
        ns.clamp(-max, max) as i64
    }
}

/// Which packets a link loses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    /// None.
    None,
    /// Each with the same probability, whatever happens to the others.
    Independent {
        /// The probability, `0..=1`.
        p: f64,
    },
    /// In bursts: a chain of two states that may change before each packet (Gilbert 1960, Elliott 1963).
    GilbertElliott {
        /// Probability that the good state ends before a packet.
        good_to_bad: f64,
        /// Probability that the bad state ends before a packet.
        bad_to_good: f64,
        /// Probability that a packet is lost in the good state.
        loss_good: f64,
        /// Probability that a packet is lost in the bad state.
        loss_bad: f64,
    },
}

impl Loss {
    /// Loss by either of the two. Of two chains the other's becomes its mean.
    fn or_also(self, other: Loss) -> Loss {
        let either = |a: f64, b: f64| 1.0 - (1.0 - a) * (1.0 - b);
        match (self, other) {
            (Loss::None, other) => other,
            (own, Loss::None) => own,
            (Loss::Independent { p }, chain @ Loss::GilbertElliott { .. }) => {
                chain.or_also(Loss::Independent { p })
            }
            (Loss::Independent { p }, other) => Loss::Independent { p: either(p, other.mean()) },
            (Loss::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad }, other) => {
                Loss::GilbertElliott {
                    good_to_bad,
                    bad_to_good,
                    loss_good: either(loss_good, other.mean()),
                    loss_bad: either(loss_bad, other.mean()),
                }
            }
        }
    }

    /// The share of packets lost in the long run.
    pub fn mean(self) -> f64 {
        match self {
            Loss::None => 0.0,
            Loss::Independent { p } => p,
            Loss::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                let bad = bad_share(good_to_bad, bad_to_good);
                (1.0 - bad) * loss_good + bad * loss_bad
            }
        }
    }

    /// The share of packets that meet the bad state in the long run.
    fn bad_share(self) -> f64 {
        match self {
            Loss::None | Loss::Independent { .. } => 0.0,
            Loss::GilbertElliott { good_to_bad, bad_to_good, .. } => {
                bad_share(good_to_bad, bad_to_good)
            }
        }
    }

    fn check(self) -> Result<(), LinkError> {
        match self {
            Loss::None => Ok(()),
            Loss::Independent { p } => share("loss", p),
            Loss::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                share("loss's good_to_bad", good_to_bad)?;
                share("loss's bad_to_good", bad_to_good)?;
                share("loss's loss_good", loss_good)?;
                share("loss's loss_bad", loss_bad)
            }
        }
    }
}

fn bad_share(good_to_bad: f64, bad_to_good: f64) -> f64 {
    match good_to_bad + bad_to_good {
        turns if turns > 0.0 => good_to_bad / turns,
        _ => 0.0,
    }
}

/// How fast a link sends, and how much waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Bits per second, of IP packets.
    pub bits_per_s: u64,
    /// Longest queue; a packet that would be beyond it is lost.
    pub backlog: Backlog,
}

/// The limit of a rate's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backlog {
    /// In bytes.
    Bytes(u64),
    /// In nanoseconds until the packet's last bit has left.
    Time(u64),
}

impl Rate {
    fn duration_ns(self, bytes: u64) -> u64 {
        let ns = u128::from(bytes) * 8_000_000_000 / u128::from(self.bits_per_s);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    fn backlog_ns(self) -> u64 {
        match self.backlog {
            Backlog::Bytes(bytes) => self.duration_ns(bytes),
            Backlog::Time(ns) => ns,
        }
    }
}

/// Fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It departs at this time, in nanoseconds.
    Depart(u64),
    /// It never does.
    Lost(LossReason),
}

/// Why a packet is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossReason {
    /// By the link's loss.
    Loss,
    /// The queue of the rate is full.
    Queue,
    /// The link is cut.
    Cut,
}

/// A link's memory of earlier packets.
#[derive(Debug, Clone)]
pub struct LinkState {
    rng: Rng,
    /// Memory of all flows together, unless each has its own.
    shared: Lane,
    /// By flow; made at the first packet.
    flows: Option<Box<[Lane; FLOWS]>>,
}

/// Memory of one flow, or of all together.
#[derive(Debug, Clone, Copy, Default)]
struct Lane {
    /// The chain of a Gilbert–Elliott loss is in its bad state.
    is_bad: bool,
    /// When the last bit of the rate's queue has left.
    free_ns: u64,
    /// When the last packet came.
    seen_ns: u64,
    /// When the last packet departs.
    last_ns: u64,
}

impl LinkState {
    /// The state of a link, by number, before its first packet.
    pub fn new(seed: u64, number: u64) -> LinkState {
        LinkState {
            rng: Rng::new(seed, number, Purpose::Network),
            shared: Lane::default(),
            flows: None,
        }
    }

    /// The fate of a packet of `bytes` that arrives now and belongs to `flow`, any number that packets which shall
    /// keep their order have in common.
    pub fn pass(&mut self, link: &Link, now_ns: u64, bytes: u64, flow: u64) -> Fate {
        if link.cut {
            return Fate::Lost(LossReason::Cut);
        }
        let flows = self.flows.get_or_insert_with(|| Box::new([Lane::default(); FLOWS]));
        let flow = &mut flows[(flow % FLOWS as u64) as usize];
        let lane = match link.each_flow {
            true => flow.woken(link.loss, now_ns, &mut self.rng),
            false => &mut self.shared,
        };
        if lane.is_lost(link.loss, &mut self.rng) {
            return Fate::Lost(LossReason::Loss);
        }
        let mut depart_ns = now_ns;
        if let Some(rate) = link.rate {
            match lane.leave(rate, now_ns, bytes) {
                Some(free_ns) => depart_ns = free_ns,
                None => return Fate::Lost(LossReason::Queue),
            }
        }
        if link.reorder > 0.0 && self.rng.unit() < link.reorder {
            return Fate::Depart(depart_ns);
        }
        let late_ns = link.jitter.draw(&mut self.rng);
        depart_ns = depart_ns.saturating_add(link.delay_ns.saturating_add_signed(late_ns));
        if link.reorder > 0.0 {
            return Fate::Depart(depart_ns);
        }
        flow.last_ns = depart_ns.max(flow.last_ns);
        Fate::Depart(flow.last_ns)
    }
}

impl Lane {
    /// The memory of one lane after a time without packets.
    fn woken(&mut self, loss: Loss, now_ns: u64, rng: &mut Rng) -> &mut Lane {
        if now_ns.saturating_sub(self.seen_ns) > BURST_NS {
            self.is_bad = rng.unit() < loss.bad_share();
        }
        self.seen_ns = now_ns;
        self
    }

    /// When a packet's last bit has left; `None`: the queue is full.
    fn leave(&mut self, rate: Rate, now_ns: u64, bytes: u64) -> Option<u64> {
        let free_ns = self.free_ns.max(now_ns).saturating_add(rate.duration_ns(bytes));
        // An idle link takes any packet, or a short queue would lose all large ones.
        let is_idle = self.free_ns <= now_ns;
        if !is_idle && free_ns - now_ns > rate.backlog_ns() {
            return None;
        }
        self.free_ns = free_ns;
        Some(free_ns)
    }

    fn is_lost(&mut self, loss: Loss, rng: &mut Rng) -> bool {
        match loss {
            Loss::None => false,
            Loss::Independent { p } => p > 0.0 && rng.unit() < p,
            Loss::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                let change = if self.is_bad { bad_to_good } else { good_to_bad };
                self.is_bad ^= rng.unit() < change;
                let p = if self.is_bad { loss_bad } else { loss_good };
                p > 0.0 && rng.unit() < p
            }
        }
    }
}

/// A value of a link that is out of its range.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LinkError {
    /// A probability or share.
    #[error("{field} must be a share from 0 to 1, not {value}")]
    Share {
        /// Name of the value.
        field: &'static str,
        /// As given.
        value: f64,
    },
    /// A whole number.
    #[error("{field} must be from {min} to {max}, not {value}")]
    Range {
        /// Name of the value: times in nanoseconds, the rate in bits per second.
        field: &'static str,
        /// As given.
        value: u64,
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
    },
    /// The exponent of a Pareto tail.
    #[error("jitter's shape must be above 1, or its mean would be infinite; it is {0}")]
    Shape(f64),
}

fn share(field: &'static str, value: f64) -> Result<(), LinkError> {
    match (0.0..=1.0).contains(&value) {
        true => Ok(()),
        false => Err(LinkError::Share { field, value }),
    }
}

fn whole(field: &'static str, value: u64, min: u64, max: u64) -> Result<(), LinkError> {
    match (min..=max).contains(&value) {
        true => Ok(()),
        false => Err(LinkError::Range { field, value, min, max }),
    }
}

#[cfg(test)]
mod tests;
