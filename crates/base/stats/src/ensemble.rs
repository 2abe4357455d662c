//! Differences between two ensembles: several samples a side, each made under conditions of its own.
//!
//! Repeated measurements differ by more than the scatter within each would have it: the machine, the
//! placement, the draws of a day. Numbers pooled from all of them are not independent then, and a
//! test that takes them for it finds differences that are not there, the more surely the more
//! numbers there are. So the unit here is the sample: it gives one figure, and figures are compared.
//!
//! Two intervals for the difference of the sides' mean figures:
//! - [`welch`]: Student's t for unequal variances. Needs no draws, and serves from two samples a side.
//! - [`means`], [`quantiles`]: the bootstrap, samples drawn with replacement. Its percentiles are
//!   those that make it as wide as Student's t where figures are normal (Hesterberg, "What teachers
//!   should know about the bootstrap", The American Statistician 69, 2015, section 4): the plain ones
//!   hold the truth in 80 % of the cases, not 95 %, with five a side. It follows skewed figures, but
//!   below five samples a side there are too few ways to draw them: then take Welch's. With five its
//!   percentiles lie near 0.5 %, so that some thousand draws are wanted at least.

use crate::finite::is_measurable;
use crate::quantile::{Bootstrap, Interval, Redraw};
use crate::rng::Rng;
use crate::sample::Sample;
use crate::tail;

/// The difference of two ensembles' figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The mean of the first ensemble's figures.
    pub first: f64,
    /// The mean of the second's.
    pub second: f64,
    /// Interval of second − first.
    pub interval: Interval,
}

/// Why ensembles were not compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EnsembleError {
    /// One sample shows nothing of how samples differ.
    #[error("{0} and {1} samples: how much samples differ by themselves takes two a side")]
    TooFew(usize, usize),
    /// A figure is NaN or infinite, or its square is.
    #[error("a sample's figure is {0}, which has no mean with others")]
    NotFinite(f64),
}

/// The treatment of numbers inside a sample that was drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Within {
    /// It is kept as it is. The scatter within is part of that between the samples' figures already
    /// (Davison and Hinkley, "Bootstrap Methods and their Application", 1997, section 3.8), and
    /// nothing is said of numbers that depend on each other.
    Kept,
    /// The numbers are drawn again, too. This counts their scatter twice: intervals are too wide rather than too
    /// narrow, by up to √2 where samples do not differ otherwise.
    Redrawn,
}

/// The mean and the variance of a mean of figures, and their number.
#[derive(Debug, Clone, Copy)]
struct Mean {
    mean: f64,
    /// The square of the standard error.
    variance: f64,
    n: f64,
}

fn both_means(first: &[f64], second: &[f64]) -> Result<[Mean; 2], EnsembleError> {
    if first.len() < 2 || second.len() < 2 {
        return Err(EnsembleError::TooFew(first.len(), second.len()));
    }
    if let Some(&figure) = first.iter().chain(second).find(|figure| !is_measurable(**figure)) {
        return Err(EnsembleError::NotFinite(figure));
    }
    Ok([first, second].map(|figures| {
        let n = figures.len() as f64;
        let mean = figures.iter().sum::<f64>() / n;
        let squares: f64 = figures.iter().map(|figure| (figure - mean).powi(2)).sum();
        Mean { mean, variance: squares / (n - 1.0) / n, n }
    }))
}

/// Degrees of freedom of the difference's error: Satterthwaite (1946), Welch (1947). `None` where
/// the figures of neither side differ.
fn degrees([a, b]: [Mean; 2]) -> Option<f64> {
    let whole = a.variance + b.variance;
    // By shares of the whole: the squares of the variances themselves may be too great or too small.
    let part = |side: Mean| (side.variance / whole).powi(2) / (side.n - 1.0);
    (whole > 0.0).then(|| 1.0 / (part(a) + part(b)))
}

/// Student's t that leaves this much at its upper end.
pub(crate) fn student(degrees: f64, tail: f64) -> f64 {
    tail::student_quantile(1.0 - tail, degrees)
}

/// Welch's interval and p-value (two-sided) for the difference of the mean figures: "The
/// generalization of Student's problem when several different population variances are involved"
/// (1947). The p-value is `None` where the figures of neither side differ.
///
/// # Errors
/// If a side has fewer than two figures, or one is not finite.
///
/// # Panics
/// If the confidence does not lie strictly between 0 and 1.
pub fn welch(
    first: &[f64],
    second: &[f64],
    confidence: f64,
) -> Result<(Difference, Option<f64>), EnsembleError> {
    let sides = both_means(first, second)?;
    let [a, b] = sides;
    let difference = b.mean - a.mean;
    let error = (a.variance + b.variance).sqrt();
    let tail = Bootstrap { draws: 1, confidence }.tail();
    let degrees = degrees(sides);
    let reach = degrees.map_or(0.0, |degrees| student(degrees, tail) * error);
    let p = degrees.map(|degrees| 2.0 * tail::student_above((difference / error).abs(), degrees));
    let difference = Difference {
        first: a.mean,
        second: b.mean,
        interval: Interval { low: difference - reach, high: difference + reach },
    };
    Ok((difference, p))
}

/// The bootstrap's interval for the difference of the mean figures, whatever figures they are.
///
/// # Errors
/// If a side has fewer than two figures, or one is not finite.
///
/// # Panics
/// If the confidence does not lie strictly between 0 and 1, or there are no draws.
pub fn means(
    first: &[f64],
    second: &[f64],
    bootstrap: Bootstrap,
    rng: &mut Rng,
) -> Result<Difference, EnsembleError> {
    let figures = [first, second];
    redrawn(figures, bootstrap, rng, |side, place, _| figures[side][place])
}

/// The bootstrap's interval for the difference of the samples' mean `q`-quantiles.
///
/// # Errors
/// If a side has fewer than two samples.
///
/// # Panics
/// If the confidence does not lie strictly between 0 and 1, or there are no draws.
pub fn quantiles(
    first: &[&Sample],
    second: &[&Sample],
    q: f64,
    within: Within,
    bootstrap: Bootstrap,
    rng: &mut Rng,
) -> Result<Difference, EnsembleError> {
    let figures = |samples: &[&Sample]| -> Vec<f64> {
        samples.iter().map(|sample| sample.quantile(q)).collect()
    };
    let a = figures(first);
    let b = figures(second);
    if within == Within::Kept {
        return means(&a, &b, bootstrap, rng);
    }
    let redraws = [first, second].map(|samples| -> Vec<Redraw<'_>> {
        let samples = samples.iter();
        samples.map(|sample| Redraw::new(sample, q)).collect()
    });
    redrawn([&a, &b], bootstrap, rng, |side, place, rng| redraws[side][place].draw(rng))
}

/// `figure` gives the figure of a sample that was drawn, by its side and its place there.
fn redrawn(
    figures: [&[f64]; 2],
    bootstrap: Bootstrap,
    rng: &mut Rng,
    figure: impl Fn(usize, usize, &mut Rng) -> f64,
) -> Result<Difference, EnsembleError> {
    let sides = both_means(figures[0], figures[1])?;
    let tail = widened(sides, bootstrap.tail());
    let interval = bootstrap.percentiles(tail, || {
        let [first, second] = [0, 1].map(|side| {
            let n = figures[side].len();
            let drawn = (0..n).map(|_| {
                let place = rng.below(n as u64) as usize;
                figure(side, place, rng)
            });
            drawn.sum::<f64>() / n as f64
        });
        second - first
    });
    Ok(Difference { first: sides[0].mean, second: sides[1].mean, interval })
}

/// The tail to cut off the bootstrap's distribution, so that the interval is as wide as Student's
/// would be for normal figures. The bootstrap's own variance is short by (n − 1)/n of each side's.
fn widened(sides: [Mean; 2], tail: f64) -> f64 {
    let Some(degrees) = degrees(sides) else {
        return tail;
    };
    let whole: f64 = sides.iter().map(|side| side.variance).sum();
    let drawn = sides.iter().map(|side| side.variance * (side.n - 1.0) / side.n);
    let short = (whole / drawn.sum::<f64>()).sqrt();
    tail::normal_above(short * student(degrees, tail))
}
