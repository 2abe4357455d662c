//! Users behind an access link: regions of their own beside the one that the link leads to.

use crate::wan::Link;
use crate::wan::table::{ACCESS, Access};
use scenario::document::node::Entry;
use scenario::document::reader::Map;
use scenario::document::suggest;

use super::read::LabReader;
use super::{AccessRegion, REGIONS_MAX};

impl LabReader<'_> {
    /// Adds a region for the users behind each access link, and returns all links with those.
    pub(super) fn access(&mut self, map: &Map<'_>, links: Vec<Link>) -> Vec<Link> {
        let Some(node) = map.get("access") else {
            return links;
        };
        let mut behind: Vec<(usize, &'static Access)> = Vec::new();
        for entry in self.reader.entries(node, "regions by access link").unwrap_or_default() {
            let Some(access) = self.access_link(entry) else {
                continue;
            };
            let regions = self.some_regions(&entry.value);
            behind.extend(regions.into_iter().map(|region| (region, access)));
        }
        let base = self.regions.len();
        for (number, (of, access)) in behind.iter().enumerate() {
            let name = format!("{}-{}", self.regions[*of], access.name);
            if self.regions.contains(&name) {
                let message = format!("the region `{name}` is there twice");
                self.error("taken-name", &node.place, &message);
            }
            self.regions.push(name);
            self.access.push(AccessRegion { region: base + number, of: *of });
        }
        if self.regions.len() > REGIONS_MAX {
            let message =
                format!("a lab has at most {REGIONS_MAX} regions, with those of `access`");
            self.error("bad-count", &node.place, &message);
        }
        extended(&links, base, &behind)
    }

    fn access_link(&mut self, entry: &Entry) -> Option<&'static Access> {
        let found = Access::by_name(&entry.key);
        if found.is_none() {
            let known = ACCESS.iter().map(|access| access.name);
            let hint = suggest::hint(&entry.key, "the access links are", known);
            let message = format!("there is no access link `{}`", entry.key);
            self.reader
                .diagnostics
                .error("unknown-access", &entry.key_place, message)
                .hint_some(hint);
        }
        found
    }

    /// The regions with those behind their access links, but for those that are `except`.
    pub(super) fn with_access(&self, mut regions: Vec<usize>, except: &[usize]) -> Vec<usize> {
        for access in &self.access {
            let is_other = !regions.contains(&access.region) && !except.contains(&access.region);
            if is_other && regions.contains(&access.of) {
                regions.push(access.region);
            }
        }
        regions
    }
}

/// The matrix of links of `base` regions and those behind access links.
fn extended(links: &[Link], base: usize, behind: &[(usize, &'static Access)]) -> Vec<Link> {
    let count = base + behind.len();
    // The region that a place is in, and its access link.
    let place = |number: usize| match number.checked_sub(base) {
        None => (number, None),
        Some(at) => (behind[at].0, Some(behind[at].1)),
    };
    let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
    let extended = pairs.map(|(from, to)| {
        let ((from, up), (to, down)) = (place(from), place(to));
        let mut link = links[from * base + to];
        if let Some(access) = up {
            link = link.through(&access.up);
        }
        if let Some(access) = down {
            link = link.through(&access.down);
        }
        link
    });
    extended.collect()
}

#[cfg(test)]
mod tests {
    use scenario::document::Source;

    use crate::file::{Fault, LabFile};
    use crate::lab;
    use crate::policy::choose;

    const MS: u64 = 1_000_000;

    fn read(further: &str) -> Result<LabFile, Vec<String>> {
        let text = format!(
            "lab: t\nregions: [here, there]\nlinks: [ {{ between: all, round_trip: 100ms, loss: 1% }} ]\n\
             hosts: {{ web: {{ each: all }} }}\nservices: {{ web: {{ on: web, run: throng, port: 80 }} }}\n{further}"
        );
        let (file, diagnostics) = lab(Source { name: "t", text: &text });
        file.ok_or_else(|| diagnostics.into_iter().map(|d| d.message).collect())
    }

    #[test]
    fn users_behind_an_access_link_are_a_region_with_its_delay_and_losses() {
        let file = read("access: { mobile-4g: all, mobile-3g: there }").unwrap();
        let names = ["here", "there", "here-mobile-4g", "there-mobile-4g", "there-mobile-3g"];
        assert_eq!(file.regions, names);
        assert_eq!(file.hosts.len(), 2, "only users are there");
        // 70 and 300 ms of access, 100 ms of distance.
        for (a, b, round_trip) in [(0, 1, 100), (2, 0, 70), (2, 1, 170), (4, 0, 400), (3, 4, 370)] {
            assert_eq!(file.round_trip_ns(a, b), round_trip * MS, "{a} {b}");
        }
        let link = |from: usize, to: usize| &file.links[from * 5 + to];
        assert!(link(2, 1).each_flow && link(1, 2).each_flow && !link(0, 1).each_flow);
        assert_eq!(link(4, 0).rate.unwrap().bits_per_s, 768_000, "up");
        assert_eq!(link(0, 4).rate.unwrap().bits_per_s, 1_600_000, "down");
        // 1 % of the distance and 0.2 % of the access.
        let lost = link(2, 1).loss.mean();
        assert!((lost - 0.01198).abs() < 1e-4, "{lost}");
    }

    #[test]
    fn their_users_are_located_where_the_link_leads_and_cut_off_with_it() {
        let file = read(
            "access: { mobile-4g: all }\n\
             names: { by: { of: web, policy: geolocation, by: { here: there, default: here } } }\n\
             faults:\n  - { at: 1s, partition: here }\n  - { at: 1s, partition: [here, here-mobile-4g] }\n\
             \x20 - { at: 1s, partition: here-mobile-4g }\n",
        )
        .unwrap();
        let policy = &file.names[0].policy;
        let chosen = |region| choose(policy, &file, region, &[0, 1], &|_| true, 0.0);
        assert_eq!([chosen(0), chosen(1), chosen(2), chosen(3)], [[1], [0], [1], [0]]);
        let faults: Vec<&Fault> = file.faults.iter().map(|fault| &fault.fault).collect();
        let sides = [
            Fault::Partition(vec![0, 2], vec![1, 3]),
            Fault::Partition(vec![0], vec![2]),
            Fault::Partition(vec![2], vec![0, 1, 3]),
        ];
        assert_eq!(faults, sides.iter().collect::<Vec<_>>());
    }

    #[test]
    fn wrong_access_links_are_reported() {
        for (further, said) in [
            ("access: { mobile-5g: all }", "there is no access link `mobile-5g`"),
            ("access: { mobile-4g: nowhere }", "there is no region `nowhere`"),
            ("access: { mobile-4g: [here, here] }", "the region `here-mobile-4g` is there twice"),
        ] {
            assert_eq!(read(further).unwrap_err(), [said], "{further}");
        }
    }
}
