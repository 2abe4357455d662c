//! The verdict of a run as text: first what broke, when and for whom; then who was the limit; all else on request.

mod broken;
mod steps;

use judge::course::Course;
use judge::totals::Totals;
use record::schema::{
    Finding, IMPORTED_MODE, MeasureInfo, MeasureSummary, RunInfo, Severity, Summary,
    ThresholdResult, UsersSummary, Verdict,
};

use crate::findings::{FindingPlace, place};
use crate::intervals;
use crate::metrics;
use crate::style::{COLUMNS, INDENT, Line, Style, Tone, wrap};
use crate::table::Table;
use crate::times::response_times;

pub(crate) use broken::{failure, seen, sentence};
pub(crate) use steps::{rows, share};

/// Characters of the names at the foot.
const FOOT_COLUMNS: usize = 11;
/// The value of a threshold stands below it where it had fewer characters than this beside it.
const VALUE_COLUMNS_MIN: usize = 24;
/// Columns of the table of all percentiles that are left out in this order where it is too wide.
const DROPPED: &[&str] = &["p98", "mean", "p99.9", "p90", "completed", "p95", "max", "count"];

/// The end of a run.
#[derive(Debug, Clone, Copy)]
pub struct VerdictText<'a> {
    /// The figures and findings.
    pub summary: &'a Summary,
    /// The run.
    pub info: &'a RunInfo,
    /// The directory of the record.
    pub directory: &'a str,
    /// The run over time, of which each step has a small line; `None` where it is not known.
    pub course: Option<&'a Course>,
    /// Everything is shown, not only what a reader wants first.
    pub full: bool,
    /// Characters of a line.
    pub columns: usize,
}

/// The text that ends a run: the verdict and its reasons, thresholds, what broke, the steps, and who was the limit. In
/// full, the figures by tag, region and phase, the intervals of percentiles, all findings and the generator follow. Lines
/// end with `\n`, and have as many characters as they may, paths aside.
pub fn verdict(text: &VerdictText<'_>, style: Style) -> String {
    let VerdictText { summary, columns, full, .. } = *text;
    let mut sections = vec![headline(text, style)];
    let (reasons, others): (Vec<&Finding>, Vec<&Finding>) =
        summary.findings.iter().partition(|finding| is_reason(finding, summary));
    sections.push(findings(reasons.into_iter(), columns, style));
    sections.push(thresholds(&summary.thresholds, columns, style));
    sections.push(broken::errors(summary, full, columns, style));
    sections.push(broken::incidents(&summary.incidents, full, columns, style));
    let at = |wanted: FindingPlace| {
        let others = others.iter().copied();
        others.filter(move |finding| place(finding, summary) == wanted)
    };
    sections.push(findings(at(FindingPlace::Broke), columns, style));
    sections.push(steps::steps(text, style));
    sections.push(metrics::lines(&summary.metrics, columns, style));
    let more = at(FindingPlace::More).filter(|_| full);
    sections.push(findings(at(FindingPlace::Limit).chain(more), columns, style));
    if full {
        sections.push(figures(text).render(columns, style));
        sections.push(intervals::lines(summary, columns, style));
    }
    sections.push(foot(text, style));
    let sections = sections.into_iter().filter(|lines| !lines.is_empty());
    let sections: Vec<String> = sections.map(|lines| lines.join("\n") + "\n").collect();
    sections.join("\n")
}

/// True if the run is not trusted or has failed for this finding.
pub(crate) fn is_reason(finding: &Finding, summary: &Summary) -> bool {
    finding.severity == Severity::Fatal || summary.failing().any(|one| one == finding)
}

fn headline(text: &VerdictText<'_>, style: Style) -> Vec<String> {
    let VerdictText { summary, info, columns, .. } = *text;
    let is_imported = info.generator.mode == IMPORTED_MODE;
    let (tone, word) = match summary.verdict {
        Verdict::Measured if is_imported => (Tone::Strong, "IMPORTED"),
        Verdict::Measured => (Tone::Strong, "MEASURED"),
        Verdict::Passed => (Tone::Good, "PASSED"),
        Verdict::Failed => (Tone::Bad, "FAILED"),
        Verdict::Untrusted => (Tone::Bad, "UNTRUSTED"),
    };
    let ended_ns = match info.ended_ns {
        0 => summary.phases.last().map_or(0, |phase| phase.end_ns),
        ended_ns => ended_ns,
    };
    let of_what = match is_imported {
        true => info.target.clone(),
        false => format!("{} in {}, seed {}", info.target, units::span(ended_ns), info.seed),
    };
    let line = Line::default().tone(tone, word).text(INDENT);
    let line = line.tone(Tone::Strong, summary.name.clone());
    let used = [word, INDENT, &summary.name, INDENT].map(|part| part.chars().count());
    if used.iter().sum::<usize>() + of_what.chars().count() <= columns {
        return vec![line.text(INDENT).text(of_what).render(columns, style)];
    }
    let below = wrap(&of_what, columns.saturating_sub(INDENT.len())).into_iter();
    let below = below.map(|part| Line::default().text(INDENT).text(part).render(columns, style));
    [line.render(columns, style)].into_iter().chain(below).collect()
}

fn findings<'a>(
    findings: impl Iterator<Item = &'a Finding>,
    columns: usize,
    style: Style,
) -> Vec<String> {
    findings.flat_map(|finding| wrapped_finding(finding, columns, style)).collect()
}

/// A finding with its mark, wrapped.
pub fn finding_lines(finding: &Finding, style: Style) -> Vec<String> {
    wrapped_finding(finding, COLUMNS, style)
}

/// A finding with its mark, in lines of at most this many characters.
pub(crate) fn wrapped_finding(finding: &Finding, columns: usize, style: Style) -> Vec<String> {
    let (tone, unicode, ascii) = match finding.severity {
        Severity::Good => (Tone::Good, "✓", "+"),
        Severity::Note => (Tone::Dim, "·", "-"),
        Severity::Warning => (Tone::Warning, "!", "!"),
        Severity::Fatal => (Tone::Bad, "✗", "x"),
    };
    let mark = style.pick(unicode, ascii);
    // A word says the severity, too, not only colour and mark.
    let word = match finding.severity {
        Severity::Good | Severity::Note => "",
        Severity::Warning => "warning: ",
        Severity::Fatal => "fatal: ",
    };
    marked(tone, mark, &format!("{word}{}", finding.text), columns, style)
}

/// A text behind a mark, wrapped.
fn marked(tone: Tone, mark: &str, text: &str, columns: usize, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    for part in wrap(text, columns.saturating_sub(4)) {
        let line = Line::default().text(INDENT);
        let line = if lines.is_empty() { line.tone(tone, mark).text(" ") } else { line.text("  ") };
        lines.push(line.text(part).render(columns, style));
    }
    lines
}

fn heading(text: &str, columns: usize, style: Style) -> String {
    Line::default().tone(Tone::Dim, text).render(columns, style)
}

/// The thresholds; those that failed stand first.
fn thresholds(results: &[ThresholdResult], columns: usize, style: Style) -> Vec<String> {
    if results.is_empty() {
        return Vec::new();
    }
    let width = results.iter().map(|t| t.text.chars().count()).max().unwrap_or(0);
    let mut lines = vec![heading("thresholds", columns, style)];
    let (passed, failed): (Vec<_>, Vec<_>) = results.iter().partition(|result| result.passed);
    for result in failed.into_iter().chain(passed) {
        let (tone, mark) = match result.passed {
            true => (Tone::Good, style.pick("✓ ok    ", "+ ok    ")),
            false => (Tone::Bad, style.pick("✗ FAILED", "x FAILED")),
        };
        let interval = intervals::of_threshold(result, style);
        let value = format!("{}{interval}", result.shown);
        let line = Line::default().text(INDENT).tone(tone, mark).text(INDENT);
        let start = 2 * INDENT.len() + mark.chars().count();
        let value_start = start + width + INDENT.len();
        let room = columns.saturating_sub(value_start);
        if room >= VALUE_COLUMNS_MIN.min(value.chars().count()) {
            let mut parts = wrap(&value, room).into_iter();
            let first = parts.next().unwrap_or_default();
            let text = format!("{:<width$}{INDENT}{first}", result.text);
            lines.push(line.text(text).render(columns, style));
            let below = parts.map(|part| format!("{}{part}", " ".repeat(value_start)));
            lines.extend(below.map(|text| Line::default().text(text).render(columns, style)));
            continue;
        }
        let parts = wrap(&result.text, columns.saturating_sub(start)).into_iter();
        let parts = parts.chain(wrap(&value, columns.saturating_sub(start)));
        for (number, part) in parts.enumerate() {
            let line = match number {
                0 => line.clone(),
                _ => Line::default().text(" ".repeat(start)),
            };
            lines.push(line.text(part).render(columns, style));
        }
    }
    lines
}

/// All measures of the run, their sums by tag, then the measures of each phase. Of a run with regions: those over all
/// regions, and then by region.
fn figures(text: &VerdictText<'_>) -> Table {
    let VerdictText { summary, info, .. } = *text;
    let mut table = Table::new(&[
        "response",
        "count",
        "completed",
        "failed",
        "mean",
        "p50",
        "p90",
        "p95",
        "p98",
        "p99",
        "p99.9",
        "max",
    ])
    .dropping(DROPPED);
    for measure in summary.over_regions() {
        table.row(cells(measure));
    }
    if !summary.tags.is_empty() {
        let line = Line::default().tone(Tone::Strong, "by tag");
        table.section(line.tone(Tone::Dim, "  requests and handshakes, taken as one"));
        for tag in &summary.tags {
            table.row(cells(&tag.figures));
        }
    }
    if summary.regions.len() > 1 {
        by_region(&mut table, summary, info);
    }
    if summary.phases.len() > 1 {
        for phase in &summary.phases {
            let times =
                format!("  {} to {}", units::span(phase.start_ns), units::span(phase.end_ns));
            let line = Line::default().text("phase ").tone(Tone::Strong, phase.name.clone());
            let users = format!(", {} started", units::counted(phase.users_started, "user"));
            table.section(line.tone(Tone::Dim, times + &users));
            for measure in phase.over_regions() {
                table.row(cells(measure));
            }
        }
    }
    table
}

/// The measures of each region, under a line with its users.
fn by_region(table: &mut Table, summary: &Summary, info: &RunInfo) {
    for region in &summary.regions {
        let users = &region.users;
        let text = format!(
            "  {} of the users: {} started, {} connected{}",
            units::percent(region.share),
            units::count(users.started),
            units::count(users.connected),
            match users.failed + users.stopped {
                0 => String::new(),
                failed => format!(", {} failed", units::count(failed)),
            }
        );
        let line = Line::default().text("region ");
        let line = line.tone(Tone::Strong, region.name.clone());
        table.section(line.tone(Tone::Dim, text));
        for (name, measure) in of_region(summary, info, &region.name) {
            table.row(cells(&MeasureSummary { name, ..measure.clone() }));
        }
    }
}

/// The measures of a region, and their names over all regions.
pub(crate) fn of_region<'a>(
    summary: &'a Summary,
    info: &'a RunInfo,
    region: &'a str,
) -> impl Iterator<Item = (String, &'a MeasureSummary)> {
    let of =
        move |measure: &&MeasureInfo| measure.tags.get("region").is_some_and(|own| own == region);
    let own = info.measures.iter().filter(of);
    own.filter_map(|info| {
        let mut all = summary.measures.iter();
        let measure = all.find(|measure| measure.name == info.name)?;
        Some((info.over_regions(), measure))
    })
}

fn cells(measure: &MeasureSummary) -> Vec<(Option<Tone>, String)> {
    let failed = (measure.errors > 0).then_some(Tone::Bad);
    let mut cells = vec![
        (None, format!("{INDENT}{}", measure.name)),
        (None, units::count(measure.count)),
        (None, rate(measure)),
        (failed, units::count(measure.errors)),
    ];
    cells.extend(response_times(measure).into_iter().map(|time| (None, time)));
    cells
}

/// Completed operations per second; none if it is not known when that was.
pub(crate) fn rate(measure: &MeasureSummary) -> String {
    match measure.completed > 0 && measure.rate_per_s == 0.0 {
        true => "–".to_owned(),
        false => units::rate(measure.rate_per_s),
    }
}

/// Sessions that did not finish, by how they ended, and users that had none. Those that a limit of the generator stopped
/// have failed, as in `failed(sessions)`.
pub(crate) fn others(users: &UsersSummary) -> String {
    let failed = match users.stopped {
        0 => "failed".to_owned(),
        stopped => {
            format!("failed ({} stopped)", units::count(stopped))
        }
    };
    let ends = [
        (users.failed + users.stopped, failed.as_str()),
        (users.cut_off, "cut off"),
        (users.lost, "lost"),
        (users.unstarted, "due and not started"),
    ];
    let ends = ends.into_iter().filter(|&(count, _)| count > 0);
    ends.map(|(count, end)| format!(", {} {end}", units::count(count))).collect()
}

/// Users that started, and how many the plan has; of random arrivals it has an expectation.
fn started(users: &UsersSummary, info: &RunInfo) -> String {
    let started = units::count(users.started);
    let planned = units::about(users.planned);
    match info.phases.iter().any(|phase| phase.kind == "poisson") {
        true => format!("{started} started ({planned} expected)"),
        false => format!("{started} of {planned} planned started"),
    }
}

/// The operations of steps: how many were offered, begun and completed by second, how many failed, and how many neither
/// succeeded nor failed. `None` if the record does not say.
pub(crate) fn rates(summary: &Summary) -> Option<String> {
    let totals = Totals::of(summary);
    let rates = [
        ("offered", totals.offered_per_s),
        ("begun", totals.begun_per_s),
        ("completed", totals.completed_per_s),
    ];
    let known = rates.iter().filter_map(|(name, rate)| {
        let rate = rate.as_ref()?;
        Some(format!("{name} {}", units::rate(rate.0)))
    });
    let known: Vec<String> = known.collect();
    let failed = match (totals.errors, &totals.error_share) {
        (0, _) | (_, None) => "; none failed".to_owned(),
        (errors, Some(share)) => {
            format!("; failed {} ({})", units::count(errors), units::share(share.0))
        }
    };
    let unfinished = match totals.unfinished {
        0 => String::new(),
        n => format!("; {} unfinished", units::count(n)),
    };
    (!known.is_empty()).then(|| known.join(", ") + &failed + &unfinished)
}

fn foot(text: &VerdictText<'_>, style: Style) -> Vec<String> {
    let VerdictText { summary, info, directory, full, columns, .. } = *text;
    let name = |name: &str| Line::default().tone(Tone::Dim, format!("{name:<FOOT_COLUMNS$}"));
    let wrapped = |title: &str, text: &str| {
        let parts = wrap(text, columns.saturating_sub(FOOT_COLUMNS)).into_iter().enumerate();
        let lines = parts.map(|(number, part)| {
            let line = name(if number == 0 { title } else { "" });
            line.text(part).render(columns, style)
        });
        lines.collect::<Vec<String>>()
    };
    // A path is not cut, so that it can be copied.
    let path = |title: &str, tone: Option<Tone>, text: String| {
        name(title).maybe(tone, text).render(usize::MAX, style)
    };
    let mut lines = Vec::new();
    // Nothing is known of the users and the generator of imported samples.
    if info.generator.mode != IMPORTED_MODE {
        lines.extend(wrapped("users", &users(summary, info)));
        lines.extend(rates(summary).iter().flat_map(|rates| wrapped("operations", rates)));
        if full {
            lines.extend(wrapped("generator", &generator(summary)));
        }
    }
    lines.push(path("record", None, directory.to_owned()));
    if !full {
        lines.push(path("all else", Some(Tone::Dim), format!("throng show {directory} --full")));
    }
    lines
}

fn users(summary: &Summary, info: &RunInfo) -> String {
    let users = &summary.users;
    format!(
        "{}, {} connected, {} refused{}{}; peak {}",
        started(users, info),
        units::count(users.connected),
        units::count(users.refused),
        match users.sessions > users.started {
            // A closed population starts several sessions per user.
            true => format!(
                ", {}, {} finished",
                units::counted(users.sessions, "session"),
                units::count(users.finished)
            ),
            false => format!(", {} finished", units::count(users.finished)),
        },
        others(users),
        units::count(users.peak),
    )
}

fn generator(summary: &Summary) -> String {
    let health = &summary.health;
    let ns = |ns: u64| units::duration(ns as f64);
    format!(
        "lag p50 {}, p99 {}, max {}; busiest loop {} of a core, max {}; CPU {}; {}",
        ns(health.lag_p50_ns),
        ns(health.lag_p99_ns),
        ns(health.lag_max_ns),
        units::percent(health.loop_busy_mean),
        units::percent(health.loop_busy_max),
        ns(health.cpu_process_ns),
        units::bytes(health.rss_peak_bytes),
    )
}

#[cfg(test)]
mod tests;
