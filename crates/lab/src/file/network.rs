//! Named networks: regions with their distances, and the access links of users.

use document::reader::Map;
use document::suggest;
use wan::Link;
use wan::table::{Losses, TABLES, Table};

use super::read::LabReader;

/// The keys of a network in its long form; the first must be there.
pub(super) const KEYS: &[&str] = &["table", "losses"];

impl LabReader<'_> {
    /// The named network: its table, and which packets its links lose.
    fn network(&mut self, map: &Map<'_>) -> Option<(&'static Table, Losses)> {
        let node = map.get("network")?;
        let (name, losses) = match node.mapping() {
            None => (node, Losses::None),
            Some(_) => {
                let map = self.reader.map(node, "the network", KEYS, 1)?;
                let words = [("none", Losses::None), ("by-delay", Losses::ByDelay)];
                let losses = match map.get("losses") {
                    Some(node) => self.reader.word(node, &words)?,
                    None => Losses::None,
                };
                (map.get("table")?, losses)
            }
        };
        let text = self.reader.text(name, "the name of a network")?;
        let table = Table::by_name(text);
        if table.is_none() {
            let hint = suggest::hint(text, "the networks are", TABLES.iter().map(|t| t.name));
            self.reader
                .diagnostics
                .error(
                    "unknown-network",
                    &name.place,
                    format!("there is no network `{text}`"),
                )
                .hint_some(hint);
        }
        Some((table?, losses))
    }

    /// The regions of the named network.
    pub(super) fn regions_of_network(&mut self, map: &Map<'_>) -> Vec<String> {
        if let Some((table, _)) = self.network(map) {
            return table.places.iter().map(|name| (*name).to_owned()).collect();
        }
        if map.get("network").is_none() {
            self.reader
                .diagnostics
                .error(
                    "missing-key",
                    map.place,
                    "a lab needs `regions` or a `network`",
                )
                .hint("write `regions: [NAME, …]` with `links`, or `network: aws-2025`");
        }
        Vec::new()
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
        let pairs = places
            .iter()
            .flat_map(|from| places.iter().map(move |to| (*from, *to)));
        for (link, pair) in links.iter_mut().zip(pairs) {
            if let (Some(from), Some(to)) = pair {
                *link = Some(all[from * table.places.len() + to]);
            }
        }
    }
}
