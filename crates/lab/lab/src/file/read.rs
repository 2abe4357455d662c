//! Reads a lab file: the whole, and what its parts share.

use std::collections::BTreeMap;

use machine::clock::FACTOR_MAX;
use scenario::document::diagnostic::Diagnostic;
use scenario::document::node::{Entry, Node, Place};
use scenario::document::reader::{DocumentReader, Map};
use scenario::document::{Source, suggest};

use super::{
    AccessRegion, LabFile, NAME_MAX, Price, REGIONS_MAX, Run, Service, Template, TrafficPrices,
};

/// The keys of the file; the first must be there.
pub(super) const KEYS: &[&str] = &[
    "lab",
    "hosts",
    "dilation",
    "regions",
    "network",
    "links",
    "inside",
    "access",
    "services",
    "scaling",
    "prices",
    "traffic",
    "locations",
    "names",
    "scenario",
    "experiment",
    "set",
    "environment",
    "faults",
];

/// The keys of prices of traffic.
pub(super) const TRAFFIC_KEYS: &[&str] = &["regions", "users"];

/// Reads a lab file. All problems are reported at once; there is a lab exactly where none of them is an error.
pub fn lab(source: Source<'_>) -> (Option<LabFile>, Vec<Diagnostic>) {
    let (root, reader) = DocumentReader::open(source.text);
    let mut reader = LabReader {
        reader,
        text: source.text,
        regions: Vec::new(),
        access: Vec::new(),
        groups: BTreeMap::new(),
    };
    let lab = root.and_then(|root| reader.lab(&root));
    reader.reader.close(lab)
}

/// A lab file being read.
pub(super) struct LabReader<'t> {
    pub(super) reader: DocumentReader<'t>,
    text: &'t str,
    /// Names by number.
    pub(super) regions: Vec<String>,
    /// The regions behind access links.
    pub(super) access: Vec<AccessRegion>,
    /// Hosts by the key that they were written under.
    pub(super) groups: BTreeMap<String, Vec<usize>>,
}

impl<'t> LabReader<'t> {
    /// A part's text, such as a fault's, and a reader that knows the regions of a lab.
    pub(super) fn for_part(text: &'t str, file: &LabFile) -> (Option<Node>, LabReader<'t>) {
        let (root, reader) = DocumentReader::open(text);
        let reader = LabReader {
            reader,
            text,
            regions: file.regions.clone(),
            access: file.access.clone(),
            groups: BTreeMap::new(),
        };
        (root, reader)
    }
}

impl LabReader<'_> {
    fn lab(&mut self, root: &Node) -> Option<LabFile> {
        let map = self.reader.map(root, "the lab file", KEYS, 2)?;
        let name = self.name(map.get("lab")?, "the lab's name");
        self.read_regions(&map);
        let links = self.links(&map);
        let hosts = self.hosts(map.get("hosts")?);
        let links = links.map(|links| self.access(&map, links));
        let emulator = self.emulator(&map, links.as_deref().unwrap_or_default());
        let services = match map.get("services") {
            Some(node) => self.services(node, &hosts),
            None => Vec::new(),
        };
        let scaling = match map.get("scaling") {
            Some(node) => self.scaling(node, &services, &hosts),
            None => Vec::new(),
        };
        let prices = map
            .get("prices")
            .and_then(|node| Some(self.reader.text(node, "the file of a price list")?.to_owned()));
        let traffic = self.traffic(&map);
        let locations = self.locations(&map);
        let names = match map.get("names") {
            Some(node) => self.names(node, &services),
            None => Vec::new(),
        };
        let run = self.run(&map, &services);
        let faults = match map.get("faults") {
            Some(node) => self.faults(node, &services, &hosts),
            None => Vec::new(),
        };
        let file = LabFile {
            name: name?,
            dilation: 1,
            regions: self.regions.clone(),
            access: self.access.clone(),
            locations,
            links: links?,
            emulator,
            hosts,
            services,
            scaling,
            prices,
            traffic: traffic.unwrap_or_default(),
            names,
            run,
            faults,
        };
        let Some(node) = map.get("dilation") else {
            return Some(file);
        };
        let number = self.reader.number(node, "how many times slower time passes")?;
        let factor = (1..=FACTOR_MAX).find(|factor| f64::from(*factor) == number);
        // No factor is 0.
        file.dilated(factor.unwrap_or(0))
            .map_err(|message| self.error("bad-dilation", &node.place, &message))
            .ok()
    }

    /// Regions of their own, or those of a named network.
    fn read_regions(&mut self, map: &Map<'_>) {
        let Some(node) = map.get("regions") else {
            self.regions = self.regions_of_network(map);
            return;
        };
        for item in self.reader.items(node, "names of regions") {
            let Some(name) = self.name(item, "a region's name") else {
                continue;
            };
            if name == super::CONTROL {
                let message = "the region `control` is the lab's own";
                self.error("taken-name", &item.place, message);
            } else if self.regions.contains(&name) {
                let message = format!("the region `{name}` is there twice");
                self.error("taken-name", &item.place, &message);
            } else {
                self.regions.push(name);
            }
        }
        if self.regions.is_empty() || self.regions.len() > REGIONS_MAX {
            let message = format!("a lab has 1 to {REGIONS_MAX} regions");
            self.error("bad-count", &node.place, &message);
        }
    }

    /// Prices of what hosts send.
    fn traffic(&mut self, map: &Map<'_>) -> Option<TrafficPrices> {
        let node = map.get("traffic")?;
        if map.get("prices").is_none() {
            self.reader
                .diagnostics
                .error(
                    "missing-key",
                    &node.place,
                    "traffic has a price, and the lab has no price list",
                )
                .hint("add `prices: FILE`");
        }
        let map = self.reader.map(node, "the prices of traffic", TRAFFIC_KEYS, 0)?;
        let mut price = |key: &str| map.get(key).and_then(|node| self.price(node));
        Some(TrafficPrices { regions: price("regions"), users: price("users") })
    }

    /// The name of a price.
    pub(super) fn price(&mut self, node: &Node) -> Option<Price> {
        let name = self.reader.text(node, "the name of a price")?.to_owned();
        let line = self.line(&node.place);
        Some(Price { name, line })
    }

    /// Reads the scenario or experiment of `throng lab run`.
    fn run(&mut self, map: &Map<'_>, services: &[Service]) -> Option<Run> {
        let scenario = map.get("scenario");
        let experiment = map.get("experiment");
        if let (Some(_), Some(node)) = (scenario, experiment) {
            let message = "a lab runs a scenario or an experiment";
            self.error("two-runs", &node.place, message);
        }
        let sets = self.templates(map.get("set"), "overrides by key", services);
        let environment = self.templates(map.get("environment"), "variables by name", services);
        let node = scenario.or(experiment)?;
        Some(Run {
            file: self.reader.text(node, "a file's name")?.to_owned(),
            is_experiment: scenario.is_none(),
            sets,
            environment,
        })
    }

    pub(super) fn error(&mut self, code: &'static str, place: &Place, message: &str) {
        self.reader.diagnostics.error(code, place, message);
    }

    /// Small letters, digits and hyphens, so that it may be a label of a name in the DNS (RFC 1035 §2.3.1).
    pub(super) fn name(&mut self, node: &Node, what: &str) -> Option<String> {
        let text = self.reader.text(node, what)?;
        self.is_name(text, &node.place).then(|| text.to_owned())
    }

    /// The key of an entry as a name.
    pub(super) fn key_name(&mut self, entry: &Entry) -> Option<String> {
        self.is_name(&entry.key, &entry.key_place).then(|| entry.key.clone())
    }

    fn is_name(&mut self, text: &str, place: &Place) -> bool {
        let known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let begins = text.starts_with(|c: char| c.is_ascii_lowercase());
        let is_name = begins && text.len() <= NAME_MAX && text.chars().all(known);
        if !is_name {
            self.reader.diagnostics.error("bad-name", place, format!("`{text}` is no name")).hint(
                format!(
                    "a name has small letters, digits and hyphens, begins with a letter, and is at \
                     most {NAME_MAX} long"
                ),
            );
        }
        is_name
    }

    /// The number of a region.
    pub(super) fn region(&mut self, node: &Node) -> Option<usize> {
        let text = self.reader.text(node, "a region")?;
        let found = self.regions.iter().position(|name| name == text);
        if found.is_none() {
            let known = self.regions.iter().map(String::as_str);
            let hint = suggest::hint(text, "the regions are", known);
            self.reader
                .diagnostics
                .error("unknown-region", &node.place, format!("there is no region `{text}`"))
                .hint_some(hint);
        }
        found
    }

    /// The number of a service.
    pub(super) fn known_service(&mut self, node: &Node, services: &[Service]) -> Option<usize> {
        let text = self.reader.text(node, "a service")?;
        let known = services.iter().map(|service| service.name.as_str());
        let found = known.clone().position(|known| known == text);
        if found.is_none() {
            let hint = suggest::hint(text, "the services are", known.collect::<Vec<_>>());
            let message = format!("there is no service `{text}`");
            self.reader.diagnostics.error("unknown-service", &node.place, message).hint_some(hint);
        }
        found
    }

    /// One region, several, or `all`.
    pub(super) fn some_regions(&mut self, node: &Node) -> Vec<usize> {
        match node.sequence() {
            Some(items) => items.iter().filter_map(|item| self.region(item)).collect(),
            None if node.text() == Some("all") => (0..self.regions.len()).collect(),
            None => self.region(node).into_iter().collect(),
        }
    }

    pub(super) fn template(&mut self, node: &Node, services: &[Service]) -> Option<Template> {
        let Some(text) = node.text() else {
            self.reader.expected(node, "a text");
            return None;
        };
        self.parse_template(text, node, services)
    }

    pub(super) fn parse_template(
        &mut self,
        text: &str,
        node: &Node,
        services: &[Service],
    ) -> Option<Template> {
        let names: Vec<&str> = services.iter().map(|service| service.name.as_str()).collect();
        match Template::parse(text, &names) {
            Ok(template) => Some(template),
            Err(error) => {
                self.reader
                    .diagnostics
                    .error("bad-template", &node.place, error.message)
                    .hint(error.hint);
                None
            }
        }
    }

    /// The line that a place is on, from 1.
    pub(super) fn line(&self, place: &Place) -> usize {
        let before = self.text.get(..place.span.start).unwrap_or_default();
        before.matches('\n').count() + 1
    }

    /// A duration of 0 or more, in nanoseconds.
    pub(super) fn duration_ns(&mut self, node: &Node) -> Option<u64> {
        let parse = units::parse::duration;
        let seconds = self.reader.parsed(node, "a duration", "bad-duration", parse)?;
        let ns = units::parse::seconds_to_ns(seconds);
        if ns.is_none() {
            self.error("bad-duration", &node.place, "this is too long");
        }
        ns
    }

    /// A duration above 0, in nanoseconds.
    pub(super) fn positive_duration_ns(&mut self, node: &Node) -> Option<u64> {
        let ns = self.duration_ns(node)?;
        if ns == 0 {
            self.error("bad-duration", &node.place, "this must be longer than 0");
        }
        (ns > 0).then_some(ns)
    }

    /// A share, 0 to 1.
    pub(super) fn share(&mut self, node: &Node) -> Option<f64> {
        let parse = units::parse::share;
        let share = self.reader.parsed(node, "a share", "bad-share", parse)?;
        if !(0.0..=1.0).contains(&share) {
            self.error("bad-share", &node.place, "a share is 0% to 100%");
            return None;
        }
        Some(share)
    }
}
