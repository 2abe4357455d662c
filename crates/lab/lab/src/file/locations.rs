//! Locations of regions, for policies that go by them.

use scenario::document::reader::Map;

use super::Location;
use super::read::LabReader;

/// The keys of a location.
pub(super) const KEYS: &[&str] = &["continent", "country", "state"];

/// The regions of the tables of distances: continent, country (ISO 3166-1) and, where the region's name is of one, state
/// (ISO 3166-2).
const KNOWN: [(&str, &str, &str, &str); 12] = [
    ("ireland", "europe", "ie", ""),
    ("frankfurt", "europe", "de", ""),
    ("virginia", "north-america", "us", "us-va"),
    ("ohio", "north-america", "us", "us-oh"),
    ("oregon", "north-america", "us", "us-or"),
    ("california", "north-america", "us", "us-ca"),
    ("sao-paulo", "south-america", "br", "br-sp"),
    ("singapore", "asia", "sg", ""),
    ("tokyo", "asia", "jp", ""),
    ("mumbai", "asia", "in", "in-mh"),
    ("sydney", "oceania", "au", "au-nsw"),
    ("cape-town", "africa", "za", "za-wc"),
];

impl LabReader<'_> {
    /// The location of each region: as the file says, or as is known; users behind an access link are where it leads to.
    pub(super) fn locations(&mut self, map: &Map<'_>) -> Vec<Location> {
        let mut locations: Vec<Location> = self.regions.iter().map(|name| known(name)).collect();
        if let Some(node) = map.get("locations") {
            for entry in self.reader.entries(node, "locations by region").unwrap_or_default() {
                let region = self.key_region(entry);
                let called = format!("the location of `{}`", entry.key);
                let Some(map) = self.reader.map(&entry.value, &called, KEYS, 0) else {
                    continue;
                };
                let mut code = |key: &str| map.get(key).and_then(|node| self.name(node, "a place"));
                let location = Location {
                    continent: code("continent"),
                    country: code("country"),
                    state: code("state"),
                };
                if let Some(region) = region {
                    locations[region] = location;
                }
            }
        }
        for access in &self.access {
            locations[access.region] = locations[access.of].clone();
        }
        locations
    }
}

fn known(name: &str) -> Location {
    let found = KNOWN.iter().find(|(region, ..)| *region == name);
    let code = |code: &str| (!code.is_empty()).then(|| code.to_owned());
    found.map_or_else(Location::default, |(_, continent, country, state)| Location {
        continent: code(continent),
        country: code(country),
        state: code(state),
    })
}
