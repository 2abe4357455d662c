//! Plans from texts, and what came out of a run.

use engine::measure::MeasureDelta;
use engine::sim::{self, Link, Peer, SimRun};
use plan::Plan;
use record::schema::WhyNot;
use record::{Measurement, Outcome};
use scenario::{Settings, Source, compile, render};
use stats::hist::LogHistogram;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const S: u64 = 1_000_000_000;

/// The plan of a scenario that has no errors.
pub(crate) fn plan(text: &str) -> Plan {
    let source = Source { name: "test.yaml", text };
    let nothing = |_: &str| None;
    let file = |name: &str| match name {
        "rows.csv" => Ok("name,word\nann,a\nbob,b\ncy,c\n".to_owned()),
        "hundred.csv" => {
            let rows: Vec<String> = (0..100).map(|row| row.to_string()).collect();
            Ok(format!("item\n{}\n", rows.join("\n")))
        }
        "echo.proto" => Ok(include_str!("../../../../../examples/grpc/echo.proto").to_owned()),
        "script.js" => Ok(include_str!("script.js").to_owned()),
        "base64:hello.txt" => Ok("aGVsbG8=".to_owned()),
        _ => Err(format!("no file {name}")),
    };
    let settings = Settings { overrides: &[], env: &nothing, files: &file };
    let (plan, diagnostics) = compile(source, &settings);
    plan.unwrap_or_else(|| panic!("{}", render(&diagnostics, source)))
}

/// Runs a scenario's text on one shard over a link without faults.
pub(crate) fn run(text: &str, peer: &mut dyn Peer) -> Ran {
    run_over(text, peer, Link::new(0))
}

/// As [`run`], over this link.
pub(crate) fn run_over(text: &str, peer: &mut dyn Peer, link: Link<'_>) -> Ran {
    let plan = plan(text);
    let run = sim::run(&plan, 1, peer, link).expect("the plan can be run");
    let ran = Ran { plan, run };
    ran.check_sums();
    ran
}

/// A run and the plan it came from.
pub(crate) struct Ran {
    pub(crate) plan: Plan,
    pub(crate) run: SimRun,
}

impl Ran {
    /// The rows of one measure.
    pub(crate) fn rows(&self, measure: &str) -> Vec<Measurement> {
        let id = self.plan.measures.iter().position(|m| m.name == measure);
        let names: Vec<_> = self.plan.measures.iter().map(|m| &m.name).collect();
        let id = id.unwrap_or_else(|| panic!("no measure {measure:?} in {names:?}"));
        self.run.rows.iter().filter(|row| row.measure as usize == id).copied().collect()
    }

    /// How the operations of one measure ended, in order of user and time.
    pub(crate) fn outcomes(&self, measure: &str) -> Vec<Outcome> {
        self.rows(measure).iter().map(|row| row.outcome).collect()
    }

    /// Every session that started ended in one way, and so did every operation that began.
    #[track_caller]
    pub(crate) fn check_sums(&self) {
        let ended = self.total(|counts| {
            counts.users_finished + counts.users_failed + counts.users_stopped + counts.users_cut
        });
        let endings = self.run.deltas.iter().flat_map(|delta| &delta.endings);
        let unfinished: u64 = endings.map(|ending| ending.users).sum();
        let finished = self.total(|counts| counts.users_finished);
        assert_eq!(self.total(|counts| counts.users_started), ended, "sessions");
        assert_eq!(ended, finished + unfinished, "endings");
        let due = self.total(|counts| counts.users_fell_due);
        let arrived = self.total(|counts| {
            counts.users_started
                + counts.users_refused
                + counts.users_paused
                + counts.users_unstarted
        });
        let again = self.total(|counts| counts.users_repeated + counts.users_resumed);
        assert_eq!(due + again, arrived, "users due");
        let mut missed = 0;
        for (id, measure) in self.plan.measures.iter().enumerate() {
            let deltas = self.run.deltas.iter().flat_map(|delta| &delta.measures);
            let deltas = deltas.filter(|delta| delta.measure.index() == id);
            let sum = |of: fn(&MeasureDelta) -> u64| deltas.clone().map(of).sum::<u64>();
            let due = sum(|delta| delta.due);
            let begun = sum(|delta| delta.begun);
            let ended = sum(|delta| delta.outcomes.iter().sum());
            let never = sum(|delta| delta.missed.iter().sum());
            assert_eq!(begun, ended, "operations of {}", measure.name);
            assert_eq!(due, begun + never, "operations due of {}", measure.name);
            missed += never;
            self.check_failures(id);
        }
        assert_eq!(missed, self.total(|counts| counts.steps_missed), "missed");
    }

    /// Failures by detail add up to those by outcome.
    fn check_failures(&self, id: usize) {
        let mut left = vec![0_u64; engine::measure::OUTCOMES];
        for delta in &self.run.deltas {
            for measure in delta.measures.iter().filter(|one| one.measure.index() == id) {
                left.iter_mut().zip(&measure.outcomes).for_each(|(sum, n)| *sum += n);
            }
        }
        for error in self.run.deltas.iter().flat_map(|delta| &delta.errors) {
            if error.measure.index() == id {
                left[error.outcome as usize] -= error.count;
            }
        }
        let left = Outcome::ALL.iter().zip(left);
        let wrong: Vec<_> = left.filter(|(outcome, n)| outcome.is_error() && *n > 0).collect();
        assert!(wrong.is_empty(), "failures without a kind: {wrong:?}");
    }

    /// Operations of a measure that were due and never began, for this reason.
    pub(crate) fn never_begun(&self, measure: &str, why: WhyNot) -> u64 {
        self.deltas(measure).map(|m| m.missed[why as usize]).sum()
    }

    /// The sum of a counter over the run.
    pub(crate) fn total(&self, counter: impl Fn(&engine::measure::Counts) -> u64) -> u64 {
        self.run.deltas.iter().map(|delta| counter(&delta.counts)).sum()
    }

    /// Texts of the kept errors.
    pub(crate) fn details(&self) -> Vec<String> {
        let samples = self.run.deltas.iter().flat_map(|delta| &delta.samples);
        samples.map(|sample| sample.text.clone()).collect()
    }

    /// Outcomes counted without a row, such as checks.
    pub(crate) fn counted(&self, measure: &str, outcome: Outcome) -> u64 {
        self.deltas(measure).map(|m| m.outcomes[outcome as usize]).sum()
    }

    /// Times recorded with or without a row.
    pub(crate) fn times(&self, measure: &str) -> LogHistogram {
        let mut times = LogHistogram::new();
        for delta in self.deltas(measure) {
            times.merge(&delta.response);
        }
        times
    }

    /// What the intervals say of one measure.
    pub(crate) fn deltas(&self, measure: &str) -> impl Iterator<Item = &MeasureDelta> {
        let mut measures = self.plan.measures.iter();
        let id = measures.position(|m| m.name == measure).expect("measure");
        let all = self.run.deltas.iter().flat_map(|delta| &delta.measures);
        all.filter(move |m| m.measure.index() == id)
    }
}
