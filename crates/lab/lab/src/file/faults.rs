//! Faults of a lab, by time.

use scenario::document::diagnostic::Diagnostic;
use scenario::document::node::Node;
use scenario::document::reader::Map;
use units::parse::UnitError;

use super::read::LabReader;
use super::{Fault, Host, Instances, LabFile, Service, TimedFault};

/// Reads a fault that begins at once, for a lab that is up.
///
/// # Errors
/// A diagnostic for each mistake in it.
pub fn fault(text: &str, file: &LabFile) -> Result<Fault, Vec<Diagnostic>> {
    let (root, mut reader) = LabReader::for_part(text, file);
    let found = root.and_then(|root| {
        let map = reader.reader.map(&root, "a fault", &KEYS[2..], 0)?;
        reader.fault(&map, &file.services, &file.hosts)
    });
    let (fault, diagnostics) = reader.reader.close(found);
    fault.ok_or(diagnostics)
}

/// The keys of a fault; the first must be there.
pub(super) const KEYS: &[&str] = &[
    "at",
    "for",
    "partition",
    "degrade",
    "delay",
    "loss",
    "rate",
    "kill",
    "freeze",
    "restart",
    "fill_disk",
    "exhaust_files",
    "skew_clock",
    "by",
    "region",
];
/// Exactly one of these says what happens.
const KINDS: [&str; 8] = [
    "partition",
    "degrade",
    "kill",
    "freeze",
    "restart",
    "fill_disk",
    "exhaust_files",
    "skew_clock",
];

impl LabReader<'_> {
    pub(super) fn faults(
        &mut self,
        node: &Node,
        services: &[Service],
        hosts: &[Host],
    ) -> Vec<TimedFault> {
        let mut faults: Vec<TimedFault> = Vec::new();
        for item in self.reader.items(node, "faults") {
            let Some(fault) = self.timed_fault(item, services, hosts) else {
                continue;
            };
            let end_ns =
                |of: &TimedFault| of.for_ns.map_or(u64::MAX, |ns| of.at_ns.saturating_add(ns));
            let overlaps = |of: &&TimedFault| of.at_ns < end_ns(&fault) && fault.at_ns < end_ns(of);
            let mut earlier = faults.iter().filter(overlaps);
            if earlier.any(|of| of.fault.collides_with(&fault.fault)) {
                let message =
                    "a fault before this one does the same to an instance at the same time";
                self.error("bad-fault", &item.place, message);
            }
            faults.push(fault);
        }
        faults
    }

    fn timed_fault(
        &mut self,
        node: &Node,
        services: &[Service],
        hosts: &[Host],
    ) -> Option<TimedFault> {
        let map = self.reader.map(node, "a fault", KEYS, 1)?;
        let at_ns = self.duration_ns(map.get("at")?)?;
        let for_ns = match map.get("for") {
            Some(node) => Some((self.reader.seconds(node)? * 1e9) as u64),
            None => None,
        };
        let fault = self.fault(&map, services, hosts)?;
        Some(TimedFault { at_ns, for_ns, fault })
    }

    fn fault(&mut self, map: &Map<'_>, services: &[Service], hosts: &[Host]) -> Option<Fault> {
        let mut given = KINDS.into_iter().filter(|key| map.get(key).is_some());
        let (Some(kind), None) = (given.next(), given.next()) else {
            self.reader
                .diagnostics
                .error("bad-fault", map.place, "a fault is exactly one thing")
                .hint(format!("write one of {}", KINDS.join(", ")));
            return None;
        };
        let node = map.get(kind)?;
        match kind {
            "partition" => {
                let (a, b) = self.sides(node)?;
                Some(Fault::Partition(a, b))
            }
            "degrade" => {
                let (a, b) = self.sides(node)?;
                let delay_ns = map.get("delay").map(|node| self.duration_ns(node));
                let loss = map.get("loss").map(|node| self.share(node));
                let rate_bits = map.get("rate").map(|node| self.bits_per_s(node));
                if delay_ns.is_none() && loss.is_none() && rate_bits.is_none() {
                    let message = "`degrade` needs a `delay`, a `loss` or a `rate`";
                    self.error("missing-key", map.place, message);
                }
                Some(Fault::Degrade {
                    a,
                    b,
                    delay_ns: delay_ns.unwrap_or(Some(0))?,
                    loss: loss.map_or(Some(None), |loss| loss.map(Some))?,
                    rate_bits: rate_bits.map_or(Some(None), |rate| rate.map(Some))?,
                })
            }
            "skew_clock" => {
                let instances = self.instances(node, map, services, hosts)?;
                let is_own = services[instances.service].is_own();
                self.require(is_own, node, "only clocks of `throng serve` can be wrong");
                let Some(by) = map.get("by") else {
                    let message = "`skew_clock` needs `by`: how much the clock is ahead";
                    self.error("missing-key", map.place, message);
                    return None;
                };
                let by_ns = self.reader.parsed(by, "a duration", "bad-duration", signed_ns)?;
                Some(Fault::SkewClock(instances, by_ns))
            }
            _ => {
                let instances = self.instances(node, map, services, hosts)?;
                let has_disks =
                    instances.hosts.iter().all(|host| hosts[*host].disk_bytes.is_some());
                Some(match kind {
                    "kill" => Fault::Kill(instances),
                    "freeze" => Fault::Freeze(instances),
                    "exhaust_files" => Fault::ExhaustFiles(instances),
                    "fill_disk" => {
                        let why = "only disks of a size can be full: give the hosts a `disk`";
                        self.require(has_disks, node, why);
                        Fault::FillDisk(instances)
                    }
                    _ => Fault::Restart(instances),
                })
            }
        }
    }

    fn require(&mut self, holds: bool, node: &Node, message: &str) {
        if !holds {
            self.error("bad-fault", &node.place, message);
        }
    }

    /// Whether all regions that a node names are known; those that are not are reported.
    fn are_known(&mut self, node: &Node) -> bool {
        match node.sequence() {
            // Each is looked at, so that all are reported.
            Some(items) => items.iter().filter(|item| !self.are_known(item)).count() == 0,
            None => node.text() == Some("all") || self.region(node).is_some(),
        }
    }

    /// Two groups of regions: a list of two, each a region or a list; of one region alone the others are the other
    /// side. Users behind access links are on the side of the region that these lead to.
    fn sides(&mut self, node: &Node) -> Option<(Vec<usize>, Vec<usize>)> {
        if !self.are_known(node) {
            return None;
        }
        let (a, b) = match node.sequence() {
            Some([a, b]) => {
                let a = self.some_regions(a);
                let b = self.some_regions(b);
                (self.with_access(a.clone(), &b), self.with_access(b, &a))
            }
            None => {
                let one = self.some_regions(node);
                let one = self.with_access(one, &[]);
                let others = (0..self.regions.len()).filter(|region| !one.contains(region));
                (one.clone(), others.collect())
            }
            Some(_) => (Vec::new(), Vec::new()),
        };
        if a.is_empty() || b.is_empty() {
            self.reader
                .diagnostics
                .error("bad-fault", &node.place, "a fault of links needs two sides")
                .hint("write [ireland, sydney], [[ireland, virginia], [sydney]], or one region that is cut off");
            return None;
        }
        Some((a, b))
    }

    fn instances(
        &mut self,
        node: &Node,
        map: &Map<'_>,
        services: &[Service],
        hosts: &[Host],
    ) -> Option<Instances> {
        let service = self.known_service(node, services)?;
        let mut chosen = services[service].hosts.clone();
        if let Some(node) = map.get("region") {
            let region = self.region(node)?;
            chosen.retain(|host| hosts[*host].region == region);
            if chosen.is_empty() {
                let message = format!("`{}` is not in this region", services[service].name);
                self.error("bad-fault", &node.place, &message);
                return None;
            }
        }
        Some(Instances { service, hosts: chosen })
    }
}

/// A duration, with a minus before it if it is negative.
fn signed_ns(text: &str) -> Result<i64, UnitError> {
    let (sign, length) = match text.strip_prefix('-') {
        Some(length) => (-1, length),
        None => (1, text),
    };
    let seconds = units::parse::duration(length)?;
    let ns = units::parse::seconds_to_ns(seconds).and_then(|ns| i64::try_from(ns).ok());
    ns.map(|ns| sign * ns).ok_or_else(|| UnitError {
        message: format!("`{text}` is too long"),
        hint: "a clock is at most three centuries wrong".to_owned(),
    })
}
