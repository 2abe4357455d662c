//! A run in virtual time, recorded and judged like any other.

use engine::driver::sim::{self, Link, SimRun};
use engine::measure::Delta;
use engine::traffic::Traffic;
use machine::loops::open_files_max;
use plan::Plan;
use record::schema::{EventKind, RunStatus, Summary};

use super::target::{Faults, S, Target};
use crate::inputs::{Inputs, ScenarioText};
use crate::run::broadcasts::Broadcasts;
use crate::run::describe::RunStart;
use crate::run::journal::Journal;
use crate::run::merge::Merger;
use crate::run::prepare::prepare;
use crate::run::starts;
use crate::secrets::Secrets;
use crate::testing;
use crate::workers::layout::layout;
use crate::workers::rows::rows_channel;

/// What the kernel says of times in which the generator has no CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum NoCpu {
    /// Nothing: the process was stopped.
    #[default]
    Stopped,
    /// Its loop was ready and waited for a core.
    Waiting,
    /// A limit of its control group held it back.
    Throttled,
}

/// What a run is played with.
pub(super) struct Bed {
    pub(super) text: String,
    pub(super) faults: Faults,
    pub(super) link: Link<'static>,
    pub(super) no_cpu: NoCpu,
    /// Retransmitted segments of the run's connections in each second.
    pub(super) retransmits_per_s: u64,
    /// What happens besides, and when.
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
        let machine = Machine {
            frozen,
            no_cpu: self.no_cpu,
            retransmits_per_s: self.retransmits_per_s,
        };
        record(&plan, self.text, self.files, self.events, played, &machine)
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
        parts
            .map(|&(from, until)| until.min(until_ns).saturating_sub(from.max(from_ns)))
            .sum()
    }

    /// What the kernel would have said of the loop's thread.
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

fn record(
    plan: &Plan,
    text: String,
    files: u64,
    events: Vec<(u64, EventKind)>,
    played: SimRun,
    machine: &Machine,
) -> Summary {
    let space = tempfile::tempdir().unwrap();
    let scenario = ScenarioText {
        name: "test.yaml".to_owned(),
        text,
        overrides: Vec::new(),
        inputs: Inputs::default(),
    };
    let mut setup = prepare(plan, None, layout(plan, 1, open_files_max(), 0)).unwrap();
    setup.cores = 1;
    let secrets = Secrets::new(&scenario.inputs);
    let mut info = RunStart {
        plan,
        scenario: &scenario,
        throng: "test",
        setup: &setup,
        workers: Vec::new(),
        secrets: &secrets,
        unix_ns: 1_700_000_000 * S,
    }
    .info();
    assert_eq!(info.generator.loops, 1, "the simulation has one loop");
    info.generator.files_per_loop = files;
    let (rows_in, rows) = rows_channel();
    let mut journal =
        Journal::create(space.path(), info.clone(), &scenario.text, rows, secrets).unwrap();
    rows_in.send(played.rows).unwrap();
    drop(rows_in);
    for (at_ns, what) in events {
        journal.event(at_ns, what).unwrap();
    }
    let mut merger = Merger::new(Broadcasts::new(plan), 1);
    for mut delta in played.deltas {
        machine.complete(&mut delta, &played.busy_ns);
        merger.add(delta);
        while let Some(mut interval) = merger.next() {
            let row = &mut interval.row;
            row.users_due =
                starts::due_between(plan, row.start_ns, row.end_ns) + row.users_repeated;
            if machine.no_cpu == NoCpu::Throttled {
                row.cpu_throttled_ns = machine.frozen_ns(row.start_ns, row.end_ns);
            }
            journal.interval(&interval).unwrap();
        }
    }
    let directory = journal.path().to_owned();
    info.status = RunStatus::Complete;
    info.ended_ns = played.ended_ns;
    journal.finish(&info).unwrap();
    let run = record::Run::open(&directory).unwrap();
    judge::judge(&run, &plan.thresholds, false).unwrap()
}
