//! Names that users resolve, and which instances they get.

use scenario::document::node::{Entry, Node};
use scenario::document::reader::Map;
use scenario::document::suggest;

use super::read::LabReader;
use super::{Name, Policy, Service};

/// The keys of a name; the first must be there.
pub(super) const KEYS: &[&str] = &["of", "policy", "ttl", "weights", "order", "by"];

const TTL_S: u32 = 60;
const TTL_S_MAX: u64 = 86_400;

/// Policies as they are written.
#[derive(Clone, Copy)]
enum Word {
    Simple,
    Weighted,
    Latency,
    Failover,
    Geolocation,
}

const POLICIES: [(&str, Word); 5] = [
    ("simple", Word::Simple),
    ("weighted", Word::Weighted),
    ("latency", Word::Latency),
    ("failover", Word::Failover),
    ("geolocation", Word::Geolocation),
];

impl LabReader<'_> {
    pub(super) fn names(&mut self, node: &Node, services: &[Service]) -> Vec<Name> {
        let entries = self.reader.entries(node, "names").unwrap_or_default().iter();
        let names = entries.filter_map(|entry| self.dns_name(entry, services));
        names.collect()
    }

    fn dns_name(&mut self, entry: &Entry, services: &[Service]) -> Option<Name> {
        let name = self.key_name(entry)?;
        let called = format!("the name `{name}`");
        let map = self.reader.map(&entry.value, &called, KEYS, 1)?;
        let service = self.known_service(map.get("of")?, services)?;
        let ttl_s = match map.get("ttl") {
            Some(node) => {
                let seconds = self.duration_ns(node)? / 1_000_000_000;
                u32::try_from(seconds.min(TTL_S_MAX)).unwrap_or(TTL_S)
            }
            None => TTL_S,
        };
        let policy = self.policy(&map)?;
        Some(Name { name, service, policy, ttl_s })
    }

    fn policy(&mut self, map: &Map<'_>) -> Option<Policy> {
        let word = match map.get("policy") {
            Some(node) => self.reader.word(node, &POLICIES)?,
            None => Word::Latency,
        };
        let (key, called) = match word {
            Word::Simple => return Some(Policy::Simple),
            Word::Latency => return Some(Policy::Latency),
            Word::Weighted => ("weights", "weights by region"),
            Word::Failover => ("order", "regions in their order"),
            Word::Geolocation => ("by", "regions of instances by the users' region"),
        };
        let Some(node) = map.get(key) else {
            let message = format!("this policy needs `{key}`: {called}");
            self.error("missing-key", map.place, &message);
            return None;
        };
        if let Word::Failover = word {
            return Some(Policy::Failover(self.some_regions(node)));
        }
        let mut weights = Vec::new();
        let mut by = Vec::new();
        for entry in self.reader.entries(node, called)? {
            match word {
                Word::Weighted => {
                    let region = self.key_region(entry)?;
                    let weight = self.reader.number(&entry.value, "a weight")?;
                    if weight < 0.0 {
                        self.error("bad-number", &entry.value.place, "a weight is 0 or more");
                    }
                    weights.push((region, weight));
                }
                _ => {
                    let user = match entry.key.as_str() {
                        "default" => None,
                        _ => Some(self.key_region(entry)?),
                    };
                    by.push((user, self.region(&entry.value)?));
                }
            }
        }
        Some(match word {
            Word::Weighted => Policy::Weighted(weights),
            _ => Policy::Geolocation(by),
        })
    }

    /// The region that an entry's key names.
    pub(super) fn key_region(&mut self, entry: &Entry) -> Option<usize> {
        let found = self.regions.iter().position(|name| *name == entry.key);
        if found.is_none() {
            let known = self.regions.iter().map(String::as_str);
            let hint = suggest::hint(&entry.key, "the regions are", known);
            let message = format!("there is no region `{}`", entry.key);
            self.reader
                .diagnostics
                .error("unknown-region", &entry.key_place, message)
                .hint_some(hint);
        }
        found
    }
}
