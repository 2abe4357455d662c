//! Links between regions: numbers of the file's own, or of a named network.

use crate::wan::{Backlog, Jitter, Link, Loss, Rate};
use scenario::document::node::Node;
use scenario::document::reader::Map;
use units::parse::{UnitError, leading_number};

use super::read::LabReader;

/// The keys of a link's ends; it has those of its numbers, too.
pub(super) const END_KEYS: &[&str] = &["between", "from", "to"];
/// The keys of a link's numbers.
pub(super) const NUMBER_KEYS: &[&str] =
    &["round_trip", "delay", "jitter", "loss", "bursts", "rate", "queue", "reorder"];
/// The keys of lost bursts; all must be there.
pub(super) const BURST_KEYS: &[&str] = &["begin", "end", "loss"];

/// Longest queue before a rate, if the file does not say, in nanoseconds.
const QUEUE_NS: u64 = 100_000_000;

impl LabReader<'_> {
    /// The matrix of links.
    pub(super) fn links(&mut self, map: &Map<'_>) -> Option<Vec<Link>> {
        let count = self.regions.len();
        let mut links: Vec<Option<Link>> = vec![None; count * count];
        for region in 0..count {
            links[region * count + region] = Some(Link::new(0));
        }
        self.links_of_network(map, &mut links);
        if let Some(node) = map.get("inside") {
            let inside = self.reader.map(node, "the links within a region", NUMBER_KEYS, 0)?;
            let link = self.link(&inside)?;
            for region in 0..count {
                links[region * count + region] = Some(link);
            }
        }
        if let Some(node) = map.get("links") {
            for item in self.reader.items(node, "links") {
                self.read_link(item, &mut links);
            }
        }
        let missing = (0..links.len()).find(|at| links[*at].is_none());
        if let Some(at) = missing {
            let from = &self.regions[at / count];
            let to = &self.regions[at % count];
            let message = format!("there is no link from `{from}` to `{to}`");
            self.reader
                .diagnostics
                .error("missing-link", map.place, message)
                .hint(format!(
                    "write `links: [ {{ between: [{from}, {to}], round_trip: 80ms }} ]`, or name a `network`"
                ));
            return None;
        }
        links.into_iter().collect()
    }

    fn read_link(&mut self, node: &Node, links: &mut [Option<Link>]) -> Option<()> {
        let map = self.reader.map(node, "a link", &[END_KEYS, NUMBER_KEYS].concat(), 0)?;
        let count = self.regions.len();
        let pairs: Vec<(usize, usize)> = match (map.get("between"), map.get("from"), map.get("to"))
        {
            (Some(between), None, None) => {
                let all = self.some_regions(between);
                if all.len() < 2 {
                    let message = "a link is between two regions or more";
                    self.error("bad-link", &between.place, message);
                }
                let each = |a: &usize| {
                    let a = *a;
                    let others = all.iter().filter(move |b| **b != a);
                    others.map(move |b| (a, *b)).collect::<Vec<_>>()
                };
                all.iter().flat_map(each).collect()
            }
            (None, Some(from), Some(to)) => {
                let from = self.some_regions(from);
                let to = self.some_regions(to);
                let each = |a: &usize| {
                    let a = *a;
                    to.iter().map(move |b| (a, *b)).collect::<Vec<_>>()
                };
                from.iter().flat_map(each).collect()
            }
            _ => {
                self.reader.diagnostics.error("bad-link", map.place, "a link needs its ends").hint(
                    "write `between: [A, B]` for both directions, or `from: A` and `to: B` for one",
                );
                return None;
            }
        };
        let link = self.link(&map)?;
        for (from, to) in pairs {
            links[from * count + to] = Some(link);
        }
        Some(())
    }

    /// A link's numbers, in one direction.
    fn link(&mut self, map: &Map<'_>) -> Option<Link> {
        let delay_ns = match (map.get("round_trip"), map.get("delay")) {
            (Some(node), None) => self.duration_ns(node)? / 2,
            (None, Some(node)) => self.duration_ns(node)?,
            (None, None) => 0,
            (Some(_), Some(node)) => {
                let message = "a link has a `round_trip` or a `delay` (one way)";
                self.error("bad-link", &node.place, message);
                return None;
            }
        };
        let mut link = Link::new(delay_ns);
        if let Some(node) = map.get("jitter") {
            link.jitter = Jitter::Normal { sd_ns: self.duration_ns(node)? };
        }
        link.loss = self.loss(map)?;
        if let Some(node) = map.get("rate") {
            let bits_per_s = self.bits_per_s(node)?;
            let backlog = match map.get("queue") {
                Some(node) => self.backlog(node)?,
                None => Backlog::Time(QUEUE_NS),
            };
            link.rate = Some(Rate { bits_per_s, backlog });
        }
        if let Some(node) = map.get("reorder") {
            link.reorder = self.share(node)?;
        }
        if let Err(error) = link.check() {
            self.error("bad-link", map.place, &error.to_string());
            return None;
        }
        Some(link)
    }

    fn loss(&mut self, map: &Map<'_>) -> Option<Loss> {
        match (map.get("loss"), map.get("bursts")) {
            (None, None) => Some(Loss::None),
            (Some(node), None) => Some(Loss::Independent { p: self.share(node)? }),
            (loss, Some(node)) => {
                let bursts = self.reader.map(node, "bursts", BURST_KEYS, BURST_KEYS.len())?;
                Some(Loss::GilbertElliott {
                    good_to_bad: self.share(bursts.get("begin")?)?,
                    bad_to_good: self.share(bursts.get("end")?)?,
                    loss_good: match loss {
                        Some(node) => self.share(node)?,
                        None => 0.0,
                    },
                    loss_bad: self.share(bursts.get("loss")?)?,
                })
            }
        }
    }

    /// A size or a duration.
    fn backlog(&mut self, node: &Node) -> Option<Backlog> {
        let text = self.reader.text(node, "a size or a duration")?;
        if let Ok(bytes) = units::parse::size(text) {
            return Some(Backlog::Bytes(bytes));
        }
        self.duration_ns(node).map(Backlog::Time)
    }

    /// Bits per second.
    pub(super) fn bits_per_s(&mut self, node: &Node) -> Option<u64> {
        self.reader.parsed(node, "a rate in bits per second", "bad-rate", bits_per_s)
    }
}

/// `100Mbit/s` and the like.
fn bits_per_s(text: &str) -> Result<u64, UnitError> {
    let scales = [("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9)];
    let parsed = leading_number(text).and_then(|(number, unit)| {
        let scale = scales.iter().find(|(name, _)| *name == unit.trim_start())?;
        Some((number * scale.1).round() as u64)
    });
    parsed.ok_or_else(|| UnitError {
        message: format!("`{text}` is no rate of bits"),
        hint: "a link's rate is written like 512kbit/s, 100Mbit/s or 1Gbit/s".to_owned(),
    })
}
