//! Findings of a comparison in sentences, and the verdict of each measure.

use std::collections::BTreeMap;

use record::Run;
use record::schema::{Finding, Severity};

use super::detect::{self, Runs};
use super::verdict::{from_to, labels, of_changes, p_value, percent};
use super::{
    ComparedMeasure, ComparedRun, Figure, Options, Rule, Serial, Side, Source, Verdict, alike,
    neighbours, successes,
};

/// Operations that say less than this share of what independent ones would are warned of.
const EFFECTIVE_MIN: f64 = 0.5;
/// Fewest operations whose serial correlation is reported.
const SERIAL_COUNT_MIN: u64 = 100;
/// Measures named in one finding.
const NAMES_MAX: usize = 5;

/// The most important first; what is good stands before what is only worth knowing.
pub(crate) fn in_order(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_key(|finding| match finding.severity {
        Severity::Fatal => 0,
        Severity::Warning => 1,
        Severity::Good => 2,
        Severity::Note => 3,
    });
    findings
}

/// True where nothing can be said at all.
pub(crate) fn is_untold(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.severity == Severity::Fatal)
}

/// Findings about the runs, before they are compared.
pub(crate) fn of_runs(
    all: &[&Run],
    runs: &[ComparedRun],
    rule: Option<Rule>,
    options: &Options,
) -> Vec<Finding> {
    let mut found = Vec::new();
    let untrusted: Vec<&str> =
        runs.iter().filter(|run| !run.trusted).map(|run| run.label.as_str()).collect();
    if !untrusted.is_empty() {
        let severity = if options.force { Severity::Warning } else { Severity::Fatal };
        let verb = if untrusted.len() == 1 { "is" } else { "are" };
        let text = format!(
            "{} {verb} untrusted (`throng show` says why), and so is the comparison{}",
            some(&untrusted),
            if options.force { "; compared because of --force" } else { "" }
        );
        found.push(finding(severity, "run-untrusted", text));
    }
    let elsewhere = all.iter().zip(runs).filter_map(|(run, compared)| {
        let elsewhere = run.rows_elsewhere()?;
        Some(format!("{}: {elsewhere}", compared.label))
    });
    let elsewhere: Vec<String> = elsewhere.take(NAMES_MAX).collect();
    if !elsewhere.is_empty() {
        let text = format!("rows are not in the records of all runs: {}", elsewhere.join("; "));
        found.push(finding(Severity::Note, "rows-elsewhere", text));
    }
    let infos: Vec<_> = all.iter().map(|run| run.info()).collect();
    let unlike = alike::unlike(&infos, options);
    if !unlike.is_empty() {
        let texts: Vec<&str> = unlike.iter().map(|unlike| unlike.text.as_str()).collect();
        let text = format!("the runs differ in their conditions: {}", texts.join("; "));
        found.push(finding(Severity::Warning, "runs-unlike", text));
    }
    if let Some(rule) = rule {
        found.extend(of_rule(runs, rule, options));
        found.extend(of_order(runs));
    }
    found
}

fn of_rule(runs: &[ComparedRun], rule: Rule, options: &Options) -> Option<Finding> {
    let [baselines, candidates] = [Side::Baseline, Side::Candidate]
        .map(|side| runs.iter().filter(|run| run.side == side).count());
    if options.strict && baselines.min(candidates) == 1 {
        let text = "one side has a single run, and --strict requires several: the variation \
            between runs is unknown";
        return Some(finding(Severity::Fatal, "single-run", text.to_owned()));
    }
    match rule {
        Rule::Windows => {
            let text = "each side has a single run: a difference may be ordinary variation \
                between runs; five runs per side would show it";
            Some(finding(Severity::Warning, "single-run", text.to_owned()))
        }
        Rule::Student => {
            let text = format!(
                "{baselines} and {candidates} runs are too few for a permutation test to reach \
                 {}: Student's t-test decides instead, which assumes that the logarithms of the \
                 runs' figures are normal; 4 runs per side do not need this assumption",
                percent(options.alpha)
            );
            Some(finding(Severity::Note, "few-runs", text))
        }
        Rule::Permutation => None,
    }
}

/// A drift of the machine looks like a difference where all runs of one side came first.
fn of_order(runs: &[ComparedRun]) -> Option<Finding> {
    let times = |side: Side| {
        let of_side = runs.iter().filter(move |run| run.side == side);
        of_side.map(|run| run.started_unix_ns)
    };
    let [(b_first, b_last, b_runs), (c_first, c_last, c_runs)] = [Side::Baseline, Side::Candidate]
        .map(|side| {
            let first = times(side).min();
            let last = times(side).max();
            (first, last, times(side).count())
        });
    let apart = b_last < c_first || c_last < b_first;
    (apart && b_runs > 1 && c_runs > 1).then(|| {
        let text = "all runs of one side were made before those of the other: machine drift would \
            look like a difference; alternate the runs to rule it out";
        finding(Severity::Note, "not-interleaved", text.to_owned())
    })
}

/// Gives a measure its verdict and the sentence for it.
pub(crate) fn judge_measure(
    measure: &mut ComparedMeasure,
    runs: &[ComparedRun],
    rule: Option<Rule>,
    options: &Options,
) {
    let nothing: Vec<&str> = runs
        .iter()
        .zip(&measure.runs)
        .filter(|(_, figures)| figures.count == 0)
        .map(|(run, _)| run.label.as_str())
        .collect();
    let succeeded = if successes::is_partial(measure) { successes::ADDED } else { "" };
    (measure.verdict, measure.text) = if !nothing.is_empty() {
        let text = format!("inconclusive: no operation succeeded in {}", some(&nothing));
        (Verdict::Inconclusive, text)
    } else if rule.is_none() {
        let (verdict, text) = of_pairs(measure, runs);
        (verdict, text + succeeded)
    } else if measure.changes.is_empty() {
        let text = "inconclusive: too few operations in a tenth of a run";
        (Verdict::Inconclusive, text.to_owned())
    } else {
        of_changes(&measure.changes, succeeded, options)
    };
    if measure.verdict == Verdict::Faster
        && let Some(errors) = successes::untested_errors(measure, runs)
    {
        measure.text += &errors.text;
        if errors.p <= options.alpha && !options.allow_errors {
            measure.verdict = Verdict::MoreErrors;
        }
    }
}

/// Without a baseline: do all runs fall into one group?
fn of_pairs(measure: &ComparedMeasure, runs: &[ComparedRun]) -> (Verdict, String) {
    let Some(direct) = &measure.direct else {
        return (Verdict::Inconclusive, "inconclusive".to_owned());
    };
    let different = direct.pairs.iter().filter(|pair| !pair.ks.alike || !pair.ad.alike).count();
    if different == 0 {
        return (Verdict::NoDifference, "no difference seen".to_owned());
    }
    let cliques = if direct.ks_cliques.len() >= direct.ad_cliques.len() {
        &direct.ks_cliques
    } else {
        &direct.ad_cliques
    };
    let groups: Vec<String> = cliques
        .iter()
        .take(NAMES_MAX)
        .map(|clique| format!("{{{}}}", labels(clique, runs)))
        .collect();
    let more = cliques.len().saturating_sub(NAMES_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let text = format!(
        "modes differ: {different} of {} pairs of runs differ; groups {}{more}",
        direct.pairs.len(),
        groups.join(" ")
    );
    (Verdict::ModesDiffer, text)
}

/// Findings about the compared measures.
pub(crate) fn of_measures(
    measures: &[ComparedMeasure],
    runs: &[ComparedRun],
    rule: Option<Rule>,
    there: Runs,
    options: &Options,
) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    let mut by_weight: Vec<&ComparedMeasure> = measures.iter().collect();
    by_weight.sort_by_key(|measure| std::cmp::Reverse(measure.verdict.weight()));
    for measure in by_weight {
        found.extend(of_measure(measure, runs));
    }
    let unseen = names(measures, |m| m.verdict == Verdict::NoDifference);
    if !unseen.is_empty() {
        let text = format!("no difference seen in {}", some(&unseen));
        found.push(finding(Severity::Good, "no-difference", text));
    }
    if let Some(text) = detect::of_more_runs(measures, there) {
        found.push(finding(Severity::Note, "more-runs", text));
    }
    if measures.iter().all(|m| m.verdict == Verdict::Inconclusive) {
        let text = "no measure could be compared".to_owned();
        found.push(finding(Severity::Fatal, "nothing-compared", text));
    }
    let partial = measures.iter();
    found.extend(partial.filter_map(|measure| successes::finding(measure, runs, options)));
    found.extend(neighbours::finding(measures, rule));
    found.extend(of_serial(measures, runs, rule));
    found.extend(of_sources(measures));
    found
}

fn of_measure(measure: &ComparedMeasure, runs: &[ComparedRun]) -> Option<Finding> {
    let (severity, code) = match measure.verdict {
        Verdict::Slower => (Severity::Warning, "slower"),
        Verdict::MoreErrors => (Severity::Warning, "more-errors"),
        Verdict::ModesDiffer => (Severity::Warning, "modes-differ"),
        Verdict::Faster => (Severity::Good, "faster"),
        Verdict::FewerErrors => (Severity::Good, "fewer-errors"),
        Verdict::Inconclusive if is_broken(measure, runs) => (Severity::Fatal, "not-compared"),
        Verdict::Inconclusive => (Severity::Warning, "not-compared"),
        Verdict::NoDifference => return of_tolerated(measure),
    };
    let mut text = format!("{}: {}", measure.name, measure.text);
    let mut evidence = BTreeMap::new();
    for change in measure.changes.iter().filter(|change| change.counts) {
        evidence.insert(format!("{}_difference", change.figure.name()), change.difference);
        evidence.insert(format!("{}_p", change.figure.name()), change.p_adjusted);
    }
    let counting: Vec<String> = measure
        .changes
        .iter()
        .filter(|change| change.counts && !matches!(change.figure, Figure::Shape | Figure::Spread))
        .map(|change| {
            format!(
                "{} {} (p {})",
                name_of(change.figure),
                from_to(change),
                p_value(change.p_adjusted)
            )
        })
        .collect();
    if !counting.is_empty() {
        text += &format!("; {}", counting.join(", "));
    }
    Some(Finding { evidence, ..finding(severity, code, text) })
}

/// True where a measure is missing for no harmless reason: all of its operations failed in a run, or
/// a side has none at all. A target that is broken must not pass for one that is no slower.
fn is_broken(measure: &ComparedMeasure, runs: &[ComparedRun]) -> bool {
    let all_failed = measure
        .runs
        .iter()
        .any(|run| run.count == 0 && run.error_rate.is_some_and(|share| share > 0.0));
    let has_none = |side: Side| {
        let mut of_side = runs.iter().zip(&measure.runs).filter(|(run, _)| run.side == side);
        of_side.clone().next().is_some() && of_side.all(|(_, figures)| figures.count == 0)
    };
    all_failed || has_none(Side::Baseline) || has_none(Side::Candidate)
}

/// A difference that was seen and is too small to count.
fn of_tolerated(measure: &ComparedMeasure) -> Option<Finding> {
    let seen: Vec<String> = measure
        .changes
        .iter()
        .filter(|change| change.seen)
        .map(|change| {
            let share = match change.figure {
                Figure::Spread => change.difference,
                _ => change.relative.unwrap_or(0.0),
            };
            let share = percent(share);
            format!("{} by {share}", name_of(change.figure))
        })
        .collect();
    (!seen.is_empty()).then(|| {
        let text = format!(
            "{}: differences within the tolerance do not affect the verdict: {}",
            measure.name,
            seen.join(", ")
        );
        finding(Severity::Note, "within-tolerance", text)
    })
}

/// Tests take operations for independent. Where they are not, p-values on samples are too small.
/// Decisions that rest on runs are none the worse for it.
fn of_serial(
    measures: &[ComparedMeasure],
    runs: &[ComparedRun],
    rule: Option<Rule>,
) -> Option<Finding> {
    let share = |s: &Serial| s.effective / s.count.max(1) as f64;
    let mut evidence = BTreeMap::new();
    let mut listed = Vec::new();
    for measure in measures {
        let serial = measure.serial.iter().zip(runs);
        let dependent = serial
            .filter(|(s, _)| s.count >= SERIAL_COUNT_MIN && share(s) < EFFECTIVE_MIN)
            .min_by(|a, b| share(a.0).total_cmp(&share(b.0)));
        let Some((serial, run)) = dependent else {
            continue;
        };
        evidence.insert(format!("{}_effective", measure.name), serial.effective);
        listed.push(format!(
            "{}: the {} operations of {} carry as much information as {} independent ones",
            measure.name,
            units::count(serial.count),
            run.label,
            units::about(serial.effective)
        ));
    }
    if listed.is_empty() {
        return None;
    }
    let (severity, rests) = match rule {
        Some(_) => (Severity::Note, "the verdict does not depend on them"),
        None => (Severity::Warning, "the tests of pairs use these smaller numbers"),
    };
    let listed: Vec<&str> = listed.iter().map(String::as_str).collect();
    let text = format!(
        "operations are serially correlated: {}; tests that assume independence find too many \
         differences: {rests}",
        some(&listed)
    );
    Some(Finding { evidence, ..finding(severity, "serial-correlation", text) })
}

fn of_sources(measures: &[ComparedMeasure]) -> Option<Finding> {
    let binned = names(measures, |m| m.source == Source::Histograms);
    (!binned.is_empty()).then(|| {
        let text = format!(
            "computed from histograms, with times accurate to {}: {} (rows exceed --memory, are \
             sampled or are missing)",
            units::share(Source::Histograms.error_bound()),
            some(&binned)
        );
        finding(Severity::Note, "from-histograms", text)
    })
}

fn names(measures: &[ComparedMeasure], wanted: impl Fn(&&ComparedMeasure) -> bool) -> Vec<&str> {
    let wanted = measures.iter().filter(wanted);
    wanted.map(|measure| measure.name.as_str()).collect()
}

/// The first few names.
fn some(names: &[&str]) -> String {
    let shown = names[..names.len().min(NAMES_MAX)].join(", ");
    match names.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// For sentences: `mean`, `p99`, `completed/s`, `error rate`.
fn name_of(figure: Figure) -> String {
    match figure {
        Figure::ErrorRate => "error rate".to_owned(),
        figure => figure.label(),
    }
}

fn finding(severity: Severity, code: &str, text: String) -> Finding {
    Finding { severity, code: code.to_owned(), text, evidence: BTreeMap::new() }
}
