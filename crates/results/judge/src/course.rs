//! The course of a run, thinned to what a screen shows: seconds, latency, errors by kind, probes.
//!
//! Time is cut into *slots* of whole seconds, at most [`SLOTS_MAX`] of them. Of thinned values
//! the mean, the least and the greatest are kept, so that no peak is lost. Percentiles are those of all
//! operations of a slot, from merged histograms. However long a run was and however much it
//! measured, its course has a bounded size.

mod errors;
mod latency;
mod live;
mod probes;
mod seconds;

use record::schema::{MeasureInfo, SeriesRow, Summary};
use record::{RecordError, Run};
use serde::Serialize;

pub use crate::Number;
pub use crate::second::SecondOf;
pub use errors::ErrorTrack;
pub use latency::{Bin, MeasureCourse, Share, StepLine, shares_of};
pub use live::LiveRun;
pub use probes::{ProbeLine, ProbeLines};
use seconds::Seconds;
pub use seconds::Track;

/// Most slots of a course.
pub const SLOTS_MAX: u64 = 600;
/// Most measures whose course is reported: the one in focus and those with the most operations.
pub const MEASURES_MAX: usize = 12;
/// Most measures with a line of few points, chosen in the same way, as many over all regions, and most points of such a
/// line.
const LINES_MAX: usize = 100;
const LINE_POINTS_MAX: usize = 60;

/// A slot of which fewer seconds were recorded has no rate and no share, and a shorter row no say in least and
/// greatest: a few operations in a millisecond are no throughput.
const COVERED_MIN_S: f64 = 0.5;

const SECOND_NS: u64 = 1_000_000_000;

/// The course of a run, slot by slot.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct Course {
    /// Length of a slot in seconds; slot `i` begins at `i · slot_s`.
    pub slot_s: u64,
    /// Number of slots.
    pub slots: usize,
    /// Length of a column of the heat maps in seconds.
    pub heat_slot_s: u64,
    /// The columns of the run's seconds, without those that were 0 throughout.
    pub seconds: Vec<Track>,
    /// The measures with the most operations, and the one in focus, in the order of the run's list.
    pub measures: Vec<MeasureCourse>,
    /// Number of further measures, which are left out.
    pub measures_left_out: usize,
    /// Seconds between two points of a line of few points.
    pub line_slot_s: u64,
    /// Lines of few points, of more measures than those above; those of several regions also as one.
    pub lines: Vec<StepLine>,
    /// Failures by step, kind and detail, the most frequent first.
    pub errors: Vec<ErrorTrack>,
    /// Number of further failures, which are left out.
    pub errors_left_out: usize,
    /// The values of the probes.
    pub probes: ProbeLines,
}

/// Reads the course of a run; of a killed one as far as it got. The step that the summary puts in focus is among its
/// measures.
///
/// # Errors
/// Fails if a file of the record cannot be read.
pub fn read(run: &Run, summary: &Summary) -> Result<Course, RecordError> {
    let rows = run.series()?;
    let division = Division::of(ended_ns(run, &rows));
    let focus = crate::focus::of(summary, run.info());
    let first = focus.map_or(Vec::new(), |focus| places(&run.info().measures, focus.name()));
    let (errors, errors_left_out) = errors::read(run, division)?;
    Ok(Course {
        errors,
        errors_left_out,
        probes: probes::lines(&run.probes()?, division),
        ..divided_course(run, &rows, division, &first)?
    })
}

/// As [`read`], without failures and probes, and without a step in focus.
///
/// # Errors
/// Fails if a file of the record cannot be read.
pub fn outline(run: &Run) -> Result<Course, RecordError> {
    let rows = run.series()?;
    divided_course(run, &rows, Division::of(ended_ns(run, &rows)), &[])
}

/// Indices of the measures of this name, those of each region included.
fn places(measures: &[MeasureInfo], name: &str) -> Vec<usize> {
    let named = measures.iter().enumerate();
    let named = named.filter(|(_, info)| info.name == name || info.over_regions() == name);
    named.map(|(place, _)| place).collect()
}

fn ended_ns(run: &Run, rows: &[SeriesRow]) -> u64 {
    let seen_ns = rows.last().map_or(0, |row| row.end_ns);
    run.info().ended_ns.max(seen_ns)
}

fn divided_course(
    run: &Run,
    rows: &[SeriesRow],
    division: Division,
    first: &[usize],
) -> Result<Course, RecordError> {
    let latency::Read { measures, left_out, lines } = latency::read(run, division, first)?;
    let mut seconds = Seconds::default();
    rows.iter().for_each(|row| seconds.add(row, division));
    Ok(Course {
        slot_s: division.slot_s,
        slots: division.slots,
        heat_slot_s: division.heat_slot_s,
        seconds: seconds.tracks(division),
        measures,
        measures_left_out: left_out,
        line_slot_s: division.line_slot_s(),
        lines,
        errors: Vec::new(),
        errors_left_out: 0,
        probes: ProbeLines::default(),
    })
}

/// The division of a run's time into slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Division {
    slot_s: u64,
    slots: usize,
    heat_slot_s: u64,
    /// The end of the time that is divided, within the last slot or at its end.
    ended_ns: u64,
}

impl Division {
    fn of(length_ns: u64) -> Division {
        let seconds = length_ns.div_ceil(SECOND_NS).max(1);
        let slot_s = seconds.div_ceil(SLOTS_MAX);
        Division {
            slot_s,
            slots: seconds.div_ceil(slot_s) as usize,
            heat_slot_s: seconds.div_ceil(latency::HEAT_COLUMNS_MAX),
            ended_ns: length_ns,
        }
    }

    /// The slot of this moment; times after the last slot belong to it.
    fn slot(self, at_ns: u64) -> usize {
        let slot = at_ns / SECOND_NS / self.slot_s;
        (slot as usize).min(self.slots - 1)
    }

    /// Seconds of a slot; the last one may be shorter than the others.
    fn seconds(self, slot: usize) -> f64 {
        let start_ns = slot as u64 * self.slot_s * SECOND_NS;
        let end_ns = match slot + 1 == self.slots {
            true => self.ended_ns,
            false => start_ns + self.slot_s * SECOND_NS,
        };
        end_ns.saturating_sub(start_ns) as f64 / SECOND_NS as f64
    }

    /// Slots that are one point of a line.
    fn slots_of_point(self) -> usize {
        self.slots.div_ceil(LINE_POINTS_MAX)
    }

    fn line_slot_s(self) -> u64 {
        self.slot_s * self.slots_of_point() as u64
    }

    /// The values of all slots as a line of few points.
    fn line<T>(self, values: &[T], combine: fn(&[T]) -> T) -> Vec<T> {
        values.chunks(self.slots_of_point()).map(combine).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_slot_is_as_long_as_the_run() {
        let division = Division::of(10_400_000_000);
        assert_eq!((division.slots, division.slot_s), (11, 1));
        assert!((division.seconds(10) - 0.4).abs() < 1e-9);
        assert!((division.seconds(9) - 1.0).abs() < 1e-9);
        // Of 3,605 s each slot has 7 s, but the last.
        let long = Division::of(3_605 * SECOND_NS);
        assert_eq!((long.slots, long.slot_s), (515, 7));
        assert_eq!((long.seconds(0), long.seconds(514)), (7.0, 7.0));
        assert_eq!((long.slots_of_point(), long.line_slot_s()), (9, 63));
        let points = long.line(&[1; 515], |part| part.iter().sum::<i32>());
        assert_eq!((points.len(), points[0], points[57]), (58, 9, 2));
    }
}
