//! The analysis of a run as text: findings, figures after the warm-up, trends, incidents, outages.

use judge::analyze::{Analysis, Drift, MeasureParts, Outage};
use stats::mean::mean;

use crate::live::chart::sparkline;
use crate::style::{INDENT, Line, Style, Tone};
use crate::table::Table;
use crate::verdict::wrapped_finding;

/// Columns of a line of windows.
const CHART: usize = 40;
/// Most incidents that are listed.
const INCIDENTS_MAX: usize = 10;
/// Most outages that are listed.
const OUTAGES_MAX: usize = 10;

/// The analysis of a run as text. Lines end with `\n` and have at most `columns` characters; those that name the run may
/// have more.
pub fn analysis(analysis: &Analysis, directory: &str, columns: usize, style: Style) -> String {
    let mut lines = vec![headline(analysis).render(usize::MAX, style), String::new()];
    for finding in &analysis.findings {
        lines.extend(wrapped_finding(finding, columns, style));
    }
    let mut section = |part: Vec<String>| {
        if !part.is_empty() {
            lines.push(String::new());
            lines.extend(part);
        }
    };
    section(figures(analysis).render(columns, style));
    section(windows(analysis, style).render(columns, style));
    section(trends(analysis).map_or(Vec::new(), |table| table.render(columns, style)));
    section(incidents(analysis).map_or(Vec::new(), |table| table.render(columns, style)));
    section(outages(analysis).map_or(Vec::new(), |table| table.render(columns, style)));
    section(vec![
        Line::default().tone(Tone::Dim, "record     ").text(directory).render(usize::MAX, style),
    ]);
    lines.into_iter().fold(String::new(), |text, line| text + &line + "\n")
}

fn headline(analysis: &Analysis) -> Line {
    Line::default().tone(Tone::Strong, analysis.name.clone()).text(format!(
        "  {} to {} of {}, warm-up {}",
        units::span(analysis.start_ns),
        units::span(analysis.end_ns),
        analysis.id,
        units::span(analysis.warm_up.cut_ns)
    ))
}

/// Each measure without the warm-up, and its mean with it.
fn figures(analysis: &Analysis) -> Table {
    let mut table = Table::new(&[
        "after the warm-up",
        "count",
        "succeeded",
        "errors",
        "mean",
        "95 % from",
        "to",
        "p50",
        "p99",
        "max",
        "overall mean",
    ])
    .dropping(&["overall mean", "max", "count", "succeeded"]);
    for measure in &analysis.measures {
        table.row(cells(measure));
    }
    table
}

fn cells(measure: &MeasureParts) -> Vec<(Option<Tone>, String)> {
    let kept = &measure.kept;
    let answered = kept.count > 0;
    let time = |ns: f64| match answered {
        true => units::duration(ns),
        false => "–".to_owned(),
    };
    let bound = |of: fn(&judge::analyze::MeanEstimate) -> f64| match &measure.response {
        Some(known) => units::duration(of(known).max(0.0)),
        None => "–".to_owned(),
    };
    vec![
        (None, format!("{INDENT}{}", measure.name)),
        (None, units::count(kept.count + kept.errors)),
        (None, units::rate(kept.rate_per_s)),
        ((kept.errors > 0).then_some(Tone::Bad), units::count(kept.errors)),
        (None, time(kept.mean_ns)),
        (None, bound(|known| known.low)),
        (None, bound(|known| known.high)),
        (None, time(kept.p50_ns as f64)),
        (None, time(kept.p99_ns as f64)),
        (None, time(kept.max_ns as f64)),
        (
            Some(Tone::Dim),
            match measure.whole.count {
                0 => "–".to_owned(),
                _ => units::duration(measure.whole.mean_ns),
            },
        ),
    ]
}

/// A sparkline of windows for throughput and the mean response of each measure.
fn windows(analysis: &Analysis, style: Style) -> Table {
    let title = format!("windows of {}", units::span(analysis.window_ns));
    let mut table =
        Table::new(&[&title, "", "min", "mean", "max", "variation"]).dropping(&["min", "max"]);
    let mut row = |name: &str, values: &[f64], show: fn(f64) -> String, even: &_| {
        let Some(even): &Option<judge::analyze::Evenness> = even else {
            return;
        };
        table.row(vec![
            (None, format!("{INDENT}{name}")),
            (None, sparkline(&downsample(values), CHART, style)),
            (None, show(even.min)),
            (None, show(even.mean)),
            (None, show(even.max)),
            (None, units::share(even.variation)),
        ]);
    };
    let throughput = &analysis.throughput;
    row("throughput", &throughput.windows_per_s, units::rate, &throughput.rates);
    for measure in &analysis.measures {
        let means: Vec<f64> = measure.windows.iter().map(|part| part.mean_ns).collect();
        row(&measure.name, &means, units::duration, &measure.means);
    }
    table
}

/// At most as many values as the chart has columns, each a mean of neighbours.
fn downsample(values: &[f64]) -> Vec<f64> {
    let group = values.len().div_ceil(CHART).max(1);
    let means = values.chunks(group);
    means.map(mean).collect()
}

fn trends(analysis: &Analysis) -> Option<Table> {
    if analysis.trends.is_empty() {
        return None;
    }
    let mut table = Table::new(&["trend", "level", "change", "95 % from", "to", "p", "adjusted p"]);
    for drift in &analysis.trends {
        let tone = drift.is_shown.then_some(Tone::Warning);
        let sign = |value: f64| if value > 0.0 { "+" } else { "" };
        let change = |value: f64| (tone, format!("{}{}", sign(value), shown(drift, value)));
        let p = |p: f64| match p < 0.001 {
            true => (None, "< 0.001".to_owned()),
            false => (None, format!("{p:.3}")),
        };
        table.row(vec![
            (None, format!("{INDENT}{}", drift.name)),
            (None, shown(drift, drift.level)),
            change(drift.change),
            change(drift.change_low),
            change(drift.change_high),
            p(drift.p),
            p(drift.p_adjusted),
        ]);
    }
    Some(table)
}

/// A figure of a trend in its unit.
fn shown(drift: &Drift, value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    let size = value.abs();
    let text = match drift.unit {
        "per_s" => units::rate(size),
        "share" => units::share(size),
        "bytes" => units::bytes(size as u64),
        "ns" => units::duration(size),
        _ => units::significant(size, 3),
    };
    format!("{sign}{text}")
}

/// Each incident with its ends, and the step in it and outside of it.
fn incidents(analysis: &Analysis) -> Option<Table> {
    if analysis.incidents.is_empty() {
        return None;
    }
    let mut table = Table::new(&[
        "incident",
        "from",
        "to",
        "operations",
        "errors",
        "unanswered",
        "p50",
        "usual",
    ]);
    let time = |ns: Option<u64>| (None, ns.map_or("–".to_owned(), |ns| units::duration(ns as f64)));
    for incident in analysis.incidents.iter().take(INCIDENTS_MAX) {
        let name = match &incident.tag {
            Some(tag) => format!("{} ({tag})", incident.step),
            None => incident.step.clone(),
        };
        let end = match incident.to_the_end {
            true => "the end".to_owned(),
            false => units::span(incident.end_ns),
        };
        let during = &incident.during;
        let errors = (during.errors > 0).then_some(Tone::Bad);
        table.row(vec![
            (None, format!("{INDENT}{name}")),
            (None, units::span(incident.begin_ns)),
            (None, end),
            (None, units::count(during.operations)),
            (errors, units::count(during.errors)),
            (None, units::count(during.unanswered)),
            time(during.p50_ns),
            time(incident.usual.p50_ns),
        ]);
    }
    let more = analysis.incidents.len().saturating_sub(INCIDENTS_MAX);
    if more > 0 {
        table.section(Line::default().text(format!("{INDENT}and {more} more")));
    }
    Some(table)
}

fn outages(analysis: &Analysis) -> Option<Table> {
    let found = analysis.availability.as_ref().filter(|found| found.failures > 0)?;
    let mut table = Table::new(&["outage", "from", "to", "duration", "due", "failed"]);
    for (number, Outage { start_ns, end_ns, due, failed }) in
        found.outages.iter().take(OUTAGES_MAX).enumerate()
    {
        table.row(vec![
            (None, format!("{INDENT}{}", number + 1)),
            (None, units::span(*start_ns)),
            (None, units::span(*end_ns)),
            (None, units::span(end_ns - start_ns)),
            (None, units::count(*due)),
            (None, units::count(*failed)),
        ]);
    }
    let more = found.failures.saturating_sub(OUTAGES_MAX as u64);
    if more > 0 {
        table.section(Line::default().text(format!("{INDENT}and {} more", units::count(more))));
    }
    Some(table)
}

#[cfg(test)]
mod tests;
