//! Findings to know before the figures of an experiment are believed.

use record::schema::{Finding, Severity};
use stats::factorial::factor_letter;
use stats::factorial::{FactorialError, Test, brown_forsythe, shapiro_wilk, spearman};
use stats::mean::mean;

use super::analysis::{CellFigures, FitFigures, MissingCell};
use super::values::deviation;
use super::{Data, ResponseData, Row};
use judge::finding as draft;
use judge::limits::{
    EXPERIMENT_CELLS_SHOWN, EXPERIMENT_SHARE_SHOWN, EXPERIMENT_SIGNIFICANCE,
    EXPERIMENT_SPAN_FOR_LOG, EXPERIMENT_SPAN_FOR_LOG_BY_SPREAD, EXPERIMENT_SPREAD_CELLS,
    EXPERIMENT_SPREAD_REPETITIONS,
};

/// Significant digits of a bound.
const BOUND_DIGITS: usize = 3;
/// Greatest quotient of two values that is shown by its own figure.
const SPAN_SHOWN_MAX: f64 = 1e6;

/// Figures of a response that its findings follow from.
pub(super) struct ResponseEvidence<'a> {
    pub(super) data: &'a Data,
    pub(super) response: &'a ResponseData,
    pub(super) cells: &'a [CellFigures],
    /// As they were measured, in that order.
    pub(super) values: &'a [f64],
    /// Factors that were measured at one level only.
    pub(super) unused: Vec<&'a str>,
    pub(super) is_positive: bool,
    pub(super) multiplicative: bool,
    /// Rows of which only a lower bound is known, with it.
    pub(super) bounded: &'a [(&'a Row, f64)],
    /// Rows in which there is no value.
    pub(super) rows_without: usize,
    pub(super) problem: Option<&'a FactorialError>,
    pub(super) fit: Option<&'a FitFigures>,
    /// Whether values rise or fall in the order in which they were measured.
    pub(super) trend: Option<Test>,
}

pub(super) fn finding(
    severity: Severity,
    code: &str,
    text: String,
    evidence: &[(&str, f64)],
) -> Finding {
    let draft = draft(severity, code, text);
    let draft = evidence.iter().fold(draft, |draft, (name, value)| draft.with(name, *value));
    draft.done()
}

/// Combinations that were measured too rarely.
pub(super) fn missing(data: &Data, cells: &[MissingCell]) -> Option<Finding> {
    if cells.is_empty() {
        return None;
    }
    let lost: usize = cells.iter().map(|cell| cell.planned - cell.found).sum();
    let whole = cells.iter().filter(|cell| cell.found == 0).count();
    let names: Vec<String> = cells
        .iter()
        .take(EXPERIMENT_CELLS_SHOWN)
        .map(|cell| {
            let levels = cell.levels.iter().enumerate();
            let levels: Vec<String> = levels
                .map(|(factor, level)| format!("{}={level}", factor_letter(factor)))
                .collect();
            format!("{} ({} of {})", levels.join(" "), cell.found, cell.planned)
        })
        .collect();
    let more = cells.len().saturating_sub(EXPERIMENT_CELLS_SHOWN);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let text = format!(
        "{} of {} {} missing: {}{more}",
        units::count(lost as u64),
        units::counted((data.planned.len() * data.repetitions) as u64, "planned run"),
        if lost == 1 { "is" } else { "are" },
        names.join(", "),
    );
    let evidence = [("runs_missing", lost as f64), ("cells_missing", whole as f64)];
    Some(finding(Severity::Warning, "runs-missing", text, &evidence))
}

/// Runs that do not count.
pub(super) fn left_out(data: &Data) -> Option<Finding> {
    let first = data.left_out.first()?;
    let count = data.left_out.len();
    let text = format!(
        "{} excluded; the first, {}: {}",
        units::counted(count as u64, "run"),
        first.run,
        first.why
    );
    Some(finding(Severity::Warning, "runs-left-out", text, &[("runs", count as f64)]))
}

/// Findings of one response: first those that hinder the analysis, then its results, then whether
/// the residuals look like errors.
pub(super) fn of_response(seen: &ResponseEvidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(bounds(seen));
    findings.extend(values_missing(seen));
    findings.extend(factors_unused(seen));
    findings.extend(not_positive(seen));
    findings.extend(problem(seen));
    if let Some(fit) = seen.fit {
        findings.extend(largest(seen, fit));
        findings.extend(order(seen, fit));
        findings.extend(shares(fit));
        findings.extend(residuals(seen, fit));
    }
    findings.extend(log(seen, &findings));
    findings
}

fn values_missing(seen: &ResponseEvidence<'_>) -> Option<Finding> {
    let count = seen.rows_without;
    let of = seen.data.rows.len();
    let text = format!(
        "{} of {} have no value and are excluded",
        units::count(count as u64),
        units::counted(of as u64, "observation")
    );
    (count > 0)
        .then(|| finding(Severity::Warning, "values-missing", text, &[("values", count as f64)]))
}

/// Values that are only lower bounds, of which no effect follows.
fn bounds(seen: &ResponseEvidence<'_>) -> Option<Finding> {
    let count = seen.bounded.len();
    if count == 0 {
        return None;
    }
    let named = seen.bounded.iter().take(EXPERIMENT_CELLS_SHOWN);
    let named: Vec<String> = named
        .map(|(row, bound)| {
            let value = seen.response.unit.format(*bound, BOUND_DIGITS);
            format!("{} ≥ {value}", row.run)
        })
        .collect();
    let more = match count.saturating_sub(EXPERIMENT_CELLS_SHOWN) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let text = format!(
        "of {} of {} only a lower bound is known, since operations were never answered: {}{more}; no effects are \
         estimated, which figures of operations that succeeded (name.succeeded) and error rates allow",
        units::count(count as u64),
        units::counted(seen.data.rows.len() as u64, "observation"),
        named.join(", "),
    );
    let evidence = [("values", count as f64)];
    Some(finding(Severity::Warning, "lower-bounds", text, &evidence))
}

fn factors_unused(seen: &ResponseEvidence<'_>) -> Option<Finding> {
    if seen.unused.is_empty() {
        return None;
    }
    let text = format!(
        "measured at one level only, so no effect can be estimated: {}",
        seen.unused.join(", ")
    );
    Some(finding(Severity::Warning, "factor-constant", text, &[]))
}

fn not_positive(seen: &ResponseEvidence<'_>) -> Option<Finding> {
    let text = "a multiplicative model requires values above 0, and some are not: the additive \
        model is used";
    (seen.response.multiplicative && !seen.is_positive)
        .then(|| finding(Severity::Warning, "not-positive", text.to_owned(), &[]))
}

fn problem(seen: &ResponseEvidence<'_>) -> Option<Finding> {
    let problem = seen.problem?;
    let (severity, code) = match problem {
        FactorialError::Constant => (Severity::Note, "constant"),
        _ => (Severity::Warning, "not-analysed"),
    };
    Some(finding(severity, code, problem_text(problem), &[]))
}

/// Which terms explain most.
fn largest(seen: &ResponseEvidence<'_>, fit: &FitFigures) -> Option<Finding> {
    let mut terms: Vec<_> = fit.terms.iter().collect();
    terms.sort_by(|a, b| b.share.total_cmp(&a.share));
    let name = |factors: &[usize]| -> String {
        let names: Vec<&str> = factors.iter().map(|&f| seen.data.factors[f].0.as_str()).collect();
        names.join(" × ")
    };
    let first = terms.first()?;
    let mut parts = vec![format!(
        "{} ({}) explains {} of the variation",
        first.name,
        name(&first.factors),
        units::share(first.share)
    )];
    let others = terms[1..].iter().take(2);
    parts.extend(others.filter(|term| term.share >= EXPERIMENT_SHARE_SHOWN).map(|term| {
        format!("{} ({}) {}", term.name, name(&term.factors), units::share(term.share))
    }));
    parts.extend(
        fit.error
            .filter(|error| error.ss > 0.0)
            .map(|error| format!("errors {}", units::share(error.share))),
    );
    let text = parts.join(", ");
    let mut evidence = vec![("largest_share", first.share)];
    evidence.extend(fit.error.map(|error| ("error_share", error.share)));
    Some(finding(Severity::Note, "variation", text, &evidence))
}

/// Findings about terms that the model lacks.
fn order(seen: &ResponseEvidence<'_>, fit: &FitFigures) -> Vec<Finding> {
    let mut findings = Vec::new();
    let factors = seen.data.factors.len() - seen.unused.len();
    if fit.order_max < factors {
        let text = format!(
            "interactions of more than {} cannot be estimated from these runs; they are assumed \
             to be zero, and count as errors otherwise",
            units::counted(fit.order_max as u64, "factor")
        );
        let evidence = [("factors_max", fit.order_max as f64)];
        findings.push(finding(Severity::Warning, "interactions-not-estimable", text, &evidence));
    }
    if fit.error.is_none() {
        let text = "no repetitions: there are no confidence intervals, and part of the variation may be \
             chance";
        findings.push(finding(Severity::Note, "no-repetitions", text.to_owned(), &[]));
    }
    findings
}

fn shares(fit: &FitFigures) -> Option<Finding> {
    let text = "combinations were not measured equally often: each share is what a term explains \
        beyond all others, and shares do not add up to 100 %";
    (!fit.shares_add_up).then(|| finding(Severity::Note, "unbalanced", text.to_owned(), &[]))
}

/// Whether the residuals look like errors: normal, as large everywhere, without a trend in time.
fn residuals(seen: &ResponseEvidence<'_>, fit: &FitFigures) -> Vec<Finding> {
    if fit.error.is_none() {
        return Vec::new();
    }
    if fit.error.is_some_and(|error| error.ss == 0.0) {
        let text = "repetitions do not differ at all: there is no residual error";
        return vec![finding(Severity::Note, "no-errors", text.to_owned(), &[])];
    }
    let groups = seen.cells.iter().map(|cell| {
        let values = cell.values.iter().copied();
        match seen.multiplicative {
            true => values.map(f64::log10).collect(),
            false => values.collect(),
        }
    });
    let groups: Vec<Vec<f64>> = groups.collect();
    let checks: [(&str, &str, Option<Test>, &str); 4] = [
        (
            "residuals-not-normal",
            "the residuals are not normal (Shapiro-Wilk W",
            shapiro_wilk(&fit.residuals),
            "intervals are approximate; look for outliers",
        ),
        (
            "spread-follows-size",
            "the scatter of repetitions depends on their mean (Spearman's ρ",
            spread_by_size(&groups),
            match seen.multiplicative {
                true => "errors are not homogeneous, even on a multiplicative scale",
                false => "a multiplicative model may fit better",
            },
        ),
        (
            "spread-differs",
            "repetitions scatter more in some combinations than in others (Brown-Forsythe F",
            brown_forsythe(&groups),
            "intervals are too wide for some and too narrow for others",
        ),
        (
            "drift",
            "values drift with the order of the runs (partial correlation r",
            seen.trend,
            "the machine or the target changed during the experiment",
        ),
    ];
    let mut findings = Vec::new();
    for (code, text, test, advice) in checks {
        let Some(test) = test.filter(|test| test.p < EXPERIMENT_SIGNIFICANCE) else {
            continue;
        };
        let text = format!(
            "{text} {}, {}): {advice}",
            units::significant(test.statistic, 3),
            units::p_value(test.p)
        );
        let evidence = [("statistic", test.statistic), ("p", test.p)];
        findings.push(finding(Severity::Warning, code, text, &evidence));
    }
    if findings.is_empty() {
        let text = format!(
            "the {} residuals look like random errors: normal, with constant variance and no \
             trend in time, as far as this number can show",
            units::count(fit.residuals.len() as u64)
        );
        findings.push(finding(Severity::Good, "residuals", text, &[]));
    }
    findings
}

/// The spread of each combination against its mean, which are independent where errors are normal.
/// Single residuals would not do: those of two repetitions are of one size.
fn spread_by_size(groups: &[Vec<f64>]) -> Option<Test> {
    let mut means = Vec::new();
    let mut deviations = Vec::new();
    for group in groups {
        if group.len() >= EXPERIMENT_SPREAD_REPETITIONS {
            means.push(mean(group));
            deviations.push(deviation(group)?);
        }
    }
    if means.len() < EXPERIMENT_SPREAD_CELLS {
        return None;
    }
    spearman(&means, &deviations)
}

/// Whether logarithms should be tried.
fn log(seen: &ResponseEvidence<'_>, findings: &[Finding]) -> Option<Finding> {
    if seen.multiplicative || !seen.is_positive || seen.fit.is_none() {
        return None;
    }
    let least = seen.values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = seen.values.iter().copied().fold(0.0, f64::max);
    let span = most / least;
    let spreads = findings.iter().any(|f| f.code == "spread-follows-size");
    let enough = if spreads { EXPERIMENT_SPAN_FOR_LOG_BY_SPREAD } else { EXPERIMENT_SPAN_FOR_LOG };
    let times = match span > SPAN_SHOWN_MAX {
        true => format!("more than {}", units::significant(SPAN_SHOWN_MAX, 3)),
        false => units::significant(span, 3),
    };
    let text = format!(
        "the largest value is {times} times the smallest: effects may multiply rather than add; try \
         the multiplicative model"
    );
    // The quotient of finite numbers may be infinite.
    let evidence = [("max_by_min", span.min(f64::MAX))];
    (span >= enough).then(|| finding(Severity::Note, "try-logarithms", text, &evidence))
}

/// Why no model was fitted.
fn problem_text(problem: &FactorialError) -> String {
    match problem {
        FactorialError::Constant => {
            "all values are equal: no factor has an effect, and there is no variation to allocate"
                .to_owned()
        }
        FactorialError::Factors(0) => {
            "no factor was measured at two levels: there is nothing to compare".to_owned()
        }
        other => other.to_string(),
    }
}
