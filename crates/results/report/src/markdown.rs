//! A run as Markdown, for a pull request or the summary of a CI job.

use record::controls::is_control;
use record::schema::{Finding, MeasureSummary, RunInfo, Severity, Summary, Verdict};

use crate::findings::{FindingPlace, place};
use crate::intervals::ShownIntervals;
use crate::metrics;
use crate::style::Style;
use crate::times::response_times;
use crate::verdict::{failure, is_reason, of_region, others, rate, rates, rows, seen, share};

/// Most failures and incidents that are listed.
const BROKEN_MAX: usize = 20;
/// Percentiles in the table: places in [`times`], which begins with the mean.
const SHOWN: [(usize, &str); 4] = [(1, "p50"), (3, "p95"), (5, "p99"), (7, "max")];
const UNICODE: Style = Style { colour: false, unicode: true };
/// Those of [`SHOWN`] that have intervals.
const WITH_INTERVALS: [(f64, &str); 3] = [(0.5, "p50"), (0.95, "p95"), (0.99, "p99")];

/// The verdict and its reasons, thresholds, what broke, a table of the steps, and the other findings, in the order of
/// [`crate::verdict`]; then the intervals of percentiles, tags and regions. Lines end with `\n`.
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
    let (reasons, other_findings): (Vec<&Finding>, Vec<&Finding>) =
        summary.findings.iter().partition(|finding| is_reason(finding, summary));
    if !reasons.is_empty() {
        text += &(findings(reasons) + "\n");
    }
    let (passed, failed): (Vec<_>, Vec<_>) = summary.thresholds.iter().partition(|t| t.passed);
    for result in failed.into_iter().chain(passed) {
        let mark = if result.passed { "✅" } else { "❌" };
        text += &format!("- {mark} {}: {}\n", plain(&result.text), plain(&result.shown));
    }
    if !summary.thresholds.is_empty() {
        text += "\n";
    }
    text += &broken(summary);
    let at = |wanted: FindingPlace| {
        let others = other_findings.iter().copied();
        findings(others.filter(move |finding| place(finding, summary) == wanted))
    };
    let broke = at(FindingPlace::Broke);
    if !broke.is_empty() {
        text += &(broke + "\n");
    }
    text += &table("step", rows(summary, info).iter().map(|row| (row.name.as_str(), row.measure)));
    text += "\n";
    if !summary.metrics.is_empty() {
        text += "| metric | kind | figures |\n| --- | --- | --- |\n";
        for metric in &summary.metrics {
            let figures = plain(&metrics::figures(metric));
            text += &format!("| {} | {} | {figures} |\n", plain(&metric.name), metric.kind.name());
        }
        text += "\n";
    }
    let others = at(FindingPlace::Limit) + &at(FindingPlace::More);
    if !others.is_empty() {
        text += &(others + "\n");
    }
    text += &intervals(&ShownIntervals::of(summary));
    if !summary.tags.is_empty() {
        let tags = summary.tags.iter().map(|tag| &tag.figures);
        text += &table("requests by tag", tags.map(|tag| (tag.name.as_str(), tag)));
        text += "\n";
    }
    if summary.regions.len() > 1 {
        let regions = summary.regions.iter();
        let all = regions.flat_map(|region| of_region(summary, info, &region.name));
        text += &table("response by region", all.map(|(_, one)| (one.name.as_str(), one)));
        text += "\n";
    }
    // One line ends the text, and not an empty one.
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// Failures by what they were, and incidents; empty if there were none.
fn broken(summary: &Summary) -> String {
    let mut text = String::new();
    let more = |count: usize| match count.saturating_sub(BROKEN_MAX) {
        0 => String::new(),
        more => format!("- and {more} more\n"),
    };
    if !summary.errors.is_empty() {
        text += "| what broke | count | share | when |\n| --- | --: | --: | --: |\n";
        for error in summary.errors.iter().take(BROKEN_MAX) {
            let what = format!("{}: {}", error.step, failure(error));
            let share = error.share.map_or("–".to_owned(), units::share);
            let count = units::count(error.count);
            text += &format!("| {} | {count} | {share} | {} |\n", plain(&what), seen(error));
        }
        text += &format!("\n{}", more(summary.errors.len()));
    }
    for incident in summary.incidents.iter().take(BROKEN_MAX) {
        let beside = incident.beside.first().map_or(String::new(), |beside| format!("; {beside}"));
        text += &format!("- ❌ {}\n", plain(&format!("{}{beside}", incident.text)));
    }
    text += &more(summary.incidents.len());
    if !summary.incidents.is_empty() {
        text += "\n";
    }
    text
}

/// A list of findings.
pub(crate) fn findings<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> String {
    let lines = findings.into_iter().map(|finding| {
        let word = match finding.severity {
            Severity::Good | Severity::Note => "",
            Severity::Warning => "**warning:** ",
            Severity::Fatal => "**fatal:** ",
        };
        format!("- {word}{}\n", plain(&finding.text))
    });
    lines.collect()
}

fn table<'a>(title: &str, measures: impl Iterator<Item = (&'a str, &'a MeasureSummary)>) -> String {
    let measures: Vec<(&str, &MeasureSummary)> = measures.collect();
    let has_failures = measures.iter().any(|(_, measure)| measure.errors > 0);
    let mut heads = vec![title, "count", "completed", "failed"];
    heads.extend(has_failures.then_some("share"));
    heads.extend(SHOWN.map(|(_, name)| name));
    let aligned = " --: |".repeat(heads.len() - 1);
    let mut text = format!("| {} |\n| --- |{aligned}\n", heads.join(" | "));
    for (name, measure) in measures {
        let times = response_times(measure);
        let mut cells = vec![
            plain(name),
            units::count(measure.count),
            rate(measure),
            units::count(measure.errors),
        ];
        cells.extend(has_failures.then(|| share(measure)));
        cells.extend(SHOWN.map(|(place, _)| plain(&times[place])));
        text += &format!("| {} |\n", cells.join(" | "));
    }
    text
}

/// A table of the intervals, and what is not determined; empty where a record does not say.
fn intervals(shown: &ShownIntervals<'_>) -> String {
    let mut text = String::new();
    if !shown.rows.is_empty() {
        let names = WITH_INTERVALS.map(|(_, name)| name).join(" | ");
        let aligned = " --: |".repeat(WITH_INTERVALS.len());
        text += &format!("| 95 % interval | {names} |\n| --- |{aligned}\n");
        for row in &shown.rows {
            let cells = WITH_INTERVALS.map(|(share, _)| plain(&row.cell(share, UNICODE)));
            text += &format!("| {} | {} |\n", plain(&row.name()), cells.join(" | "));
        }
        text += "\n";
    }
    for missing in &shown.missing {
        text += &format!("- {}\n", plain(missing));
    }
    if !shown.missing.is_empty() {
        text += "\n";
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
            c if is_control(c) => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;
    use record::schema::IntervalMissing;

    use super::*;
    use crate::sample;

    #[test]
    fn a_run_reads_well_in_a_pull_request() {
        let summary = sample::summary();
        let info = sample::info();
        let text = run_markdown(&summary, &info);
        expect_file!["markdown/run.md"].assert_eq(&text);
    }

    #[test]
    fn what_broke_stands_before_the_steps() {
        let mut summary = sample::broken();
        summary.errors[1].detail = Some("`x` is\n*not* defined".to_owned());
        let text = run_markdown(&summary, &sample::info());
        let plain = run_markdown(&sample::summary(), &sample::info());
        let added: Vec<&str> = text.lines().filter(|line| !plain.contains(line)).collect();
        expect_test::expect![[r#"
            | what broke | count | share | when |
            | request: status 503 | 9 | 0.00125 % | 0:15–0:25 |
            | request: script: \`x\` is \*not\* defined | 3 | 0.000417 % | 0:16–0:17 |
            | a step whose name is longer than its column: timeout | 3 | 100 % | 0:00–8:20 |
            - ❌ request: p50 8 → 401 ms, 30 % failed, from 0:15 to 0:25 (82 of 273); begins 1 s after phase hold"#]]
        .assert_eq(&added.join("\n"));
        let order = ["❌ p98", "| what broke", "- ❌ request:", "| step |", "kept up"];
        let places: Vec<_> = order.iter().map(|part| text.find(part)).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{text}");
    }

    #[test]
    fn tags_have_a_table_of_their_own() {
        let (summary, info) = sample::tagged();
        let text = run_markdown(&summary, &info);
        let plain = run_markdown(&sample::summary(), &info);
        let added: Vec<&str> = text.lines().filter(|line| !plain.contains(line)).collect();
        expect_test::expect![[r#"
            | requests by tag | count | completed | failed | share | p50 | p95 | p99 | max |
            | group=buy | 720,000 | 1,440/s | 12 | 0.00167 % | 3.10 ms | 9.30 ms | 15.5 ms | 310 ms |
            | area=shop | 720,000 | 1,440/s | 12 | 0.00167 % | 3.10 ms | 9.30 ms | 15.5 ms | 310 ms |"#]]
        .assert_eq(&added.join("\n"));
    }

    #[test]
    fn metrics_have_a_table_with_their_units() {
        let summary = Summary { metrics: metrics::tests::each(), ..sample::summary() };
        let text = run_markdown(&summary, &sample::info());
        let plain = run_markdown(&sample::summary(), &sample::info());
        let added: Vec<&str> = text.lines().filter(|line| !plain.contains(line)).collect();
        expect_test::expect![[r#"
            | metric | kind | figures |
            | --- | --- | --- |
            | size | quantity | mean 29.0 bytes, min -1.50 bytes, p50 29.0 bytes, p95 59.5 bytes, p99 59.5 bytes, max 59.5 bytes, recorded 3 times |
            | orders | counter | sum 1,250 (20.8/s), recorded 2 times |
            | cheap | share | true 75 %, recorded 4 times |
            | depth | gauge | last 7.00 items, min -2.00 items, max 9.00 items, recorded 4 times |
            | never | quantity | recorded 0 times |"#]]
        .assert_eq(&added.join("\n"));
    }

    #[test]
    fn percentiles_have_intervals_or_the_reason_for_none() {
        let mut summary = sample::summary();
        let info = sample::info();
        let plain = run_markdown(&summary, &info);
        let mut short = sample::found(0.5, None, None);
        short.missing = Some(IntervalMissing::Short);
        summary.measures[0].response.as_mut().unwrap().intervals = vec![short];
        let response = summary.measures[1].response.as_mut().unwrap();
        response.intervals = vec![sample::found(0.5, Some(3_050_000), Some(3_150_000))];
        let text = run_markdown(&summary, &info);
        let added: Vec<&str> = text.lines().filter(|line| !plain.contains(line)).collect();
        expect_test::expect![[r#"
            | 95 % interval | p50 | p95 | p99 |
            | request | 3.05…3.15 ms | – | – |
            - no interval of handshake: too few seconds to see whether operations depend on each other"#]]
        .assert_eq(&added.join("\n"));
    }

    #[test]
    fn regions_have_a_table_of_their_own() {
        let (summary, info) = sample::regional();
        let text = run_markdown(&summary, &info);
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        let names: Vec<&str> = rows.iter().filter_map(|row| row.split('|').nth(1)).collect();
        let expected = [
            " step ",
            " --- ",
            " request ",
            " a step whose name is longer than its column ",
            " handshake ",
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
