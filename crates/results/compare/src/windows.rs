//! Windows of runs in place of runs: one long run as an ensemble.

use record::Run;
use record::schema::{Finding, Severity};

use super::read::Span;
use super::{CompareError, Options, RUNS_MAX, span};
use judge::finding;

/// The stretches that are compared, those of the baseline first.
pub(crate) struct Stretches<'r> {
    /// The run of each.
    pub(crate) runs: Vec<&'r Run>,
    pub(crate) spans: Vec<Span>,
    /// How many are of the baseline.
    pub(crate) baselines: usize,
    /// The number of runs that they are of.
    runs_count: usize,
}

impl<'r> Stretches<'r> {
    /// Each of `all` whole, or cut into windows if `options` say so. The first `baselines` are the baseline's.
    ///
    /// # Errors
    /// If nothing is left of a run, or there are too few or too many windows.
    pub(crate) fn of(
        all: &[&'r Run],
        baselines: usize,
        options: &Options,
    ) -> Result<Stretches<'r>, CompareError> {
        let runs_count = all.len();
        let mut cut = Stretches { runs: Vec::new(), spans: Vec::new(), baselines: 0, runs_count };
        for (number, &run) in all.iter().enumerate() {
            let whole = span(run, options)?;
            let windows = match options.window_ns {
                Some(window_ns) => {
                    // Not even listed: of a short window there may be billions.
                    let count = usize::try_from(whole.windows_count(window_ns));
                    let count = count.unwrap_or(usize::MAX);
                    if count > RUNS_MAX {
                        return Err(CompareError::TooMany(count));
                    }
                    whole.cut(window_ns)
                }
                None => vec![whole],
            };
            if windows.is_empty() {
                let id = run.info().id.clone();
                let why = "it is shorter than a window".to_owned();
                return Err(CompareError::NothingLeft { id, why });
            }
            if number < baselines {
                cut.baselines += windows.len();
            }
            cut.runs.extend(windows.iter().map(|_| run));
            cut.spans.extend(windows);
        }
        match cut.runs.len() {
            0 | 1 => Err(CompareError::Single),
            count if count > RUNS_MAX => Err(CompareError::TooMany(count)),
            _ => Ok(cut),
        }
    }

    /// How many are not of the baseline.
    pub(crate) fn candidates(&self) -> usize {
        self.runs.len() - self.baselines
    }

    /// The finding that windows were compared.
    pub(crate) fn finding(&self, options: &Options) -> Option<Finding> {
        let window_ns = options.window_ns?;
        let text = format!(
            "compared are {} windows of {} of {}: they show how these runs differ over time. Windows of one run depend on \
             each other, so that p-values are too small if the run drifts; how other runs would differ takes other runs",
            self.runs.len(),
            units::span(window_ns),
            units::counted(self.runs_count as u64, "run")
        );
        let draft = finding(Severity::Warning, "windows-for-runs", text);
        Some(draft.with("windows", self.runs.len() as f64).done())
    }
}
