//! A run of our own as a log: `requests.parquet`, whose users are known by their numbers.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use record::Run;
use record::schema::RunInfo;

use crate::findings::{Severity, add};
use crate::{format, from_logs};
use crate::line_problems::LineProblems;
use crate::read::{FileRead, LineStatistics, RULE, Reading, Sample};
use crate::request_record::RequestRecord;
use crate::settings::Settings;
use crate::sorter::Sorter;
use crate::{Class, BuiltModel, Model, ModelError, Target};

/// Reads a run directory and models its requests: classes are its measures, segments its sessions. A run does
/// not record what it asked for: `asked` has it by the names of measures, as far as it is known.
///
/// # Errors
/// Where the run cannot be read, or has no requests.
pub fn from_run(
    path: &Path,
    settings: &Settings,
    asked: &BTreeMap<String, Vec<Target>>,
) -> Result<BuiltModel, ModelError> {
    let scratch = crate::scratch(settings)?;
    let run = Run::open(path)?;
    let info = run.info();
    let kept = |error: std::io::Error| ModelError::Scratch {
        path: scratch.path().to_owned(),
        source: error,
    };
    let mut sorter: Sorter<'_, RequestRecord> = Sorter::new(&scratch, "requests".to_owned(), 8);
    let (mut lines, mut failed, mut sampled) = (0, None, false);
    let mut span_ns = (i64::MAX, i64::MIN);
    let started_ns = info.started_unix_ns.cast_signed();
    run.requests(|rows| {
        for row in rows {
            if info.measures[usize::from(row.measure)].kind != "request" {
                continue;
            }
            sampled |= row.weight > 1;
            let time_ns = started_ns.saturating_add_unsigned(row.sent_ns);
            span_ns = (span_ns.0.min(time_ns), span_ns.1.max(time_ns));
            let request = RequestRecord {
                key: row.user,
                time_ns,
                order: lines,
                route: u32::from(row.measure),
                segment: row.session,
                status: row.status,
            };
            lines += 1;
            if let Err(error) = sorter.push(request) {
                failed.get_or_insert(error);
            }
        }
    })?;
    if let Some(error) = failed {
        return Err(kept(error));
    }
    check_rows(lines, sampled)?;
    let reading = Reading {
        files: vec![FileRead {
            name: path.display().to_string(),
            format: format::RUN.to_owned(),
            lines,
            step_s: Some(1e-9),
            cut_off: None,
        }],
        runs: sorter.finish().map_err(kept)?,
        routes: info
            .measures
            .iter()
            .map(|measure| format!("{RULE}{}", measure.name))
            .collect(),
        segments: info.sessions.clone(),
        samples: samples(info, asked),
        problems: LineProblems::default(),
        statistics: LineStatistics::default(),
        lines,
        requests: lines,
        without: 0,
        step_ns: 1,
        finer: 0,
        offsets: [(0, lines)].into(),
        back_max_ns: 0,
        span_ns,
    };
    let made = from_logs::build(reading, settings, &scratch, info.name.clone()).map_err(kept)?;
    let mut made = made.finish(|_| Ok(HashMap::new()))?;
    report_made_up_targets(&mut made.model, asked);
    Ok(made)
}

/// Rejects a run without requests, and one whose rows were sampled.
fn check_rows(lines: u64, sampled: bool) -> Result<(), ModelError> {
    let why = match (lines, sampled) {
        (0, _) => ": the run has none",
        (_, true) => " that are whole: the run's rows were sampled, which breaks sessions",
        _ => "",
    };
    if !why.is_empty() {
        let why = why.to_owned();
        return Err(ModelError::Nothing { lines, why });
    }
    Ok(())
}

/// The known targets of the run's measures.
fn samples(info: &RunInfo, asked: &BTreeMap<String, Vec<Target>>) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (route, measure) in (0..).zip(&info.measures) {
        for target in asked.get(&measure.name).into_iter().flatten() {
            samples.push(Sample {
                lot: 0,
                route,
                method: target.method.clone(),
                target: target.target.clone(),
            });
        }
    }
    samples
}

/// Tells which classes ask for something that is made up, and which for the same.
fn report_made_up_targets(model: &mut Model, asked: &BTreeMap<String, Vec<Target>>) {
    let made_up: Vec<&str> = model
        .classes
        .iter()
        .map(|class| class.name.as_str())
        .filter(|name| !asked.contains_key(*name))
        .collect();
    let told = format!(
        "a run does not record what it asks for, and its scenario does not say it of {}: paths made of the \
         names stand there, to be put right in scenario.yaml",
        made_up.join(", ")
    );
    if !made_up.is_empty() {
        add(model, Severity::Warning, "targets-made-up", told);
    }
    let alike: Vec<&str> = (0..model.classes.len())
        .filter(|&place| is_alike(&model.classes, place))
        .map(|place| model.classes[place].name.as_str())
        .collect();
    let told = format!(
        "{} ask for the same as others of them: `throng model check` cannot tell them apart",
        alike.join(", ")
    );
    if !alike.is_empty() {
        add(model, Severity::Warning, "targets-alike", told);
    }
}

/// Whether a class has a target that another one has, too.
fn is_alike(classes: &[Class], place: usize) -> bool {
    let same = |a: &Target, b: &Target| (&a.method, &a.target) == (&b.method, &b.target);
    let others = classes.iter().enumerate().filter(|(at, _)| *at != place);
    let mut others = others.flat_map(|(_, class)| &class.targets);
    others.any(|other| classes[place].targets.iter().any(|own| same(own, other)))
}
