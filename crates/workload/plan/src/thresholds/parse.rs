//! Reading thresholds and figures from text.
//!
//! `figure comparison value`, and ` in PHASE` after it for a figure of a measure. The figure is a
//! word (`connected`) or a statistic of a measure (`p98(request)`, `rate("GET /")`), the measure with
//! `.service` or `.lag` behind it for its other durations. Without a measure it is that of all requests
//! (`p98`, `p98.service`, `errors`). Tags stand for all measures that have them (`p98(area=checkout)`,
//! `errors(area=checkout, group=pay)`).

use std::ops::Range;

use super::error::FigureError;
use super::metrics::{self, MetricName};
use super::statistic::{
    Unit, basis_of, check_basis, limit, misspelt_basis, percentile_of_k6, split_basis, stat,
};
use super::tags;
use super::{Basis, Comparison, Figure, Threshold};
use crate::ids::{MeasureId, MetricId};
use crate::measures::{Tags, builtin};
use crate::wire::Wire;
use units::parse;

/// The code of an error about a measure that there is not.
pub const UNKNOWN_MEASURE: &str = "unknown-measure";
/// The code of an error about a phase that there is not.
pub const UNKNOWN_PHASE: &str = "unknown-phase";
/// The code of an error about a tag that no step has.
pub const UNKNOWN_TAG: &str = "unknown-tag";

/// Text before the limit of `behind(300ms)`.
const BEHIND: &str = "behind(";

const FORMS: &str = "write it like `p98(request) < 250ms`, `connected >= 99.9%` or `errors == 0`";

/// Longer signs first.
const COMPARISONS: &[(&str, Comparison)] = &[
    ("<=", Comparison::LessEqual),
    (">=", Comparison::GreaterEqual),
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

/// A phase's number, and where the threshold names it.
pub(super) type InPhase = (usize, Range<usize>);

/// Names that thresholds and figures can use.
#[derive(Debug, Clone, Copy)]
pub struct Names<'c> {
    /// Names in the order of [`crate::Plan::measures`].
    pub measures: &'c [&'c str],
    /// In the order of [`crate::Plan::metrics`].
    pub metrics: &'c [MetricName<'c>],
    /// Further names and tags of these, in the same order; may be empty if none has tags.
    pub tags: &'c [MeasureTags<'c>],
    /// Names in the order of [`crate::Plan::phases`].
    pub phases: &'c [&'c str],
}

/// A measure's names besides its own.
#[derive(Debug, Clone, Copy)]
pub struct MeasureTags<'c> {
    /// As [`crate::Measure::shared_name`].
    pub shared_name: Option<&'c str>,
    pub tags: &'c Tags,
    /// True for requests and handshakes: figures by tag are of these.
    pub is_request: bool,
}

/// The measures that a figure is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Measures {
    One(MeasureId),
    Several(Vec<MeasureId>),
    Sessions,
}

impl Names<'_> {
    /// Compiles a condition, `p98(request) < 250ms in hold`.
    pub fn threshold(&self, text: &str) -> Result<Threshold, FigureError> {
        let Some((at, sign, comparison)) = find_comparison(text) else {
            let whole = 0..text.len();
            return Err(
                match text
                    .match_indices('=')
                    .map(|(at, _)| at)
                    .find(|&at| !inside_parentheses(text, at))
                {
                    Some(at) => {
                        FigureError::new(at..at + 1, "`=` is not a comparison").hint("write ==")
                    }
                    None => FigureError::new(whole, "this is not a comparison").hint(FORMS),
                },
            );
        };
        let left = trimmed(text, 0..at);
        let right = trimmed(text, at + sign.len()..text.len());
        let (value, phase) = self.phase(text, right)?;
        let (figure, unit) = self.figure_at(text, left, phase)?;
        let written = &text[value.clone()];
        let limit = match (unit, self.metric_of(&figure)) {
            (Unit::Own, Some(metric)) => metrics::limit(written, metric.unit, false),
            (Unit::OwnRate, Some(metric)) => metrics::limit(written, metric.unit, true),
            _ => limit(written, unit),
        };
        let limit = limit.map_err(|error| FigureError {
            code: "bad-limit",
            span: value,
            message: error.message,
            hint: Some(error.hint),
            unknown: None,
        })?;
        Ok(Threshold { text: text.to_owned(), figure, comparison, limit })
    }

    /// Compiles a figure, `p98(request)` or `rate in hold`.
    pub fn figure(&self, text: &str) -> Result<Figure, FigureError> {
        let (left, phase) = self.phase(text, trimmed(text, 0..text.len()))?;
        self.figure_at(text, left, phase).map(|(figure, _)| figure)
    }

    /// Splits ` in PHASE` from what stands before it.
    pub(super) fn phase(
        &self,
        text: &str,
        right: Range<usize>,
    ) -> Result<(Range<usize>, Option<InPhase>), FigureError> {
        // Units may be called `in`, too, and names of phases may have the word.
        let behind = &text[right.clone()];
        let places = behind.match_indices(" in").map(|(at, _)| at);
        let places = places.filter(|at| behind[at + 3..].starts_with(' '));
        let places = places.filter(|at| !inside_parentheses(text, right.start + at));
        let places: Vec<usize> = places.collect();
        let written_at = |at: usize| trimmed(text, right.start + at + 4..right.end);
        let name_at = |written: &Range<usize>| text[written.clone()].trim_matches('"');
        let found = places.iter().find_map(|&at| {
            let written = written_at(at);
            let phase = self.phases.iter().position(|&phase| phase == name_at(&written))?;
            Some((trimmed(text, right.start..right.start + at), (phase, written)))
        });
        if let Some((value, phase)) = found {
            return Ok((value, Some(phase)));
        }
        let Some(&at) = places.last() else {
            return Ok((right, None));
        };
        let written = written_at(at);
        let name = name_at(&written);
        let message = format!("there is no phase `{name}`");
        let known = self.phases.iter().copied();
        Err(FigureError::unknown(UNKNOWN_PHASE, written, message, name, "the phases are", known))
    }

    pub(super) fn figure_at(
        &self,
        text: &str,
        span: Range<usize>,
        phase: Option<InPhase>,
    ) -> Result<(Figure, Unit), FigureError> {
        let written = &text[span.clone()];
        let whole_run = match written {
            "connected" => Some((Figure::Connected, Unit::Share)),
            "users" => Some((Figure::Users, Unit::Count)),
            "refused" => Some((Figure::Refused, Unit::Count)),
            "cost" => Some((Figure::Cost, Unit::Plain)),
            "cost_per_user_hour" => Some((Figure::CostPerUserHour, Unit::Plain)),
            name if name.starts_with(BEHIND) => Some((behind(name, &span)?, Unit::Duration)),
            name => {
                let found = Wire::ALL.iter().find(|(wire, _)| *wire == name);
                found.map(|(_, wire)| (Figure::Wire(*wire), Unit::Count))
            }
        };
        match (whole_run, phase) {
            (Some(_), Some((_, place))) => {
                let message = format!("`{written}` is a figure of the whole run");
                Err(FigureError::new(place, message).hint("remove `in …`"))
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
    ) -> Result<(Figure, Unit), FigureError> {
        let written = &text[span.clone()];
        let Some(open) = written.find('(') else {
            return of_all_requests(written, span, phase);
        };
        let name_span = trimmed(text, span.start..span.start + open);
        if let Some(percent) = percentile_of_k6(written) {
            let message = format!("`{written}` names no measure");
            let hint = format!(
                "write p{percent}({}), or p{percent} for all requests together",
                self.example_measure()
            );
            return Err(FigureError::new(span, message).hint(hint));
        }
        if let (name, Some(suffix)) = split_basis(&text[name_span.clone()]) {
            let message = format!("`{suffix}` belongs behind the measure");
            let hint = format!("write it like {name}({}{suffix})", self.example_measure());
            return Err(FigureError::new(name_span, message).hint(hint));
        }
        if let Some((metric, found)) = self.metric_in(&written[open..]) {
            let (stat, unit) = metrics::stat(found, &text[name_span.clone()], name_span)?;
            return Ok((Figure::Metric { stat, metric, phase }, unit));
        }
        if let Some((at, name)) = self.metric_with_tags(&written[open..]) {
            let place = trimmed(text, span.start + open + at..span.end - 1);
            let message = format!("`{name}` is a metric, and metrics have no tags");
            let hint = format!("write {}({name})", &text[name_span]);
            return Err(FigureError::new(place, message).hint(hint));
        }
        // Sessions have no errors of their own.
        let name_of_stat = match (&text[name_span.clone()], self.is_of_sessions(&written[open..])) {
            ("failed", true) => "errors",
            (name, _) => name,
        };
        let (stat, unit) = stat(name_of_stat, name_span)?;
        let Some(inner) = written[open + 1..].strip_suffix(')') else {
            if let Some((figure, phase)) = written.rsplit_once(") in ") {
                let place = span.start + figure.len() + 2..span.end;
                let message = "`in …` stands at the end";
                let hint = format!("write {figure}) < 1s in {}, with your limit", phase.trim());
                return Err(FigureError::new(place, message).hint(hint));
            }
            let end = span.end;
            return Err(FigureError::new(end - 1..end, "the closing ) is missing"));
        };
        let start = span.start + open + 1;
        let measure_span = trimmed(text, start..start + inner.len());
        if measure_span.is_empty() {
            let stat = &written[..open];
            let message = format!("`{written}` names no measure");
            let hint = format!(
                "write {stat}({}), or {stat} for all requests together",
                self.example_measure()
            );
            return Err(FigureError::new(span, message).hint(hint));
        }
        let (measure, basis) = self.measure(text, measure_span.clone())?;
        check_basis(basis, stat, unit, measure_span.clone())?;
        if measure == Measures::Sessions && !matches!(basis, Basis::Response | Basis::Succeeded) {
            let message = "only operations have `.service` and `.lag`";
            return Err(FigureError::new(measure_span, message));
        }
        let figure = match measure {
            Measures::One(measure) => {
                Figure::Measure { stat, measure: Some(measure), basis, phase }
            }
            Measures::Several(measures) => Figure::Measures { stat, measures, basis, phase },
            Measures::Sessions => Figure::Sessions { stat, basis, phase },
        };
        Ok((figure, unit))
    }

    /// A measure's name, in quotes or not, or tags; and which of the durations is meant.
    fn measure(&self, text: &str, span: Range<usize>) -> Result<(Measures, Basis), FigureError> {
        let written = &text[span.clone()];
        if let Some(found) = self.which(written) {
            return Ok((found, Basis::Response));
        }
        let (name, basis) = basis_of(written);
        if let Some(found) = self.which(name) {
            return Ok((found, basis));
        }
        let tags = self.named(name).map_or(name, |(_, tags)| tags);
        if let Some(error) = tags::unknown(self.tags, tags, &span) {
            return Err(error);
        }
        let name = tags::unquoted(name);
        let message = format!("nothing is measured as `{name}`");
        let known = self.measures.iter().copied();
        let known = known.chain(self.metrics.iter().map(|metric| metric.name));
        Err(FigureError::unknown(UNKNOWN_MEASURE, span, message, name, "the measures are", known))
    }

    /// The metric that a figure is of.
    fn metric_of(&self, figure: &Figure) -> Option<&MetricName<'_>> {
        match figure {
            Figure::Metric { metric, .. } => self.metrics.get(metric.index()),
            _ => None,
        }
    }

    /// The metric whose name stands in these brackets, in quotes or not.
    fn metric_in(&self, brackets: &str) -> Option<(MetricId, &MetricName<'_>)> {
        let inner = brackets.strip_prefix('(').and_then(|inner| inner.strip_suffix(')'))?;
        self.metric_called(inner)
    }

    fn metric_called(&self, written: &str) -> Option<(MetricId, &MetricName<'_>)> {
        let name = tags::unquoted(written.trim());
        let mut metrics = (0..).map(MetricId).zip(self.metrics);
        metrics.find(|(_, metric)| metric.name == name)
    }

    /// The metric behind whose name tags stand in these brackets, as it is written, and where the tags begin.
    fn metric_with_tags<'w>(&self, brackets: &'w str) -> Option<(usize, &'w str)> {
        let inner = brackets.strip_prefix('(').and_then(|inner| inner.strip_suffix(')'))?;
        let commas = inner.match_indices(',').map(|(at, _)| at);
        let mut commas = commas.filter(|&at| !inside_quotes(inner, at));
        let at = commas.next().filter(|&at| tags::are(&inner[at + 1..]))?;
        self.metric_called(&inner[..at])?;
        Some((at + 2, inner[..at].trim()))
    }

    /// The measures called this: one, several that share their name, or those with tags.
    fn which(&self, written: &str) -> Option<Measures> {
        let name = tags::unquoted(written);
        if let Some(found) = self.measures.iter().position(|&measure| measure == name) {
            return Some(Measures::One(index(found)));
        }
        let several = self.sharing(name).or_else(|| tags::find(self.tags, written)).or_else(|| {
            let (named, tags) = self.named(written)?;
            tags::with_all(self.tags, named, tags)
        });
        match several {
            Some(several) => Some(Measures::Several(several.into_iter().map(index).collect())),
            None => (name == builtin::SESSIONS_NAME).then_some(Measures::Sessions),
        }
    }

    /// True for `(sessions)`, unless that is the name of a measure.
    fn is_of_sessions(&self, brackets: &str) -> bool {
        let inner = brackets.strip_prefix('(').and_then(|inner| inner.strip_suffix(')'));
        inner.is_some_and(|name| self.which(name.trim()) == Some(Measures::Sessions))
    }

    /// The places of the measures that share this name.
    fn sharing(&self, name: &str) -> Option<Vec<usize>> {
        tags::places(self.tags, |tagged| tagged.shared_name == Some(name))
    }

    /// The measures of the name, and the tags as they are written, for a text like `"GET /",
    /// area=shop`.
    fn named<'w>(&self, written: &'w str) -> Option<(Vec<usize>, &'w str)> {
        let commas = written.match_indices(',').map(|(at, _)| at);
        let mut commas = commas.filter(|&at| !inside_quotes(written, at));
        commas.find_map(|at| {
            let name = tags::unquoted(written[..at].trim());
            let found = self.measures.iter().position(|&measure| measure == name);
            let found = found.map(|found| vec![found]).or_else(|| self.sharing(name))?;
            let tags = &written[at + 1..];
            tags::are(tags).then_some((found, tags))
        })
    }

    fn example_measure(&self) -> String {
        let mut names = self.measures.iter().copied().rev();
        let name = names
            .find(|name| ![builtin::FAULTS_NAME, builtin::REDIRECTS_NAME].contains(name))
            .unwrap_or("request");
        if name.contains([' ', ')']) { format!("\"{name}\"") } else { name.to_owned() }
    }
}

/// `p98`, `p98.service`, `errors`: a figure of all requests together.
fn of_all_requests(
    written: &str,
    span: Range<usize>,
    phase: Option<usize>,
) -> Result<(Figure, Unit), FigureError> {
    let (name, basis) = basis_of(written);
    let name_span = span.start..span.start + name.len();
    if let Some((name, other)) = misspelt_basis(name) {
        let message = format!("`{name}` has no `.{other}`");
        let hint = format!("write {name}.succeeded, {name}.service or {name}.lag");
        return Err(FigureError::new(span, message).hint(hint));
    }
    let (stat, unit) = stat(name, name_span)?;
    check_basis(basis, stat, unit, span.clone())?;
    let figure = Figure::Measure { stat, measure: None, basis, phase };
    Ok((figure, unit))
}

/// `behind(300ms)`.
fn behind(written: &str, span: &Range<usize>) -> Result<Figure, FigureError> {
    let inner = written[BEHIND.len()..].strip_suffix(')').unwrap_or("");
    let limit = parse::duration(inner.trim()).ok();
    let limit_ns = limit.and_then(parse::seconds_to_ns);
    limit_ns.map(Figure::Behind).ok_or_else(|| {
        let message = format!("`{written}` has no duration in brackets");
        FigureError::new(span.clone(), message).hint("write it like behind(300ms)")
    })
}

fn index(measure: usize) -> MeasureId {
    let index = u16::try_from(measure);
    MeasureId(index.expect("plans have fewer measures than their ids can distinguish"))
}

/// The first comparison outside quotes: where, and which.
fn find_comparison(text: &str) -> Option<(usize, &'static str, Comparison)> {
    let places = text.char_indices().map(|(at, _)| at).filter(|&at| !inside_quotes(text, at));
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

/// True for what a figure is of, in quotes or not.
pub(super) fn inside_parentheses(text: &str, at: usize) -> bool {
    let before = &text[..at];
    let is_open = before.matches('(').count() > before.matches(')').count();
    (is_open && text[at..].contains(')')) || inside_quotes(text, at)
}

/// The range without the blanks at its ends.
pub(super) fn trimmed(text: &str, span: Range<usize>) -> Range<usize> {
    let piece = &text[span.clone()];
    let start = span.start + piece.len() - piece.trim_start().len();
    start..start + piece.trim().len()
}
