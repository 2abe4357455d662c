//! Meters: which figures a meter is made of, in which order, unit and direction.

/// The fewest inputs of a meter: two radii enclose nothing.
pub const INPUTS_MIN: usize = 3;

/// A meters file that was checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Meters {
    /// The run that others are reported against; `None`: the first one.
    pub reference: Option<String>,
    /// How much of each run counts, in seconds from its start; `None`: all of it.
    pub window_s: Option<f64>,
    /// The hosts of a lab that are each run's system, by the keys that they are written under. Without an entry for a run,
    /// all of them.
    pub hosts: Vec<(String, Vec<String>)>,
    /// In the order of the text. A meter is made of those before it only.
    pub meters: Vec<Meter>,
}

impl Meters {
    /// The hosts of a run's system; none: all of them.
    pub fn hosts_of(&self, run: &str) -> &[String] {
        let found = self.hosts.iter().find(|(name, _)| name == run);
        found.map_or(&[], |(_, hosts)| hosts)
    }
}

/// A meter.
#[derive(Debug, Clone, PartialEq)]
pub struct Meter {
    /// Name of the meter, such as `SPM`.
    pub name: String,
    /// The published value is multiplied by this.
    pub scale: f64,
    /// True where it is computed for each moment of its probes, and then reported as least, mean and
    /// greatest; else from the worst, mean and best of each input.
    pub each_moment: bool,
    /// The inputs in order, [`INPUTS_MIN`] at least.
    pub inputs: Vec<Input>,
}

/// An input of a meter.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// Name for people.
    pub name: String,
    /// Origin of the value.
    pub from: From,
    /// The unit in which it is reported; `None`: the unit it comes in (durations in nanoseconds).
    pub unit: Option<String>,
    /// It is multiplied by this.
    pub scale: f64,
    /// The published form takes 1/x of it.
    pub invert: bool,
    /// For the normalised form: true where less is better.
    pub lower_is_better: bool,
    /// Weight in the normalised form.
    pub weight: f64,
}

/// Origin of an input.
#[derive(Debug, Clone, PartialEq)]
pub enum From {
    /// Figures of the run as thresholds name them, or `connected_users`.
    Figure {
        /// The figure that is reported for the run as a whole.
        mean: String,
        /// The figure for the meter's worst value.
        worst: Option<String>,
        /// The figure for the meter's best value.
        best: Option<String>,
    },
    /// Metrics that the servers reported.
    Probe {
        /// Metrics that are added up over all sources, and all labels where the name has none, in their unit, each with a
        /// factor.
        metrics: Vec<(String, f64)>,
        /// The sum is divided by that of this metric.
        per: Option<String>,
        /// Instead of a sum, the mean of the sources weighted by these.
        weigh: Vec<SourceWeights>,
    },
    /// Values by run, as somebody wrote them down.
    Value(Vec<(String, f64)>),
    /// The value of another meter.
    Meter(String),
    /// How long the run's system runs for one unit of money, in hours, by the price list.
    HoursPerMoney,
}

/// Weights of sources in the runs of a name.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceWeights {
    /// The runs' name; `None`: all runs that have no weights of their own.
    pub run: Option<String>,
    /// By role, or by role and source as `role/source`, which counts before the role. What is not named counts nothing.
    pub weights: Vec<(String, f64)>,
}

impl SourceWeights {
    /// The weight of a source; `None`: it does not count.
    pub fn weight(&self, role: &str, source: &str) -> Option<f64> {
        let is_source = |name: &str| {
            let parts = name.split_once('/');
            parts.is_some_and(|parts| parts == (role, source))
        };
        let own = self.weights.iter().find(|(name, _)| is_source(name));
        let found = own.or_else(|| self.weights.iter().find(|(name, _)| name == role));
        found.map(|(_, weight)| *weight)
    }
}
