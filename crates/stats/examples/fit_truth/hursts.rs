//! Bias, error and coverage of the estimates of H, on fractional Gaussian noise.

use std::io::{self, Write};

use stats::hurst;
use stats::rng::{Purpose, Rng};

use crate::{Estimates, commas, each};

const TRUTHS: [f64; 5] = [0.5, 0.6, 0.7, 0.8, 0.9];
const LENGTHS: [usize; 2] = [1 << 12, 1 << 16];
const METHODS: [&str; 4] = [
    "aggregated variance",
    "rescaled range",
    "local Whittle",
    "wavelet",
];

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
    writeln!(
        out,
        "\n{samples} series of each; error is the root of the mean square."
    )
}

/// Of each method, with the frequencies and octaves that a model takes.
fn estimates(h: f64, length: usize, samples: u64) -> [Estimates; 4] {
    let found = each(samples, |sample| {
        let mut rng = Rng::new(sample, 12, Purpose::Resample);
        let series = hurst::noise(h, length, &mut rng);
        let frequencies = (length as f64).powf(0.65) as usize;
        [
            hurst::aggregated_variance(&series),
            hurst::rescaled_range(&series),
            hurst::local_whittle(&series, frequencies, 0.95).map(|whittle| whittle.estimate),
            hurst::wavelet(&series, 4, 12, 0.95).map(|wavelet| wavelet.estimate),
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
