//! A comparison as Markdown for a pull request: the decision, what changed, what failed; all figures, tests and runs folded.

use compare::{Acceptance, Comparison, Rule, Verdict, p_value, shown};
use record::schema::Finding;

use super::{
    OF_RUNS_AND_WINDOWS, change_of, difference_title, failures_moved, interval_of_change, moved_by,
    relative, rule, signed, subject, trend,
};
use crate::markdown::{findings, plain};

/// The comparison as GitHub-flavoured Markdown.
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let caution = comparison.caution.as_deref();
    let mut text =
        caution.map_or(String::new(), |text| format!("> ⚠️ {}.\n\n", plain(&sentence(text))));
    text += &format!(
        "## {} {}\n\n{}.\n\n{}.\n\n",
        mark(comparison.verdict),
        sentence(comparison.verdict.name()),
        plain(&sentence(&comparison.sentence)),
        plain(&sentence(&subject(comparison)))
    );
    if comparison.rule.is_none() {
        text += &overview(comparison);
    }
    text += &changed(comparison);
    text += &errors(comparison);
    if let Some(unchanged) = &comparison.unchanged {
        text += &format!("- {}\n", plain(&unchanged.text));
    }
    let is_beside = |remark: &&Finding| caution != Some(remark.text.as_str());
    let remarks: Vec<Finding> = comparison.remarks().filter(is_beside).cloned().collect();
    text += &findings(&remarks);
    text + &folded(comparison)
}

/// A table of the measures that changed, the greatest change first; empty if none did.
fn changed(comparison: &Comparison) -> String {
    if comparison.changed.is_empty() {
        return String::new();
    }
    let confidence = units::percent(1.0 - comparison.options.alpha);
    let of = if comparison.rule == Some(Rule::Windows) { " of windows" } else { "" };
    let mut text =
        format!("| changed | | change{of} ({confidence} interval) | |\n|{}\n", " --- |".repeat(4));
    for one in &comparison.changed {
        let measure = &comparison.measures[one.measure];
        let change = change_of(comparison, one);
        let cells = [
            format!("{} {} {}", mark(measure.verdict), plain(&measure.name), change.label),
            moved_by(change).unwrap_or_default(),
            interval_of_change(change),
            plain(&one.text),
        ];
        text += &format!("| {} |\n", cells.join(" | "));
    }
    text + "\n"
}

/// A table of the failures that are new, gone, more or fewer; empty if there are none.
fn errors(comparison: &Comparison) -> String {
    let mut listed = comparison.errors.iter().filter(|error| error.is_listed()).peekable();
    if listed.peek().is_none() {
        return String::new();
    }
    let mut text = format!("| errors | | |\n|{}\n", " --- |".repeat(3));
    for error in listed {
        let cells = [plain(&error.name), failures_moved(error), trend(error)];
        text += &format!("| {} |\n", cells.join(" | "));
    }
    text + "\n"
}

/// A line for each measure of runs without a baseline.
fn overview(comparison: &Comparison) -> String {
    let mut text = "| measure | verdict |\n| --- | --- |\n".to_owned();
    for measure in &comparison.measures {
        let verdict = format!("{} {}", mark(measure.verdict), plain(&measure.text));
        text += &format!("| {} | {verdict} |\n", plain(&measure.name));
    }
    text + "\n"
}

/// The notes, all figures and the runs.
fn folded(comparison: &Comparison) -> String {
    let mut text = "\n<details><summary>All figures, tests and runs</summary>\n\n".to_owned();
    let notes: Vec<Finding> = comparison.notes().cloned().collect();
    text += &findings(&notes);
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
    text + "\n</details>\n"
}

fn all_figures(comparison: &Comparison) -> String {
    let confidence = units::percent(1.0 - comparison.options.alpha);
    let difference = difference_title(comparison);
    let mut text = format!(
        "\n| measure | figure | baseline | candidate | {difference} | {confidence} interval | change | p |\n|{}\n",
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
                change.label.clone(),
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
    text
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
