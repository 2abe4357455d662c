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
        let verdict = match (report.interrupted, report.paused) {
            (true, _) => RunVerdict::Stopping,
            (false, true) => RunVerdict::Paused,
            (false, false) => RunVerdict::Running,
        };
        let summary = live_run.judge(report.thresholds);
        let course = live_run.course(&summary);
        let so_far = RunReport {
            info: live_run.info(),
            summary: &summary,
            course: &course,
            events: live_run.events(),
            missing: &[],
            import: None,
        };
        in_progress(&so_far, verdict, live_run.ended_ns(), throng)
    }

    /// The page of a run in progress that is read from its record, which reaches to `ended_ns`.
    pub fn so_far(report: &RunReport<'_>, ended_ns: u64, throng: &str) -> Page {
        let pauses = judge::pauses::from_events(report.events);
        let is_paused = pauses.last().is_some_and(|pause| pause.until_ns.is_none());
        let verdict = if is_paused { RunVerdict::Paused } else { RunVerdict::Running };
        in_progress(report, verdict, ended_ns, throng)
    }
}

fn in_progress(report: &RunReport<'_>, verdict: RunVerdict, ended_ns: u64, throng: &str) -> Page {
    let totals = Totals::of(report.summary);
    let document = RunDocument::new(report, verdict, totals, ended_ns);
    let title = format!("{}: {} · Throng", report.info.name, verdict.name());
    Page::new(title, Vec::new(), throng, &document)
}
