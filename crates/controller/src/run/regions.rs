//! Loops and their regions: a loop counts by the measures of the plan, the record by those of each region.

use std::sync::Arc;

use engine::measure::Delta;
use engine::share::region_loops;
use plan::{MeasureId, Plan, Recorded};
use record::Measurement;

/// Which measure of the record is meant by what a loop reports.
#[derive(Debug, Clone)]
pub(crate) struct Numbering {
    recorded: Arc<Recorded>,
    /// The region of each loop; empty: there are no regions, and the numbers are the same.
    regions: Arc<[usize]>,
    regions_count: usize,
}

impl Numbering {
    pub(crate) fn new(plan: &Plan, loops_count: u32) -> Numbering {
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

    /// How many regions there are.
    pub(crate) fn regions_count(&self) -> usize {
        self.regions_count
    }

    /// The region of a loop; `None`: there are no regions.
    pub(crate) fn region(&self, loop_id: u16) -> Option<usize> {
        self.regions.get(usize::from(loop_id)).copied()
    }

    /// The measure of what users of all regions find out together.
    pub(crate) fn of_all(&self, measure: MeasureId) -> MeasureId {
        self.recorded.of(0, measure)
    }

    /// Renames what a loop measured.
    pub(crate) fn rename(&self, delta: &mut Delta) {
        let Some(region) = self.region(delta.loop_id) else {
            return;
        };
        let of = |measure: MeasureId| self.recorded.of(region, measure);
        for measure in &mut delta.measures {
            measure.measure = of(measure.measure);
        }
        for example in &mut delta.examples {
            example.measure = of(example.measure);
        }
        for ending in &mut delta.endings {
            ending.step = ending.step.map(|step| of(MeasureId(step)).0);
        }
    }

    /// Renames what rows are of.
    pub(crate) fn rename_rows(&self, rows: &mut [Measurement]) {
        if self.regions.is_empty() {
            return;
        }
        for row in rows {
            if let Some(region) = self.region(row.loop_id) {
                row.measure = self.recorded.of(region, MeasureId(row.measure)).0;
            }
        }
    }
}
