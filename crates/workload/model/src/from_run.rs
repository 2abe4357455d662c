//! Makes a model of a recorded run: of its `requests.parquet`, whose users have numbers.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use record::Run;
use record::schema::RunInfo;

use crate::findings::{Severity, add};
use crate::line_problems::LineProblems;
use crate::read::{FileRead, LineStatistics, Reading};
use crate::request_record::RequestRecord;
use crate::route::RULE;
use crate::settings::Settings;
use crate::sorter::Sorter;
use crate::target_sample::TargetSample;
use crate::{BuiltModel, Class, Model, ModelError, Target};
use crate::{format, from_logs};

/// Reads a run directory and models its requests: classes are its measures, segments its sessions. A run does
/// not record its targets: `targets` has the known ones by the names of measures.
///
/// # Errors
/// If the run cannot be read, or has no requests.
pub fn from_run(
    path: &Path,
    settings: &Settings,
    targets: &BTreeMap<String, Vec<Target>>,
) -> Result<BuiltModel, ModelError> {
    let scratch = crate::scratch(settings)?;
    let run = Run::open(path)?;
    let info = run.info();
    let kept = |error: std::io::Error| ModelError::Scratch {
        path: scratch.path().to_owned(),
        source: error,
    };
    let mut sorter: Sorter<'_, RequestRecord> = Sorter::new(&scratch, "requests".to_owned(), 8);
    let mut lines = 0;
    let mut failed = None;
    let mut sampled = false;
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
    check_rows(&run, lines, sampled)?;
    let reading = Reading {
        files: vec![run_file(path, lines)],
        runs: sorter.finish().map_err(kept)?,
        routes: info.measures.iter().map(|measure| format!("{RULE}{}", measure.name)).collect(),
        segments: info.sessions.clone(),
        samples: samples(info, targets),
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
    report_made_up_targets(&mut made.model, targets);
    Ok(made)
}

/// The run as a file that was read.
fn run_file(path: &Path, lines: u64) -> FileRead {
    FileRead {
        name: path.display().to_string(),
        format: format::RUN.to_owned(),
        lines,
        step_s: Some(1e-9),
        cut_off: None,
    }
}

/// Rejects a run without requests, and one whose rows were sampled.
fn check_rows(run: &Run, lines: u64, sampled: bool) -> Result<(), ModelError> {
    let why = match (run.rows_elsewhere(), lines, sampled) {
        (Some(elsewhere), ..) => format!(": {elsewhere}"),
        (None, 0, _) => ": the run has none".to_owned(),
        (None, _, true) => {
            " to model: the run kept a sample of its rows, so sessions are incomplete".to_owned()
        }
        _ => String::new(),
    };
    if !why.is_empty() {
        return Err(ModelError::Nothing { lines, why });
    }
    Ok(())
}

/// The known targets of the run's measures.
fn samples(info: &RunInfo, targets: &BTreeMap<String, Vec<Target>>) -> Vec<TargetSample> {
    let mut samples = Vec::new();
    for (route, measure) in (0..).zip(&info.measures) {
        for target in targets.get(&measure.name).into_iter().flatten() {
            samples.push(TargetSample {
                lot: 0,
                route,
                method: target.method.clone(),
                target: target.target.clone(),
            });
        }
    }
    samples
}

/// Reports classes with made-up targets, and classes with common ones.
fn report_made_up_targets(model: &mut Model, targets: &BTreeMap<String, Vec<Target>>) {
    let made_up: Vec<&str> = model
        .classes
        .iter()
        .map(|class| class.name.as_str())
        .filter(|name| !targets.contains_key(*name))
        .collect();
    let text = format!(
        "a run does not record its targets, and its scenario has none for {}: the model uses paths made of the names; \
         correct them in scenario.yaml",
        made_up.join(", ")
    );
    if !made_up.is_empty() {
        add(model, Severity::Warning, "targets-made-up", text);
    }
    let alike: Vec<&str> = (0..model.classes.len())
        .filter(|&place| is_alike(&model.classes, place))
        .map(|place| model.classes[place].name.as_str())
        .collect();
    let text = format!(
        "{} have targets in common with other classes: `throng model check` cannot distinguish them",
        alike.join(", ")
    );
    if !alike.is_empty() {
        add(model, Severity::Warning, "targets-alike", text);
    }
}

/// Whether a class has a target that another one has, too.
fn is_alike(classes: &[Class], place: usize) -> bool {
    let same = |a: &Target, b: &Target| (&a.method, &a.target) == (&b.method, &b.target);
    let others = classes.iter().enumerate().filter(|(at, _)| *at != place);
    let mut others = others.flat_map(|(_, class)| &class.targets);
    others.any(|other| classes[place].targets.iter().any(|own| same(own, other)))
}
