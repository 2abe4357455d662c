//! How often the interval of a percentile holds the true one, in recordings whose percentiles are known: the
//! tables of docs/judging-reference.md, which `make percentile-truth` writes there. `percentile_truth TABLE [RUNS]` prints
//! one as Markdown, `percentiles` or `looks`; what it prints follows from RUNS alone, whatever the number of cores.

mod looks;
mod recordings;

use std::error::Error;
use std::io::Write;

use looks::{Ended, Rule};
use recordings::{Source, interval_of};

/// Recordings of each kind, unless another number is given.
const RUNS: u64 = 1_000;
const SECONDS: [usize; 4] = [10, 30, 60, 600];
const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];
const SOURCES: [(&str, Source); 9] = [
    ("independent, exponential", Source::Exponential),
    ("M/M/1, 50 % busy", Source::Queue(0.5)),
    ("M/M/1, 80 % busy", Source::Queue(0.8)),
    ("M/M/1, 95 % busy", Source::Queue(0.95)),
    ("AR(1), φ = 0.9", Source::Autoregression(0.9)),
    ("AR(1), φ = 0.99", Source::Autoregression(0.99)),
    ("lognormal, φ = 0.5", Source::Lognormal(0.5)),
    ("lognormal, φ = 0.8", Source::Lognormal(0.8)),
    ("lognormal, φ = 0.95", Source::Lognormal(0.95)),
];

/// The percentile that runs are to know.
const LOOKED_AT: f64 = 0.95;
/// How well: what times that depend on each other show as well, and what independent ones show within minutes.
const PRECISIONS: [f64; 3] = [0.3, 0.1, 0.05];

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let table = args.next().unwrap_or_default();
    let runs = args.next().map_or(Ok(RUNS), |text| text.parse())?;
    let mut out = std::io::stdout().lock();
    match table.as_str() {
        "percentiles" => percentiles(&mut out, runs)?,
        "looks" => looks(&mut out, runs)?,
        _ => return Err("give a table: percentiles or looks".into()),
    }
    Ok(())
}

/// Intervals of whole recordings.
fn percentiles(out: &mut dyn Write, runs: u64) -> Result<(), Box<dyn Error>> {
    writeln!(out, "| operations | seconds | p50 | p95 | p99 |")?;
    writeln!(out, "|---|--:|--:|--:|--:|")?;
    for (name, source) in SOURCES {
        for seconds in SECONDS {
            let seen = Seen::simulate(source, seconds, runs);
            let cells: Vec<String> = seen.iter().map(|seen| seen.cell(runs)).collect();
            writeln!(out, "| {name} | {seconds} | {} |", cells.join(" | "))?;
            out.flush()?;
        }
    }
    Ok(())
}

/// Intervals that have ended their run, by the rule for looks, and by intervals that have 95 % each.
fn looks(out: &mut dyn Write, runs: u64) -> Result<(), Box<dyn Error>> {
    writeln!(out, "| operations | p95 ± | known | after | wrong | wrong, with plain intervals |")?;
    writeln!(out, "|---|--:|--:|--:|--:|--:|")?;
    for (name, source) in SOURCES {
        let repeated = ended(source, Rule::Repeated, runs);
        let plain = ended(source, Rule::Plain, runs);
        for ((share, ended), plain) in PRECISIONS.iter().zip(repeated).zip(plain) {
            let after = match ended.known {
                0 => "–".to_owned(),
                known => format!("{} s", (ended.seconds + known / 2) / known),
            };
            writeln!(
                out,
                "| {name} | {:.0} % | {:.0} % | {after} | {:.1} % | {:.1} % |",
                100.0 * share,
                100.0 * ended.known as f64 / runs as f64,
                100.0 * ended.wrong_share(),
                100.0 * plain.wrong_share()
            )?;
        }
        out.flush()?;
    }
    Ok(())
}

/// What becomes of runs that ask for each of the precisions.
fn ended(source: Source, rule: Rule, runs: u64) -> [Ended; 3] {
    let truth = source.quantile(LOOKED_AT);
    let part = |thread: u64, threads: usize| {
        let mut all = [Ended::default(); 3];
        for run in (thread..runs).step_by(threads) {
            let looks = looks::all_looks(source, LOOKED_AT, rule, run);
            for (ended, share) in all.iter_mut().zip(PRECISIONS) {
                ended.add(&looks, truth, share);
            }
        }
        all
    };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        let part = &part;
        let handles: Vec<_> =
            (0..threads).map(|t| scope.spawn(move || part(t as u64, threads))).collect();
        let mut all = [Ended::default(); 3];
        for handle in handles {
            let part = handle.join().expect("a run never panics");
            for (sum, part) in all.iter_mut().zip(part) {
                sum.runs += part.runs;
                sum.known += part.known;
                sum.wrong += part.wrong;
                sum.seconds += part.seconds;
            }
        }
        all
    })
}

/// What came of one percentile.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// Intervals with both ends.
    stated: u64,
    /// Those of them that hold the truth.
    hold: u64,
}

impl Seen {
    /// By percentile.
    fn simulate(source: Source, seconds: usize, runs: u64) -> [Seen; 3] {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u64;
        let part = |thread: u64| {
            let mut seen = [Seen::default(); 3];
            for run in (thread..runs).step_by(threads as usize) {
                let recording = source.stretches(seconds, run);
                for (seen, q) in seen.iter_mut().zip(QUANTILES) {
                    let found = interval_of(&recording, q);
                    if let (Some(low), Some(high)) = (found.low, found.high) {
                        let truth = source.quantile(q);
                        seen.stated += 1;
                        seen.hold += u64::from(low as f64 <= truth && truth <= high.value() as f64);
                    }
                }
            }
            seen
        };
        std::thread::scope(|scope| {
            let handles: Vec<_> = (0..threads).map(|t| scope.spawn(move || part(t))).collect();
            let mut all = [Seen::default(); 3];
            for handle in handles {
                let part = handle.join().expect("a recording never panics");
                for (sum, seen) in all.iter_mut().zip(part) {
                    sum.stated += seen.stated;
                    sum.hold += seen.hold;
                }
            }
            all
        })
    }

    /// Of the runs with an interval the share that holds the truth; of all runs the share with one, and the
    /// share with one that is wrong.
    fn cell(&self, runs: u64) -> String {
        let percent = |part: u64, of: u64| 100.0 * part as f64 / of.max(1) as f64;
        if self.stated == 0 {
            return "never stated".to_owned();
        }
        format!(
            "{:.0} % of {:.0} %, wrong {:.1} %",
            percent(self.hold, self.stated),
            percent(self.stated, runs),
            percent(self.stated - self.hold, runs)
        )
    }
}
