//! The network: regions with their distances by name, and who emulates it.

use crate::wan::table::{Losses, TABLES, Table};
use crate::wan::{EmulatorRequest, Link, Suits, netem_suits};
use scenario::document::node::Node;
use scenario::document::reader::Map;
use scenario::document::suggest;

use super::read::LabReader;

/// The keys of a network in its long form.
pub(super) const KEYS: &[&str] = &["table", "losses", "by"];
/// Emulators of a network, and how they are written.
pub(super) const EMULATORS: &[(&str, EmulatorRequest)] = &[
    ("auto", EmulatorRequest::Auto),
    ("netem", EmulatorRequest::Netem),
    ("forwarder", EmulatorRequest::Forwarder),
];

/// The name of its table, or the place of it in the long form; `None`: it has none.
fn table_of(network: &Node) -> Option<&Node> {
    let is_emulator = |text: &str| EMULATORS.iter().any(|(name, _)| *name == text);
    match network.mapping() {
        Some(_) => network.get("table"),
        None => Some(network).filter(|node| !node.text().is_some_and(is_emulator)),
    }
}

impl LabReader<'_> {
    /// The named network: its table, and which packets its links lose.
    fn network(&mut self, map: &Map<'_>) -> Option<(&'static Table, Losses)> {
        let node = map.get("network")?;
        let losses = match node.mapping() {
            None => Losses::None,
            Some(_) => {
                let map = self.reader.map(node, "the network", KEYS, 0)?;
                let words = [("none", Losses::None), ("by-delay", Losses::ByDelay)];
                match map.get("losses") {
                    Some(losses) if map.get("table").is_none() => {
                        let message =
                            "these are the losses of a table: the network needs a `table`";
                        self.error("missing-key", &losses.place, message);
                        return None;
                    }
                    Some(node) => self.reader.word(node, &words)?,
                    None => Losses::None,
                }
            }
        };
        let name = table_of(node)?;
        let text = self.reader.text(name, "the name of a network")?;
        let table = Table::by_name(text);
        if table.is_none() {
            let hint = suggest::hint(text, "the networks are", TABLES.iter().map(|t| t.name));
            self.reader
                .diagnostics
                .error("unknown-network", &name.place, format!("there is no network `{text}`"))
                .hint_some(hint);
        }
        Some((table?, losses))
    }

    /// The regions of the named network.
    pub(super) fn regions_of_network(&mut self, map: &Map<'_>) -> Vec<String> {
        if let Some((table, _)) = self.network(map) {
            return table.places.iter().map(|name| (*name).to_owned()).collect();
        }
        if map.get("network").and_then(table_of).is_none() {
            self.reader
                .diagnostics
                .error("missing-key", map.place, "a lab needs `regions` or a `network`")
                .hint("write `regions: [NAME, …]` with `links`, or `network: aws-2025`");
        }
        Vec::new()
    }

    /// The emulator of the network. netem by name must be able to emulate these links.
    pub(super) fn emulator(&mut self, map: &Map<'_>, links: &[Link]) -> EmulatorRequest {
        let Some(node) = map.get("network") else {
            return EmulatorRequest::default();
        };
        let node = match node.mapping() {
            Some(_) => node.get("by"),
            None => Some(node).filter(|node| table_of(node).is_none()),
        };
        let Some(node) = node else {
            return EmulatorRequest::default();
        };
        let wanted = self.reader.word(node, EMULATORS).unwrap_or_default();
        if let (EmulatorRequest::Netem, Suits::No(why)) = (wanted, netem_suits(links)) {
            let message = format!("netem cannot do {why}");
            self.reader
                .diagnostics
                .error("bad-network", &node.place, message)
                .hint("write `forwarder`, or `auto`");
        }
        wanted
    }

    /// Sets the links between regions that the network has.
    pub(super) fn links_of_network(&mut self, map: &Map<'_>, links: &mut [Option<Link>]) {
        // An unknown network was reported with the regions, if it has them.
        let reported = map.get("regions").is_none() && self.regions.is_empty();
        let Some((table, losses)) = (!reported).then(|| self.network(map)).flatten() else {
            return;
        };
        let all = table.links(losses);
        let places = self.regions.iter().map(|name| table.place(name));
        let places: Vec<Option<usize>> = places.collect();
        let pairs = places.iter().flat_map(|from| places.iter().map(move |to| (*from, *to)));
        for (link, pair) in links.iter_mut().zip(pairs) {
            if let (Some(from), Some(to)) = pair {
                *link = Some(all[from * table.places.len() + to]);
            }
        }
    }
}
