//! Load that is not the one that was planned.

use record::schema::{Finding, Severity};

use crate::case::Case;
use crate::figures::Figures;
use crate::finding::finding;
use crate::generator::{Cause, LagExcess, LoadFault, MissedStarts};
use crate::summary::per_second;

/// Load that was missed or late.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let finding = match &case.shortfall.load {
        Some(LoadFault::Missed(missed)) => missed_starts(missed, case),
        Some(LoadFault::Late { excess, cause }) => too_late(case, excess, cause),
        None => return Vec::new(),
    };
    vec![finding]
}

/// Fewer starts than planned.
fn missed_starts(missed: &MissedStarts, case: &Case<'_>) -> Finding {
    let Case { figures, health, .. } = case;
    let phase = &figures.info.phases[missed.phase];
    let in_flight = figures.peak(|row| row.in_flight);
    let waited = case.waited_for_target();
    let severity = match missed.cause {
        Some(_) => severity(waited),
        None => Severity::Fatal,
    };
    let why = match &missed.cause {
        Some(cause) => cause.words(waited),
        None => format!(
            "the target did not respond, and {} operations in flight used all open files",
            units::count(in_flight)
        ),
    };
    let seconds = figures.seconds(Some(missed.phase));
    let text = format!(
        "{}{}: {why}; lag p99 {}",
        planned_and_reached(figures, missed, seconds),
        match missed.is_one_of_several {
            true => format!(" in phase {}", phase.name),
            false => String::new(),
        },
        units::duration(health.lag_p99_ns as f64),
    );
    let code = missed.code();
    let busy = missed.cause.as_ref().map(|cause| cause.busy);
    finding(severity, code, text)
        .with("planned", missed.starts.planned)
        .with("started", missed.starts.started as f64)
        .with("seconds", seconds)
        .with("loop_busy", busy.unwrap_or(health.loop_busy_mean))
        .with("lag_p99_ns", health.lag_p99_ns as f64)
        .with("in_flight_peak", in_flight as f64)
        .done()
}

/// `planned 500,000 requests/s, reached 212,340/s`, or counts if there is no rate.
fn planned_and_reached(figures: &Figures, missed: &MissedStarts, seconds: f64) -> String {
    let phase = &figures.info.phases[missed.phase];
    let starts = &missed.starts;
    if matches!(phase.kind.as_str(), "closed" | "closed-ramp") || seconds <= 0.0 {
        return format!(
            "planned {} users, reached {}",
            units::about(starts.planned),
            units::count(starts.started)
        );
    }
    let per_s = |n: f64| units::rate(n / seconds);
    format!(
        "planned {} {}/s, reached {}",
        per_s(starts.planned).trim_end_matches("/s"),
        if users_are_requests(figures) { "requests" } else { "users" },
        per_s(starts.started as f64),
    )
}

/// True where each user makes one request and nothing else, as those of `throng run URL` do:
/// then people think of the starts as requests.
fn users_are_requests(figures: &Figures) -> bool {
    let measures = &figures.info.measures;
    let mut others = measures
        .iter()
        .enumerate()
        .filter(|(_, m)| !matches!(m.kind.as_str(), "connect" | "redirect"));
    let (Some((number, measure)), None) = (others.next(), others.next()) else {
        return false;
    };
    let cell = figures.cell(None, number);
    let requests = cell.ended() + cell.unfinished();
    let users = figures.total(|row| row.users_started + row.users_refused);
    measure.kind == "request" && requests <= users && requests as f64 >= 0.95 * users as f64
}

/// Lag above the run's limit, although all users were started.
fn too_late(case: &Case<'_>, excess: &LagExcess, cause: &Cause) -> Finding {
    let figures = case.figures;
    let waited = case.waited_for_target();
    let limit_ns = figures.info.generator.lag_max_ns;
    let seconds = figures.seconds(None);
    let reached = per_second(figures.total(|row| row.operations_begun), seconds);
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
pub(super) fn severity(waited_for_target: bool) -> Severity {
    match waited_for_target {
        true => Severity::Warning,
        false => Severity::Fatal,
    }
}
