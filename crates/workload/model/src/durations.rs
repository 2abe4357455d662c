//! Durations as a log shows them, and the distributions fitted to them.

use serde::{Deserialize, Serialize};
use stats::fit::{self, Distribution, Family, FittedDistribution, Observations};
use stats::rng::{Purpose, Rng};

/// Minimum number for a fit.
pub(crate) const COUNT_MIN: u64 = 30;
/// Maximum number that is fitted, sampled from all.
pub(crate) const SAMPLE_MAX: usize = 2_000;
/// Maximum number that is tested: with more, irrelevant differences reject a fit.
const TESTED_MAX: usize = 300;
/// Samples redrawn for a test.
const ROUNDS: u32 = 49;
/// The level of a test.
const ALPHA: f64 = 0.05;
/// A rejected fit is used if it is nowhere further off than this share.
const NEAR: f64 = 0.05;
/// A clock finer than this share of the mean is taken to step so: nothing is lost, and a duration that it
/// showed as 0 needs no density there.
const STEP_SHARE: f64 = 1e-4;
/// Points that represent values without a fit, and the part of them for the tail.
pub(crate) const POINTS_MAX: usize = 40;
const TAIL_PART: usize = 5;
/// Parameters that are not times.
const BARE: &[&str] = &["shape", "sigma", "share"];
/// Maximum distance of a fit's mean from that of the durations, in standard errors.
const MEAN_ERRORS: f64 = 4.0;
/// The confidence of intervals.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// Durations and their fits. Times are in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct Durations {
    /// How many there were.
    pub count: u64,
    /// Their mean.
    pub mean_s: f64,
    /// The clock's step that they were seen by.
    pub step_s: f64,
    /// Distinct values with how often, of a sample of at most 2,000.
    pub values: Vec<(f64, u64)>,
    /// All families that could be fitted, the likeliest for its number of parameters first (Akaike). If there are more
    /// durations than were fitted, the times of the one that is used are scaled so that its mean is that of all.
    pub fits: Vec<Fit>,
    /// The test of the first.
    pub test: Option<Test>,
    /// The result.
    pub outcome: Outcome,
}

/// The result of fitting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ts_rs::TS)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The best fit is not rejected, and is used.
    Fits,
    /// The best fit is rejected, but it and its mean are within 5 %; it is used.
    Near,
    /// No distribution fits; the scenario draws recorded values.
    NoFit,
    /// Too few to fit; the scenario draws recorded values.
    TooFew,
}

/// A family with its most likely parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct Fit {
    /// Which.
    #[ts(type = "string")]
    pub family: Family,
    /// Parameters by name.
    pub parameters: Vec<Parameter>,
    /// ln of the likelihood.
    pub log_likelihood: f64,
    /// Akaike's criterion: the less the better.
    pub aic: f64,
}

/// A parameter with its 95 % interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct Parameter {
    /// As in `stats::fit::Family::parameters`.
    pub name: String,
    /// Seconds where it is a time.
    pub value: f64,
    /// Lower bound.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
}

/// A test of a fit, its p-values by parametric bootstrap.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct Test {
    /// How many durations were tested.
    pub count: u64,
    /// Kolmogorov's distance.
    pub distance: f64,
    /// Time of the greatest distance, seconds.
    pub at_s: f64,
    /// P(as far).
    pub p_distance: f64,
    /// Anderson's and Darling's A².
    pub anderson: f64,
    /// P(as great).
    pub p_anderson: f64,
    /// Samples redrawn.
    pub rounds: u32,
}

impl From<&FittedDistribution> for Fit {
    fn from(fitted: &FittedDistribution) -> Fit {
        Fit {
            family: fitted.family,
            parameters: fitted
                .parameters
                .iter()
                .map(|parameter| Parameter {
                    name: parameter.name.to_owned(),
                    value: parameter.value,
                    low: parameter.low,
                    high: parameter.high,
                })
                .collect(),
            log_likelihood: fitted.log_likelihood,
            aic: fitted.aic,
        }
    }
}

impl Fit {
    /// The value of a parameter.
    pub fn value(&self, name: &str) -> f64 {
        let found = self.parameters.iter().find(|parameter| parameter.name == name);
        found.map_or(f64::NAN, |parameter| parameter.value)
    }

    /// Multiplies all times.
    fn scale(&mut self, factor: f64) {
        for parameter in &mut self.parameters {
            if !BARE.contains(&parameter.name.as_str()) {
                parameter.value *= factor;
                parameter.low = parameter.low.map(|low| low * factor);
                parameter.high = parameter.high.map(|high| high * factor);
            }
        }
    }
}

impl Durations {
    /// The fit to use, if one is good enough.
    pub fn chosen_fit(&self) -> Option<&Fit> {
        match self.outcome {
            Outcome::Fits | Outcome::Near => self.fits.first(),
            Outcome::NoFit | Outcome::TooFew => None,
        }
    }

    /// At most `most` values that represent all, each with its weight. Their mean is that of all: the values
    /// themselves where they are few, else means of equal shares of the sample, and of ever smaller ones towards
    /// its upper end, where a small share may be most of the mean.
    pub(crate) fn points(&self, most: usize) -> Vec<(f64, f64)> {
        let values = self.calibrated();
        if values.len() <= most {
            return values;
        }
        let total: f64 = values.iter().map(|value| value.1).sum();
        let tail = most / TAIL_PART;
        let body = most - tail;
        let share = |place: usize| match place.checked_sub(body) {
            None => 1.0,
            // Halves of the last equal share, the last of them twice.
            Some(number) => 0.5_f64.powi((number + 1).min(tail - 1) as i32),
        };
        let unit = total / (body + usize::from(tail > 0)) as f64;
        let mut points = Vec::with_capacity(most);
        let mut left = values.into_iter().peekable();
        for place in 0..most {
            let weight = unit * share(place);
            let mut wanted = weight;
            let mut sum = 0.0;
            while let Some((value, there)) = left.peek_mut() {
                let taken = wanted.min(*there);
                sum += taken * *value;
                wanted -= taken;
                *there -= taken;
                if wanted > 0.0 {
                    left.next();
                } else {
                    break;
                }
            }
            if weight > wanted {
                points.push((sum / (weight - wanted), weight));
            }
        }
        points
    }

    /// The sample's values, their weights changed as little as it takes for their mean to be that of all (the
    /// regression estimator; Deville and Särndal 1992): a sample of 2,000 has more or fewer of the rare and great
    /// ones than all have.
    fn calibrated(&self) -> Vec<(f64, f64)> {
        let total: f64 = self.values.iter().map(|&(_, count)| count as f64).sum();
        let moment = |of: &dyn Fn(f64) -> f64| -> f64 {
            let values = self.values.iter();
            values.map(|&(x, count)| of(x) * count as f64).sum::<f64>() / total
        };
        let mean = moment(&|x| x);
        let variance = moment(&|x| (x - mean).powi(2));
        let is_whole = self.count as f64 == total;
        let by = if variance > 0.0 && !is_whole { (self.mean_s - mean) / variance } else { 0.0 };
        let factor = |x: f64| 1.0 + by * (x - mean);
        // A weight below 0 is none: then the sample stands as it is.
        let sound = self.values.iter().all(|value| factor(value.0) > 0.0);
        let weight = |&(x, count): &(f64, u64)| {
            let factor = if sound { factor(x) } else { 1.0 };
            (x, count as f64 * factor)
        };
        self.values.iter().map(weight).collect()
    }
}

/// The step of the clock that durations of this mean are taken to be shown by.
pub(crate) fn fitted_step(step_s: f64, mean_s: f64) -> f64 {
    step_s.max(mean_s * STEP_SHARE)
}

/// Fits and tests durations: `sample` of the `count` there were.
pub(crate) fn describe(
    sample: &[f64],
    count: u64,
    mean_s: f64,
    step_s: f64,
    seed: u64,
) -> Durations {
    let mut durations = Durations {
        count,
        mean_s,
        step_s,
        values: Vec::new(),
        fits: Vec::new(),
        test: None,
        outcome: Outcome::TooFew,
    };
    let step_s = fitted_step(step_s, mean_s);
    let Ok(observed) = Observations::new(sample, step_s) else {
        return durations;
    };
    durations.values = observed.values().to_vec();
    if count < COUNT_MIN {
        return durations;
    }
    let all = Family::ALL.iter();
    let mut fits: Vec<FittedDistribution> = all
        .filter_map(|&family| fit::fit(family, &observed, CONFIDENCE).ok())
        .filter(|fit| fit.log_likelihood.is_finite())
        .collect();
    fits.sort_by(|a, b| a.aic.total_cmp(&b.aic));
    durations.fits = fits.iter().map(Fit::from).collect();
    let Some(best) = fits.first() else {
        durations.outcome = Outcome::NoFit;
        return durations;
    };
    // The sample is in no order that means anything.
    let few = &sample[..sample.len().min(TESTED_MAX)];
    let mut rng = Rng::new(seed, 0, Purpose::Resample);
    let tested = Observations::new(few, step_s).ok().and_then(|few| {
        let own = fit::fit(best.family, &few, CONFIDENCE).ok()?;
        Some((few.count(), fit::goodness(&few, &own, ROUNDS, &mut rng)))
    });
    durations.outcome = Outcome::NoFit;
    if let Some((count, test)) = tested {
        let (share, errors) = off_mean(&best.distribution, &observed, mean_s);
        durations.outcome = match test.p_distance.min(test.p_anderson) * 2.0 {
            p if p >= ALPHA && (share <= NEAR || errors <= MEAN_ERRORS) => Outcome::Fits,
            _ if test.distance <= NEAR && share <= NEAR => Outcome::Near,
            _ => Outcome::NoFit,
        };
        durations.test = Some(Test {
            count,
            distance: test.distance,
            at_s: test.at,
            p_distance: test.p_distance,
            anderson: test.anderson,
            p_anderson: test.p_anderson,
            rounds: test.rounds,
        });
    }
    let is_sampled = count > observed.count();
    if durations.chosen_fit().is_some() && is_sampled {
        let factor = mean_s / mean_within(&best.distribution, &observed);
        durations.fits[0].scale(factor);
    }
    durations
}

/// The distribution's mean, if nothing is longer than the longest of the durations.
fn mean_within(distribution: &Distribution, observed: &Observations) -> f64 {
    let longest = observed.values().last().map_or(0.0, |value| value.0);
    distribution.mean_upto(longest)
}

/// How far the distribution's mean is from that of the durations, as a share of it and in standard errors, where nothing is
/// longer than the longest of them. A share of them that is too small for the tests may be most of their mean.
fn off_mean(distribution: &Distribution, observed: &Observations, mean_s: f64) -> (f64, f64) {
    let off = (mean_within(distribution, observed) - mean_s).abs();
    let error = observed.variation() * observed.mean() / (observed.count() as f64).sqrt();
    (off / mean_s, off / error)
}

/// A sample of durations of a bounded size, each as likely to be in it (Vitter 1985, algorithm R).
#[derive(Debug, Clone)]
pub(crate) struct Reservoir {
    pub(crate) count: u64,
    pub(crate) sum_s: f64,
    pub(crate) sample: Vec<f64>,
    max: usize,
    rng: Rng,
}

impl Reservoir {
    pub(crate) fn new(max: usize, seed: u64, number: u64) -> Reservoir {
        Reservoir {
            count: 0,
            sum_s: 0.0,
            sample: Vec::new(),
            max,
            rng: Rng::new(seed, number, Purpose::Resample),
        }
    }

    pub(crate) fn add(&mut self, seconds: f64) {
        self.count += 1;
        self.sum_s += seconds;
        if self.sample.len() < self.max {
            self.sample.push(seconds);
        } else {
            let place = self.rng.below(self.count) as usize;
            if place < self.max {
                self.sample[place] = seconds;
            }
        }
    }

    /// One of what several have seen together: of each as much of the sample as it has of all.
    pub(crate) fn pooled(parts: &[&Reservoir], max: usize, seed: u64, number: u64) -> Reservoir {
        let mut pool = Reservoir::new(max, seed, number);
        pool.count = parts.iter().map(|part| part.count).sum();
        pool.sum_s = parts.iter().map(|part| part.sum_s).sum();
        let mut samples: Vec<Vec<f64>> = parts.iter().map(|part| part.shuffled()).collect();
        let mut left: Vec<u64> = parts.iter().map(|part| part.count).collect();
        let mut all = pool.count;
        while all > 0 && pool.sample.len() < max {
            // One of all that are left, whose part has then one less.
            let mut draw = pool.rng.below(all);
            let Some(place) = left.iter().position(|&count| {
                let found = draw < count;
                draw = if found { draw } else { draw - count };
                found
            }) else {
                break;
            };
            // A part that kept but a few of its own has no more to give.
            let Some(seconds) = samples[place].pop() else {
                break;
            };
            pool.sample.push(seconds);
            left[place] -= 1;
            all -= 1;
        }
        pool
    }

    /// The sample in an order that means nothing: its first part is a sample too.
    fn shuffled(&self) -> Vec<f64> {
        let mut sample = self.sample.clone();
        let mut rng = self.rng;
        for last in (1..sample.len()).rev() {
            sample.swap(last, rng.below(last as u64 + 1) as usize);
        }
        sample
    }

    pub(crate) fn describe(&self, step_s: f64, seed: u64) -> Durations {
        let mean_s = self.sum_s / self.count.max(1) as f64;
        describe(&self.shuffled(), self.count, mean_s, step_s, seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn durations(numbers: &[f64]) -> Durations {
        let mean_s = numbers.iter().sum::<f64>() / numbers.len() as f64;
        describe(numbers, numbers.len() as u64, mean_s, 1.0, 1)
    }

    fn mean(points: &[(f64, f64)]) -> f64 {
        let weights: f64 = points.iter().map(|point| point.1).sum();
        points.iter().map(|(x, weight)| x * weight).sum::<f64>() / weights
    }

    #[test]
    fn points_keep_the_mean_and_the_tail() {
        // Few values are themselves.
        let mut few = vec![2.0; 500];
        few.extend([4.0; 490]);
        few.extend([900.0; 10]);
        let found = durations(&few);
        assert_eq!(found.outcome, Outcome::NoFit);
        assert_eq!(found.points(40), [(2.0, 500.0), (4.0, 490.0), (900.0, 10.0)]);
        // Of many there are means, those of the tail of small shares.
        let mut many: Vec<f64> = (0..990).map(|n| f64::from(n % 90)).collect();
        many.extend([5_000.0; 10]);
        let found = durations(&many);
        for most in [40, 20, 10, 5, 4, 2, 1] {
            let points = found.points(most);
            assert!(points.len() <= most, "{points:?}");
            let off = mean(&points) / found.mean_s - 1.0;
            assert!(off.abs() < 1e-9, "{most}: {off}");
        }
        let last = found.points(40).last().copied().unwrap();
        assert!(last.0 > 4_000.0 && last.1 < 10.0, "{last:?}");
    }

    #[test]
    fn points_have_the_mean_of_all_values() {
        let mut sample = vec![1.0; 1_980];
        sample.extend([600.0; 20]);
        let found = describe(&sample, 100_000, 8.5, 1.0, 1);
        assert!((mean(&found.points(40)) - 8.5).abs() < 1e-9);
        // What no change of weights can bring about leaves them alone.
        let found = describe(&sample, 100_000, 700.0, 1.0, 1);
        assert!((mean(&found.points(40)) - 6.99).abs() < 1e-9);
    }

    /// 2,000 values of an exponential distribution have a mean that is off by 2 %; that of 100,000 is known ten times as well.
    #[test]
    fn a_fit_to_a_sample_has_the_mean_of_all() {
        let mut rng = Rng::new(4, 0, Purpose::Resample);
        let mut draw = || -10.0 * (1.0 - rng.unit()).ln();
        let sample: Vec<f64> = (0..SAMPLE_MAX).map(|_| draw()).collect();
        let own = sample.iter().sum::<f64>() / sample.len() as f64;
        let time = |count: u64, mean_s: f64| {
            let found = describe(&sample, count, mean_s, 0.001, 1);
            let fit = found.chosen_fit().expect("a family fits").clone();
            let times = fit.parameters.iter().find(|one| !BARE.contains(&one.name.as_str()));
            times.expect("each family has a time").value
        };
        let fitted = time(SAMPLE_MAX as u64, own);
        let scaled = time(100_000, own * 1.03);
        // The likeliest fit need not have the sample's mean, but is near it.
        assert!((scaled / fitted / 1.03 - 1.0).abs() < 0.005, "{fitted} {scaled}");
    }

    #[test]
    fn fit_is_compared_by_its_mean_too() {
        let exponential = Distribution::Exponential { mean: 3.2 };
        let mut numbers: Vec<f64> =
            (0..990).map(|n| -3.2 * (1.0 - f64::from(n) / 990.0).ln()).collect();
        let mean = |numbers: &[f64]| numbers.iter().sum::<f64>() / numbers.len() as f64;
        let off = |numbers: &[f64]| {
            let observed = Observations::new(numbers, 0.0).unwrap();
            off_mean(&exponential, &observed, mean(numbers))
        };
        assert!(off(&numbers).0 < 0.01, "{:?}", off(&numbers));
        // One in a hundred is very long.
        numbers.extend([900.0; 40]);
        let (share, errors) = off(&numbers);
        assert!(share > 0.9 && errors > MEAN_ERRORS, "{share} {errors}");
    }

    #[test]
    fn pool_keeps_the_shares_of_its_parts() {
        let part = |seconds: f64, count: u64, max: usize| {
            let mut part = Reservoir::new(max, 1, 1);
            (0..count).for_each(|_| part.add(seconds));
            part
        };
        let often = part(1.0, 9_000, 1_500);
        let rarely = part(200.0, 1_000, 2_000);
        let pool = Reservoir::pooled(&[&often, &rarely], 1_000, 1, 7);
        assert_eq!((pool.count, pool.sum_s), (10_000, 209_000.0));
        let long = pool.sample.iter().filter(|&&s| s == 200.0).count();
        assert_eq!(pool.sample.len(), 1_000);
        assert!((60..140).contains(&long), "{long}");
        let small = Reservoir::pooled(&[&part(3.0, 2, 9), &part(5.0, 1, 9)], 9, 1, 7);
        let mut sample = small.sample.clone();
        sample.sort_by(f64::total_cmp);
        assert_eq!(sample, [3.0, 3.0, 5.0]);
    }
}
