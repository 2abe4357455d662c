//! A comparison as text: the verdict, findings, changes by measure, groups of runs.

mod junit;
mod markdown;

use compare::{
    Acceptance, AllOperations, Change, ComparedMeasure, Comparison, Evidence, Figure, Rule, Side,
    Similarity, Verdict, labels, p_value, percent, shown,
};

use crate::style::{Line, Style, Tone, wrap};
use crate::table::Table;
use crate::verdict::{COLUMNS, finding_lines};

pub use junit::comparison_junit;
pub use markdown::comparison_markdown;

/// Indent of the details below a measure's table.
const DETAIL: usize = 15;
/// Most runs with failures whose times of all operations are listed.
const FAILED_MAX: usize = 6;

/// Legend of the columns if single runs are compared.
const OF_RUNS_AND_WINDOWS: &str =
    "baseline and candidate are figures of the complete runs, all others of windows";

/// The comparison for a terminal. Lines end with `\n` and have at most 120 characters, long names
/// and lists of runs aside.
pub fn comparison(comparison: &Comparison, style: Style) -> String {
    let mut lines = vec![headline(comparison).render(COLUMNS, style), String::new()];
    for finding in &comparison.findings {
        lines.extend(finding_lines(finding, style));
    }
    lines.push(String::new());
    lines.extend(figures(comparison).render(COLUMNS, style));
    lines.push(String::new());
    lines.extend(foot(comparison).iter().map(|line| line.render(usize::MAX, style)));
    lines.into_iter().fold(String::new(), |text, line| text + &line + "\n")
}

fn headline(comparison: &Comparison) -> Line {
    let verdict = comparison.verdict;
    let tone = tone_of(verdict);
    Line::default()
        .tone(tone, verdict.name().to_uppercase())
        .text(format!("  {}", subject(comparison)))
}

/// The sides of the comparison, and its strictness.
fn subject(comparison: &Comparison) -> String {
    let count = |side: Side| comparison.runs.iter().filter(|run| run.side == side).count() as u64;
    let options = &comparison.options;
    let runs = match count(Side::Baseline) {
        0 => format!("{} with each other", units::counted(count(Side::Candidate), "run")),
        baselines => format!(
            "{} against {} of the baseline",
            units::counted(count(Side::Candidate), "run"),
            units::count(baselines)
        ),
    };
    let mut text = format!(
        "{runs}, {} times, level {}, tolerance {}",
        options.time.name(),
        percent(options.alpha),
        percent(options.tolerance)
    );
    if let Some(phase) = &options.phase {
        text += &format!(", phase {phase}");
    }
    if options.skip_ns > 0 {
        text += &format!(", without the first {}", units::span(options.skip_ns));
    }
    text
}

fn tone_of(verdict: Verdict) -> Tone {
    match verdict.acceptance() {
        Acceptance::Accepted => Tone::Good,
        Acceptance::Rejected => Tone::Bad,
        Acceptance::Undecided => Tone::Warning,
    }
}

fn figures(comparison: &Comparison) -> Table {
    let confidence = format!("{} interval", percent(1.0 - comparison.options.alpha));
    if comparison.rule.is_none() {
        return figures_of_runs(comparison);
    }
    let mut table = Table::new(&[
        "",
        "baseline",
        "candidate",
        difference_title(comparison),
        &confidence,
        "change",
        "p",
    ]);
    for measure in &comparison.measures {
        table.section(title(measure));
        for change in &measure.changes {
            table.row(change_cells(change));
        }
        for line in details(measure, comparison) {
            table.section(line);
        }
    }
    table
}

/// Title of the column of differences.
fn difference_title(comparison: &Comparison) -> &'static str {
    match comparison.rule {
        Some(Rule::Windows) => "windows differ by",
        _ => "difference",
    }
}

/// A measure's name, verdict and source.
fn title(measure: &ComparedMeasure) -> Line {
    let operations: u64 = measure.runs.iter().map(|run| run.count).sum();
    Line::default()
        .tone(Tone::Strong, measure.name.clone())
        .text("  ")
        .tone(tone_of(measure.verdict), measure.text.clone())
        .tone(Tone::Dim, format!("  {}", units::counted(operations, "operation")))
}

fn change_cells(change: &Change) -> Vec<(Option<Tone>, String)> {
    let tone = match (change.counts, change.seen) {
        (true, _) => Some(Tone::Strong),
        (false, true) => None,
        (false, false) => Some(Tone::Dim),
    };
    let of =
        |value: Option<f64>| value.map_or("–".to_owned(), |value| shown(change.figure, value));
    let cells = [
        format!("  {}", label(change.figure)),
        of(change.baseline),
        of(change.candidate),
        signed(change.figure, change.difference),
        interval(change).unwrap_or("–".to_owned()),
        relative(change),
        p_value(change.p_adjusted).replace("below ", "<"),
    ];
    cells.into_iter().map(|text| (tone, text)).collect()
}

/// The figures of each run, for a comparison without a baseline.
fn figures_of_runs(comparison: &Comparison) -> Table {
    let mut header = vec!["".to_owned(), "count".to_owned(), "rate".to_owned()];
    header.extend(["errors".to_owned(), "mean".to_owned()]);
    let quantiles = &comparison.options.quantiles;
    header.extend(quantiles.iter().map(|&q| Figure::Quantile(q).name()));
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut table = Table::new(&header);
    for measure in &comparison.measures {
        table.section(title(measure));
        for (run, figures) in comparison.runs.iter().zip(&measure.runs) {
            let missing = || "–".to_owned();
            let mut cells = vec![
                format!("  {}", run.label),
                units::count(figures.count),
                figures.rate.map_or_else(missing, units::rate),
                figures.error_rate.map_or_else(missing, units::share),
                figures.mean_ns.map_or_else(missing, units::duration),
            ];
            cells.extend((0..quantiles.len()).map(|index| {
                let quantile = figures.quantiles_ns.get(index);
                quantile.map_or_else(missing, |&ns| units::duration(ns))
            }));
            table.row(cells.into_iter().map(|text| (None, text)).collect());
        }
        for line in details(measure, comparison) {
            table.section(line);
        }
    }
    table
}

/// The lines below a measure's table.
fn details(measure: &ComparedMeasure, comparison: &Comparison) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut add = |name: &str, text: String| {
        for (number, part) in wrap(&text, COLUMNS - DETAIL).into_iter().enumerate() {
            let name = if number == 0 { name } else { "" };
            let name = format!("  {name:<width$}", width = DETAIL - 2);
            lines.push(Line::default().tone(Tone::Dim, name).text(part));
        }
    };
    let runs = comparison.runs.iter().zip(&measure.runs);
    let failed = runs.filter_map(|(run, figures)| Some((run, figures.all.as_ref()?)));
    for (run, all) in failed.clone().take(FAILED_MAX) {
        let name = format!("all of {}", run.label);
        add(&name, all_operations(all, &comparison.options.quantiles));
    }
    let more = failed.count().saturating_sub(FAILED_MAX);
    if more > 0 {
        add("", format!("and {} more, in the JSON", units::counted(more as u64, "run")));
    }
    if let Some(evidence) = &measure.evidence {
        add("pooled", pooled(evidence));
    }
    if let Some(similarity) = &measure.direct {
        add("groups", groups(similarity, comparison));
    }
    if let (Some(similarity), Some(bins)) = (&measure.published, measure.published_bins) {
        let bins = units::counted(bins, "bin");
        add("published", format!("{}, {bins}", groups(similarity, comparison)));
    }
    for modes in &measure.modes {
        let peaks: Vec<String> = modes
            .peaks
            .iter()
            .map(|peak| format!("{} ({})", units::duration(peak.at_ns), units::percent(peak.share)))
            .collect();
        let side = match (modes.side, comparison.rule) {
            (Side::Baseline, _) => "peaks before",
            (Side::Candidate, Some(_)) => "peaks now",
            (Side::Candidate, None) => "peaks",
        };
        add(side, peaks.join(", "));
    }
    lines
}

/// `p50 1.20 ms, p99 ≥ 10.0 s of 1,000 operations, failed ones included`.
fn all_operations(all: &AllOperations, quantiles: &[f64]) -> String {
    let found = all.quantiles_ns.iter().zip(&all.is_bound);
    let shown = quantiles.iter().zip(found).map(|(&q, (&ns, is_bound))| {
        let bound = if *is_bound { "≥ " } else { "" };
        let name = Figure::Quantile(q).name();
        format!("{name} {bound}{}", units::duration(ns as f64))
    });
    let shown: Vec<String> = shown.collect();
    format!(
        "{} of {}, failed ones included",
        shown.join(", "),
        units::counted(all.count, "operation")
    )
}

/// Tests on operations in one line.
fn pooled(evidence: &Evidence) -> String {
    let interval = evidence.shift_interval_ns.map_or(String::new(), |(low, high)| {
        format!(", {} to {}", signed(Figure::Mean, low), signed(Figure::Mean, high))
    });
    format!(
        "Kolmogorov–Smirnov distance {} (p {}), Anderson–Darling {} (p {}), Mann–Whitney p {}, \
         shift {}{interval}, Cliff's delta {}",
        units::share(evidence.ks.statistic),
        p_value(evidence.ks.p_adjusted),
        units::significant(evidence.ad.statistic, 3),
        p_value(evidence.ad.p_adjusted),
        p_value(evidence.mann_whitney.p_adjusted),
        signed(Figure::Mean, evidence.shift_ns),
        units::significant(evidence.cliffs_delta, 2),
    )
}

/// `Kolmogorov–Smirnov {B1 B2} {C1 C2}; Anderson–Darling the same`.
fn groups(similarity: &Similarity, comparison: &Comparison) -> String {
    let shown = |cliques: &[Vec<usize>]| {
        let all: Vec<String> = cliques
            .iter()
            .map(|clique| format!("{{{}}}", labels(clique, &comparison.runs)))
            .collect();
        all.join(" ")
    };
    let ks = &similarity.ks_cliques;
    let ad = &similarity.ad_cliques;
    let ad = if ks == ad { "the same".to_owned() } else { shown(ad) };
    let cut = if similarity.cut_off { "; the list is incomplete" } else { "" };
    format!("Kolmogorov–Smirnov {}; Anderson–Darling {ad}{cut}", shown(ks))
}

fn foot(comparison: &Comparison) -> Vec<Line> {
    let line = |name: &str, text: String| {
        Line::default().tone(Tone::Dim, format!("{name:<11}")).text(text)
    };
    let mut lines = vec![line("decided by", rule(comparison))];
    if comparison.rule == Some(Rule::Windows) {
        lines.push(line("columns", OF_RUNS_AND_WINDOWS.to_owned()));
    }
    for run in &comparison.runs {
        let time = match run.timed {
            true => format!("{} of ", units::span((run.seconds * 1e9) as u64)),
            false => String::new(),
        };
        let text = format!(
            "{}, {time}{}{}",
            run.directory,
            run.target,
            if run.trusted { "" } else { ", untrusted" }
        );
        lines.push(line(&run.label, text));
    }
    lines
}

/// The rule of the decision, and the number of tests it was corrected for.
fn rule(comparison: &Comparison) -> String {
    let figures: usize = comparison.measures.iter().map(|m| m.changes.len()).sum();
    let figures = units::counted(figures as u64, "figure");
    match comparison.rule {
        Some(Rule::Permutation) => format!(
            "permutation of runs, corrected for {figures} at once (max-T, Westfall and Young)"
        ),
        Some(Rule::Student) => format!("Student's t over runs, {figures} corrected by Holm"),
        Some(Rule::Windows) => format!(
            "permutation of paired windows of single runs, corrected for {figures} at once (max-T)"
        ),
        None => format!(
            "tests of all pairs on independent operations, corrected by {}",
            comparison.options.correction.name()
        ),
    }
}

/// `mean`, `p99`, `rate`, `errors`, `shape`.
fn label(figure: Figure) -> String {
    match figure {
        Figure::ErrorRate => "errors".to_owned(),
        figure => figure.name(),
    }
}

/// The change as a share; for a shape that of the quantile with the largest change.
fn relative(change: &Change) -> String {
    match (change.figure, change.relative) {
        (_, None) => "–".to_owned(),
        (Figure::Shape, Some(share)) => format!("up to {}", signed_percent(share)),
        (_, Some(share)) => signed_percent(share),
    }
}

/// The interval of a change's difference: `-1.20 ms to +3.00 ms`.
pub(crate) fn interval(change: &Change) -> Option<String> {
    let (low, high) = change.interval?;
    let signed = |value| signed(change.figure, value);
    Some(format!("{} to {}", signed(low), signed(high)))
}

/// A value with its sign; zero and distances have none.
pub(crate) fn signed(figure: Figure, value: f64) -> String {
    let text = shown(figure, value.abs());
    if figure == Figure::Shape {
        return text;
    }
    match value {
        value if value > 0.0 => format!("+{text}"),
        value if value < 0.0 => format!("-{text}"),
        _ => text,
    }
}

fn signed_percent(share: f64) -> String {
    let text = percent(share.abs());
    match share {
        share if share > 0.0 => format!("+{text}"),
        share if share < 0.0 => format!("-{text}"),
        _ => text,
    }
}
