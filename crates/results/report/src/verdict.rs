//! The verdict of a run as text: verdict, findings, thresholds, figures.

use judge::totals::Totals;
use record::schema::{
    Finding, IMPORTED_MODE, MeasureInfo, MeasureSummary, RunInfo, Severity, Summary,
    ThresholdResult, UsersSummary, Verdict,
};

use crate::intervals;
use crate::style::{Line, Style, Tone, wrap};
use crate::table::Table;
use crate::times::times;

/// The width of the text on any terminal.
pub const COLUMNS: usize = 120;
/// Indent of the lines below a heading.
pub const INDENT: &str = "  ";

/// The text that ends a run: the verdict, findings (the generator's health first), thresholds,
/// figures by step, by tag and, if there are several phases, by phase, users, health, and the directory of
/// the record. Lines end with `\n` and have at most 120 characters, long names aside.
pub fn verdict(summary: &Summary, info: &RunInfo, directory: &str, style: Style) -> String {
    let mut lines = vec![headline(summary, info).render(COLUMNS, style), String::new()];
    for finding in &summary.findings {
        lines.extend(finding_lines(finding, style));
    }
    if !summary.thresholds.is_empty() {
        lines.push(String::new());
        lines.extend(thresholds(&summary.thresholds, style));
    }
    lines.push(String::new());
    lines.extend(figures(summary, info).render(COLUMNS, style));
    let intervals = intervals::lines(summary, style);
    if !intervals.is_empty() {
        lines.push(String::new());
        lines.extend(intervals);
    }
    lines.push(String::new());
    lines.extend(foot(summary, info, directory).iter().map(|line| line.render(COLUMNS, style)));
    lines.into_iter().fold(String::new(), |text, line| text + &line + "\n")
}

fn headline(summary: &Summary, info: &RunInfo) -> Line {
    let is_imported = info.generator.mode == IMPORTED_MODE;
    let line = match summary.verdict {
        Verdict::Measured if is_imported => Line::default().tone(Tone::Strong, "IMPORTED"),
        Verdict::Measured => Line::default().tone(Tone::Strong, "MEASURED"),
        Verdict::Passed => Line::default().tone(Tone::Good, "PASSED"),
        Verdict::Failed => Line::default().tone(Tone::Bad, "FAILED"),
        Verdict::Untrusted => Line::default().tone(Tone::Bad, "UNTRUSTED"),
    };
    let ended_ns = match info.ended_ns {
        0 => summary.phases.last().map_or(0, |phase| phase.end_ns),
        ended_ns => ended_ns,
    };
    let line = line.text("  ").tone(Tone::Strong, summary.name.clone());
    if is_imported {
        return line.text(format!("  {}", info.target));
    }
    line.text(format!("  {} in {}, seed {}", info.target, units::span(ended_ns), info.seed))
}

/// A finding with its mark, wrapped.
pub fn finding_lines(finding: &Finding, style: Style) -> Vec<String> {
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
    let text = format!("{word}{}", finding.text);
    let mut lines = Vec::new();
    for part in wrap(&text, COLUMNS - 4) {
        let line = Line::default().text(INDENT);
        let line = if lines.is_empty() { line.tone(tone, mark).text(" ") } else { line.text("  ") };
        lines.push(line.text(part).render(COLUMNS, style));
    }
    lines
}

fn thresholds(results: &[ThresholdResult], style: Style) -> Vec<String> {
    let width = results.iter().map(|t| t.text.chars().count()).max().unwrap_or(0);
    let mut lines = vec![Line::default().tone(Tone::Dim, "thresholds").render(COLUMNS, style)];
    for result in results {
        let (tone, mark, word) = match result.passed {
            true => (Tone::Good, style.pick("✓", "+"), "ok    "),
            false => (Tone::Bad, style.pick("✗", "x"), "FAILED"),
        };
        let line = Line::default().text(INDENT).tone(tone, format!("{mark} {word}"));
        let interval = intervals::of_threshold(result, style);
        let value = format!("  {:<width$}  {}{interval}", result.text, result.shown);
        let line = line.text(value);
        lines.push(line.render(COLUMNS, style));
    }
    lines
}

/// All measures of the run, their sums by tag, then the measures of each phase. Of a run with regions: those over all
/// regions, and then by region.
fn figures(summary: &Summary, info: &RunInfo) -> Table {
    let mut table = Table::new(&[
        "response", "count", "rate", "errors", "mean", "p50", "p90", "p95", "p98", "p99", "p99.9",
        "max",
    ]);
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
    let none = || std::array::from_fn(|_| "–".to_owned());
    let times = measure.response.as_ref().map_or_else(none, times);
    cells.extend(times.into_iter().map(|time| (None, time)));
    cells
}

/// Completed operations per second; none if it is not known when that was.
fn rate(measure: &MeasureSummary) -> String {
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

/// The operations of steps by second: how many were offered, begun and completed, and how many neither succeeded nor
/// failed. `None` if the record does not say.
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
    let unfinished = match totals.unfinished {
        0 => String::new(),
        n => format!("; {} unfinished", units::count(n)),
    };
    (!known.is_empty()).then(|| known.join(", ") + &unfinished)
}

fn foot(summary: &Summary, info: &RunInfo, directory: &str) -> Vec<Line> {
    let users = &summary.users;
    let health = &summary.health;
    let line = |name: &str, text: String| {
        Line::default().tone(Tone::Dim, format!("{name:<11}")).text(text)
    };
    // Nothing is known of the users and the generator of imported samples.
    if info.generator.mode == IMPORTED_MODE {
        return vec![line("record", directory.to_owned())];
    }
    let ns = |ns: u64| units::duration(ns as f64);
    let rates = rates(summary).map(|rates| line("operations", rates));
    let mut lines = vec![
        line(
            "users",
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
            ),
        ),
        line(
            "generator",
            format!(
                "lag p50 {}, p99 {}, max {}; busiest loop {} of a core, max {}; CPU {}; {}",
                ns(health.lag_p50_ns),
                ns(health.lag_p99_ns),
                ns(health.lag_max_ns),
                units::percent(health.loop_busy_mean),
                units::percent(health.loop_busy_max),
                ns(health.cpu_process_ns),
                units::bytes(health.rss_peak_bytes),
            ),
        ),
        line("record", directory.to_owned()),
    ];
    lines.splice(1..1, rates);
    lines
}

#[cfg(test)]
mod tests;
