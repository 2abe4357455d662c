//! An experiment's file with its scenario, checked before anything runs.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::Path;

use controller::CompiledPlan;
use controller::experiment::{ExperimentState, PlannedRun, order, time_ns};
use miette::MietteDiagnostic;
use plan::Plan;
use scenario::{Experiment, Severity};

use crate::excerpt;
use crate::exit::{Exit, Failure};
use crate::full::Leniency;
use crate::source::{self, CompiledScenario, Text};

/// How long a run takes, in nanoseconds: the same twice unless it ends when all users are done, or when enough is known.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RunLength {
    /// If the target takes no time.
    pub(super) least_ns: u64,
    pub(super) most_ns: u64,
}

impl RunLength {
    /// For people.
    pub(super) fn shown(self) -> String {
        match self.least_ns == self.most_ns {
            true => format!("about {}", units::span(self.most_ns)),
            false => format!("{} to {}", units::span(self.least_ns), units::span(self.most_ns)),
        }
    }
}

/// An experiment that can be run.
pub(super) struct RunnableExperiment {
    pub(super) text: Text,
    /// Whether it is run in full.
    full: bool,
    pub(super) experiment: Experiment,
    pub(super) scenario: Text,
    /// All runs, in their order.
    pub(super) runs: Vec<PlannedRun>,
    /// How long a run of each combination takes.
    lengths: HashMap<Vec<usize>, RunLength>,
    /// Files that the scenario requested in any combination, each with a digest of the answer.
    inputs: BTreeMap<String, String>,
}

impl RunnableExperiment {
    /// Reads and checks experiment and scenario: each combination must make a plan that measures
    /// all responses.
    pub(super) fn open(file: &str, full: bool) -> Result<RunnableExperiment, Failure> {
        let text = source::read(file)?;
        let experiment = source::experiment(&text, full)?;
        let folder = Path::new(&text.name).parent().unwrap_or(Path::new(""));
        let scenario = folder.join(&experiment.scenario).display().to_string();
        let scenario = source::named_scenario(&scenario, Leniency::Strict)?;
        let runs = order(&experiment);
        let mut opened = RunnableExperiment {
            text,
            full,
            experiment,
            scenario,
            runs,
            lengths: HashMap::new(),
            inputs: BTreeMap::new(),
        };
        opened.check_levels()?;
        opened.check_cells()?;
        opened.check_time()?;
        Ok(opened)
    }

    /// The state of an experiment of which nothing was made yet.
    pub(super) fn state(&self) -> ExperimentState {
        let file = std::fs::canonicalize(&self.text.name);
        let file = file.map_or_else(|_| self.text.name.clone(), |file| file.display().to_string());
        let inputs = format!("{:?}", self.inputs);
        let mut texts = vec![self.text.text.as_str(), &self.scenario.text, &inputs];
        texts.extend(self.full.then_some("full"));
        let version = env!("CARGO_PKG_VERSION");
        let state = ExperimentState::new(&self.experiment, &self.runs, &file, version, &texts);
        ExperimentState { full: self.full, ..state }
    }

    /// How long these runs take together, with warm-ups and pauses.
    pub(super) fn length(&self, runs: &[PlannedRun]) -> RunLength {
        let all = |of: fn(RunLength) -> u64| {
            time_ns(&self.experiment, runs, |cell| of(self.own_length(cell)))
        };
        RunLength { least_ns: all(|own| own.least_ns), most_ns: all(|own| own.most_ns) }
    }

    /// How long one run takes with the pause beside it.
    pub(super) fn run_length(&self, cell: &[usize]) -> RunLength {
        let own = self.own_length(cell);
        let pause_ns = self.experiment.pause_ns;
        RunLength { least_ns: own.least_ns + pause_ns, most_ns: own.most_ns + pause_ns }
    }

    fn own_length(&self, cell: &[usize]) -> RunLength {
        self.lengths.get(cell).copied().unwrap_or_default()
    }

    /// A plan for these overrides, each of which was tried before.
    pub(super) fn compile(&self, overrides: &[(String, String)]) -> Result<CompiledPlan, String> {
        let (compiled, diagnostics) = source::try_compile(&self.scenario, overrides);
        let compiled = compiled.ok_or_else(|| {
            let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error);
            let messages: Vec<&str> = errors.map(|d| d.message.as_str()).collect();
            format!("the scenario no longer compiles: {}", messages.join("; "))
        })?;
        for (what, digest) in compiled.inputs.digests() {
            if self.inputs.get(&what) != Some(&digest) {
                return Err(format!("{what} has changed since the experiment started"));
            }
        }
        Ok(compiled.into_plan(&self.scenario, overrides.to_vec()))
    }

    /// Tries each level without the other factors, so that what is wrong is reported of the level that
    /// it is wrong with.
    fn check_levels(&self) -> Result<(), Failure> {
        source::compile(&self.scenario, &self.experiment.sets)?;
        for factor in &self.experiment.factors {
            for level in &factor.levels {
                let mut overrides = self.experiment.sets.clone();
                overrides.extend(level.sets.iter().cloned());
                let (compiled, diagnostics) = source::try_compile(&self.scenario, &overrides);
                if compiled.is_none() {
                    let errors = diagnostics.into_iter().filter(|d| d.severity == Severity::Error);
                    source::print_diagnostics(&self.scenario, &errors.collect::<Vec<_>>());
                    let message = format!(
                        "`{}` cannot be a level of `{}`: the scenario rejects it",
                        level.text, factor.name
                    );
                    let sets = level.sets.iter();
                    let sets: Vec<String> =
                        sets.map(|(key, value)| format!("--set '{key}={value}'")).collect();
                    let hint = format!("it sets {}", sets.join(" "));
                    return Err(self.at(&level.place, message, hint));
                }
            }
        }
        Ok(())
    }

    fn check_cells(&mut self) -> Result<(), Failure> {
        for cell in self.experiment.cells() {
            let overrides = self.experiment.overrides(&cell);
            let (compiled, diagnostics) = source::try_compile(&self.scenario, &overrides);
            let Some(CompiledScenario { plan, inputs }) = compiled else {
                source::print_diagnostics(&self.scenario, &diagnostics);
                let set: Vec<String> = overrides.iter().map(|(k, v)| format!("{k}={v}")).collect();
                return Err(Failure::hinted(
                    Exit::Data,
                    format!("these levels cannot be combined: {}", set.join(" ")),
                    "each is valid on its own; change one of them",
                ));
            };
            source::no_secrets(&plan, &overrides, self.experiment.sets.len())?;
            self.check_responses(&plan)?;
            self.check_compared(&plan)?;
            self.inputs.extend(inputs.digests());
            let length = RunLength { least_ns: plan.least_end_ns(), most_ns: plan.most_end_ns() };
            self.lengths.insert(cell, length);
        }
        Ok(())
    }

    fn check_responses(&self, plan: &Plan) -> Result<(), Failure> {
        let recorded = plan.recorded().measures;
        let measures: Vec<&str> = recorded.iter().map(|m| m.name.as_str()).collect();
        for response in &self.experiment.responses {
            if let Err(problem) = scenario::figure(&response.figure, plan) {
                let message = format!("the runs have no figure `{}`", response.figure);
                return Err(self.at(&response.place, message, problem));
            }
        }
        let compared = self.experiment.compare.iter().flat_map(|c| &c.measures);
        for (name, place) in compared {
            if !measures.contains(&name.as_str()) {
                let message = format!("the runs have no measure `{name}`");
                let hint = format!("there are {}", measures.join(", "));
                return Err(self.at(place, message, hint));
            }
        }
        Ok(())
    }

    /// Whether there is something to compare of a run, and few enough runs.
    fn check_compared(&self, plan: &Plan) -> Result<(), Failure> {
        let Some(compare) = &self.experiment.compare else {
            return Ok(());
        };
        let repetitions = self.experiment.repetitions as usize;
        if repetitions > compare::RUNS_MAX {
            return Err(Failure::hinted(
                Exit::Data,
                format!(
                    "`compare` accepts at most {} runs per combination, and `repetitions` is \
                     {repetitions}",
                    compare::RUNS_MAX
                ),
                "lower `repetitions`, or remove `compare`",
            ));
        }
        if plan.end_ns() <= compare.skip_ns {
            return Err(Failure::hinted(
                Exit::Data,
                format!(
                    "`compare` skips {}, and a run takes {}",
                    units::span(compare.skip_ns),
                    units::span(plan.end_ns())
                ),
                "skip less, or make the runs longer",
            ));
        }
        Ok(())
    }

    fn check_time(&self) -> Result<(), Failure> {
        let time_ns = self.length(&self.runs).most_ns;
        if time_ns <= self.experiment.time_max_ns {
            return Ok(());
        }
        Err(Failure::hinted(
            Exit::Data,
            format!(
                "{} would take {}, and `time_max` is {}",
                units::counted(self.runs.len() as u64, "run"),
                units::span(time_ns),
                units::span(self.experiment.time_max_ns)
            ),
            "use fewer levels or repetitions, a fraction of the design, or shorter runs; or raise \
             `time_max`",
        ))
    }

    /// A failure at a place of the experiment's file.
    fn at(&self, place: &Range<usize>, message: String, hint: String) -> Failure {
        let diagnostic = MietteDiagnostic::new(message).with_help(hint);
        let text = &self.text;
        let report = excerpt::report(diagnostic, Some(place.clone()), None, &text.name, &text.text);
        Failure::at_source(Exit::Data, report)
    }
}
