//! Results of several runs together: comparisons, experiments, capacities, and the index of results.
//!
//! This file compares runs as distributions: two ensembles, or all runs with each other.
//!
//! ```text
//! runs ─alike→ may they be compared? ─read→ times by window ─┬─decide──→ changes, run as the unit
//!                                   └─errors→ what failed ──┤
//!                                                           ├─evidence→ tests on pooled samples
//!                                                           └─pairs───→ graph, cliques: modes
//!                                          verdict by measure and in all ←─┘ ─changed→ what is said first
//! ```
//! `docs/comparing.md` explains what each figure means and what the decision rests on.

mod alike;
pub mod capacity;
mod change;
mod changed;
mod curves;
mod decide;
mod detect;
pub mod disturbed;
pub mod duet;
mod errors;
mod evidence;
pub mod experiment;
mod findings;
pub mod index;
pub mod law;
mod machine;
mod modes;
mod neighbours;
mod options;
mod pairs;
mod published;
mod read;
mod result;
#[cfg(test)]
#[expect(dead_code, reason = "the tests of `judge` need more of it")]
#[path = "../../judge/src/sample.rs"]
mod sample;
mod serial;
mod successes;
pub mod sweep;
#[cfg(test)]
mod testing;
mod unit;
mod verdict;
mod windows;

use record::Run;
use record::samples::NO_CLOCK;
use record::schema::{Summary, Verdict as RunVerdict};

pub use change::{Change, Figure, Rule, WindowMeans};
pub use options::{Correction, Options, Primary, PublishedPipeline, Time};
pub use result::{
    Acceptance, AllOperations, COMPARISON_FORMAT, ChangedMeasure, ComparedMeasure, ComparedRun,
    Comparison, Curves, Detect, ErrorChange, ErrorTrend, Evidence, Pair, PairTest, Peak,
    QuantileChange, RunFigures, Serial, Side, SideModes, Similarity, Source, Test, Unchanged,
    Verdict,
};
pub use verdict::{labels, p_value, percent, percent_bounds, shown, signed_percent};

use decide::{Component, Sides, components, decide};
use detect::Runs;
use errors::RunErrors;
use judge::JudgeError;
#[cfg(test)]
use judge::{Figures, judge_figures};
use machine::MachineLoad;
use read::{RunMeasure, Span};
use stats::sample::Sample;
use unit::{Ends, Rate, Unit};
use windows::Stretches;

/// Runs of one comparison at most: there are half as many pairs as their square.
pub const RUNS_MAX: usize = 100;

/// Why runs were not compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// A run directory could not be read or judged.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// There is nothing to compare with.
    #[error("a comparison needs at least two runs: give a second run or a --baseline")]
    Single,
    /// More than [`RUNS_MAX`].
    #[error("{0} runs are too many: {RUNS_MAX} can be compared at once")]
    TooMany(usize),
    /// A run was given twice.
    #[error("run {0} was given twice: each run counts once, on one side")]
    Twice(String),
    /// They are no runs of one thing.
    #[error("these runs are not comparable: {}; --force compares what they have in common", .0.join("; "))]
    Unlike(Vec<String>),
    /// Nothing is left of a run.
    #[error("nothing is left to compare in run {id}: {why}")]
    NothingLeft {
        /// Which.
        id: String,
        /// As text.
        why: String,
    },
    /// No measure is in all runs.
    #[error("the runs have no timed measure in common")]
    NoMeasure,
}

impl From<record::RecordError> for CompareError {
    fn from(error: record::RecordError) -> CompareError {
        CompareError::Judge(error.into())
    }
}

/// A measure that all runs have, and its place in each run's list.
struct Common {
    name: String,
    kind: String,
    /// Places by run.
    places: Vec<usize>,
}

/// The next step of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// A run is read.
    Reading {
        /// Number of the run, from 0.
        number: usize,
        /// Number of runs to be read.
        of: usize,
    },
    /// A measure is compared.
    Comparing {
        /// Number of the measure, from 0.
        number: usize,
        /// Number of measures that all runs have.
        of: usize,
        /// Name of the measure.
        measure: &'a str,
    },
}

/// Compares `candidates` with `baselines`; without these, all of them with each other.
///
/// # Errors
/// If they cannot be read, or are no runs of one thing.
pub fn compare(
    candidates: &[Run],
    baselines: &[Run],
    options: &Options,
) -> Result<Comparison, CompareError> {
    compare_with_progress(candidates, baselines, options, &mut |_| {})
}

/// As [`compare`], and reports each step before it is taken.
///
/// # Errors
/// As [`compare`].
pub fn compare_with_progress(
    candidates: &[Run],
    baselines: &[Run],
    options: &Options,
    progress: &mut dyn FnMut(Step<'_>),
) -> Result<Comparison, CompareError> {
    let all: Vec<&Run> = baselines.iter().chain(candidates).collect();
    check(&all, options)?;
    let stretches = Stretches::of(&all, baselines.len(), options)?;
    let there =
        Runs { baseline: stretches.baselines as u64, candidate: stretches.candidates() as u64 };
    let all = &stretches.runs;
    let mut runs = Vec::with_capacity(all.len());
    let mut errors_of_runs = Vec::with_capacity(all.len());
    let mut loads = Vec::with_capacity(all.len());
    for (number, (run, &span)) in all.iter().zip(&stretches.spans).enumerate() {
        let summary = summary(run)?;
        loads.push(MachineLoad::of(run, span.start_ns(), span.end_ns())?);
        errors_of_runs.push(RunErrors::of(&summary, run.info(), options));
        runs.push(described(run, &summary, number, stretches.baselines, span, options));
    }
    let rule = (!baselines.is_empty())
        .then(|| Rule::of(stretches.baselines, stretches.candidates(), options.alpha));
    let mut findings = findings::of_runs(all, &runs, rule, options);
    findings.extend(stretches.finding(options));
    let drift = machine::finding(&loads, &runs, options);
    let caution = drift.as_ref().map(|drift| drift.text.clone());
    findings.extend(drift);

    let common = common(all, options);
    let read = read_all(all, &stretches.spans, &common, options, progress)?;
    let (mut measures, tested) = compare_measures(&common, &read, &runs, rule, options, progress);
    if measures.is_empty() {
        return Err(CompareError::NoMeasure);
    }
    let mut errors = Vec::new();
    if let Some(rule) = rule {
        errors = decide_all(&mut measures, tested, &errors_of_runs, there, rule, options);
        findings.extend(errors::findings(&errors, &errors_of_runs, &runs, options));
        evidence::correct(&mut measures, options.correction);
    }
    detect::fill(&mut measures, there, errors.len(), options);
    for measure in &mut measures {
        findings::judge_measure(measure, &runs, rule, options);
    }
    findings.extend(findings::of_measures(&measures, &runs, rule, there, options));
    let findings = findings::in_order(findings);
    let verdict = overall(&measures, &findings);
    let changed = changed::changed(&measures);
    Ok(Comparison {
        format: COMPARISON_FORMAT,
        verdict,
        caution,
        sentence: changed::sentence(verdict, &measures, &changed, &errors),
        rule,
        options: options.clone(),
        unchanged: rule.and_then(|_| changed::unchanged(&measures)),
        changed,
        errors,
        findings,
        runs,
        measures,
    })
}

/// Fills in how the figures of the measures differ, by what is `tested` of each, and gives the failures that do.
fn decide_all(
    measures: &mut [ComparedMeasure],
    mut tested: Vec<Vec<Component>>,
    errors_of_runs: &[RunErrors],
    runs: Runs,
    rule: Rule,
    options: &Options,
) -> Vec<ErrorChange> {
    let baselines = runs.baseline as usize;
    let occurrences = errors::occurrences(errors_of_runs);
    let failures = errors::components(&occurrences, baselines, rule, options);
    let (first, second, of_single_runs) = match rule {
        Rule::Windows => (read::WINDOWS, read::WINDOWS, errors::single_runs(failures, options)),
        _ => {
            tested.push(failures);
            (baselines, runs.candidate as usize, Vec::new())
        }
    };
    let mut decided = decide(tested, first, second, rule, options).into_iter();
    for (measure, changes) in measures.iter_mut().zip(decided.by_ref()) {
        measure.changes = changes;
    }
    errors::changes(occurrences, decided.next().unwrap_or(of_single_runs))
}

/// Compares each common measure that some run has, with the components of its tests.
fn compare_measures(
    common: &[Common],
    read: &[Vec<RunMeasure>],
    runs: &[ComparedRun],
    rule: Option<Rule>,
    options: &Options,
    progress: &mut dyn FnMut(Step<'_>),
) -> (Vec<ComparedMeasure>, Vec<Vec<Component>>) {
    let mut measures = Vec::new();
    let mut tested: Vec<Vec<Component>> = Vec::new();
    let of = common.len();
    for (number, common) in common.iter().enumerate() {
        progress(Step::Comparing { number, of, measure: &common.name });
        let of_runs: Vec<&RunMeasure> = read.iter().map(|run| &run[number]).collect();
        if of_runs.iter().all(|measured| measured.is_empty()) {
            continue;
        }
        let (measure, components) = measure(common, &of_runs, runs, rule, options);
        measures.push(measure);
        tested.push(components);
    }
    (measures, tested)
}

/// By measure: its name, and the times of each run in nanoseconds. Measures of which nothing ended
/// well in some run are not there.
///
/// # Errors
/// As [`compare`].
pub fn samples(
    runs: &[Run],
    options: &Options,
) -> Result<Vec<(String, Vec<Sample>)>, CompareError> {
    let all: Vec<&Run> = runs.iter().collect();
    check(&all, options)?;
    let spans: Result<Vec<Span>, CompareError> = all.iter().map(|run| span(run, options)).collect();
    let spans = spans?;
    let common = common(&all, options);
    let read = read_all(&all, &spans, &common, options, &mut |_| {})?;
    let of_measure = |number: usize| -> Option<Vec<Sample>> {
        let runs = read.iter().zip(&spans);
        runs.map(|(run, span)| Some(run[number].unit(span.seconds())?.sample)).collect()
    };
    let found = common.iter().enumerate();
    Ok(found
        .filter_map(|(number, common)| Some((common.name.clone(), of_measure(number)?)))
        .collect())
}

/// Errors that are known before any figure is read.
fn check(all: &[&Run], options: &Options) -> Result<(), CompareError> {
    // Of a single run there are windows to compare.
    if all.len() < 2 && options.window_ns.is_none() {
        return Err(CompareError::Single);
    }
    if all.len() > RUNS_MAX {
        return Err(CompareError::TooMany(all.len()));
    }
    let mut ids: Vec<&str> = all.iter().map(|run| run.info().id.as_str()).collect();
    ids.sort_unstable();
    if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(CompareError::Twice(twice[0].to_owned()));
    }
    let infos: Vec<_> = all.iter().map(|run| run.info()).collect();
    let unlike = alike::unlike(&infos, options);
    let grave: Vec<String> = unlike
        .into_iter()
        .filter(|unlike| unlike.grave && !options.force)
        .map(|unlike| unlike.text)
        .collect();
    if grave.is_empty() { Ok(()) } else { Err(CompareError::Unlike(grave)) }
}

/// The stretch of a run that is compared, as far as its record goes.
fn span(run: &Run, options: &Options) -> Result<Span, CompareError> {
    let info = run.info();
    let seen_ns = run.series()?.last().map_or(0, |row| row.end_ns);
    let ended_ns = info.ended_ns.max(seen_ns);
    Span::of(info, ended_ns, options).ok_or_else(|| {
        let phases: Vec<&str> = info.phases.iter().map(|p| p.name.as_str()).collect();
        let why = match &options.phase {
            Some(name) if !phases.contains(&name.as_str()) => {
                format!("it has no phase {name:?}, but {}", phases.join(", "))
            }
            Some(name) => format!("phase {name:?} was not reached, or all of it skipped"),
            None if ended_ns == 0 => "it holds no measurement".to_owned(),
            None => "all of it is skipped".to_owned(),
        };
        CompareError::NothingLeft { id: info.id.clone(), why }
    })
}

/// The verdict of a run; of a run that has none, what its record says now.
fn summary(run: &Run) -> Result<Summary, CompareError> {
    Ok(match run.summary()? {
        Some(summary) => summary,
        None => judge::judge_again(run, false)?,
    })
}

fn described(
    run: &Run,
    summary: &Summary,
    number: usize,
    baselines: usize,
    span: Span,
    options: &Options,
) -> ComparedRun {
    let info = run.info();
    let started_later_ns = if options.window_ns.is_some() { span.start_ns() } else { 0 };
    let (side, label) = match number.checked_sub(baselines) {
        None => (Side::Baseline, format!("B{}", number + 1)),
        Some(place) if baselines > 0 => (Side::Candidate, format!("C{}", place + 1)),
        Some(place) => (Side::Candidate, format!("R{}", place + 1)),
    };
    ComparedRun {
        label,
        side,
        id: info.id.clone(),
        directory: run.path().display().to_string(),
        target: info.target.clone(),
        started_unix_ns: info.started_unix_ns + started_later_ns,
        seconds: span.seconds(),
        timed: info.clock != NO_CLOCK,
        trusted: summary.verdict != RunVerdict::Untrusted,
    }
}

/// Measures of one name and kind that all runs have. Checks and steps that failed of themselves have no time.
fn common(all: &[&Run], options: &Options) -> Vec<Common> {
    let is_wanted = |name: &String| options.only.as_ref().is_none_or(|only| only.contains(name));
    let first = all[0].info().measures.iter();
    let is_timed = |kind: &str| !matches!(kind, "check" | "step");
    let first = first.filter(|m| is_timed(&m.kind) && is_wanted(&m.name));
    let in_all = first.filter_map(|wanted| {
        let place = |run: &&Run| run.info().measures.iter().position(|m| m == wanted);
        let places: Option<Vec<usize>> = all.iter().map(place).collect();
        Some(Common { name: wanted.name.clone(), kind: wanted.kind.clone(), places: places? })
    });
    in_all.collect()
}

/// The common measures of each run. A measure comes from rows of all runs or of none, so that no
/// difference is one of bins.
fn read_all(
    all: &[&Run],
    spans: &[Span],
    common: &[Common],
    options: &Options,
    progress: &mut dyn FnMut(Step<'_>),
) -> Result<Vec<Vec<RunMeasure>>, CompareError> {
    let places = |run: usize| -> Vec<usize> { common.iter().map(|c| c.places[run]).collect() };
    let mut counts = Vec::with_capacity(all.len());
    for (number, run) in all.iter().enumerate() {
        counts.push(read::counts(run, &places(number))?);
    }
    let counts: Option<Vec<Vec<u64>>> = counts.into_iter().collect();
    let by_rows = match counts {
        Some(counts) => read::fitting(&counts, common.len(), options.memory_bytes),
        None => vec![false; common.len()],
    };
    let read = all.iter().zip(spans).enumerate().map(|(number, (run, &span))| {
        let of = all.len();
        progress(Step::Reading { number, of });
        let measured = read::read(run, span, &places(number), &by_rows, options)?;
        Ok(measured)
    });
    read.collect()
}

/// All that is reported of a measure besides what is decided.
fn fill(
    measure: &mut ComparedMeasure,
    of_runs: &[&RunMeasure],
    units: &[Unit],
    baselines: usize,
    options: &Options,
) {
    let samples: Vec<&Sample> = units.iter().map(|unit| &unit.sample).collect();
    let thinned = match serial::of_runs(of_runs) {
        Some(serial) => {
            let (serial, thinned) = serial.into_iter().unzip();
            measure.serial = serial;
            thinned
        }
        None => vec![None; samples.len()],
    };
    measure.direct = Some(pairs::direct(&samples, &thinned, options));
    if let Some((similarity, bins)) = published::similarity(of_runs, options) {
        (measure.published, measure.published_bins) = (Some(similarity), Some(bins));
    }
    let (baseline, candidate) = units.split_at(baselines);
    detect::scatter(measure, baseline, candidate, options);
    let sides: Vec<(Side, Sample)> = [(Side::Baseline, baseline), (Side::Candidate, candidate)]
        .into_iter()
        .filter_map(|(side, units)| Some((side, evidence::pooled(units)?)))
        .collect();
    if let [(_, a), (_, b)] = &sides[..] {
        measure.evidence = Some(evidence::of_sides(a, b, baseline, candidate, options));
    }
    if options.curves {
        measure.curves = Some(Curves::of(&samples, &sides, baseline, candidate, options));
    }
    let known = !measure.serial.is_empty();
    let effective = known.then(|| measure.serial.iter().map(|s| s.effective).sum());
    modes::fill(measure, &sides, effective, options);
}

/// A measure but for its verdict, and what is to be decided of it.
fn measure(
    common: &Common,
    of_runs: &[&RunMeasure],
    runs: &[ComparedRun],
    rule: Option<Rule>,
    options: &Options,
) -> (ComparedMeasure, Vec<Component>) {
    let source = of_runs[0].source();
    let mut measure = ComparedMeasure {
        name: common.name.clone(),
        kind: common.kind.clone(),
        verdict: Verdict::Inconclusive,
        text: String::new(),
        source,
        error_bound: source.error_bound(),
        runs: Vec::new(),
        changes: Vec::new(),
        evidence: None,
        serial: Vec::new(),
        direct: None,
        published: None,
        published_bins: None,
        modes: Vec::new(),
        detect: Vec::new(),
        curves: None,
    };
    let mut units = Vec::with_capacity(runs.len());
    for (measured, run) in of_runs.iter().zip(runs) {
        let unit = measured.unit(run.seconds);
        measure.runs.push(figures(measured, unit.as_ref(), run.seconds, options));
        units.extend(unit);
    }
    // A run without any operation of it leaves nothing to compare; the counts say which.
    if units.len() < runs.len() {
        return (measure, Vec::new());
    }
    let baselines = runs.iter().filter(|run| run.side == Side::Baseline).count();
    fill(&mut measure, of_runs, &units, baselines, options);
    let candidate = units.split_off(baselines);
    let sides = match rule {
        None => return (measure, Vec::new()),
        Some(Rule::Windows) => Sides::of_windows(of_runs, runs, [units, candidate]),
        Some(_) => Some(Sides {
            baseline: units,
            candidate,
            runs: None,
            distances: measure.direct.as_ref().map_or(Vec::new(), pairs::distances),
        }),
    };
    let components = match (sides, rule) {
        (Some(sides), Some(rule)) => components(&sides, rule, options),
        _ => Vec::new(),
    };
    (measure, components)
}

fn figures(
    measured: &RunMeasure,
    unit: Option<&Unit>,
    seconds: f64,
    options: &Options,
) -> RunFigures {
    let sample = unit.map(|unit| &unit.sample);
    RunFigures {
        count: measured.count(),
        rate: measured.completed(seconds).map(Rate::per_second),
        error_rate: measured.ends.map(Ends::error_rate),
        all: measured.all_operations(&options.quantiles),
        mean_ns: sample.map(Sample::mean),
        quantiles_ns: sample.map_or(Vec::new(), |sample| {
            options.quantiles.iter().map(|&q| sample.quantile(q)).collect()
        }),
    }
}

/// The verdict of all measures together. A finding that makes a comparison untrusted wins.
fn overall(measures: &[ComparedMeasure], findings: &[record::schema::Finding]) -> Verdict {
    if findings::is_untold(findings) {
        return Verdict::Inconclusive;
    }
    let verdicts = measures.iter().map(|measure| measure.verdict);
    let most = verdicts.max_by_key(|verdict| verdict.weight());
    most.unwrap_or(Verdict::Inconclusive)
}
