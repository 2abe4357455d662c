//! How often looks after every pair decide wrongly, and how many pairs a decision takes, on machines whose noise is known:
//! the tables of docs/comparing.md, which `make duet-truth` writes there; and the same of looks at a history of runs, for
//! docs/ui.md. `duet_truth TABLE [SEQUENCES]` prints one as Markdown, `level`, `pairs`, `alarms` or `delay`; what it prints
//! follows from SEQUENCES alone.

mod history;
mod machines;

use std::error::Error;
use std::io::Write;

use machines::{MACHINES, Machine, Noise};
use stats::rng::{Purpose, Rng};
use stats::sequential::PairedDifferences;
use stats::student;

/// Sequences of each machine, unless another number is given.
const SEQUENCES: u64 = 2_000;
/// Looks of a sequence: one after each pair.
const LOOKS: usize = 60;
/// Level of all looks together.
const ALPHA: f64 = 0.05;
/// Pairs after which a sequence with a shift is given up.
const PAIRS_MAX: usize = 400;
/// Scatter of the difference of a pair, in the table of pairs.
const SCATTER: f64 = 0.05;
const SHIFTS: [f64; 4] = [0.02, 0.05, 0.10, 0.20];

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let table = args.next().unwrap_or_default();
    let sequences = args.next().map_or(Ok(SEQUENCES), |text| text.parse())?;
    let mut out = std::io::stdout().lock();
    match table.as_str() {
        "level" => level(&mut out, sequences)?,
        "pairs" => pairs(&mut out, sequences)?,
        "alarms" => history::alarms(&mut out, sequences)?,
        "delay" => history::delay(&mut out, sequences)?,
        _ => return Err("give a table: level, pairs, alarms or delay".into()),
    }
    Ok(())
}

/// False decisions of equal targets.
fn level(out: &mut dyn Write, sequences: u64) -> Result<(), Box<dyn Error>> {
    writeln!(out, "| noise of a block | sequences | wrong at any of {LOOKS} looks |")?;
    writeln!(out, "|---|--:|--:|")?;
    for machine in MACHINES {
        let wrong =
            (0..sequences).filter(|&seed| first_look(machine.noise, 0.0, seed, LOOKS).is_some());
        let share = 100.0 * wrong.count() as f64 / sequences as f64;
        writeln!(out, "| {} | {sequences} | {share:.1} % |", machine.name)?;
        out.flush()?;
    }
    Ok(())
}

/// Pairs until a shift is seen, beside those that a test of a fixed number takes for a power of 80 %.
fn pairs(out: &mut dyn Write, sequences: u64) -> Result<(), Box<dyn Error>> {
    writeln!(
        out,
        "| noise of a block | new target is slower by | pairs, median | 90 % of duets | fixed number, power 80 % |"
    )?;
    writeln!(out, "|---|--:|--:|--:|--:|")?;
    for machine in MACHINES {
        let scale = SCATTER / scatter(machine.noise);
        for shift in SHIFTS {
            let own = shift.ln_1p() / scale;
            let mut looks: Vec<usize> = (0..sequences)
                .map(|seed| {
                    first_look(machine.noise, own, seed, PAIRS_MAX)
                        .map_or(PAIRS_MAX, |look| look + 1)
                })
                .collect();
            looks.sort_unstable();
            let at = |share: f64| shown(looks[((looks.len() - 1) as f64 * share) as usize]);
            let fixed = shown(fixed_number(machine.noise, own, sequences));
            let percent = 100.0 * shift;
            let name = machine.name;
            writeln!(out, "| {name} | {percent:.0} % | {} | {} | {fixed} |", at(0.5), at(0.9))?;
            out.flush()?;
        }
    }
    Ok(())
}

/// The scatter of the difference of a pair: of normal numbers their standard deviation, of all others what it would be by
/// the median of their distances from 0 (Rousseeuw and Croux 1993), since some have none.
fn scatter(noise: Noise) -> f64 {
    let mut distances: Vec<f64> =
        differences(noise, 0.0, 0, 4_000).iter().map(|one| one.abs()).collect();
    distances.sort_unstable_by(f64::total_cmp);
    1.4826 * distances[distances.len() / 2]
}

/// The differences of pairs in drawn order, whose second member takes `shift` longer.
fn differences(noise: Noise, shift: f64, seed: u64, pairs: usize) -> Vec<f64> {
    let mut rng = Rng::new(seed, 0, Purpose::Value);
    let mut machine = Machine::default();
    let difference = |_| {
        let first = machine.block(noise, &mut rng);
        let second = machine.block(noise, &mut rng);
        let sign = if rng.below(2) == 0 { 1.0 } else { -1.0 };
        sign * (second - first) + shift
    };
    (0..pairs).map(difference).collect()
}

/// The least number of pairs whose interval by Student's t excludes 0 in 80 % of all cases, if it is looked at once.
fn fixed_number(noise: Noise, shift: f64, sequences: u64) -> usize {
    let all: Vec<Vec<f64>> =
        (0..sequences).map(|seed| differences(noise, shift, seed, PAIRS_MAX)).collect();
    let sees = |own: &[f64]| {
        let interval = student::mean_interval(own, 1.0 - ALPHA);
        interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    };
    let power = |pairs: usize| {
        all.iter().filter(|own| sees(&own[..pairs])).count() as f64 / sequences as f64
    };
    (2..PAIRS_MAX).find(|&pairs| power(pairs) >= 0.8).unwrap_or(PAIRS_MAX)
}

fn shown(pairs: usize) -> String {
    if pairs >= PAIRS_MAX { format!("over {PAIRS_MAX}") } else { pairs.to_string() }
}

/// The first look at which a shift of 0 is excluded, of pairs in drawn order whose second member takes `shift` longer.
fn first_look(noise: Noise, shift: f64, seed: u64, looks: usize) -> Option<usize> {
    let mut known = PairedDifferences::new();
    differences(noise, shift, seed, looks).into_iter().position(|difference| {
        known.push(difference);
        known.p(0.0) <= ALPHA
    })
}
