//! Measures that a run has once for each region, taken as one.

use record::schema::{EventKind, SeriesRow};

use super::Figures;

/// Measures of several regions that are the same but for that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OverRegions {
    /// Without the region.
    pub(crate) name: String,
    pub(crate) kind: String,
    /// Ascending.
    pub(crate) measures: Vec<usize>,
}

impl Figures {
    /// All measures, those of several regions as one; empty if the run has no regions.
    pub(crate) fn over_regions(&self) -> Vec<OverRegions> {
        let mut all: Vec<OverRegions> = Vec::new();
        if self.info.regions.is_empty() {
            return all;
        }
        for (number, measure) in self.info.measures.iter().enumerate() {
            let name = measure.over_regions();
            match all.iter_mut().find(|known| known.name == name) {
                Some(known) => known.measures.push(number),
                None => all.push(OverRegions {
                    name,
                    kind: measure.kind.clone(),
                    measures: vec![number],
                }),
            }
        }
        all
    }

    /// The share of the users that loops had to start which were lost by this interval.
    pub(super) fn share_lost(&self, row: &SeriesRow) -> f64 {
        let lost = f64::from(row.loops_lost);
        if self.info.regions.is_empty() || lost == 0.0 {
            return lost / f64::from(self.info.generator.loops.max(1));
        }
        let loops = self.losses().filter_map(|loss| match loss {
            EventKind::WorkerLost {
                loops_first, loops, ..
            } => Some(*loops_first..loops_first + loops),
            _ => None,
        });
        let loops: Vec<u32> = loops.flatten().collect();
        let share: f64 = loops.iter().map(|&number| self.share_of_loop(number)).sum();
        // Of several workers, some may have been lost later.
        share * lost / (loops.len() as f64).max(lost)
    }

    fn share_of_loop(&self, number: u32) -> f64 {
        let regions = &self.info.regions;
        let total: f64 = regions.iter().map(|region| region.share).sum();
        let own = regions.iter().find(|region| {
            (region.loops_first..region.loops_first + region.loops).contains(&number)
        });
        own.map_or(0.0, |own| own.share / total / f64::from(own.loops))
    }
}

#[cfg(test)]
mod tests {
    use record::schema::RegionInfo;

    use super::*;

    #[test]
    fn a_lost_loop_takes_the_users_of_its_region() {
        let mut figures = crate::sample::figures();
        figures.info.generator.loops = 3;
        let mut row = SeriesRow {
            loops_lost: 1,
            ..SeriesRow::default()
        };
        assert!((figures.share_lost(&row) - 1.0 / 3.0).abs() < 1e-9);
        let region = |name: &str, share, loops_first, loops| RegionInfo {
            name: name.to_owned(),
            share,
            loops_first,
            loops,
            netns: None,
        };
        figures.info.regions = vec![region("north", 8.0, 0, 2), region("south", 2.0, 2, 1)];
        let what = EventKind::WorkerLost {
            worker: 1,
            pid: 7,
            loops_first: 1,
            loops: 2,
            reported_ns: 0,
            users: 0,
            users_begun: 0,
            users_connected: 0,
            users_due_after: 0,
            why: String::new(),
        };
        let at_ns = 0;
        figures.events.push(record::schema::Event { at_ns, what });
        row.loops_lost = 2;
        assert!((figures.share_lost(&row) - 0.6).abs() < 1e-9);
        row.loops_lost = 0;
        assert_eq!(figures.share_lost(&row), 0.0);
    }
}
