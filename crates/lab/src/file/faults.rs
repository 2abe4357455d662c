//! What befalls a lab, by time.

use document::diagnostic::Diagnostic;
use document::node::Node;
use document::reader::Map;

use super::read::LabReader;
use super::{Fault, Host, Instances, LabFile, Service, TimedFault};

/// Reads a fault that begins at once, for a lab that is up.
///
/// # Errors
/// What is wrong with it.
pub fn fault(text: &str, file: &LabFile) -> Result<Fault, Vec<Diagnostic>> {
    let (root, mut reader) = LabReader::for_fault(text, file);
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
    "region",
];
/// Exactly one of these says what happens.
const KINDS: [&str; 5] = ["partition", "degrade", "kill", "freeze", "restart"];

impl LabReader<'_> {
    pub(super) fn faults(
        &mut self,
        node: &Node,
        services: &[Service],
        hosts: &[Host],
    ) -> Vec<TimedFault> {
        let items = self.reader.items(node, "faults").iter();
        let faults = items.filter_map(|item| self.timed_fault(item, services, hosts));
        faults.collect()
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
        Some(TimedFault {
            at_ns,
            for_ns,
            fault,
        })
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
            _ => {
                let instances = self.instances(node, map, services, hosts)?;
                Some(match kind {
                    "kill" => Fault::Kill(instances),
                    "freeze" => Fault::Freeze(instances),
                    _ => Fault::Restart(instances),
                })
            }
        }
    }

    /// Two groups of regions: a list of two, each a region or a list; of one region alone the others are the other
    /// side.
    fn sides(&mut self, node: &Node) -> Option<(Vec<usize>, Vec<usize>)> {
        let (a, b) = match node.sequence() {
            Some([a, b]) => (self.some_regions(a), self.some_regions(b)),
            None => {
                let one = self.some_regions(node);
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
        Some(Instances {
            service,
            hosts: chosen,
        })
    }
}
