//! A run as the rules see it.

use plan::Threshold;
use record::schema::{HealthSummary, MeasureSummary, ThresholdResult, UsersSummary};

use crate::figures::Figures;
use crate::generator::{self, Shortfall};
use crate::incidents::RunIncidents;
use crate::lag_decisions::{self, LagDecision};
use crate::saturation::Overload;
use crate::{summary, threshold};

/// A run with everything that the rules read of it. What several rules need to know, such as who was the limit, is found
/// here, by modules that know neither this one nor the rules: no rule sees the findings of another.
pub(crate) struct Case<'a> {
    pub(crate) figures: &'a Figures,
    pub(crate) thresholds: &'a [Threshold],
    /// The remaining workers of a run are judged although others were lost.
    pub(crate) allow_lost_workers: bool,
    /// The run continues, and is judged as if it ended now.
    pub(crate) in_progress: bool,
    pub(crate) health: HealthSummary,
    pub(crate) users: UsersSummary,
    /// The measures of the whole run.
    pub(crate) measures: Vec<MeasureSummary>,
    /// The results of the thresholds, in their order.
    pub(crate) results: Vec<ThresholdResult>,
    pub(crate) shortfall: Shortfall,
    pub(crate) lag_decisions: Vec<LagDecision>,
    /// Empty where the generator itself was the limit: then nothing is known of the target.
    pub(crate) overload: Overload,
    /// When steps were worse than in the rest of the run.
    pub(crate) broken: RunIncidents,
}

impl<'a> Case<'a> {
    /// The case of a run that has ended, without the loss of a worker being accepted.
    pub(crate) fn new(figures: &'a Figures, thresholds: &'a [Threshold]) -> Case<'a> {
        Case::with_broken(figures, thresholds, RunIncidents::find(figures))
    }

    /// A case whose incidents are known already.
    pub(crate) fn with_broken(
        figures: &'a Figures,
        thresholds: &'a [Threshold],
        broken: RunIncidents,
    ) -> Case<'a> {
        let health = generator::summarise(figures);
        let users = summary::users(figures);
        let measures = summary::measures(figures, None);
        let shortfall = Shortfall::find(figures, &health, &users, &measures);
        let overload = match shortfall.is_generators() {
            true => Overload::default(),
            false => Overload::find(figures),
        };
        Case {
            figures,
            thresholds,
            allow_lost_workers: false,
            in_progress: false,
            results: threshold::evaluate_all(figures, thresholds),
            lag_decisions: lag_decisions::find(figures, thresholds),
            health,
            users,
            measures,
            shortfall,
            overload,
            broken,
        }
    }

    /// True if a generator that was late although it had CPU waited for its target.
    pub(crate) fn waited_for_target(&self) -> bool {
        self.overload.lasts()
    }
}
