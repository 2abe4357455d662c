//! How often the tests reject a distribution that is true.

use std::io::{self, Write};

use stats::fit::{Observations, fit, goodness};
use stats::rng::{Purpose, Rng};

use crate::distributions::{STEPS, Truth, clock, shown, truths};
use crate::{commas, each};

/// As a model tests: this number of values, with this number of samples redrawn.
const SIZE: usize = 300;
const REDRAWN: u32 = 49;

/// Refusals of each test, and of either where each has half the level.
#[derive(Default)]
struct Refusals {
    distance: u64,
    anderson: u64,
    either: u64,
    tested: u64,
}

pub(crate) fn table(out: &mut impl Write, samples: u64) -> io::Result<()> {
    writeln!(
        out,
        "| distribution | clock | D rejects, at 4 % | A² rejects, at 4 % | either rejects, at 2 % each |"
    )?;
    writeln!(out, "| --- | --- | ---: | ---: | ---: |")?;
    for truth in truths() {
        for step in STEPS {
            let found = refusals(&truth, step, samples);
            let distribution = truth.family.name();
            let clock = clock(step);
            write!(out, "| {distribution} | {clock} |")?;
            for count in [found.distance, found.anderson, found.either] {
                let share = count as f64 / found.tested as f64 * 100.0;
                write!(out, " {share:.1} % |")?;
            }
            writeln!(out)?;
        }
    }
    writeln!(
        out,
        "\n{} samples of {SIZE} numbers each, {REDRAWN} redrawn for each test, as a model does.",
        commas(samples as usize)
    )
}

fn refusals(truth: &Truth, step: f64, samples: u64) -> Refusals {
    let tested = each(samples, |sample| {
        let mut rng = Rng::new(sample, 13, Purpose::Resample);
        let numbers = shown(&truth.dist, SIZE, step, &mut rng);
        let observed = Observations::new(&numbers, step).ok()?;
        let fitted = fit(truth.family, &observed, 0.95).ok()?;
        Some(goodness(&observed, &fitted, REDRAWN, &mut rng))
    });
    let mut found = Refusals::default();
    for test in tested.into_iter().flatten() {
        found.tested += 1;
        found.distance += u64::from(test.p_distance < 0.05);
        found.anderson += u64::from(test.p_anderson < 0.05);
        found.either += u64::from(test.p_distance.min(test.p_anderson) < 0.025);
    }
    found
}
