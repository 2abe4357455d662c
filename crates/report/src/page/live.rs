//! The document of a run that goes on: a run's, as things stand now.

use judge::course::Growing;
use plan::Threshold;

use super::Page;
use super::run::{RunDocument, RunReport};

/// What the page of a run that goes on is made of.
#[derive(Debug)]
pub struct LiveReport<'a> {
    /// What it did so far.
    pub growing: &'a Growing,
    /// What has to hold at its end.
    pub thresholds: &'a [Threshold],
    /// Whether it is being stopped.
    pub interrupted: bool,
    /// Whether arrivals are paused.
    pub paused: bool,
}

impl Page {
    /// The page of a run that goes on. Thresholds and findings are those of what was measured so far.
    pub fn live(report: &LiveReport<'_>, throng: &str) -> Page {
        let LiveReport { growing, .. } = *report;
        let info = growing.info();
        let verdict = match (report.interrupted, report.paused) {
            (true, _) => "stopping",
            (false, true) => "paused",
            (false, false) => "running",
        };
        let (summary, course) = (growing.judge(report.thresholds), growing.course());
        let so_far = RunReport {
            info,
            summary: &summary,
            course: &course,
            events: growing.events(),
            missing: &[],
            import: None,
        };
        let document = RunDocument::of(&so_far, verdict, growing.ended_ns());
        let title = format!("{}: {verdict} · Throng", info.name);
        Page::new(title, Vec::new(), "run", throng, document)
    }
}
