//! A run in virtual time, recorded and judged like any other.

use std::collections::BTreeMap;
use std::sync::mpsc::SyncSender;

use engine::measure::Delta;
use engine::sim::{self, Link};
use engine::traffic::Traffic;
use machine::loops::open_files_max;
use plan::Plan;
use record::schema::{ErrorCount, EventKind, RunInfo, RunStatus, Summary};
use record::{Durability, Measurement, Outcome};
use tempfile::TempDir;
use workers::{Inputs, LoopRows, LoopsSetup, Numbering, ScenarioText, layout, rows_channel};

use super::target::{Faults, S, Target};
use crate::run::broadcasts::Broadcasts;
use crate::run::by_worker::ByWorker;
use crate::run::describe::RunStart;
use crate::run::journal::{CHECKPOINT_EVERY, Journal};
use crate::run::merge::Merger;
use crate::run::network::Network;
use crate::run::starts;
use crate::run::tick::clock_events;
use crate::secrets::Secrets;
use crate::testing;

/// The figures by which the kernel shows that the generator has no CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum NoCpu {
    /// Nothing: the process was stopped.
    #[default]
    Stopped,
    /// The loop was ready and waited for a core.
    Waiting,
    /// A limit of its control group held it back.
    Throttled,
}

/// The target, the network and the machine of a simulated run.
pub(super) struct Bed {
    pub(super) text: String,
    pub(super) faults: Faults,
    pub(super) link: Link<'static>,
    pub(super) no_cpu: NoCpu,
    /// Retransmitted segments of the run's connections in each second.
    pub(super) retransmits_per_s: u64,
    /// Other events, each with its time.
    pub(super) events: Vec<(u64, EventKind)>,
    /// Open files of the loop.
    pub(super) files: u64,
}

impl Bed {
    pub(super) fn new(text: String) -> Bed {
        Bed {
            text,
            faults: Faults::default(),
            link: Link::new(20_000),
            no_cpu: NoCpu::default(),
            retransmits_per_s: 0,
            events: Vec::new(),
            files: open_files_max(),
        }
    }

    /// Plays the run, records it and judges the record.
    pub(super) fn judged(self, seed: u64) -> Summary {
        let plan = testing::plan(&self.text);
        let frozen = self.link.frozen.clone();
        let mut target = Target::new(self.faults, seed);
        let played = sim::run(&plan, 1, &mut target, self.link).expect("the plan can be run");
        let machine =
            Machine { frozen, no_cpu: self.no_cpu, retransmits_per_s: self.retransmits_per_s };
        let mut recording = Recording::begin(&plan, self.text, self.files);
        recording.rows.send(played.rows).unwrap();
        for (at_ns, what) in self.events {
            recording.journal.event(at_ns, what).unwrap();
        }
        let merger = recording.write(played.deltas, &machine, &played.busy_ns);
        recording.judged(merger, played.ended_ns)
    }

    /// Plays the run once, and records it as often as it has seconds, killed after each. What is said of each, and
    /// how many operations had ended by its last checkpoint, in how many seconds.
    pub(super) fn killed_after_each_second(self, seed: u64) -> Vec<(Summary, u64, u64)> {
        let plan = testing::plan(&self.text);
        let mut target = Target::new(self.faults, seed);
        let play = |target: &mut Target| sim::run(&plan, 1, target, Link::new(20_000)).unwrap();
        let count = play(&mut target).deltas.len();
        let killed = (0..count).map(|seconds| {
            let mut target = Target::new(Faults::default(), seed);
            let played = play(&mut target);
            let kept = seconds / CHECKPOINT_EVERY as usize * CHECKPOINT_EVERY as usize;
            let ended = played.deltas[..kept].iter().flat_map(|delta| &delta.measures);
            let ended = ended.map(|measured| measured.outcomes.iter().sum::<u64>());
            let ended = ended.sum();
            let end_ns = played.deltas[..kept].last().map_or(0, |d| d.end_ns);
            let mut recording = Recording::begin(&plan, self.text.clone(), self.files);
            let machine =
                Machine { frozen: Vec::new(), no_cpu: NoCpu::default(), retransmits_per_s: 0 };
            recording.write(played.deltas.into_iter().take(seconds), &machine, &played.busy_ns);
            (recording.killed(), ended, end_ns)
        });
        killed.collect()
    }
}

/// The machine of the simulated generator.
struct Machine {
    frozen: Vec<(u64, u64)>,
    no_cpu: NoCpu,
    retransmits_per_s: u64,
}

impl Machine {
    /// Time without CPU between two moments.
    fn frozen_ns(&self, from_ns: u64, until_ns: u64) -> u64 {
        let parts = self.frozen.iter();
        parts.map(|&(from, until)| until.min(until_ns).saturating_sub(from.max(from_ns))).sum()
    }

    /// Adds the figures that the kernel would have of the loop's thread.
    fn complete(&self, delta: &mut Delta, busy_ns: &[u64]) {
        let length_ns = delta.end_ns - delta.start_ns;
        let second = (delta.start_ns / S) as usize;
        let used_ns = busy_ns.get(second).map_or(0, |&used| used.min(length_ns));
        let frozen_ns = self.frozen_ns(delta.start_ns, delta.end_ns);
        // Whoever is stopped in its sleep has slept.
        let awake_ns = match self.no_cpu {
            NoCpu::Stopped => used_ns,
            NoCpu::Waiting | NoCpu::Throttled => used_ns + frozen_ns,
        };
        delta.cpu.used_ns = used_ns;
        delta.cpu.idle_ns = length_ns.saturating_sub(awake_ns);
        if self.no_cpu == NoCpu::Waiting {
            delta.cpu.waited_ns = frozen_ns;
        }
        delta.traffic = Traffic {
            connections: 1,
            retransmits: self.retransmits_per_s * (second as u64 + 1),
            ..Traffic::default()
        };
    }
}

/// The text of a scenario that reads nothing.
pub(super) fn scenario_text(text: String) -> ScenarioText {
    ScenarioText {
        name: "test.yaml".to_owned(),
        text,
        overrides: Vec::new(),
        inputs: Inputs::default(),
    }
}

/// The description of a run of this plan.
pub(super) fn described(plan: &Plan, scenario: &ScenarioText, secrets: &Secrets) -> RunInfo {
    let setup = LoopsSetup {
        target: None,
        places: Network::resolve(plan, &[None]).unwrap().places,
        sources: plan.options.source_addresses.clone(),
        trust: None,
        layout: layout(plan, 1, open_files_max(), 0),
        cores: 1,
        trace: None,
    };
    RunStart {
        plan,
        scenario,
        throng: "test",
        setup: &setup,
        workers: Vec::new(),
        facts: Vec::new(),
        secrets,
        unix_ns: 1_700_000_000 * S,
    }
    .info()
}

/// A simulated run and its journal.
struct Recording<'p> {
    plan: &'p Plan,
    /// Removed with it.
    _space: TempDir,
    journal: Journal,
    by_worker: ByWorker,
    rows: SyncSender<Vec<Measurement>>,
    info: RunInfo,
}

impl<'p> Recording<'p> {
    fn begin(plan: &'p Plan, text: String, files: u64) -> Recording<'p> {
        let space = tempfile::tempdir().unwrap();
        let scenario = scenario_text(text);
        let secrets = Secrets::new(&scenario.inputs);
        let mut info = described(plan, &scenario, &secrets);
        assert_eq!(info.generator.loops, 1, "the simulation has one loop");
        info.generator.files_per_loop = files;
        let (rows, receiver) = rows_channel();
        let rows_out = LoopRows { receiver, numbering: Numbering::new(plan, 1) };
        let journal = Journal::create(
            space.path(),
            info.clone(),
            &scenario.text,
            Durability::Process,
            rows_out,
            secrets,
            plan.options.samples,
        )
        .unwrap();
        Recording { by_worker: ByWorker::new(plan, &[]), plan, _space: space, journal, rows, info }
    }

    /// Writes the seconds that these intervals of the loop make. What they are merged by has what is left for the end.
    fn write(
        &mut self,
        deltas: impl IntoIterator<Item = Delta>,
        machine: &Machine,
        busy_ns: &[u64],
    ) -> Merger {
        let numbering = Numbering::new(self.plan, 1);
        let mut merger = Merger::new(Broadcasts::new(self.plan, &numbering), numbering, 1);
        for mut delta in deltas {
            machine.complete(&mut delta, busy_ns);
            merger.add(delta);
            while let Some(mut interval) = merger.next() {
                let row = &mut interval.row;
                row.users_due = starts::due_in(self.plan, row, None);
                if machine.no_cpu == NoCpu::Throttled {
                    row.cpu_throttled_ns = machine.frozen_ns(row.start_ns, row.end_ns);
                }
                self.journal.interval(&interval, &self.by_worker).unwrap();
            }
        }
        merger
    }

    /// Ends the run and judges it.
    fn judged(mut self, mut merger: Merger, ended_ns: u64) -> Summary {
        if let Some(rest) = merger.remainder() {
            self.journal.measures(&rest).unwrap();
        }
        for what in clock_events(self.plan, merger.clocks()) {
            self.journal.event(ended_ns, what).unwrap();
        }
        let directory = self.journal.path().to_owned();
        self.info.status = RunStatus::Complete;
        self.info.ended_ns = ended_ns;
        drop(self.rows);
        self.journal.finish(&self.info, &self.by_worker).unwrap();
        let run = record::Run::open(&directory).unwrap();
        let summary = judge::judge(&run, &self.plan.thresholds, false).unwrap();
        check_errors(&run, &summary);
        summary
    }

    /// The judgement of the run if it is killed now.
    fn killed(self) -> Summary {
        let run = record::Run::open(self.journal.path()).unwrap();
        let summary = judge::judge_again(&run, false).unwrap();
        // A process that is killed closes nothing.
        std::mem::forget((self.journal, self.rows));
        summary
    }
}

/// Failures by detail add up to those by outcome, in the record and in what is said of it. Steps that are no operations
/// are named instead of their measure.
fn check_errors(run: &record::Run, summary: &Summary) {
    let info = run.info();
    let is_step = |at: usize| info.measures[at].kind == "step";
    let mut tallied: BTreeMap<(String, String), u64> = BTreeMap::new();
    for phase in &run.tally().unwrap().unwrap_or_default().phases {
        for measure in &phase.measures {
            let at = usize::from(measure.measure);
            let name = if is_step(at) { "" } else { info.measures[at].name.as_str() };
            let failed = measure.outcomes.iter().filter(|(kind, n)| {
                **n > 0 && Outcome::from_name(kind).is_some_and(Outcome::is_error)
            });
            for (kind, n) in failed {
                *tallied.entry((name.to_owned(), kind.clone())).or_default() += n;
            }
        }
    }
    let mut counted: BTreeMap<(String, String), u64> = BTreeMap::new();
    let count = |error: ErrorCount| {
        let measure = error.measure.map(usize::from).filter(|&at| !is_step(at));
        let name = measure.map_or("", |at| &info.measures[at].name);
        *counted.entry((name.to_owned(), error.kind)).or_default() += error.count;
    };
    run.error_counts(count).unwrap();
    assert_eq!(counted, tallied, "failures by detail, and by outcome");
    // What was overdue at the end no second counted.
    let overdue = Outcome::Unfinished.name();
    let said = |is_overdue: bool| -> u64 {
        let own = summary.errors.iter().filter(|error| (error.kind == overdue) == is_overdue);
        own.map(|error| error.count).sum()
    };
    assert_eq!(said(false), tallied.values().sum::<u64>());
    let of_measures = summary.measures.iter().filter_map(|m| m.errors_by_kind.get(overdue));
    assert_eq!(said(true), of_measures.sum::<u64>());
}
