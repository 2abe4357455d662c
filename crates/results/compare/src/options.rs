//! Options of a comparison.

use serde::Serialize;

use super::Figure;

/// Which time of an operation is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Time {
    /// done − due.
    Response,
    /// done − sent.
    Service,
}

impl Time {
    /// `response`, `service`.
    pub fn name(self) -> &'static str {
        match self {
            Time::Response => "response",
            Time::Service => "service",
        }
    }
}

/// The figure of a measure that a decision rests on in the first place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Primary {
    /// Arithmetic mean of the time.
    Mean,
    /// Quantile of the time, of this share.
    Quantile(f64),
}

impl Primary {
    /// The figure itself.
    pub fn figure(self) -> Figure {
        match self {
            Primary::Mean => Figure::Mean,
            Primary::Quantile(q) => Figure::Quantile(q),
        }
    }
}

impl Serialize for Primary {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.figure().serialize(serializer)
    }
}

/// How p-values of many tests are corrected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Correction {
    /// Holm (1979): the chance of any false finding is at most α.
    Holm,
    /// Benjamini and Hochberg (1995): the expected share of false findings is at most α.
    BenjaminiHochberg,
}

impl Correction {
    /// Name for people.
    pub fn name(self) -> &'static str {
        match self {
            Correction::Holm => "Holm",
            Correction::BenjaminiHochberg => "Benjamini–Hochberg",
        }
    }
}

/// The published pipeline's numbers: O'Dwyer, "Analysis and Load Testing of a Real-World Cloud
/// Deployed Distributed System" (2016), section 3.4.2.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PublishedPipeline {
    /// Samples in the window of the median filter.
    pub window: usize,
    /// A sample farther from the window's median than this many of its standard deviations is
    /// replaced by it.
    pub sigmas: f64,
    /// Width of the bins of the distribution function, in nanoseconds.
    pub bin_ns: f64,
}

/// Options of a comparison; [`Default`] gives the defaults of the command line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Options {
    /// Response or service.
    pub time: Time,
    /// Shares whose quantiles are compared, each strictly between 0 and 1.
    pub quantiles: Vec<f64>,
    /// The figure of each measure that is corrected least.
    pub primary: Primary,
    /// The chance of finding any difference where there is none.
    pub alpha: f64,
    /// Differences up to this share of the baseline's value are reported but decide nothing.
    pub tolerance: f64,
    /// Correction of the p-values of the tests on samples.
    pub correction: Correction,
    /// Only this phase.
    pub phase: Option<String>,
    /// Time excluded at the start, of the run or else of the phase.
    pub skip_ns: u64,
    /// Each run is cut into windows of this length, which are compared as runs are; `None`: runs are compared whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_ns: Option<u64>,
    /// Measures whose rows take more than this together are compared by their histograms.
    pub memory_bytes: u64,
    /// Settings of the published pipeline.
    pub published: PublishedPipeline,
    /// The difference to be seen that the number of further runs is reported for, as a share.
    pub detect: f64,
    /// Decide nothing from a single run a side.
    pub strict: bool,
    /// Failures are compared and listed, and decide nothing.
    pub allow_errors: bool,
    /// Only measures of these names.
    pub only: Option<Vec<String>>,
    /// Compare what differs in scenario, and what is not trusted.
    pub force: bool,
    /// Seed of the draws that are made if there are too many permutations of runs to go through
    /// them all.
    pub seed: u64,
    /// Tell the curves that pictures are drawn from, too.
    #[serde(skip)]
    pub curves: bool,
}

impl Options {
    /// True if runs, or their phases, are compared whole, as counts of the record are.
    pub(crate) fn compares_all(&self) -> bool {
        self.skip_ns == 0 && self.window_ns.is_none()
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            time: Time::Response,
            quantiles: vec![0.5, 0.9, 0.95, 0.99],
            primary: Primary::Mean,
            alpha: 0.05,
            tolerance: 0.01,
            correction: Correction::Holm,
            phase: None,
            skip_ns: 0,
            window_ns: None,
            memory_bytes: 1 << 30,
            published: PublishedPipeline { window: 20, sigmas: 2.0, bin_ns: 1e6 },
            detect: 0.05,
            strict: false,
            allow_errors: false,
            only: None,
            force: false,
            seed: 1,
            curves: false,
        }
    }
}
