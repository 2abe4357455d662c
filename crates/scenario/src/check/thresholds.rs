//! Conditions that decide whether the run passes.
//!
//! `figure comparison value`, and ` in PHASE` after it for a figure of a measure. The figure is a
//! word (`connected`, `errors`) or a statistic of a measure (`p98(request)`, `rate("GET /")`), the
//! measure with `.service` or `.lag` behind it for its other durations.

use std::ops::Range;

use super::words::rate_in_range;
use super::{Checker, FAULTS};
use crate::node::Node;
use crate::plan::{Basis, Comparison, Figure, MeasureId, Phase, Stat, Threshold, Wire};
use crate::suggest;
use crate::units::{self, UnitError};

/// What is wrong, where in the threshold's text, and what to write instead.
struct Fault {
    code: &'static str,
    span: Range<usize>,
    message: String,
    hint: Option<String>,
}

impl Fault {
    fn new(span: Range<usize>, message: impl Into<String>) -> Fault {
        Fault {
            code: "bad-threshold",
            span,
            message: message.into(),
            hint: None,
        }
    }

    fn hint(mut self, hint: impl Into<String>) -> Fault {
        self.hint = Some(hint.into());
        self
    }
}

/// What a figure is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Share,
    Count,
    Rate,
    Duration,
}

const UNKNOWN_MEASURE: &str = "unknown-measure";

const FORMS: &str = "write it like `p98(request) < 250ms`, `connected >= 99.9%` or `errors == 0`";

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
    "errors",
    "error_rate",
];

/// Longer signs first.
const COMPARISONS: &[(&str, Comparison)] = &[
    ("<=", Comparison::LessEqual),
    (">=", Comparison::GreaterEqual),
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

impl Checker<'_> {
    /// `measured`: whether there are sessions to measure anything. Where they are missing, that is told,
    /// and not of each measure that is missing with them.
    pub(super) fn thresholds(
        &mut self,
        node: &Node,
        phases: &[Phase],
        measured: bool,
    ) -> Vec<Threshold> {
        let items = match node.sequence() {
            Some(items) => items,
            None if node.is_null() => &[],
            None => std::slice::from_ref(node),
        };
        items
            .iter()
            .filter_map(|item| self.threshold(item, phases, measured))
            .collect()
    }

    fn threshold(&mut self, node: &Node, phases: &[Phase], measured: bool) -> Option<Threshold> {
        let word = self.word(node, "a condition")?;
        let lines = Lines {
            measures: &self.measures.iter().map(|m| &*m.name).collect::<Vec<_>>(),
            phases: &phases.iter().map(|p| &*p.name).collect::<Vec<_>>(),
        };
        match lines.threshold(&word.text) {
            Ok(threshold) => Some(threshold),
            Err(fault) if fault.code == UNKNOWN_MEASURE && !measured => None,
            Err(fault) => {
                // The parts of a text that was filled in stand nowhere.
                let as_written = node.text() == Some(word.text.as_str());
                let place = if as_written {
                    node.part(&fault.span)
                } else {
                    word.place
                };
                self.told
                    .error(fault.code, &place, fault.message)
                    .hint_some(fault.hint);
                None
            }
        }
    }
}

/// A phase's number, and where the threshold names it.
type InPhase = (usize, Range<usize>);

/// Compiles a threshold for a run that is over, with the names of its measures and phases in their
/// order. The error says what is wrong with it.
pub fn threshold(text: &str, measures: &[&str], phases: &[&str]) -> Result<Threshold, String> {
    let lines = Lines { measures, phases };
    lines.threshold(text).map_err(|fault| fault.message)
}

/// Compiles a figure, `p98(request)` or `rate in hold`, as [`threshold`] does a whole condition.
/// The error says what is wrong with it, and what to write instead.
pub fn figure(text: &str, measures: &[&str], phases: &[&str]) -> Result<Figure, String> {
    let lines = Lines { measures, phases };
    let found = lines
        .phase(text, trimmed(text, 0..text.len()))
        .and_then(|(left, phase)| lines.figure(text, left, phase));
    found
        .map(|(figure, _)| figure)
        .map_err(|fault| match fault.hint {
            Some(hint) => format!("{}; {hint}", fault.message),
            None => fault.message,
        })
}

/// What thresholds can speak of, by name.
struct Lines<'c> {
    measures: &'c [&'c str],
    phases: &'c [&'c str],
}

impl Lines<'_> {
    fn threshold(&self, text: &str) -> Result<Threshold, Fault> {
        let Some((at, sign, comparison)) = find_comparison(text) else {
            let whole = 0..text.len();
            return Err(
                match text.find('=').filter(|at| !inside_quotes(text, *at)) {
                    Some(at) => Fault::new(at..at + 1, "`=` does not compare").hint("write =="),
                    None => Fault::new(whole, "this compares nothing").hint(FORMS),
                },
            );
        };
        let left = trimmed(text, 0..at);
        let right = trimmed(text, at + sign.len()..text.len());
        let (value, phase) = self.phase(text, right)?;
        let (figure, unit) = self.figure(text, left, phase)?;
        let limit = limit(&text[value.clone()], unit).map_err(|error| Fault {
            code: "bad-limit",
            span: value,
            message: error.message,
            hint: Some(error.hint),
        })?;
        Ok(Threshold {
            text: text.to_owned(),
            figure,
            comparison,
            limit,
        })
    }

    /// Splits ` in PHASE` from what stands before it.
    fn phase(
        &self,
        text: &str,
        right: Range<usize>,
    ) -> Result<(Range<usize>, Option<InPhase>), Fault> {
        let Some(found) = text[right.clone()].find(" in ") else {
            return Ok((right, None));
        };
        let value = trimmed(text, right.start..right.start + found);
        let written = trimmed(text, right.start + found + 4..right.end);
        let name = text[written.clone()].trim_matches('"');
        match self.phases.iter().position(|&phase| phase == name) {
            Some(phase) => Ok((value, Some((phase, written)))),
            None => {
                let names = self.phases.iter().copied();
                let hint = suggest::hint(name, "the phases are", names);
                let message = format!("there is no phase `{name}`");
                Err(Fault {
                    code: "unknown-phase",
                    span: written,
                    message,
                    hint,
                })
            }
        }
    }

    fn figure(
        &self,
        text: &str,
        span: Range<usize>,
        phase: Option<InPhase>,
    ) -> Result<(Figure, Unit), Fault> {
        let written = &text[span.clone()];
        let whole_run = match written {
            "connected" => Some((Figure::Connected, Unit::Share)),
            "users" => Some((Figure::Users, Unit::Count)),
            "refused" => Some((Figure::Refused, Unit::Count)),
            name => {
                let found = Wire::ALL.iter().find(|(wire, _)| *wire == name);
                found.map(|(_, wire)| (Figure::Wire(*wire), Unit::Count))
            }
        };
        match (whole_run, phase) {
            (Some(_), Some((_, place))) => {
                let message = format!("`{written}` is a figure of the whole run");
                Err(Fault::new(place, message).hint("leave `in …` out"))
            }
            (Some(found), None) => Ok(found),
            (None, phase) => self.measure_figure(text, span, phase.map(|(phase, _)| phase)),
        }
    }

    fn measure_figure(
        &self,
        text: &str,
        span: Range<usize>,
        phase: Option<usize>,
    ) -> Result<(Figure, Unit), Fault> {
        let written = &text[span.clone()];
        let Some(open) = written.find('(') else {
            let (stat, unit) = stat(written, span.clone())?;
            if unit == Unit::Duration {
                let message = format!("`{written}` needs a measure");
                let hint = format!("write it like {written}({})", self.example_measure());
                return Err(Fault::new(span, message).hint(hint));
            }
            let (measure, basis) = (None, Basis::Response);
            return Ok((
                Figure::Measure {
                    stat,
                    measure,
                    basis,
                    phase,
                },
                unit,
            ));
        };
        let name_span = trimmed(text, span.start..span.start + open);
        let (stat, unit) = stat(&text[name_span.clone()], name_span)?;
        let Some(inner) = written[open + 1..].strip_suffix(')') else {
            let end = span.end;
            return Err(Fault::new(end - 1..end, "the closing ) is missing"));
        };
        let start = span.start + open + 1;
        let measure_span = trimmed(text, start..start + inner.len());
        let (measure, basis) = self.measure(text, measure_span.clone())?;
        if basis != Basis::Response && unit != Unit::Duration {
            let message = "only durations have `.service` and `.lag`";
            return Err(Fault::new(measure_span, message));
        }
        Ok((
            Figure::Measure {
                stat,
                measure: Some(measure),
                basis,
                phase,
            },
            unit,
        ))
    }

    /// A measure's name, in quotes or not, and which of its durations is meant.
    fn measure(&self, text: &str, span: Range<usize>) -> Result<(MeasureId, Basis), Fault> {
        let written = &text[span.clone()];
        let find = |name: &str| self.measures.iter().position(|&measure| measure == name);
        let unquoted = |name: &str| {
            let inner = name
                .strip_prefix('"')
                .and_then(|name| name.strip_suffix('"'));
            inner.unwrap_or(name).to_owned()
        };
        if let Some(found) = find(&unquoted(written)) {
            return Ok((super::index(found), Basis::Response));
        }
        let (name, basis) = if let Some(name) = written.strip_suffix(".service") {
            (name, Basis::Service)
        } else if let Some(name) = written.strip_suffix(".lag") {
            (name, Basis::Lag)
        } else {
            (written, Basis::Response)
        };
        let name = unquoted(name);
        match find(&name) {
            Some(found) => Ok((super::index(found), basis)),
            None => {
                let names = self.measures.iter().copied();
                let hint = suggest::hint(&name, "the measures are", names);
                let message = format!("nothing is measured as `{name}`");
                Err(Fault {
                    code: UNKNOWN_MEASURE,
                    span,
                    message,
                    hint,
                })
            }
        }
    }

    fn example_measure(&self) -> String {
        let mut names = self.measures.iter().copied().rev();
        let name = names.find(|name| *name != FAULTS).unwrap_or("request");
        if name.contains([' ', ')']) {
            format!("\"{name}\"")
        } else {
            name.to_owned()
        }
    }
}

fn stat(name: &str, span: Range<usize>) -> Result<(Stat, Unit), Fault> {
    Ok(match name {
        "count" => (Stat::Count, Unit::Count),
        "rate" => (Stat::Rate, Unit::Rate),
        "errors" => (Stat::Errors, Unit::Count),
        "error_rate" => (Stat::ErrorRate, Unit::Share),
        "mean" => (Stat::Mean, Unit::Duration),
        "min" => (Stat::Min, Unit::Duration),
        "max" => (Stat::Max, Unit::Duration),
        _ => {
            let percent = name
                .strip_prefix('p')
                .and_then(|text| units::number(text).ok());
            match percent {
                Some(percent) if percent > 0.0 && percent <= 100.0 => {
                    (Stat::Quantile(percent / 100.0), Unit::Duration)
                }
                Some(_) => {
                    let message = format!("`{name}` is no percentile");
                    return Err(Fault::new(span, message).hint("write p50 to p100, or p99.9"));
                }
                None => {
                    let names = ["connected", "users", "refused"].into_iter();
                    let names = names.chain(STATS.iter().copied());
                    let names = names.chain(Wire::ALL.iter().map(|(name, _)| *name));
                    let hint = suggest::hint(name, "the figures are", names);
                    let message = format!("there is no figure `{name}`");
                    return Err(Fault {
                        code: "unknown-figure",
                        span,
                        message,
                        hint,
                    });
                }
            }
        }
    })
}

fn limit(text: &str, unit: Unit) -> Result<f64, UnitError> {
    match unit {
        Unit::Share => units::share(text),
        Unit::Count => units::count(text).map(|count| count as f64),
        Unit::Rate => rate_in_range(text),
        Unit::Duration => units::duration(text).map(|seconds| seconds * 1e9),
    }
}

/// The first comparison outside quotes: where, and which.
fn find_comparison(text: &str) -> Option<(usize, &'static str, Comparison)> {
    let places = text
        .char_indices()
        .map(|(at, _)| at)
        .filter(|&at| !inside_quotes(text, at));
    for at in places {
        let rest = &text[at..];
        if let Some((sign, comparison)) = COMPARISONS.iter().find(|(s, _)| rest.starts_with(s)) {
            return Some((at, sign, *comparison));
        }
    }
    None
}

fn inside_quotes(text: &str, at: usize) -> bool {
    text[..at].matches('"').count() % 2 == 1
}

/// The range without the blanks at its ends.
fn trimmed(text: &str, span: Range<usize>) -> Range<usize> {
    let piece = &text[span.clone()];
    let start = span.start + piece.len() - piece.trim_start().len();
    start..start + piece.trim().len()
}
