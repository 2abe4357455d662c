//! Hosts: singly, several of a kind, or as many in each of several regions.

use scenario::document::node::{Entry, Node};

use super::read::LabReader;
use super::{CONTROL, CROWD_PREFIX, HOSTS_MAX, Host};

/// Unit by which a host is billed unless the file says otherwise: the second.
const BILLING_NS: u64 = 1_000_000_000;

/// The keys of a host.
pub(super) const KEYS: &[&str] =
    &["region", "each", "count", "cpus", "memory", "disk", "price", "billing", "settings"];
/// Settings that each network namespace has for itself begin so; others are the machine's.
const OWN_SETTINGS: &str = "net.";

impl LabReader<'_> {
    pub(super) fn hosts(&mut self, node: &Node) -> Vec<Host> {
        let mut hosts = Vec::new();
        for entry in self.reader.entries(node, "hosts by name").unwrap_or_default() {
            let first = hosts.len();
            self.host(entry, &mut hosts);
            let numbers = (first..hosts.len()).collect();
            self.groups.insert(entry.key.clone(), numbers);
        }
        if hosts.is_empty() || hosts.len() > HOSTS_MAX {
            let message = format!("a lab has 1 to {HOSTS_MAX} hosts");
            self.error("bad-count", &node.place, &message);
        }
        hosts
    }

    fn host(&mut self, entry: &Entry, hosts: &mut Vec<Host>) -> Option<()> {
        let group = self.key_name(entry)?;
        if group == CONTROL || group.starts_with(CROWD_PREFIX) {
            let message = format!("the host `{group}` is the lab's own");
            self.error("taken-name", &entry.key_place, &message);
        }
        let called = format!("the host `{group}`");
        let map = self.reader.map(&entry.value, &called, KEYS, 0)?;
        let one = map.get("region");
        let each = map.get("each");
        let regions = match (one, each) {
            (Some(node), None) => self.region(node).into_iter().collect(),
            (None, Some(node)) => self.some_regions(node),
            _ => {
                self.reader
                    .diagnostics
                    .error("bad-host", map.place, format!("{called} needs its place"))
                    .hint(
                        "write `region: NAME`, or `each: all` or `each: [NAME, …]` for one in each",
                    );
                return None;
            }
        };
        let cpus = map.get("cpus").and_then(|node| {
            let cpus = self.reader.number(node, "a number of cores")?;
            if cpus < 0.01 {
                self.error("bad-number", &node.place, "a host has at least 0.01 cores");
                return None;
            }
            Some(cpus)
        });
        let memory_bytes = map.get("memory").and_then(|node| self.size(node));
        let disk_bytes = map.get("disk").and_then(|node| self.size(node));
        let price = map.get("price").and_then(|node| self.price(node));
        let billing_ns = map.get("billing").and_then(|node| self.positive_duration_ns(node));
        let settings = match map.get("settings") {
            Some(node) => self.settings(node),
            None => Vec::new(),
        };
        let count = map.get("count").map(|node| self.count(node));
        let count = count.map_or(Some(None), |count| count.map(Some))?;
        for region in regions {
            let name = match each {
                Some(_) => format!("{group}-{}", self.regions[region]),
                None => group.clone(),
            };
            for number in 1..=count.unwrap_or(1) {
                let name = match count {
                    Some(_) => format!("{name}-{number}"),
                    None => name.clone(),
                };
                if hosts.iter().any(|host| host.name == name) {
                    let message = format!("the host `{name}` is there twice");
                    self.error("taken-name", &entry.key_place, &message);
                }
                hosts.push(Host {
                    name,
                    group: group.clone(),
                    region,
                    cpus,
                    memory_bytes,
                    disk_bytes,
                    price: price.clone(),
                    billing_ns: billing_ns.unwrap_or(BILLING_NS),
                    settings: settings.clone(),
                });
            }
        }
        Some(())
    }

    /// Settings of the kernel that a host has for itself.
    fn settings(&mut self, node: &Node) -> Vec<(String, String)> {
        let mut settings = Vec::new();
        for entry in self.reader.entries(node, "settings by name").unwrap_or_default() {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            let is_own = entry.key.starts_with(OWN_SETTINGS)
                && entry.key.chars().all(is_plain)
                && !entry.key.contains("..");
            if !is_own {
                let message = format!("`{}` is no setting of a host", entry.key);
                self.reader
                    .diagnostics
                    .error("bad-setting", &entry.key_place, message)
                    .hint("a host has settings of its network, such as `net.core.somaxconn`; others are the machine's");
                continue;
            }
            let value = self.reader.text(&entry.value, "a value").map(str::to_owned);
            settings.extend(value.map(|value| (entry.key.clone(), value)));
        }
        settings
    }

    /// A size in bytes.
    fn size(&mut self, node: &Node) -> Option<u64> {
        self.reader.parsed(node, "a size", "bad-size", units::parse::size)
    }

    /// How many hosts there are of a kind.
    fn count(&mut self, node: &Node) -> Option<usize> {
        let text = self.reader.text(node, "a number of hosts")?;
        let count = text.parse().ok();
        let count = count.filter(|count| (1..=HOSTS_MAX).contains(count));
        if count.is_none() {
            let message = format!("`{text}` is no number of hosts: 1 to {HOSTS_MAX}");
            self.error("bad-count", &node.place, &message);
        }
        count
    }
}
