//! Bias, error and coverage of the estimates of H, on fractional Gaussian noise and on counts whose rate follows it.

use std::io::{self, Write};

use stats::dist::Dist;
use stats::hurst::{self, Estimate, NoEstimate};
use stats::rng::{Purpose, Rng};

use crate::{Estimates, commas, each};

const TRUTHS: [f64; 5] = [0.5, 0.6, 0.7, 0.8, 0.9];
const LENGTHS: [usize; 2] = [1 << 12, 1 << 16];
const METHODS: [&str; 4] = ["aggregated variance", "rescaled range", "local Whittle", "wavelet"];

pub(crate) fn table(out: &mut impl Write, samples: u64) -> io::Result<()> {
    write!(out, "| H | method |")?;
    for length in LENGTHS {
        let length = commas(length);
        write!(out, " bias of {length} | error | 95 % holds |")?;
    }
    write!(out, "\n| ---: | --- |")?;
    writeln!(out, "{}", " ---: | ---: | ---: |".repeat(LENGTHS.len()))?;
    for h in TRUTHS {
        let found = LENGTHS.map(|length| estimates(h, length, samples));
        for (number, method) in METHODS.into_iter().enumerate() {
            write!(out, "| {h} | {method} |")?;
            for all in &found {
                let one = &all[number];
                let held = match number {
                    0 | 1 => "–".to_owned(),
                    _ => format!("{:.1} %", one.held()),
                };
                write!(out, " {:+.3} | {:.3} | {held} |", one.bias(), one.error())?;
            }
            writeln!(out)?;
        }
    }
    let samples = commas(samples as usize);
    writeln!(out, "\n{samples} series of each; error is the root of the mean square.")
}

/// Of each method, with the frequencies and octaves that a model takes.
fn estimates(h: f64, length: usize, samples: u64) -> [Estimates; 4] {
    let found = each(samples, |sample| {
        let mut rng = Rng::new(sample, 12, Purpose::Resample);
        let series = hurst::noise(h, length, &mut rng);
        let frequencies = (length as f64).powf(0.65) as usize;
        [
            hurst::aggregated_variance(&series, 0.0, 0.95).ok(),
            hurst::rescaled_range(&series),
            hurst::local_whittle(&series, frequencies, 0.0, 0.95)
                .ok()
                .map(|whittle| whittle.estimate),
            hurst::wavelet(&series, 4, 12, 0.0, 0.95).ok().map(|wavelet| wavelet.estimate),
        ]
    });
    let mut all = <[Estimates; 4]>::default();
    for estimates in found {
        for (one, estimate) in all.iter_mut().zip(estimates) {
            if let Some(estimate) = estimate {
                let bounds = estimate.low.zip(estimate.high);
                let held = bounds.is_some_and(|(low, high)| low <= h && h <= high);
                one.add(estimate.h - h, held);
            }
        }
    }
    all
}

const MEANS: [f64; 4] = [2.0, 5.0, 20.0, 200.0];
const LENGTH: usize = 1 << 12;
/// Coefficient of variation of the rate.
const VARIATION: f64 = 0.3;

/// Of counts: the local Whittle and the wavelet estimate, with and without their Poisson scatter.
pub(crate) fn table_of_counts(out: &mut impl Write, samples: u64) -> io::Result<()> {
    write!(out, "| H | events in a count | method | without: bias | 95 % holds |")?;
    writeln!(out, " bias | error | 95 % holds | mean width | not determined |")?;
    writeln!(out, "| ---: | ---: | --- |{}", " ---: |".repeat(7))?;
    for h in &TRUTHS[1..] {
        for mean in MEANS {
            let found = each(samples, |sample| of_counts(*h, mean, sample));
            for (method, name) in ["local Whittle", "wavelet"].into_iter().enumerate() {
                let mut without = Estimates::default();
                let mut with = Estimates::default();
                let mut width = 0.0;
                let mut hidden = 0;
                for pairs in &found {
                    let [plain, own] = pairs[method];
                    add(&mut without, plain, *h);
                    add(&mut with, own, *h);
                    match own {
                        Ok(Estimate { low: Some(low), high: Some(high), .. }) => {
                            width += high - low;
                        }
                        _ => hidden += 1,
                    }
                }
                let width = width / with.count as f64;
                writeln!(
                    out,
                    "| {h} | {mean} | {name} | {:+.3} | {:.1} % | {:+.3} | {:.3} | {:.1} % | {width:.2} | {hidden} |",
                    without.bias(),
                    without.held(),
                    with.bias(),
                    with.error(),
                    with.held(),
                )?;
            }
        }
    }
    let samples = commas(samples as usize);
    let length = commas(LENGTH);
    writeln!(out, "\n{samples} series of {length} counts each.")
}

fn add(all: &mut Estimates, estimate: Result<Estimate, NoEstimate>, h: f64) {
    if let Ok(estimate) = estimate {
        let bounds = estimate.low.zip(estimate.high);
        all.add(estimate.h - h, bounds.is_some_and(|(low, high)| low <= h && h <= high));
    }
}

/// Without and with the scatter, of each method.
fn of_counts(h: f64, mean: f64, sample: u64) -> [[Result<Estimate, NoEstimate>; 2]; 2] {
    let mut rng = Rng::new(sample, 14, Purpose::Resample);
    let sigma = VARIATION.powi(2).ln_1p().sqrt();
    let rates = hurst::noise(h, LENGTH, &mut rng);
    let gap = Dist::Exponential { mean: 1.0 };
    let of_rate = |x: f64| {
        let rate = mean * (sigma * x - sigma * sigma / 2.0).exp();
        let mut time = gap.sample(&mut rng);
        let mut count = 0.0;
        while time < rate {
            time += gap.sample(&mut rng);
            count += 1.0;
        }
        count
    };
    let series: Vec<f64> = rates.into_iter().map(of_rate).collect();
    let own = series.iter().sum::<f64>() / series.len() as f64;
    let frequencies = (LENGTH as f64).powf(0.65) as usize;
    let whittle = |noise| hurst::local_whittle(&series, frequencies, noise, 0.95);
    let wavelet = |noise| hurst::wavelet(&series, 4, 12, noise, 0.95);
    [
        [0.0, own].map(|noise| whittle(noise).map(|found| found.estimate)),
        [0.0, own].map(|noise| wavelet(noise).map(|found| found.estimate)),
    ]
}
