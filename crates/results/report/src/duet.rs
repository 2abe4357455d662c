//! A duet as text and as Markdown: the decision, each step with the interval that is valid now, failures, and what has to be
//! known beside them.

use compare::duet::{DuetResult, DuetStep, DuetVerdict};
use compare::{Acceptance, percent, percent_bounds, signed_percent};

use crate::junit::{Status, case, escaped};
use crate::markdown::{findings, plain};
use crate::style::{INDENT, Line, Style, Tone, wrap};
use crate::table::Table;
use crate::verdict::wrapped_finding;

/// The duet for a terminal. Lines end with `\n` and have at most `columns` characters; the directory of the runs is not cut.
pub fn duet(result: &DuetResult, directory: &str, columns: usize, style: Style) -> String {
    let mut blocks = vec![headline(result, columns, style), steps(result).render(columns, style)];
    let findings =
        result.findings.iter().flat_map(|finding| wrapped_finding(finding, columns, style));
    blocks.push(findings.collect());
    let runs = units::counted(result.runs.len() as u64, "run");
    blocks.push(vec![format!("{runs} in {directory}")]);
    let blocks = blocks.iter().filter(|block| !block.is_empty());
    let blocks: Vec<String> = blocks.map(|block| block.join("\n") + "\n").collect();
    blocks.join("\n")
}

/// The verdict, the decision in one sentence, and how it was made.
fn headline(result: &DuetResult, columns: usize, style: Style) -> Vec<String> {
    let verdict = result.verdict.name().to_uppercase();
    let indent = verdict.chars().count() + 2;
    let mut lines = Vec::new();
    for (number, part) in wrap(&result.sentence, columns - indent).into_iter().enumerate() {
        let line = match number {
            0 => Line::default().tone(tone_of(result.verdict), verdict.clone()).text("  "),
            _ => Line::default().text(" ".repeat(indent)),
        };
        lines.push(line.text(part).render(columns, style));
    }
    for part in wrap(&subject(result), columns) {
        lines.push(Line::default().tone(Tone::Dim, part).render(columns, style));
    }
    lines
}

/// What was compared, and how strictly.
fn subject(result: &DuetResult) -> String {
    format!(
        "{} ({}), {} of each step, level {} over all looks, a difference matters from {}",
        units::counted(result.pairs, "pair"),
        result.interleave.name(),
        result.primary.figure().label(),
        percent(result.alpha),
        percent(result.difference)
    )
}

/// A line for each step, and one for the failures.
fn steps(result: &DuetResult) -> Table {
    let interval = format!("change ({} interval, valid now)", percent(1.0 - result.alpha));
    let mut table = Table::new(&["", "old", "new", &interval, "verdict"]);
    for step in &result.steps {
        let tone = match step.verdict {
            DuetVerdict::Slower | DuetVerdict::MoreErrors => Some(Tone::Bad),
            DuetVerdict::Faster => Some(Tone::Good),
            DuetVerdict::NoDifference => None,
            DuetVerdict::Undecided => Some(Tone::Dim),
        };
        let cells = [
            format!("{INDENT}{}", step.name),
            time(step.old_ns),
            time(step.new_ns),
            change(step),
            step.verdict.name().to_owned(),
        ];
        table.row(cells.into_iter().map(|text| (tone, text)).collect());
    }
    let errors = &result.errors;
    let tone = if errors.rose && !errors.allowed { Some(Tone::Bad) } else { None };
    let cells = [
        format!("{INDENT}errors"),
        units::share(errors.old),
        units::share(errors.new),
        String::new(),
        if errors.rose { "more errors" } else { "" }.to_owned(),
    ];
    table.row(cells.into_iter().map(|text| (tone, text)).collect());
    table
}

fn time(ns: Option<f64>) -> String {
    ns.map_or("–".to_owned(), units::duration)
}

/// `+6.1 % (+3.2 to +9.4)`; without an interval as long as there is none.
fn change(step: &DuetStep) -> String {
    let bounds = step.interval.map(|(low, high)| format!(" ({})", percent_bounds(low, high)));
    let change = step.change.map_or("–".to_owned(), signed_percent);
    format!("{change}{}", bounds.unwrap_or_default())
}

fn tone_of(verdict: DuetVerdict) -> Tone {
    match verdict.acceptance() {
        Acceptance::Accepted => Tone::Good,
        Acceptance::Rejected => Tone::Bad,
        Acceptance::Undecided => Tone::Warning,
    }
}

/// The duet as GitHub-flavoured Markdown.
pub fn duet_markdown(result: &DuetResult) -> String {
    let mark = match result.verdict.acceptance() {
        Acceptance::Accepted => "✅",
        Acceptance::Rejected => "❌",
        Acceptance::Undecided => "⚠️",
    };
    let mut text = format!(
        "## {mark} {}\n\n{}.\n\n{}.\n\n",
        result.verdict.name(),
        plain(&result.sentence),
        plain(&subject(result))
    );
    text += "| step | old | new | change | verdict |\n| --- | --- | --- | --- | --- |\n";
    for step in &result.steps {
        let cells = [
            plain(&step.name),
            time(step.old_ns),
            time(step.new_ns),
            change(step),
            step.verdict.name().to_owned(),
        ];
        text += &format!("| {} |\n", cells.join(" | "));
    }
    let errors = &result.errors;
    let [old, new] = [errors.old, errors.new].map(units::share);
    let verdict = if errors.rose { "more errors" } else { "" };
    text += &format!("| errors | {old} | {new} | | {verdict} |\n\n");
    text + &findings(&result.findings)
}

/// The duet as a JUnit report: a test case for each step, and one for the errors. A step that is worse fails; an undecided
/// one is skipped.
pub fn duet_junit(result: &DuetResult) -> String {
    let mut cases: Vec<(Status, String)> = result
        .steps
        .iter()
        .map(|step| {
            let status = status_of(step.verdict);
            (status, case("duet", &step.name, status, "duet", &step.text, ""))
        })
        .collect();
    let errors = &result.errors;
    let text = format!("{} to {}", units::share(errors.old), units::share(errors.new));
    let status = match result.verdict {
        DuetVerdict::MoreErrors => Status::Failed,
        _ => Status::Passed,
    };
    cases.push((status, case("duet", "errors", status, "duet", &text, "")));
    let count = |wanted: Status| cases.iter().filter(|(status, _)| *status == wanted).count();
    let totals = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\"",
        cases.len(),
        count(Status::Failed),
        count(Status::Skipped)
    );
    let cases: String = cases.iter().map(|(_, text)| text.as_str()).collect();
    let out = escaped(&format!("{}\n{}", result.sentence, subject(result)));
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {totals}>\n  <testsuite name=\"throng duet\" \
         {totals} time=\"0\">\n{cases}    <system-out>{out}</system-out>\n  </testsuite>\n</testsuites>\n"
    )
}

fn status_of(verdict: DuetVerdict) -> Status {
    match verdict.acceptance() {
        Acceptance::Accepted => Status::Passed,
        Acceptance::Rejected => Status::Failed,
        Acceptance::Undecided => Status::Skipped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::slower;
    use crate::style::COLUMNS;

    #[test]
    fn the_decision_comes_first_and_each_step_has_its_interval() {
        let style = Style { colour: false, unicode: true };
        let text = duet(&slower(), "duets/one", COLUMNS, style);
        let first = text.lines().next().unwrap();
        assert!(first.starts_with("SLOWER  checkout is slower by 10 % (+"), "{text}");
        assert!(
            text.contains("10 pairs (abba), mean of each step, level 5 % over all looks"),
            "{text}"
        );
        let row = text.lines().find(|line| line.starts_with("  checkout")).unwrap();
        assert!(row.contains("200 ms") && row.ends_with("slower"), "{row}");
        assert!(text.ends_with("0 runs in duets/one\n"), "{text}");
    }

    #[test]
    fn each_step_is_a_test_case() {
        let text = duet_junit(&slower());
        assert!(text.contains("tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\""), "{text}");
        assert!(text.contains("<testcase name=\"checkout\" classname=\"throng.duet\""), "{text}");
        assert!(text.contains("<failure message=\"slower by 10 % (+"), "{text}");
    }

    #[test]
    fn a_pull_request_gets_a_table() {
        let text = duet_markdown(&slower());
        assert!(text.starts_with("## ❌ slower\n\ncheckout is slower by 10 % (+"), "{text}");
        assert!(text.contains("| checkout | 200 ms | "), "{text}");
    }
}
