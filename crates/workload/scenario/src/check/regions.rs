//! The regions that users connect from.

use std::collections::BTreeSet;

use plan::{PushedMessage, REGION, RecordedMeasures, Region};

use super::Checker;
use crate::document::node::{Entry, Node, Place};

/// Regions of a scenario.
const REGIONS_MAX: usize = 64;
/// Most measures that a run records, each counted once for every region.
const RECORDED_MAX: usize = 10_000;

impl Checker<'_> {
    /// Reads `regions`: shares of the users by name.
    pub(super) fn regions(&mut self, node: &Node) {
        let Some(entries) = node.mapping() else {
            self.expected(node, "a mapping of regions and their shares (`north: 65`)");
            return;
        };
        if entries.is_empty() {
            self.diagnostics
                .error("empty", &node.place, "there is no region")
                .hint("write `regions: { north: 65, south: 35 }`, or leave it out");
        }
        if entries.len() > REGIONS_MAX {
            let count = entries.len();
            let message = format!("{count} regions are too many: there are at most {REGIONS_MAX}");
            self.diagnostics.error("bad-region", &node.place, message);
            return;
        }
        for entry in entries {
            self.region(entry);
        }
    }

    fn region(&mut self, entry: &Entry) {
        let Entry { key, key_place, value } = entry;
        let sound = self.is_tag_value(key, "the name of a region", key_place);
        let Some(share) = self.weight(value) else {
            return;
        };
        if share <= 0.0 {
            self.diagnostics
                .error("bad-region", &value.place, "a region's share is above 0")
                .hint("leave the region out if nobody connects from it");
        } else if sound {
            self.totals.insert((REGION.to_owned(), key.clone()));
            self.regions.push(Region { name: key.clone(), share });
        }
    }

    /// The measures that runs record. All measures are known and have their names.
    pub(super) fn recorded(
        &mut self,
        place: Option<&Place>,
        messages: &[PushedMessage],
    ) -> RecordedMeasures {
        let Some(place) = place else {
            return RecordedMeasures::new(&self.measures, messages, &self.regions);
        };
        let count = self.measures.len() * self.regions.len();
        if count > RECORDED_MAX {
            let measures = self.measures.len();
            let regions = self.regions.len();
            let message = format!(
                "{measures} measures in {regions} regions are too many: their product is at most {RECORDED_MAX}"
            );
            self.diagnostics
                .error("bad-region", place, message)
                .hint("give steps that may share a measure the same name with `as`");
            return RecordedMeasures::new(&self.measures, messages, &[]);
        }
        let recorded = RecordedMeasures::new(&self.measures, messages, &self.regions);
        let mut names = BTreeSet::new();
        let mut all = recorded.measures.iter().map(|m| m.name.as_str());
        if let Some(name) = all.find(|&name| !names.insert(name)) {
            let message = format!("with regions, two measures are called `{name}`");
            self.diagnostics
                .error("measure-conflict", place, message)
                .hint("give the step another name with `as`");
        }
        recorded
    }
}
