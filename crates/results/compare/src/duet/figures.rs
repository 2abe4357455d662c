//! The figures of a block: what a duet needs of a run directory.

use record::Run;
use record::schema::Verdict as RunVerdict;

use super::Options;
use crate::decide::{plain, times};
use crate::read::RunMeasure;
use crate::unit::Ends;
use crate::{CompareError, Figure, common, read_all, span, summary};

/// The figures of one block.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockFigures {
    /// The steps in which operations succeeded.
    pub steps: Vec<StepFigures>,
    /// Operations of steps that ended, connections aside.
    pub ended: u64,
    /// Operations among these that failed.
    pub failed: u64,
    /// False if the run's own verdict is that it cannot be trusted.
    pub trusted: bool,
}

/// A step in one block.
#[derive(Debug, Clone, PartialEq)]
pub struct StepFigures {
    /// As in `run.json`.
    pub name: String,
    /// As in `run.json`.
    pub kind: String,
    /// Operations that succeeded.
    pub operations: u64,
    /// The primary figure, nanoseconds.
    pub primary_ns: f64,
}

/// The kind of measures whose operations are connections.
const CONNECT: &str = "connect";

impl BlockFigures {
    /// Reads a run.
    ///
    /// # Errors
    /// It cannot be read, or nothing of it is left to compare.
    pub fn read(run: &Run, how: &Options) -> Result<BlockFigures, CompareError> {
        let span = span(run, how)?;
        let trusted = summary(run)?.verdict != RunVerdict::Untrusted;
        let measures = common(&[run], how);
        let mut read = read_all(&[run], &[span], &measures, how, &mut |_| {})?;
        let read = read.pop().unwrap_or_default();
        let mut block = BlockFigures { steps: Vec::new(), ended: 0, failed: 0, trusted };
        for (measure, measured) in measures.iter().zip(&read) {
            let ends = measured.ends.unwrap_or_default();
            if measure.kind != CONNECT {
                block.ended += ends.ended;
                block.failed += ends.failed;
            }
            if let Some(primary_ns) = primary_ns(measured, span.seconds(), how) {
                block.steps.push(StepFigures {
                    name: measure.name.clone(),
                    kind: measure.kind.clone(),
                    operations: measured.count(),
                    primary_ns,
                });
            }
        }
        Ok(block)
    }

    /// The step of this name.
    pub(super) fn step(&self, name: &str) -> Option<&StepFigures> {
        self.steps.iter().find(|step| step.name == name)
    }
}

/// The primary figure; the mean if there are too few operations for the quantile, and `None` if there is none at all.
fn primary_ns(measured: &RunMeasure, seconds: f64, how: &Options) -> Option<f64> {
    let unit = measured.unit(seconds)?;
    let wanted = how.primary.figure();
    let known = times(std::iter::once(&unit), how);
    let figure = if known.contains(&wanted) { wanted } else { Figure::Mean };
    // A broadcast may have age 0, which has no logarithm.
    Some(plain(figure, &unit).max(1.0))
}

/// Operations of steps that ended and that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Failures(Ends);

impl Failures {
    pub(super) fn of(blocks: &[BlockFigures]) -> Failures {
        let ends = blocks.iter().map(|block| Ends { ended: block.ended, failed: block.failed });
        Failures(ends.fold(Ends::default(), |all, one| all.plus(&one)))
    }

    pub(super) fn add(&mut self, other: Failures) {
        self.0 = self.0.plus(&other.0);
    }

    pub(super) fn share(self) -> f64 {
        self.0.error_rate()
    }

    /// The share so that its scatter does not grow with it.
    pub(super) fn angle(self) -> f64 {
        self.share().min(1.0).sqrt().asin()
    }
}
