//! The figures of a block: what a duet needs of a run directory.

use record::Run;
use record::schema::Verdict as RunVerdict;

use super::Options;
use crate::decide::{plain, times};
use crate::unit::{Ends, Unit};
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
    /// The mean, nanoseconds.
    pub mean_ns: f64,
    /// The quantile, nanoseconds; `None` if the mean is the primary figure, or the block has too few operations for it.
    pub quantile_ns: Option<f64>,
}

impl StepFigures {
    /// This figure, if the block has it.
    pub(super) fn figure_ns(&self, figure: StepFigure) -> Option<f64> {
        match figure {
            StepFigure::Mean => Some(self.mean_ns),
            StepFigure::Quantile => self.quantile_ns,
        }
    }
}

/// The figure of a step that is compared, the same in all blocks: the mean of one and the quantile of another differ
/// whatever the targets do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepFigure {
    Mean,
    Quantile,
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
            if let Some(unit) = measured.unit(span.seconds()) {
                block.steps.push(StepFigures {
                    name: measure.name.clone(),
                    kind: measure.kind.clone(),
                    operations: measured.count(),
                    mean_ns: figure_ns(Figure::Mean, &unit),
                    quantile_ns: quantile_ns(&unit, how),
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

/// The quantile that is the primary figure; `None` if none is, or there are too few operations for it.
fn quantile_ns(unit: &Unit, how: &Options) -> Option<f64> {
    let wanted = how.primary.figure();
    let is_known = wanted != Figure::Mean && times(std::iter::once(unit), how).contains(&wanted);
    is_known.then(|| figure_ns(wanted, unit))
}

fn figure_ns(figure: Figure, unit: &Unit) -> f64 {
    // A broadcast may have age 0, which has no logarithm.
    plain(figure, unit).max(1.0)
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
