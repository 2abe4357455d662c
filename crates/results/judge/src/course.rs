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

use record::schema::SeriesRow;
use record::{RecordError, Run};
use serde::Serialize;

pub use crate::Number;
pub use errors::ErrorTrack;
pub use latency::{Bin, MeasureCourse, Share, shares_of};
pub use live::{LiveRun, SecondOf};
pub use probes::{ProbeLine, ProbeLines};
use seconds::Seconds;
pub use seconds::Track;

/// Most slots of a course.
pub const SLOTS_MAX: u64 = 600;
/// Most measures whose course is reported: those with the most operations.
pub const MEASURES_MAX: usize = 12;

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
    /// The measures with the most operations, in the order of the run's list.
    pub measures: Vec<MeasureCourse>,
    /// Number of further measures, which are left out.
    pub measures_left_out: usize,
    /// Failed operations a second by kind, the most frequent first.
    pub errors: Vec<ErrorTrack>,
    /// The values of the probes.
    pub probes: ProbeLines,
}

/// Reads the course of a run; of a killed one as far as it got.
///
/// # Errors
/// Fails if a file of the record cannot be read.
pub fn read(run: &Run) -> Result<Course, RecordError> {
    let rows = run.series()?;
    let division = Division::of(ended_ns(run, &rows));
    Ok(Course {
        errors: errors::read(run, division)?,
        probes: probes::lines(&run.probes()?, division),
        ..divided_course(run, &rows, division)?
    })
}

/// As [`read`], without errors by kind, for which all rows have to be read, and without probes.
///
/// # Errors
/// Fails if a file of the record cannot be read.
pub fn outline(run: &Run) -> Result<Course, RecordError> {
    let rows = run.series()?;
    divided_course(run, &rows, Division::of(ended_ns(run, &rows)))
}

fn ended_ns(run: &Run, rows: &[SeriesRow]) -> u64 {
    let seen_ns = rows.last().map_or(0, |row| row.end_ns);
    run.info().ended_ns.max(seen_ns)
}

fn divided_course(
    run: &Run,
    rows: &[SeriesRow],
    division: Division,
) -> Result<Course, RecordError> {
    let (measures, measures_left_out) = latency::read(run, division)?;
    let mut seconds = Seconds::default();
    rows.iter().for_each(|row| seconds.add(row, division));
    Ok(Course {
        slot_s: division.slot_s,
        slots: division.slots,
        heat_slot_s: division.heat_slot_s,
        seconds: seconds.tracks(division),
        measures,
        measures_left_out,
        errors: Vec::new(),
        probes: ProbeLines::default(),
    })
}

/// The division of a run's time into slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Division {
    slot_s: u64,
    slots: usize,
    heat_slot_s: u64,
}

impl Division {
    fn of(length_ns: u64) -> Division {
        let seconds = length_ns.div_ceil(SECOND_NS).max(1);
        let slot_s = seconds.div_ceil(SLOTS_MAX);
        Division {
            slot_s,
            slots: seconds.div_ceil(slot_s) as usize,
            heat_slot_s: seconds.div_ceil(latency::HEAT_COLUMNS_MAX),
        }
    }

    /// The slot of this moment; times after the last slot belong to it.
    fn slot(self, at_ns: u64) -> usize {
        let slot = at_ns / SECOND_NS / self.slot_s;
        (slot as usize).min(self.slots - 1)
    }
}
