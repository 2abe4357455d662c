//! How often the interval of a percentile holds the true one, in recordings whose percentiles are known: the
//! table of docs/judging-reference.md, which `make percentile-truth` writes there. `percentile_truth [RUNS]` prints it as
//! Markdown; what it prints follows from RUNS alone, whatever the number of cores.

mod recordings;

use std::error::Error;
use std::io::Write;

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

fn main() -> Result<(), Box<dyn Error>> {
    let runs = std::env::args().nth(1).map_or(Ok(RUNS), |text| text.parse())?;
    let mut out = std::io::stdout().lock();
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
