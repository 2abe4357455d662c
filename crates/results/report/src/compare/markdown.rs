//! A comparison as Markdown for a pull request: the verdict, a table, findings, all figures folded.

use compare::{Acceptance, ComparedMeasure, Comparison, Figure, Rule, Verdict, p_value, shown};

use super::{OF_RUNS_AND_WINDOWS, difference_title, label, relative, rule, signed, subject};
use crate::markdown::{findings, plain};

/// The comparison as GitHub-flavoured Markdown.
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let mut text = format!(
        "## {} {}\n\n{}.\n\n",
        mark(comparison.verdict),
        sentence(comparison.verdict.name()),
        sentence(&subject(comparison))
    );
    text += &overview(comparison);
    text += "\n";
    text += &findings(&comparison.findings);
    if comparison.rule.is_some() {
        text += &all_figures(comparison);
    }
    text += &format!("\nDecided by {}.\n", plain(&rule(comparison)));
    if comparison.rule == Some(Rule::Windows) {
        text += &format!("{}.\n", sentence(OF_RUNS_AND_WINDOWS));
    }
    for run in &comparison.runs {
        text += &format!("- {}: {}\n", run.label, plain(&run.directory));
    }
    text
}

/// A line for each measure: what a reviewer reads.
fn overview(comparison: &Comparison) -> String {
    let quantiles = &comparison.options.quantiles;
    let mut header = vec!["measure".to_owned(), "verdict".to_owned()];
    if comparison.rule.is_some() {
        header.push("mean".to_owned());
        header.extend(quantiles.iter().map(|&q| Figure::Quantile(q).name()));
    }
    let mut text = format!("| {} |\n|{}\n", header.join(" | "), " --- |".repeat(header.len()));
    for measure in &comparison.measures {
        let mut cells = vec![
            plain(&measure.name),
            format!("{} {}", mark(measure.verdict), plain(&measure.text)),
        ];
        if comparison.rule.is_some() {
            let times =
                std::iter::once(Figure::Mean).chain(quantiles.iter().map(|&q| Figure::Quantile(q)));
            cells.extend(times.map(|figure| moved(measure, figure)));
        }
        text += &format!("| {} |\n", cells.join(" | "));
    }
    text
}

/// `12.0 ms → 15.0 ms`, bold if it counts.
fn moved(measure: &ComparedMeasure, figure: Figure) -> String {
    let change = measure.changes.iter().find(|change| change.figure == figure);
    let Some((change, from, to)) =
        change.and_then(|change| Some((change, change.baseline?, change.candidate?)))
    else {
        return "–".to_owned();
    };
    let text = format!("{} → {}", shown(figure, from), shown(figure, to));
    if change.counts { format!("**{text}**") } else { text }
}

fn all_figures(comparison: &Comparison) -> String {
    let confidence = units::percent(1.0 - comparison.options.alpha);
    let difference = difference_title(comparison);
    let mut text = format!(
        "\n<details><summary>All figures</summary>\n\n| measure | figure | baseline | candidate | \
         {difference} | {confidence} interval | change | p |\n|{}\n",
        " --- |".repeat(8)
    );
    for measure in &comparison.measures {
        for change in &measure.changes {
            let of = |value: Option<f64>| {
                value.map_or("–".to_owned(), |value| shown(change.figure, value))
            };
            let interval = change.interval.map_or("–".to_owned(), |(low, high)| {
                format!("{} to {}", signed(change.figure, low), signed(change.figure, high))
            });
            let cells = [
                plain(&measure.name),
                label(change.figure),
                of(change.baseline),
                of(change.candidate),
                signed(change.figure, change.difference),
                interval,
                relative(change),
                p_value(change.p_adjusted),
            ];
            text += &format!("| {} |\n", cells.join(" | "));
        }
    }
    text + "\n</details>\n"
}

fn mark(verdict: Verdict) -> &'static str {
    match verdict.acceptance() {
        Acceptance::Accepted => "✅",
        Acceptance::Rejected => "❌",
        Acceptance::Undecided => "⚠️",
    }
}

/// The text with a capital first letter.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().collect::<String>() + chars.as_str(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_begin_with_a_capital() {
        assert_eq!(sentence("no difference seen"), "No difference seen");
    }
}
