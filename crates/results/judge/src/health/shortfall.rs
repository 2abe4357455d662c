//! Faults of the generator that kept it from its load, before anybody is blamed for them.

use record::schema::{Finding, HealthSummary, MeasureSummary, Severity, UsersSummary};

use super::cause::Cause;
use super::lag::{self, LagExcess};
use super::memory::MemoryPressure;
use super::starts::{self, MissedStarts, Shortage};
use crate::case::Case;
use crate::figures::Figures;
use crate::finding::finding;

/// The faults of a generator that did not bring its target the load that was planned.
pub(crate) struct Shortfall {
    pub(super) memory: Option<MemoryPressure>,
    /// The scarcest resource first.
    pub(super) shortages: Vec<Shortage>,
    load: Option<LoadFault>,
}

/// Load that is not the one that was planned.
enum LoadFault {
    Missed(MissedStarts),
    /// Operations that began late, although all users started.
    Late {
        excess: LagExcess,
        cause: Cause,
    },
}

impl Shortfall {
    pub(crate) fn find(
        figures: &Figures,
        health: &HealthSummary,
        users: &UsersSummary,
        measures: &[MeasureSummary],
    ) -> Shortfall {
        let memory = MemoryPressure::find(figures);
        let missed = MissedStarts::find(figures).map(LoadFault::Missed);
        let late = || {
            let excess = lag::above_limit(figures, health, measures)?;
            let cause = Cause::of(figures);
            Some(LoadFault::Late { excess, cause })
        };
        Shortfall {
            shortages: starts::find_shortages(figures, users, memory.is_some()),
            memory,
            load: missed.or_else(late),
        }
    }

    pub(crate) fn is_none(&self) -> bool {
        self.memory.is_none() && self.shortages.is_empty() && self.load.is_none()
    }

    /// True if it is the generator's own: no target is to blame for it.
    pub(crate) fn is_generators(&self) -> bool {
        let load = match &self.load {
            Some(LoadFault::Missed(missed)) => missed.cause.as_ref(),
            Some(LoadFault::Late { cause, .. }) => Some(cause),
            None => None,
        };
        self.memory.is_some()
            || self.shortages.iter().any(Shortage::is_generators)
            || load.is_some_and(Cause::is_generators)
    }
}

/// Load that was missed or late.
pub(crate) fn load(case: &Case<'_>) -> Vec<Finding> {
    let finding = match &case.shortfall.load {
        Some(LoadFault::Missed(missed)) => missed.finding(case),
        Some(LoadFault::Late { excess, cause }) => too_late(case, excess, cause),
        None => return Vec::new(),
    };
    vec![finding]
}

/// Lag above the run's limit, although all users were started.
fn too_late(case: &Case<'_>, excess: &LagExcess, cause: &Cause) -> Finding {
    let figures = case.figures;
    let waited = case.waited_for_target();
    let limit_ns = figures.info.generator.lag_max_ns;
    let sends = figures.total(|row| row.sends);
    let seconds = figures.seconds(None);
    let reached = crate::summary::per_second(sends, seconds);
    let text = format!(
        "1 % of {} started more than {} late (limit {}): {}; reached {} operations/s",
        excess.step.as_ref().map_or("operations".to_owned(), |step| format!("`{step}`")),
        units::duration(excess.p99_ns as f64),
        units::duration(limit_ns as f64),
        cause.words(waited),
        units::rate(reached).trim_end_matches("/s"),
    );
    finding(severity(waited), cause.code(), text)
        .with("lag_p99_ns", excess.p99_ns as f64)
        .with("lag_limit_ns", limit_ns as f64)
        .with("loop_busy", cause.busy)
        .with("cpu_wait", cause.wait)
        .with("reached_per_s", reached)
        .done()
}

/// The severity of a fault of a generator that may have waited for its target.
pub(crate) fn severity(waited_for_target: bool) -> Severity {
    match waited_for_target {
        true => Severity::Warning,
        false => Severity::Fatal,
    }
}
