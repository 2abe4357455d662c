//! The runs of an experiment in lines: those that are planned, and those that go on.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::path::Path;

use controller::experiment::{ExperimentState, PlannedRun, Progress, RunRecord, RunStage};
use judge::responses::run_values;
use record::Run;
use record::schema::Verdict;
use scenario::Experiment;
use scenario::experiment::Design;
use stats::factorial::factor_letter;

use super::open::{RunLength, RunnableExperiment};
use crate::page;
use crate::terminal::View;
use judge::responses::figure_units;

/// Significant digits of responses.
const DIGITS: usize = 3;

/// The runs in their order, and their time.
pub(super) fn plan(
    opened: &RunnableExperiment,
    directory: &Path,
    begun: Option<&ExperimentState>,
) -> String {
    let experiment = &opened.experiment;
    let cells = experiment.cells().len();
    let mut text = format!(
        "{}: {} × {} = {}, {} with pauses; seed {}\n",
        experiment.name,
        units::counted(cells as u64, "combination"),
        units::counted(u64::from(experiment.repetitions), "repetition"),
        units::counted(opened.runs.len() as u64, "run"),
        opened.length(&opened.runs).shown(),
        experiment.seed,
    );
    // Writing to a String cannot fail.
    for (number, factor) in experiment.factors.iter().enumerate() {
        let levels: Vec<&str> = factor.levels.iter().map(|level| level.text.as_str()).collect();
        let letter = factor_letter(number);
        let levels = levels.join(", ");
        if let Some(place) = factor.place_set() {
            let _ = writeln!(text, "  {letter} {} ({place}): {levels}", factor.name);
            continue;
        }
        let _ = writeln!(text, "  {letter} {}: {levels}", factor.name);
        for level in &factor.levels {
            let sets = level.sets.iter();
            let sets: Vec<String> = sets.map(|(key, value)| format!("{key}={value}")).collect();
            let _ = writeln!(text, "      {}: {}", level.text, sets.join(" "));
        }
    }
    text += &confounding(experiment);
    let done = |run: &PlannedRun| {
        let known = begun.and_then(|state| state.runs.get(run.number - 1));
        match known.map(|known| known.stage) {
            Some(RunStage::Done) => "  done",
            Some(RunStage::Failed) => "  failed",
            Some(RunStage::Pending) | None => "",
        }
    };
    let mut repetition = 0;
    for run in &opened.runs {
        if run.repetition != repetition {
            repetition = run.repetition;
            let _ = writeln!(text, "repetition {repetition}");
        }
        let levels = experiment.factors.iter().zip(&run.cell);
        let levels: Vec<String> = levels
            .map(|(factor, &level)| format!("{}={}", factor.name, factor.levels[level].text))
            .collect();
        let _ = writeln!(text, "  {:>4}  {}{}", run.number, levels.join("  "), done(run));
    }
    let _ = writeln!(text, "directory {}", directory.display());
    text
}

/// Effects that a fraction cannot distinguish.
fn confounding(experiment: &Experiment) -> String {
    let Design::Fraction(generators) = &experiment.design else {
        return String::new();
    };
    let mut text = String::new();
    for generator in generators {
        let of: String = generator.of.iter().map(|&factor| factor_letter(factor)).collect();
        let sign = if generator.negative { "−" } else { "" };
        let own = factor_letter(generator.factor);
        let warning = match generator.of.len() {
            2 => ": a main effect is confounded with an interaction of two factors",
            _ => "",
        };
        let _ = writeln!(text, "  {own} = {sign}{of}{warning}");
    }
    text
}

/// States what continues.
pub(super) struct Watcher<'a> {
    opened: &'a RunnableExperiment,
    figures: Vec<&'a str>,
    quiet: bool,
    runs: usize,
    /// Planned time of the runs after this one, warm-up aside, in nanoseconds.
    left_ns: u64,
    /// Planned time of this run.
    run_ns: u64,
    /// Planned time, and time taken, of the runs that ended.
    ended_ns: (u64, u64),
    view: View,
    /// Its number of repetitions is open.
    is_open: bool,
    /// The page of a run could not be written.
    pub(super) lacks_pages: bool,
}

impl<'a> Watcher<'a> {
    pub(super) fn new(
        opened: &'a RunnableExperiment,
        state: &ExperimentState,
        directory: &Path,
        quiet: bool,
    ) -> Watcher<'a> {
        let responses = opened.experiment.responses.iter();
        let pending = state.runs.iter().filter(|run| run.stage == RunStage::Pending);
        let watcher = Watcher {
            opened,
            figures: responses.map(|response| response.figure.as_str()).collect(),
            quiet,
            runs: state.runs.len(),
            left_ns: pending.clone().map(|run| opened.run_length(&run.cell).most_ns).sum(),
            run_ns: 0,
            ended_ns: (0, 0),
            view: View::new(true),
            is_open: state.until.is_some(),
            lacks_pages: false,
        };
        let left = RunLength {
            least_ns: pending.map(|run| opened.run_length(&run.cell).least_ns).sum(),
            most_ns: watcher.left_ns,
        };
        let pending = state.count(RunStage::Pending);
        let begins = if pending < state.runs.len() { "goes on" } else { "begins" };
        let runs = units::counted(state.runs.len() as u64, "run");
        let to_make = match watcher.is_open {
            true => format!("{runs} so far, until it is decided"),
            false => format!("{pending} of {runs} to make, {}", left.shown()),
        };
        watcher.print_error(&format!(
            "{} {begins} in {}: {to_make}",
            opened.experiment.name,
            directory.display(),
        ));
        watcher
    }

    pub(super) fn report(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::WarmUp { number, of } => {
                self.print_error(&format!("warm-up {number} of {of}"));
                self.view = self.live();
            }
            Progress::Begun { run } => {
                let of = match self.is_open {
                    true => format!(" (repetition {})", run.repetition),
                    false => format!(" of {}", self.runs),
                };
                self.print_error(&format!("run {}{of}: {}", run.number, self.levels(run)));
                self.run_ns = self.opened.run_length(&run.cell).most_ns;
                self.left_ns = self.left_ns.saturating_sub(self.run_ns);
                self.view = self.live();
            }
            Progress::Tick(tick) => self.view.tick(tick),
            Progress::Ended { directory, summary, took_ns } => {
                self.view.end();
                self.ended_ns.0 += self.run_ns;
                self.ended_ns.1 += took_ns + self.opened.experiment.pause_ns;
                if let Err(failure) = page::after_run(directory, summary) {
                    failure.print();
                    self.lacks_pages = true;
                }
                let verdict = match summary.verdict {
                    Verdict::Measured => "measured",
                    Verdict::Passed => "passed",
                    Verdict::Failed => "failed",
                    Verdict::Untrusted => "cannot be trusted",
                };
                let left = match self.expected_ns() {
                    _ if self.is_open => String::new(),
                    0 => String::new(),
                    left_ns => format!("; about {} left", units::span(left_ns)),
                };
                self.print_error(&format!("  {verdict}: {}{left}", self.responses(directory)));
            }
            Progress::Decision(decision) => self.print_error(&decision.sentence()),
            Progress::Disturbed(disturbed) => {
                let then = if disturbed.repeated { "it is repeated" } else { "it counts" };
                self.print_error(&format!("  disturbed: {}; {then}", disturbed.why));
            }
            Progress::Failed { why, .. } => {
                self.view.end();
                self.print_error(&format!("  failed: {why}"));
            }
        }
    }

    /// Expected time of the runs after this one, in nanoseconds: as much of their planned time as
    /// the finished runs took of theirs. A load that goes on until all users are done is planned
    /// with its time limit, and nothing is planned for the time before and after a load.
    fn expected_ns(&self) -> u64 {
        match self.ended_ns {
            (0, _) => self.left_ns,
            (planned_ns, took_ns) => {
                (self.left_ns as f64 * (took_ns as f64 / planned_ns as f64)) as u64
            }
        }
    }

    /// On a terminal each run is drawn while it continues; elsewhere it has its line.
    fn live(&self) -> View {
        View::new(self.quiet || !std::io::stderr().is_terminal())
    }

    fn levels(&self, run: &RunRecord) -> String {
        let factors = self.opened.experiment.factors.iter();
        let levels =
            factors.zip(&run.levels).map(|(factor, level)| format!("{}={level}", factor.name));
        levels.collect::<Vec<_>>().join("  ")
    }

    fn responses(&self, directory: &Path) -> String {
        let Ok(run) = Run::open(directory) else {
            return String::new();
        };
        let values = run_values(&run, &self.figures).unwrap_or_default();
        let units = figure_units(&run, &self.figures);
        let texts = self.figures.iter().zip(units).zip(values);
        let texts = texts.map(|((figure, unit), value)| match value {
            Some(found) => {
                let at_least = if found.is_bound { "≥ " } else { "" };
                format!("{figure} {at_least}{}", unit.format(found.value, DIGITS))
            }
            None => format!("{figure} not measured"),
        });
        texts.collect::<Vec<_>>().join(", ")
    }

    fn print_error(&self, line: &str) {
        if !self.quiet {
            // Who closed standard error does not want to know.
            let _ = writeln!(std::io::stderr(), "{}", report::visible(line));
        }
    }
}
