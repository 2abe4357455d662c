//! The document of a run in progress: that of a run, so far.

use judge::course::LiveRun;
use judge::totals::Totals;
use plan::Threshold;

use super::Page;
use super::run::{RunDocument, RunReport, RunVerdict};

/// The content of the page of a run in progress.
#[derive(Debug)]
pub struct LiveReport<'a> {
    /// The seconds so far.
    pub live_run: &'a LiveRun,
    /// Thresholds that must hold at the end.
    pub thresholds: &'a [Threshold],
    /// Whether it is being stopped.
    pub interrupted: bool,
    /// Whether arrivals are paused.
    pub paused: bool,
}

impl Page {
    /// The page of a run in progress. Thresholds and findings cover what has been measured so far.
    pub fn live(report: &LiveReport<'_>, throng: &str) -> Page {
        let LiveReport { live_run, .. } = *report;
        let info = live_run.info();
        let verdict = match (report.interrupted, report.paused) {
            (true, _) => RunVerdict::Stopping,
            (false, true) => RunVerdict::Paused,
            (false, false) => RunVerdict::Running,
        };
        let summary = live_run.judge(report.thresholds);
        let course = live_run.course(&summary);
        let so_far = RunReport {
            info,
            summary: &summary,
            course: &course,
            events: live_run.events(),
            missing: &[],
            import: None,
        };
        let totals = Totals::of(&summary);
        let document = RunDocument::new(&so_far, verdict, totals, live_run.ended_ns());
        let title = format!("{}: {} · Throng", info.name, verdict.name());
        Page::new(title, Vec::new(), throng, &document)
    }
}
