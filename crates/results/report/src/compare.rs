//! A comparison as text: the decision, what changed, what failed; on request all figures, tests and runs.

mod first;
mod junit;
mod markdown;

use compare::{
    Acceptance, AllOperations, Change, ComparedMeasure, ComparedRun, Comparison, Detect, Evidence,
    Figure, Rule, Side, Similarity, Verdict, labels, p_value, percent, shown, signed_percent,
};

use crate::style::{Line, Style, Tone, wrap};
use crate::table::Table;
use crate::verdict::wrapped_finding;

pub use junit::comparison_junit;
pub use markdown::comparison_markdown;

pub(crate) use first::{change_of, failures_moved, interval_of_change, moved_by, trend};

/// Indent of the details below a measure's table.
const DETAIL: usize = 15;
/// Most runs with failures whose times of all operations are listed.
const FAILED_MAX: usize = 6;

/// Legend of the columns if single runs are compared.
const OF_RUNS_AND_WINDOWS: &str =
    "baseline and candidate are figures of the complete runs, all others of windows";

/// The comparison for a terminal; `full` with all figures, tests and runs. Lines end with `\n` and have at most `columns`
/// characters, long names and lists of runs aside.
pub fn comparison(comparison: &Comparison, full: bool, columns: usize, style: Style) -> String {
    let mut blocks = vec![
        first::caution(comparison, columns, style),
        headline(comparison, columns, style),
        first::changed(comparison, columns)
            .map_or(Vec::new(), |table| table.render(columns, style)),
        first::errors(comparison, full).map_or(Vec::new(), |table| table.render(columns, style)),
        first::remarks(comparison, columns, style),
    ];
    if full {
        blocks.push(
            comparison.notes().flat_map(|note| wrapped_finding(note, columns, style)).collect(),
        );
    }
    if full || comparison.rule.is_none() {
        blocks.push(figures(comparison, full, columns).render(columns, style));
    }
    let foot = if full { foot(comparison) } else { first::foot(comparison) };
    blocks.push(foot.iter().map(|line| line.render(usize::MAX, style)).collect());
    let mut text = String::new();
    for block in blocks.iter().filter(|block| !block.is_empty()) {
        // A blank line between two blocks.
        if !text.is_empty() {
            text.push('\n');
        }
        for line in block {
            text += line;
            text.push('\n');
        }
    }
    text
}

/// The verdict, the decision in one sentence, and what was compared.
fn headline(comparison: &Comparison, columns: usize, style: Style) -> Vec<String> {
    let verdict = comparison.verdict.name().to_uppercase();
    let indent = verdict.chars().count() + 2;
    let mut lines = Vec::new();
    for (number, part) in wrap(&comparison.sentence, columns - indent).into_iter().enumerate() {
        let line = match number {
            0 => Line::default().tone(tone_of(comparison.verdict), verdict.clone()).text("  "),
            _ => Line::default().text(" ".repeat(indent)),
        };
        lines.push(line.text(part).render(columns, style));
    }
    for part in wrap(&subject(comparison), columns) {
        lines.push(Line::default().tone(Tone::Dim, part).render(columns, style));
    }
    lines
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

/// All figures; `full` with the details of each measure.
fn figures(comparison: &Comparison, full: bool, columns: usize) -> Table {
    let confidence = format!("{} interval", percent(1.0 - comparison.options.alpha));
    if comparison.rule.is_none() {
        return figures_of_runs(comparison, full, columns);
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
        title(measure, columns).into_iter().for_each(|line| table.section(line));
        for change in &measure.changes {
            table.row(change_cells(change));
        }
        for line in details(measure, comparison, columns) {
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

/// A measure's name, verdict and source: in one line, if that is not longer than `columns`.
fn title(measure: &ComparedMeasure, columns: usize) -> Vec<Line> {
    let operations: u64 = measure.runs.iter().map(|run| run.count).sum();
    let source = units::counted(operations, "operation");
    let name = Line::default().tone(Tone::Strong, measure.name.clone());
    let tone = tone_of(measure.verdict);
    let texts = [&measure.name, &measure.text, &source];
    let width: usize = texts.iter().map(|text| text.chars().count() + 2).sum();
    if width - 2 <= columns {
        let text = measure.text.clone();
        return vec![name.text("  ").tone(tone, text).tone(Tone::Dim, format!("  {source}"))];
    }
    let mut lines = vec![name.tone(Tone::Dim, format!("  {source}"))];
    for part in wrap(&measure.text, columns - 4) {
        lines.push(Line::default().text("    ").tone(tone, part));
    }
    lines
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
        format!("  {}", change.label),
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
fn figures_of_runs(comparison: &Comparison, full: bool, columns: usize) -> Table {
    let mut header = vec!["".to_owned(), "succeeded".to_owned(), Figure::Rate.label()];
    header.extend(["errors".to_owned(), "mean".to_owned()]);
    let quantiles = &comparison.options.quantiles;
    header.extend(quantiles.iter().map(|&q| Figure::Quantile(q).name()));
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut table = Table::new(&header).dropping(&["mean", "succeeded"]);
    for measure in &comparison.measures {
        title(measure, columns).into_iter().for_each(|line| table.section(line));
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
        if full {
            for line in details(measure, comparison, columns) {
                table.section(line);
            }
        }
    }
    table
}

/// The lines below a measure's table.
fn details(measure: &ComparedMeasure, comparison: &Comparison, columns: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut add = |name: &str, text: String| {
        for (number, part) in wrap(&text, columns - DETAIL).into_iter().enumerate() {
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
    if let Some(detectable) = detectable(measure, comparison) {
        add("detectable", detectable);
    }
    if let Some(runs) = runs_needed(measure, comparison) {
        add("runs needed", runs);
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

/// The least difference of each figure that these runs and twice as many show: `mean 4.1 %, p99 18 %; with 10 + 10 runs
/// mean 2.7 %, p99 12 %`.
fn detectable(measure: &ComparedMeasure, comparison: &Comparison) -> Option<String> {
    let all = |share: fn(&Detect) -> Option<f64>| {
        let known = measure.detect.iter().filter_map(|one| Some((one.figure, share(one)?)));
        let shown = known.map(|(figure, share)| format!("{} {}", figure.label(), percent(share)));
        Some(shown.collect::<Vec<String>>().join(", ")).filter(|text| !text.is_empty())
    };
    let count = |side: Side| comparison.runs.iter().filter(|run| run.side == side).count();
    let [baseline, candidate] = [Side::Baseline, Side::Candidate].map(|side| 2 * count(side));
    let now = all(|one| one.share).unwrap_or("nothing".to_owned());
    let doubled = all(|one| one.share_doubled)?;
    Some(format!("from {now}; with {baseline} + {candidate} runs from {doubled}"))
}

/// How many runs a side show the difference that was requested: `for 5 %: mean 10, p99 49`.
fn runs_needed(measure: &ComparedMeasure, comparison: &Comparison) -> Option<String> {
    let needed = measure.detect.iter().map(|one| match one.runs {
        Some(runs) => format!("{} {}", one.figure.label(), units::count(runs)),
        None => format!("{} too many to count", one.figure.label()),
    });
    let needed: Vec<String> = needed.collect();
    let difference = percent(comparison.options.detect);
    (!needed.is_empty())
        .then(|| format!("on each side for a difference of {difference}: {}", needed.join(", ")))
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
    let mut lines = vec![line("decided by", rule(comparison))];
    if comparison.rule == Some(Rule::Windows) {
        lines.push(line("columns", OF_RUNS_AND_WINDOWS.to_owned()));
    }
    lines.extend(comparison.runs.iter().map(legend));
    lines
}

/// A line of the foot.
fn line(name: &str, text: String) -> Line {
    Line::default().tone(Tone::Dim, format!("{name:<11}")).text(text)
}

/// A run's label with its directory, its compared time and its target.
fn legend(run: &ComparedRun) -> Line {
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
    line(&run.label, text)
}

/// The rule of the decision, and the number of tests it was corrected for.
fn rule(comparison: &Comparison) -> String {
    let figures: usize = comparison.measures.iter().map(|m| m.changes.len()).sum();
    // The failures of single runs have no test in common with their windows.
    let failures = match comparison.rule {
        Some(Rule::Windows) | None => 0,
        Some(_) => comparison.errors.len(),
    };
    let figures = units::counted((figures + failures) as u64, "figure");
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
