//! How often healthy runs have a window that is worse than the rest, and how often a planted one is found: the table of
//! docs/judging-reference.md, which `make incident-truth` writes there. `incident_truth [RUNS]` prints it as Markdown; what
//! it prints follows from RUNS alone.
//!
//! A run is a server with four places, each with exponential times, to which requests come as a Poisson process (M/M/4).
//! As in a run with one step, each of four tests has a quarter of 5 %: of responses, failures, silences and shortfalls.

mod runs;

use std::error::Error;
use std::io::Write;
use std::ops::Range;

use runs::{Run, Windows};

/// Runs of each kind, unless another number is given.
const RUNS: u64 = 1_000;
/// The planted incident.
const PLANTED: Range<usize> = 25..35;
/// As many seconds after it, answers may still be late.
const DRAIN: usize = 3;

/// A kind of run, and whether it has the planted incident.
struct Kind {
    name: &'static str,
    run: Run,
    is_planted: bool,
}

const fn healthy(name: &'static str, run: Run) -> Kind {
    Kind { name, run, is_planted: false }
}

const fn planted(name: &'static str, run: Run) -> Kind {
    Kind { name, run, is_planted: true }
}

const KINDS: [Kind; 26] = [
    healthy("M/M/4 at 0.7, 10/s", Run::even(10.0, 0.7)),
    healthy("M/M/4 at 0.7, 100/s", Run::even(100.0, 0.7)),
    healthy("M/M/4 at 0.9, 100/s", Run::even(100.0, 0.9)),
    healthy("M/M/4 at 0.2, 100/s", Run::even(100.0, 0.2)),
    healthy("M/M/4, ramp to 0.7, 100/s", Run::even(100.0, 0.7).with_ramp()),
    healthy("M/M/4, ramp to 0.9, 100/s", Run::even(100.0, 0.9).with_ramp()),
    healthy("M/M/4, ramp to 0.95, 100/s, 300 s", Run::even(100.0, 0.95).with_ramp().lasting(300)),
    healthy("M/M/4, ramp to 0.9 and back", Run::even(100.0, 0.9).with_ramp_up_and_down()),
    healthy("M/M/4, phases at 0.3, 0.7, 0.4", Run::even(100.0, 0.7).with_phases()),
    healthy("M/M/4, phases at 0.2, 0.5, 0.9", Run::even(100.0, 0.9).with_thirds()),
    healthy("M/M/4 at 0.7, 2 % failures", Run::even(100.0, 0.7).with_failures(0.02)),
    healthy("M/M/4 at 0.7, 2 % unanswered", Run::even(100.0, 0.7).with_silences(0.02)),
    healthy("M/M/4 at 0.2, warm-up", Run::even(100.0, 0.2).with_warm_up()),
    planted("M/M/4 at 0.2, times × 2", Run::even(100.0, 0.2).with_slow(PLANTED, 2.0)),
    planted("M/M/4 at 0.2, times × 4", Run::even(100.0, 0.2).with_slow(PLANTED, 4.0)),
    planted("M/M/4 at 0.2, 20/s, times × 4", Run::even(20.0, 0.2).with_slow(PLANTED, 4.0)),
    planted(
        "M/M/4, ramp to 0.3, times × 2",
        Run::even(100.0, 0.3).with_ramp().with_slow(PLANTED, 2.0),
    ),
    planted(
        "M/M/4, ramp to 0.3, times × 3",
        Run::even(100.0, 0.3).with_ramp().with_slow(PLANTED, 3.0),
    ),
    planted(
        "M/M/4, ramp to 0.5, times × 3",
        Run::even(100.0, 0.5).with_ramp().with_slow(PLANTED, 3.0),
    ),
    planted(
        "M/M/4, phases to 0.3, times × 2",
        Run::even(100.0, 0.3).with_phases().with_slow(PLANTED, 2.0),
    ),
    planted(
        "M/M/4, phases to 0.3, times × 3",
        Run::even(100.0, 0.3).with_phases().with_slow(PLANTED, 3.0),
    ),
    planted("M/M/4 at 0.7, 5 % failures", Run::even(100.0, 0.7).with_failing(PLANTED, 0.05)),
    planted("M/M/4 at 0.7, 30/s, 30 % failures", Run::even(30.0, 0.7).with_failing(PLANTED, 0.3)),
    planted("M/M/4 at 0.7, 5 % unanswered", Run::even(100.0, 0.7).with_silent(PLANTED, 0.05)),
    planted("M/M/4 at 0.7, 30/s, 30 % unanswered", Run::even(30.0, 0.7).with_silent(PLANTED, 0.3)),
    planted("M/M/4 at 0.2, begins nothing", Run::even(100.0, 0.2).with_pause(PLANTED)),
];

fn main() -> Result<(), Box<dyn Error>> {
    let runs = std::env::args().nth(1).map_or(Ok(RUNS), |text| text.parse())?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "| 60 s of | incidents where there is none | found | … both ends within 1 s |")?;
    writeln!(out, "|---|--:|--:|--:|")?;
    for kind in &KINDS {
        let mut seen = Seen::default();
        for number in 0..runs {
            seen.add(&kind.run.windows(number), kind.is_planted);
        }
        let percent = |part: u64| format!("{:.1} %", 100.0 * part as f64 / runs.max(1) as f64);
        let of_planted = |part: u64| match kind.is_planted {
            true => percent(part),
            false => "–".to_owned(),
        };
        writeln!(
            out,
            "| {} | {} | {} | {} |",
            kind.name,
            percent(seen.false_alarms),
            of_planted(seen.found),
            of_planted(seen.exact)
        )?;
        out.flush()?;
    }
    Ok(())
}

/// Runs, by what was found in them.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// With a window outside of the planted one.
    false_alarms: u64,
    /// With a window that overlaps the planted one.
    found: u64,
    /// With one whose ends are those of the planted one, to a second.
    exact: u64,
}

impl Seen {
    fn add(&mut self, windows: &Windows, is_planted: bool) {
        let of_time = || windows.levels.iter().chain(&windows.shortfalls);
        let all = || of_time().chain(&windows.counts).chain(&windows.silences);
        let overlaps = |window: &&Range<usize>| {
            is_planted && window.start < PLANTED.end + DRAIN && PLANTED.start < window.end
        };
        let is_exact = |window: &Range<usize>| {
            window.start.abs_diff(PLANTED.start) <= 1 && window.end.abs_diff(PLANTED.end) <= 1
        };
        self.false_alarms += u64::from(all().any(|window| !overlaps(&window)));
        self.found += u64::from(all().any(|window| overlaps(&window)));
        self.exact += u64::from(is_planted && all().any(is_exact));
    }
}
