//! The document of a run that goes on: a run's, without what is known at its end only.

use judge::course::Growing;
use record::schema::{Event, RunInfo};

use super::Page;
use super::run::{RunDocument, examples, head, phases, steps};

/// What the page of a run that goes on is made of.
#[derive(Debug)]
pub struct LiveReport<'a> {
    /// What runs.
    pub info: &'a RunInfo,
    /// What it did so far.
    pub growing: &'a Growing,
    /// The first errors.
    pub events: &'a [Event],
    /// Whether it is being stopped.
    pub interrupted: bool,
}

impl Page {
    /// The page of a run that goes on.
    pub fn live(report: &LiveReport<'_>, throng: &str) -> Page {
        let LiveReport { info, growing, .. } = *report;
        let verdict = if report.interrupted {
            "stopping"
        } else {
            "running"
        };
        let measures = growing.measures();
        let (steps, steps_left_out) = steps(&measures, &[]);
        let document = RunDocument {
            run: head(info, growing.ended_ns()),
            verdict,
            missing: &[],
            findings: &[],
            thresholds: &[],
            users: growing.users(),
            health: None,
            phases: phases(info, &[]),
            steps,
            steps_left_out,
            course: &growing.course(),
            examples: examples(report.events),
            regions: Vec::new(),
        };
        let title = format!("{}: {verdict} · Throng", info.name);
        Page::new(title, Vec::new(), "run", throng, document)
    }
}
