//! How good the estimators are: bias and coverage on samples whose law is known, as the table of
//! docs/modelling.md. `cargo run --release -p stats --example fit_truth [SAMPLES]`.

use std::io::Write;

use stats::dist::Dist;
use stats::fit::{Family, Observed, fit};
use stats::hurst;
use stats::rng::{Purpose, Rng};

const COUNT: usize = 1_000;

fn main() -> std::io::Result<()> {
    let rounds: u64 = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(1_000);
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "| law | parameter | truth | step | bias | 95 % interval holds it |"
    )?;
    writeln!(out, "| --- | --- | ---: | ---: | ---: | ---: |")?;
    for (family, dist, truth) in laws() {
        for step in [0.0, 1.0] {
            fits(&mut out, family, &dist, &truth, step, rounds)?;
        }
    }
    writeln!(
        out,
        "\n| H | numbers | method | bias | standard deviation | 95 % interval holds it |"
    )?;
    writeln!(out, "| ---: | ---: | --- | ---: | ---: | ---: |")?;
    for h in [0.5, 0.6, 0.7, 0.8, 0.9] {
        hursts(&mut out, h, rounds)?;
    }
    Ok(())
}

fn laws() -> Vec<(Family, Dist, Vec<f64>)> {
    let two = [
        (0.6, Dist::Exponential { mean: 1.0 }),
        (0.4, Dist::Exponential { mean: 12.0 }),
    ];
    vec![
        (
            Family::Exponential,
            Dist::Exponential { mean: 4.0 },
            vec![4.0],
        ),
        (
            Family::Weibull,
            Dist::Weibull {
                scale: 5.0,
                shape: 0.7,
            },
            vec![5.0, 0.7],
        ),
        (
            Family::Lognormal,
            Dist::LogNormal {
                mu: 3.0_f64.ln(),
                sigma: 1.1,
            },
            vec![3.0, 1.1],
        ),
        (
            Family::Pareto,
            Dist::Pareto {
                scale: 1.5,
                shape: 2.2,
            },
            vec![1.5, 2.2],
        ),
        (
            Family::Gamma,
            Dist::Gamma {
                shape: 2.5,
                scale: 2.4,
            },
            vec![6.0, 2.5],
        ),
        (
            Family::Hyperexponential,
            Dist::Mixture(two.into()),
            vec![0.6, 1.0, 12.0],
        ),
    ]
}

fn fits(
    out: &mut impl Write,
    family: Family,
    dist: &Dist,
    truth: &[f64],
    step: f64,
    rounds: u64,
) -> std::io::Result<()> {
    let mut sums = vec![(0.0, 0_u64, 0_u64); truth.len()];
    for round in 0..rounds {
        let mut rng = Rng::new(round, 11, Purpose::Resample);
        let numbers: Vec<f64> = (0..COUNT)
            .map(|_| {
                let number = dist.sample(&mut rng);
                if step > 0.0 {
                    (number / step + rng.unit()).floor() * step
                } else {
                    number
                }
            })
            .collect();
        let found = Observed::new(&numbers, step).and_then(|observed| fit(family, &observed, 0.95));
        let Ok(found) = found else { continue };
        for ((sum, parameter), truth) in sums.iter_mut().zip(&found.parameters).zip(truth) {
            sum.0 += parameter.value;
            sum.2 += 1;
            if let (Some(low), Some(high)) = (parameter.low, parameter.high) {
                sum.1 += u64::from(low <= *truth && *truth <= high);
            }
        }
    }
    for ((name, truth), (sum, held, count)) in family.parameters().iter().zip(truth).zip(sums) {
        let bias = (sum / count as f64 / truth - 1.0) * 100.0;
        let held = held as f64 / count as f64 * 100.0;
        let family = family.name();
        writeln!(
            out,
            "| {family} | {name} | {truth} | {step} s | {bias:+.2} % | {held:.1} % |"
        )?;
    }
    Ok(())
}

fn hursts(out: &mut impl Write, h: f64, rounds: u64) -> std::io::Result<()> {
    const LENGTH: usize = 1 << 14;
    const METHODS: [&str; 4] = [
        "aggregated variance",
        "rescaled range",
        "local Whittle",
        "wavelet",
    ];
    let mut sums = [(0.0, 0.0, 0_u64); 4];
    for round in 0..rounds {
        let series = hurst::noise(h, LENGTH, &mut Rng::new(round, 12, Purpose::Resample));
        let frequencies = (LENGTH as f64).powf(0.65) as usize;
        let estimates = [
            hurst::aggregated_variance(&series),
            hurst::rescaled_range(&series),
            hurst::local_whittle(&series, frequencies, 0.95),
            hurst::wavelet(&series, 3, 12, 0.95).map(|wavelet| wavelet.estimate),
        ];
        for (sum, estimate) in sums.iter_mut().zip(estimates.into_iter().flatten()) {
            sum.0 += estimate.h;
            sum.1 += estimate.h * estimate.h;
            let bounds = estimate.low.zip(estimate.high);
            sum.2 += u64::from(bounds.is_some_and(|(low, high)| low <= h && h <= high));
        }
    }
    for (number, (method, (sum, squares, held))) in METHODS.into_iter().zip(sums).enumerate() {
        let n = rounds as f64;
        let mean = sum / n;
        let deviation = (squares / n - mean * mean).max(0.0).sqrt();
        let held = match number {
            0 | 1 => "–".to_owned(),
            _ => format!("{:.1} %", held as f64 / n * 100.0),
        };
        let bias = mean - h;
        writeln!(
            out,
            "| {h} | {LENGTH} | {method} | {bias:+.4} | {deviation:.4} | {held} |"
        )?;
    }
    Ok(())
}
