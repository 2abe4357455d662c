//! Tests a model against reference figures: does the log show the known rates and probabilities?
//!
//! Intervals are exact. Some of many intervals miss even if all figures are right. So the number of misses is
//! tested against its expectation, and the figures are tested together.

use serde::{Deserialize, Serialize};
use stats::exact::{CountDistribution, at_least_of, mean_interval, share_interval};
use stats::multiple::holm;

use crate::check::LEVEL;
use crate::reference::{Reference, ReferenceSegment};
use crate::{Model, OTHERS, Segment};

/// The confidence of each interval.
const CONFIDENCE: f64 = 0.95;

/// The result of a test against reference figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReferenceCheck {
    /// The probability that right figures are rejected, all tests together.
    pub level: f64,
    /// Confidence of each interval.
    pub confidence: f64,
    /// How many times faster than the table the log's users were; rates here are on the table's scale.
    pub speed: f64,
    /// How long rates were counted, in the log's seconds.
    pub seconds: f64,
    /// Segments in the table's order: each with its rate, then its probabilities along the path.
    pub figures: Vec<ReferenceFigure>,
    /// Intervals that miss the reference.
    pub misses: u64,
    /// The expected number of misses if all figures are right.
    pub misses_expected: f64,
    /// P(as many, or more).
    pub p_misses: f64,
    /// `p_misses`, adjusted together with the figures.
    pub p_misses_adjusted: f64,
    /// Corrections of the table, and figures that could not be tested; a sentence each.
    pub notes: Vec<String>,
    /// Nothing is rejected.
    pub holds: bool,
}

/// A figure of an [`ReferenceCheck`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReferenceFigure {
    /// The segment.
    pub segment: String,
    /// `rate`, or the classes that a probability leads from and to.
    pub what: String,
    /// A probability, or sessions a second.
    pub reference: f64,
    /// The figure in the log; missing if no session came so far.
    pub observed: Option<f64>,
    /// Lower bound of its interval.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// How often it was seen.
    pub count: u64,
    /// The number that the count is a part of; missing for a rate.
    pub of: Option<u64>,
    /// The interval contains the reference.
    pub inside: bool,
    /// The probability that the interval of such a count misses a true value: at most 5 %, less for small counts.
    pub miss: f64,
    /// P(as far from the reference).
    pub p: f64,
    /// `p`, adjusted for the number of figures (Holm 1979).
    pub p_adjusted: f64,
    /// Below the level.
    pub rejected: bool,
}

impl ReferenceFigure {
    /// There are too few sessions for any count to be rejected.
    pub fn is_uninformative(&self) -> bool {
        let is_certain = self.reference <= 0.0 || self.of.is_some() && self.reference >= 1.0;
        self.inside && self.miss <= 0.0 && !(is_certain && self.of != Some(0))
    }
}

/// Why a model cannot be tested against a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceCheckError {
    /// The model lacks the first class of the path.
    #[error("the model has no class {name:?}, with which --path begins; it has {known}")]
    Class {
        /// As given.
        name: String,
        /// All there are.
        known: String,
    },
    /// The recording is too short for rates.
    #[error("all sessions began within {seconds} s; rates take at least three seconds")]
    Short {
        /// Time from the first begin to the last.
        seconds: u64,
    },
}

/// Tests a model against reference figures.
///
/// # Errors
/// If the model lacks the first class of the path, or is too short.
pub fn check_against_reference(
    model: &Model,
    reference: &Reference,
) -> Result<ReferenceCheck, ReferenceCheckError> {
    let mut notes = reference.repairs.clone();
    let path = path(model, &reference.path, &mut notes)?;
    // A log begins and ends with a session's begin: the Poisson process is what lies between.
    let seconds = model.arrivals.between_s;
    if seconds <= 0.0 {
        return Err(ReferenceCheckError::Short { seconds: model.arrivals.span_s as u64 });
    }
    let mut found = Figures::default();
    let lumped = model.segments.iter().any(|segment| segment.name == OTHERS);
    for row in &reference.segments {
        let segment = model.segments.iter().find(|own| own.name == row.name);
        if segment.is_none() && lumped {
            notes.push(format!(
                "{} cannot be tested: it has no sessions, or is among the {OTHERS}; --segments-max keeps more segments \
                 apart",
                row.name
            ));
            continue;
        }
        let arrived = segment.map_or(0, |segment| between(model, segment));
        found.rate(row, arrived, seconds * reference.speed);
        for (step, &probability) in row.probabilities.iter().enumerate() {
            let (count, of) = match (segment, path[step]) {
                (Some(segment), Some(from)) => followed(segment, from, path[step + 1]),
                _ => (0, 0),
            };
            let what = format!("{} → {}", reference.path[step], reference.path[step + 1]);
            found.probability(&row.name, what, probability, count, of);
        }
    }
    let unlisted = model.segments.iter().filter(|segment| {
        let mut rows = reference.segments.iter();
        !rows.any(|row| row.name == segment.name)
    });
    for segment in unlisted {
        notes.push(format!(
            "the table has no row for {} ({} sessions)",
            segment.name, segment.sessions
        ));
    }
    Ok(found.judged(notes, reference.speed, seconds))
}

/// The classes by their places in the model; `None` of those that nobody came to.
fn path(
    model: &Model,
    names: &[String],
    notes: &mut Vec<String>,
) -> Result<Vec<Option<usize>>, ReferenceCheckError> {
    let known: Vec<&str> = model.classes.iter().map(|c| c.name.as_str()).collect();
    let known = known.join(", ");
    let mut places = Vec::with_capacity(names.len());
    for name in names {
        let place = model.classes.iter().position(|class| &class.name == name);
        match place {
            None if places.is_empty() => {
                let name = name.clone();
                return Err(ReferenceCheckError::Class { name, known });
            }
            None => notes.push(format!(
                "the log has no request of the class {name}; the classes are {known}"
            )),
            Some(_) => {}
        }
        places.push(place);
    }
    Ok(places)
}

fn between(model: &Model, segment: &Segment) -> u64 {
    // The only segment's arrivals are those of all.
    let arrivals = segment.arrivals.as_ref();
    arrivals.unwrap_or(&model.arrivals).between_users
}

/// How often one class followed another, of how often anything did, the session's end included.
fn followed(segment: &Segment, from: usize, to: Option<usize>) -> (u64, u64) {
    let behaviour = &segment.behaviour;
    let mut count = 0;
    let mut of = behaviour.exits[from];
    for transition in behaviour.transitions.iter().filter(|t| t.from == from) {
        of += transition.count;
        if Some(transition.to) == to {
            count = transition.count;
        }
    }
    (count, of)
}

/// Initial value of every figure.
const NEW: ReferenceFigure = ReferenceFigure {
    segment: String::new(),
    what: String::new(),
    reference: 0.0,
    observed: None,
    low: 0.0,
    high: 0.0,
    count: 0,
    of: None,
    inside: true,
    miss: 0.0,
    p: 1.0,
    p_adjusted: 1.0,
    rejected: false,
};

#[derive(Default)]
struct Figures(Vec<ReferenceFigure>);

impl Figures {
    fn rate(&mut self, row: &ReferenceSegment, count: u64, seconds: f64) {
        let distribution = CountDistribution::Poisson(row.rate_per_s * seconds);
        let (low, high) = mean_interval(count, CONFIDENCE);
        self.add(
            distribution,
            count,
            ReferenceFigure {
                segment: row.name.clone(),
                what: "rate".to_owned(),
                reference: row.rate_per_s,
                observed: Some(count as f64 / seconds),
                low: low / seconds,
                high: high / seconds,
                of: None,
                ..NEW
            },
        );
    }

    fn probability(&mut self, segment: &str, what: String, probability: f64, count: u64, of: u64) {
        let (low, high) = share_interval(count, of, CONFIDENCE);
        self.add(
            CountDistribution::Binomial(of, probability),
            count,
            ReferenceFigure {
                segment: segment.to_owned(),
                what,
                reference: probability,
                observed: (of > 0).then(|| count as f64 / of as f64),
                low,
                high,
                of: Some(of),
                ..NEW
            },
        );
    }

    /// `distribution`: of the count if the reference is right.
    fn add(&mut self, distribution: CountDistribution, count: u64, figure: ReferenceFigure) {
        let p = distribution.p(count);
        self.0.push(ReferenceFigure {
            count,
            inside: p >= 1.0 - CONFIDENCE,
            miss: distribution.miss(CONFIDENCE),
            p,
            ..figure
        });
    }

    fn judged(self, notes: Vec<String>, speed: f64, seconds: f64) -> ReferenceCheck {
        let mut figures = self.0;
        let misses = figures.iter().filter(|figure| !figure.inside).count();
        let chances: Vec<f64> = figures.iter().map(|figure| figure.miss).collect();
        let p_misses = at_least_of(&chances, misses);
        let mut p: Vec<f64> = figures.iter().map(|figure| figure.p).collect();
        p.push(p_misses);
        let mut adjusted = holm(&p);
        let p_misses_adjusted = adjusted.pop().expect("one was put there");
        for (figure, p) in figures.iter_mut().zip(adjusted) {
            figure.p_adjusted = p;
            figure.rejected = p < LEVEL;
        }
        let rejected = figures.iter().any(|figure| figure.rejected);
        ReferenceCheck {
            level: LEVEL,
            confidence: CONFIDENCE,
            speed,
            seconds,
            misses: misses as u64,
            misses_expected: chances.iter().sum(),
            p_misses,
            p_misses_adjusted,
            notes,
            holds: !rejected && p_misses_adjusted >= LEVEL,
            figures,
        }
    }
}
