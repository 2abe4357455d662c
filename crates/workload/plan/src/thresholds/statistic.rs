//! Statistics and durations by name, and numbers in their units.

use std::ops::Range;

use super::error::FigureError;
use super::{Basis, Stat};
use crate::phases::RATE_MAX_PER_S;
use crate::wire::Wire;
use units::parse::{self, UnitError};

/// Unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Share,
    Count,
    Rate,
    Duration,
    /// A number with decimals.
    Plain,
    /// Numbers of a metric.
    Own,
    /// Numbers of a metric by second.
    OwnRate,
}

/// Suffixes of a measure, or of a statistic of all requests, for other durations.
const BASES: &[(&str, Basis)] =
    &[(".succeeded", Basis::Succeeded), (".service", Basis::Service), (".lag", Basis::Lag)];

const STATS: &[&str] = &[
    "p50",
    "p90",
    "p95",
    "p98",
    "p99",
    "p99.9",
    "mean",
    "min",
    "max",
    "count",
    "rate",
    "offered",
    "begun",
    "errors",
    "error_rate",
    "success_rate",
];

/// The text before `.succeeded`, `.service` or `.lag`, and the duration that these name.
pub(super) fn basis_of(written: &str) -> (&str, Basis) {
    let (before, suffix) = split_basis(written);
    let named = BASES.iter().find(|(other, _)| Some(*other) == suffix);
    (before, named.map_or(Basis::Response, |(_, basis)| *basis))
}

/// The text before `.succeeded`, `.service` or `.lag`, and which of them it is.
pub(super) fn split_basis(written: &str) -> (&str, Option<&'static str>) {
    let found = BASES.iter().find(|(suffix, _)| written.ends_with(suffix));
    match found {
        Some((suffix, _)) => (&written[..written.len() - suffix.len()], Some(*suffix)),
        None => (written, None),
    }
}

/// Durations are of every basis; of those that succeeded there are also a number and a rate.
pub(super) fn check_basis(
    basis: Basis,
    stat: Stat,
    unit: Unit,
    span: Range<usize>,
) -> Result<(), FigureError> {
    let fits = match basis {
        Basis::Response => true,
        Basis::Succeeded => unit == Unit::Duration || matches!(stat, Stat::Count | Stat::Rate),
        Basis::Service | Basis::Lag => unit == Unit::Duration,
    };
    if fits {
        return Ok(());
    }
    let message = match basis {
        Basis::Succeeded => "only durations, `count` and `rate` have `.succeeded`",
        _ => "only durations have `.service` and `.lag`",
    };
    Err(FigureError::new(span, message))
}

/// A duration's name and the word behind it, where that is no number (`p99.9`).
pub(super) fn misspelt_basis(name: &str) -> Option<(&str, &str)> {
    let (before, behind) = name.rsplit_once('.')?;
    let is_word = behind.starts_with(|c: char| c.is_ascii_alphabetic());
    let (_, unit) = stat(before, 0..0).ok().filter(|_| is_word)?;
    (unit == Unit::Duration).then_some((before, behind))
}

pub(super) fn stat(name: &str, span: Range<usize>) -> Result<(Stat, Unit), FigureError> {
    Ok(match name {
        "count" => (Stat::Count, Unit::Count),
        "rate" => (Stat::Rate, Unit::Rate),
        "offered" => (Stat::Offered, Unit::Rate),
        "begun" => (Stat::Begun, Unit::Rate),
        "errors" => (Stat::Errors, Unit::Count),
        "error_rate" => (Stat::ErrorRate, Unit::Share),
        "success_rate" => (Stat::SuccessRate, Unit::Share),
        "mean" => (Stat::Mean, Unit::Duration),
        "min" => (Stat::Min, Unit::Duration),
        "max" => (Stat::Max, Unit::Duration),
        _ => {
            let percent = name.strip_prefix('p').and_then(|text| parse::number(text).ok());
            match percent {
                Some(percent) if percent > 0.0 && percent <= 100.0 => {
                    (Stat::Quantile(percent / 100.0), Unit::Duration)
                }
                Some(_) => {
                    let message = format!("`{name}` is not a percentile");
                    return Err(FigureError::new(span, message).hint("write p50 to p100, or p99.9"));
                }
                None => {
                    let names = ["connected", "users", "refused"].into_iter();
                    let names = names.chain(STATS.iter().copied());
                    let names = names.chain(Wire::ALL.iter().map(|(name, _)| *name));
                    let message = format!("there is no figure `{name}`");
                    return Err(FigureError::unknown(
                        "unknown-figure",
                        span,
                        message,
                        name,
                        "the figures are",
                        names,
                    ));
                }
            }
        }
    })
}

/// The number in `p(95)`, as k6 writes percentiles of the metric that stands before its thresholds.
pub(super) fn percentile_of_k6(figure: &str) -> Option<&str> {
    let percent = figure.strip_prefix("p(")?.strip_suffix(')')?.trim();
    parse::number(percent).is_ok().then_some(percent)
}

pub(super) fn limit(text: &str, unit: Unit) -> Result<f64, UnitError> {
    match unit {
        Unit::Share => parse::share(text),
        Unit::Count => parse::count(text).map(|count| count as f64),
        Unit::Rate => {
            let rate = parse::rate_at_most(text, RATE_MAX_PER_S);
            rate.map_err(|error| fraction_as_rate(text, error))
        }
        Unit::Duration => parse::duration(text).map(|seconds| seconds * 1e9),
        // Without the name of its unit.
        Unit::Plain | Unit::Own | Unit::OwnRate => parse::number(text),
    }
}

/// `rate` is operations per second here; in k6 it is a share, a fraction of 1.
fn fraction_as_rate(text: &str, error: UnitError) -> UnitError {
    match parse::percentage(text) {
        Some(percentage) => UnitError {
            hint: format!(
                "a rate is written like 120/s; the share of failed operations is error_rate < {percentage}"
            ),
            ..error
        },
        None => error,
    }
}
