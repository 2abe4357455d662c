//! Regions that users connect from, and what a run records by region.
//!
//! A loop knows nothing of regions: it belongs to one, and counts by the measures of the plan. A run's record has each
//! of them once for every region, with the region as a tag.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::ids::MeasureId;
use crate::measures::{Measure, MeasureKind, Tags, difference};
use crate::messages::PushedMessage;

/// The key of the tag that a region gives to what its users measure.
pub const REGION: &str = "region";

/// A place that a share of the users connects from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Region {
    /// Unique.
    pub name: String,
    /// The region's share of the users, in proportion to those of the others; above 0.
    pub share: f64,
}

/// The measures of a run's record, and which of them a measure of the plan is in each region.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedMeasures {
    /// The measures of the plan in its order, each followed by the same measure in the other
    /// regions.
    pub measures: Vec<Measure>,
    /// By measure of the plan: the first of its own, and whether there is one for each region.
    places: Vec<(u16, bool)>,
}

impl RecordedMeasures {
    /// The measures of users in these regions. Without regions these are the plan's measures as
    /// they are. Figures of the messages of all users together, such as which of them nobody lost,
    /// belong to no region.
    ///
    /// # Panics
    /// If there are more than `u16::MAX`; plans have fewer.
    pub fn new(
        measures: &[Measure],
        messages: &[PushedMessage],
        regions: &[Region],
    ) -> RecordedMeasures {
        let mut all = Vec::with_capacity(measures.len() * regions.len().max(1));
        let mut places = Vec::with_capacity(measures.len());
        for (number, measure) in measures.iter().enumerate() {
            let is_pushed = |message: &PushedMessage| {
                let reached = message.numbered.as_ref().and_then(|numbered| numbered.reached);
                message.measure.index() == number || reached.is_some_and(|of| of.index() == number)
            };
            let is_regional = !regions.is_empty()
                && (measure.kind != MeasureKind::Message || messages.iter().any(is_pushed));
            let first = u16::try_from(all.len());
            let first = first.expect("plans have fewer measures than their ids can distinguish");
            places.push((first, is_regional));
            match is_regional {
                false => all.push(measure.clone()),
                true => all.extend(regions.iter().map(|region| of_region(measure, region))),
            }
        }
        if !regions.is_empty() {
            name_by_tags(&mut all);
        }
        RecordedMeasures { measures: all, places }
    }

    /// The record's measure for one of the plan, as the region of this number measures it.
    pub fn measure(&self, region: usize, measure: MeasureId) -> MeasureId {
        let (first, is_regional) = self.places[measure.index()];
        match is_regional {
            true => MeasureId(first + region as u16),
            false => MeasureId(first),
        }
    }

    /// All of the record's measures for one of the plan.
    pub fn all_of(&self, measure: MeasureId) -> impl Iterator<Item = MeasureId> + use<> {
        let (first, _) = self.places[measure.index()];
        let next = self.places.get(measure.index() + 1);
        let end = next.map_or(self.measures.len() as u16, |(first, _)| *first);
        (first..end).map(MeasureId)
    }
}

/// The measure under the name that it has without its tags, with the region's tag.
fn of_region(measure: &Measure, region: &Region) -> Measure {
    let mut tags = measure.tags.clone();
    tags.insert(REGION.to_owned(), region.name.clone());
    Measure { tags, ..measure.clone() }
}

/// Gives those that share a name a name of their own, by their tags.
fn name_by_tags(all: &mut [Measure]) {
    let mut named: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, measure) in all.iter().enumerate() {
        let name = measure.shared_name.as_ref().unwrap_or(&measure.name);
        named.entry(name.clone()).or_default().push(place);
    }
    for (name, of_name) in named.iter().filter(|(_, of_name)| of_name.len() > 1) {
        let tags: Vec<Tags> = of_name.iter().map(|&at| all[at].tags.clone()).collect();
        for (&at, own) in of_name.iter().zip(&tags) {
            all[at].name = format!("{name} ({})", difference(own, &tags));
            all[at].shared_name = Some(name.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(name: &str, kind: MeasureKind, area: &str) -> Measure {
        let tag = (!area.is_empty()).then(|| ("area".to_owned(), area.to_owned()));
        Measure {
            name: match area.is_empty() {
                true => name.to_owned(),
                false => format!("{name} (area={area})"),
            },
            kind,
            shared_name: (!area.is_empty()).then(|| name.to_owned()),
            tags: tag.into_iter().collect(),
        }
    }

    fn regions(names: &[&str]) -> Vec<Region> {
        let regions = names.iter().map(|&name| Region { name: name.to_owned(), share: 1.0 });
        regions.collect()
    }

    fn measures() -> [Measure; 4] {
        [
            measure("connect", MeasureKind::Connect, ""),
            measure("said.lost", MeasureKind::Message, ""),
            measure("GET /", MeasureKind::Request, "shop"),
            measure("GET /", MeasureKind::Request, "blog"),
        ]
    }

    fn names(recorded: &RecordedMeasures) -> Vec<&str> {
        recorded.measures.iter().map(|m| m.name.as_str()).collect()
    }

    #[test]
    fn without_regions_a_record_has_the_measures_of_the_plan() {
        let recorded = RecordedMeasures::new(&measures(), &[], &[]);
        assert_eq!(recorded.measures, measures());
        assert_eq!(recorded.measure(0, MeasureId(2)), MeasureId(2));
    }

    #[test]
    fn one_region_changes_no_name() {
        let recorded = RecordedMeasures::new(&measures(), &[], &regions(&["only"]));
        let plain = measures();
        let plain: Vec<&str> = plain.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names(&recorded), plain);
        assert_eq!(recorded.measures[0].tags[REGION], "only");
    }

    #[test]
    fn each_region_has_its_own_but_for_what_all_users_find_out_together() {
        let recorded = RecordedMeasures::new(&measures(), &[], &regions(&["north", "south"]));
        let expected = [
            "connect (region=north)",
            "connect (region=south)",
            "said.lost",
            "GET / (area=shop, region=north)",
            "GET / (area=shop, region=south)",
            "GET / (area=blog, region=north)",
            "GET / (area=blog, region=south)",
        ];
        assert_eq!(names(&recorded), expected);
        assert_eq!(recorded.measure(1, MeasureId(0)), MeasureId(1));
        assert_eq!(recorded.measure(1, MeasureId(1)), MeasureId(2));
        assert_eq!(recorded.measure(1, MeasureId(3)), MeasureId(6));
        let all: Vec<u16> = recorded.all_of(MeasureId(3)).map(|m| m.0).collect();
        assert_eq!(all, [5, 6]);
        assert_eq!(recorded.measures[1].shared_name.as_deref(), Some("connect"));
    }
}
