//! Loops and their regions: a loop counts by the measures of the plan, the record by those of each region.

use std::sync::Arc;

use engine::measure::Delta;
use engine::schedule::share::region_loops;
use plan::{Measure, MeasureId, Plan, RecordedMeasures};
use record::Measurement;

/// The measures of the record to which the measures of each loop belong.
#[derive(Debug, Clone)]
pub struct Numbering {
    recorded: Arc<RecordedMeasures>,
    /// The region of each loop; empty: there are no regions, and the numbers are the same.
    regions: Arc<[usize]>,
    regions_count: usize,
}

impl Numbering {
    /// The numbering of a run with this number of loops.
    pub fn new(plan: &Plan, loops_count: u32) -> Numbering {
        let loops = region_loops(&plan.regions, loops_count);
        let regions = loops.iter().enumerate();
        let regions =
            regions.flat_map(|(region, loops)| std::iter::repeat_n(region, loops.count as usize));
        Numbering {
            recorded: Arc::new(plan.recorded()),
            regions: regions.collect(),
            regions_count: plan.regions.len(),
        }
    }

    /// The measures of the record, in the order of their numbers.
    pub fn measures(&self) -> &[Measure] {
        &self.recorded.measures
    }

    /// The number of regions.
    pub fn regions_count(&self) -> usize {
        self.regions_count
    }

    /// The region of a loop; `None`: there are no regions.
    pub fn region(&self, loop_id: u16) -> Option<usize> {
        self.regions.get(usize::from(loop_id)).copied()
    }

    /// The measure of what users of all regions find out together.
    pub fn of_all(&self, measure: MeasureId) -> MeasureId {
        self.recorded.measure(0, measure)
    }

    /// The measure of what users of a region find out together.
    pub fn of_region(&self, region: usize, measure: MeasureId) -> MeasureId {
        self.recorded.measure(region, measure)
    }

    /// Renames what a loop measured.
    pub fn rename(&self, delta: &mut Delta) {
        let Some(region) = self.region(delta.loop_id) else {
            return;
        };
        let of = |measure: MeasureId| self.recorded.measure(region, measure);
        for measure in &mut delta.measures {
            measure.measure = of(measure.measure);
        }
        for error in &mut delta.errors {
            error.measure = of(error.measure);
        }
        for sample in &mut delta.samples {
            sample.measure = of(sample.measure);
        }
        for ending in &mut delta.endings {
            ending.step = ending.step.map(|step| of(MeasureId(step)).0);
        }
    }

    /// Renames what rows are of.
    pub fn rename_rows(&self, rows: &mut [Measurement]) {
        if self.regions.is_empty() {
            return;
        }
        for row in rows {
            if let Some(region) = self.region(row.loop_id) {
                row.measure = self.recorded.measure(region, MeasureId(row.measure)).0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use record::Outcome;

    use super::*;

    const TEXT: &str = "target: http://h/\nregions: { north: 3, south: 1 }\n\
                        sessions: { s: [ { get: / } ] }\narrivals: [ { hold: 1s } ]\n";

    fn row(loop_id: u16) -> Measurement {
        Measurement {
            due_ns: 0,
            sent_ns: 0,
            done_ns: 0,
            user: 0,
            measure: 1,
            session: 0,
            loop_id,
            outcome: Outcome::Ok,
            status: 0,
            weight: 1,
            bytes_out: 0,
            bytes_in: 0,
        }
    }

    #[test]
    fn rows_belong_to_the_region_of_their_loop() {
        let plan = crate::testing::plan(TEXT);
        let numbering = Numbering::new(&plan, 4);
        let names = plan.recorded().measures;
        // Two other loops for the north, none for the south: three and one.
        let mut rows = [0, 2, 3].map(row);
        numbering.rename_rows(&mut rows);
        let found = rows.map(|row| names[usize::from(row.measure)].name.clone());
        let expected = ["north", "north", "south"].map(|r| format!("GET / (region={r})"));
        assert_eq!(found, expected);
        assert_eq!(numbering.region(3), Some(1));
        assert_eq!(numbering.of_all(MeasureId(0)), MeasureId(0));
    }

    #[test]
    fn without_regions_nothing_is_renamed() {
        let plan = crate::testing::plan(&TEXT.replace("regions: { north: 3, south: 1 }", ""));
        let mut rows = [row(0)];
        Numbering::new(&plan, 1).rename_rows(&mut rows);
        assert_eq!(rows[0].measure, 1);
    }
}
