//! A run of our own as a log: `requests.parquet`, whose users are known by their numbers.

use std::path::Path;

use record::Run;

use crate::faults::Faults;
use crate::hit::Hit;
use crate::read::{FileRead, RULE, Reading};
use crate::settings::Settings;
use crate::sorter::Sorter;
use crate::{Made, ModelError};

/// Reads a run directory and models its requests: classes are its measures, segments its sessions.
///
/// # Errors
/// Where the run cannot be read, or has no requests.
pub fn recorded(path: &Path, settings: &Settings) -> Result<Made, ModelError> {
    let scratch = crate::scratch(settings)?;
    let run = Run::open(path)?;
    let info = run.info();
    let kept = |error: std::io::Error| ModelError::Scratch {
        path: scratch.path().to_owned(),
        source: error,
    };
    let mut sorter: Sorter<'_, Hit> = Sorter::new(&scratch, "hits".to_owned(), 8);
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
            let hit = Hit {
                key: row.user,
                time_ns,
                order: lines,
                shape: u32::from(row.measure),
                segment: row.session,
                status: row.status,
            };
            lines += 1;
            if let Err(error) = sorter.push(hit) {
                failed.get_or_insert(error);
            }
        }
    })?;
    if let Some(error) = failed {
        return Err(kept(error));
    }
    let why = match (lines, sampled) {
        (0, _) => ": the run has none",
        (_, true) => " that are whole: the run's rows were sampled, which breaks sessions",
        _ => "",
    };
    if !why.is_empty() {
        let why = why.to_owned();
        return Err(ModelError::Nothing { lines, why });
    }
    let reading = Reading {
        files: vec![FileRead {
            name: path.display().to_string(),
            format: "requests.parquet".to_owned(),
            lines,
            cut_off: None,
        }],
        runs: sorter.finish().map_err(kept)?,
        shapes: info
            .measures
            .iter()
            .map(|measure| format!("{RULE}{}", measure.name))
            .collect(),
        segments: info.sessions.clone(),
        samples: Vec::new(),
        faults: Faults::default(),
        lines,
        hits: lines,
        without: 0,
        step_ns: 1,
        offsets: [(0, lines)].into(),
        back_max_ns: 0,
        span_ns,
    };
    let mut made = crate::made(reading, settings, &scratch, info.name.clone()).map_err(kept)?;
    made.model.key = "user".to_owned();
    Ok(made)
}
