//! A run as Markdown, for a pull request or the summary of a CI job.

use record::controls::is_control;
use record::schema::{Finding, MeasureSummary, RunInfo, Severity, Summary, Verdict};

use crate::style::REPLACEMENT;
use crate::times::times;
use crate::verdict::{of_region, others, rates};

/// Percentiles in the table: places in [`times`], which begins with the mean.
const SHOWN: [(usize, &str); 4] = [(1, "p50"), (3, "p95"), (5, "p99"), (7, "max")];

/// The verdict, its thresholds, a table of the steps, and the findings. Lines end with `\n`.
pub fn run_markdown(summary: &Summary, info: &RunInfo) -> String {
    let (mark, word) = match summary.verdict {
        Verdict::Measured => ("·", "MEASURED"),
        Verdict::Passed => ("✅", "PASSED"),
        Verdict::Failed => ("❌", "FAILED"),
        Verdict::Untrusted => ("⚠️", "UNTRUSTED"),
    };
    let mut text = format!(
        "## {mark} {word} {}\n\n{} in {}, {} started{}, seed {}.\n\n",
        plain(&summary.name),
        plain(&info.target),
        units::span(info.ended_ns),
        units::counted(summary.users.started, "user"),
        others(&summary.users),
        info.seed
    );
    if let Some(rates) = rates(summary) {
        text += &format!("Operations: {rates}.\n\n");
    }
    for result in &summary.thresholds {
        let mark = if result.passed { "✅" } else { "❌" };
        text += &format!("- {mark} {}: {}\n", plain(&result.text), plain(&result.shown));
    }
    if !summary.thresholds.is_empty() {
        text += "\n";
    }
    text += &table("response", summary.over_regions());
    text += "\n";
    if !summary.tags.is_empty() {
        let tags: Vec<MeasureSummary> = summary.tags.iter().map(|t| t.figures.clone()).collect();
        text += &table("requests by tag", &tags);
        text += "\n";
    }
    if summary.regions.len() > 1 {
        let regions = summary.regions.iter();
        let all: Vec<MeasureSummary> = regions
            .flat_map(|region| of_region(summary, info, &region.name))
            .map(|(_, measure)| measure.clone())
            .collect();
        text += &table("response by region", &all);
        text += "\n";
    }
    text += &findings(&summary.findings);
    text
}

/// A list of findings.
pub(crate) fn findings(findings: &[Finding]) -> String {
    let lines = findings.iter().map(|finding| {
        let word = match finding.severity {
            Severity::Good | Severity::Note => "",
            Severity::Warning => "**warning:** ",
            Severity::Fatal => "**fatal:** ",
        };
        format!("- {word}{}\n", plain(&finding.text))
    });
    lines.collect()
}

fn table(title: &str, measures: &[MeasureSummary]) -> String {
    let names: Vec<&str> = SHOWN.iter().map(|(_, name)| *name).collect();
    let mut text = format!(
        "| {title} | count | rate | errors | {} |\n| --- |{}\n",
        names.join(" | "),
        " --: |".repeat(3 + SHOWN.len())
    );
    for measure in measures {
        let cells = measure.response.as_ref().map(times);
        let cells = SHOWN.map(|(place, _)| {
            let cell = cells.as_ref().map(|cells| cells[place].as_str());
            plain(cell.unwrap_or("–"))
        });
        text += &format!(
            "| {} | {} | {} | {} | {} |\n",
            plain(&measure.name),
            units::count(measure.count),
            units::rate(measure.rate_per_s),
            units::count(measure.errors),
            cells.join(" | ")
        );
    }
    text
}

/// The text on one line, with everything escaped that Markdown or HTML would interpret.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '|' | '[' | ']' | '#' | '~' | '@' => {
                out.push('\\');
                out.push(c);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            c if c.is_control() => out.push(' '),
            c if is_control(c) => out.push(REPLACEMENT),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;

    use super::*;
    use crate::sample;

    #[test]
    fn a_run_reads_well_in_a_pull_request() {
        let (summary, info) = (sample::summary(), sample::info());
        let text = run_markdown(&summary, &info);
        expect_file!["markdown/run.md"].assert_eq(&text);
    }

    #[test]
    fn tags_have_a_table_of_their_own() {
        let (summary, info) = sample::tagged();
        let text = run_markdown(&summary, &info);
        let plain = run_markdown(&sample::summary(), &info);
        let added: Vec<&str> = text.lines().filter(|line| !plain.contains(line)).collect();
        expect_test::expect![[r#"
            | requests by tag | count | rate | errors | p50 | p95 | p99 | max |
            | group=buy | 720,000 | 1,440/s | 12 | 3.10 ms | 9.30 ms | 15.5 ms | 310 ms |
            | area=shop | 720,000 | 1,440/s | 12 | 3.10 ms | 9.30 ms | 15.5 ms | 310 ms |"#]]
        .assert_eq(&added.join("\n"));
    }

    #[test]
    fn regions_have_a_table_of_their_own() {
        let (summary, info) = sample::regional();
        let text = run_markdown(&summary, &info);
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        let names: Vec<&str> = rows.iter().filter_map(|row| row.split('|').nth(1)).collect();
        let expected = [
            " response ",
            " --- ",
            " handshake ",
            " request ",
            " a step whose name is longer than its column ",
            " response by region ",
            " --- ",
            " handshake (region=ireland) ",
            " request (region=ireland) ",
            " handshake (region=sydney) ",
            " request (region=sydney) ",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn names_cannot_become_markup() {
        assert_eq!(plain("a|b <x> `c`\n@d"), "a\\|b &lt;x&gt; \\`c\\` \\@d");
        assert_eq!(plain("a\u{202e}b\x1b[31m"), "a\u{fffd}b \\[31m");
    }
}
