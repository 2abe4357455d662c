//! Names that users resolve, and which instances they get.

use scenario::document::node::{Entry, Node};
use scenario::document::reader::Map;
use scenario::document::suggest;

use super::read::LabReader;
use super::{Matchmaking, MatchmakingSite, Name, Origin, Policy, Service};

/// The keys of a name; the first must be there.
pub(super) const KEYS: &[&str] =
    &["of", "policy", "ttl", "weights", "order", "by", "sites", "entry", "within"];
/// The keys of a site.
pub(super) const SITE_KEYS: &[&str] = &["data", "permits", "cost"];

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
    Matchmaking,
}

const POLICIES: [(&str, Word); 6] = [
    ("simple", Word::Simple),
    ("weighted", Word::Weighted),
    ("latency", Word::Latency),
    ("failover", Word::Failover),
    ("geolocation", Word::Geolocation),
    ("matchmaking", Word::Matchmaking),
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
            Word::Geolocation => ("by", "regions of instances by where users are"),
            Word::Matchmaking => ("sites", "replies of sites by the region of their instances"),
        };
        let Some(node) = map.get(key) else {
            let message = format!("this policy needs `{key}`: {called}");
            self.error("missing-key", map.place, &message);
            return None;
        };
        if let Word::Failover = word {
            return Some(Policy::Failover(self.some_regions(node)));
        }
        if let Word::Matchmaking = word {
            return self.matchmaking(map, node);
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
                    let origin = self.origin(entry)?;
                    by.push((origin, self.region(&entry.value)?));
                }
            }
        }
        Some(match word {
            Word::Weighted => Policy::Weighted(weights),
            _ => Policy::Geolocation(by),
        })
    }

    /// The origin of the users that an entry is for.
    fn origin(&mut self, entry: &Entry) -> Option<Origin> {
        let place = |name: &str| name.to_owned();
        Some(match entry.key.split_once('/') {
            Some(("state", name)) => Origin::State(place(name)),
            Some(("country", name)) => Origin::Country(place(name)),
            Some(("continent", name)) => Origin::Continent(place(name)),
            _ if entry.key == "default" => Origin::Default,
            _ => Origin::Region(self.key_region(entry)?),
        })
    }

    fn matchmaking(&mut self, map: &Map<'_>, sites: &Node) -> Option<Policy> {
        let entry = match map.get("entry") {
            Some(node) => Some(self.region(node)?),
            None => None,
        };
        let within_ns = match map.get("within") {
            Some(node) => self.duration_ns(node)?,
            None => 0,
        };
        let mut found = Vec::new();
        for entry in self.reader.entries(sites, "sites by region")? {
            let region = self.key_region(entry);
            let called = format!("the site in `{}`", entry.key);
            let site = self.reader.map(&entry.value, &called, SITE_KEYS, 0)?;
            let mut regions = |key: &str| match site.get(key) {
                Some(node) => self.some_regions(node),
                None => (0..self.regions.len()).collect(),
            };
            let data = regions("data");
            let permits = regions("permits");
            let cost = match site.get("cost") {
                Some(node) => self.reader.number(node, "a cost")?,
                None => 0.0,
            };
            if cost < 0.0 {
                let place = site.get("cost").map_or(site.place, |node| &node.place);
                self.error("bad-number", place, "a cost is 0 or more");
            }
            let data = self.with_access(data, &[]);
            let permits = self.with_access(permits, &[]);
            found.extend(region.map(|region| (region, MatchmakingSite { data, permits, cost })));
        }
        Some(Policy::Matchmaking(Matchmaking { sites: found, entry, within_ns }))
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
