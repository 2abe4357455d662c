//! What a script of k6 makes of its run: `handleSummary`, and `--summary-export`.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use controller::Conducted;
use k6::{CheckCounts, Ended, MetricRecorded, Surroundings, ThresholdEnd, Written};
use machine::clock;
use plan::K6Script;
use record::{RecordError, Run};
use stats::metrics::MetricValues;
use stats::rng::{Purpose, Rng};

use crate::args::RunArgs;
use crate::exit::{Exit, Failure, print_error, print_text};
use crate::verbs::export::{cannot_create, write};

/// The folder of the run's directory for the script's files.
const FOLDER: &str = "k6";
/// What the names of checks' measures begin with.
const CHECK: &str = "check ";

/// Writes what the script and the command line want written, and prints what the script wants printed.
pub(super) fn conclude(
    args: &RunArgs,
    script: &Arc<K6Script>,
    conducted: &Conducted,
) -> Result<(), Failure> {
    let ended = ended(conducted).map_err(|error| Failure::new(Exit::Io, error))?;
    let summary = k6::summary(script, &ended);
    if let Some(path) = &args.k6.summary_export {
        let text = format!("{:#}\n", k6::export(&summary));
        write(path, &text)?;
    }
    let mut rng = Rng::new(conducted.info.seed, 0, Purpose::Value);
    let mut around = Surroundings {
        unix_ms: clock::unix_ns() as f64 / 1e6,
        elapsed_ms: ended.duration_ns as f64 / 1e6,
        time_max_ns: script.time_max_ns,
        rng: &mut rng,
    };
    let (written, console) = k6::handle_summary(script, &summary, &mut around);
    console.lines.iter().for_each(|line| print_error(&line.text));
    let written = written.map_err(|fault| {
        let message = format!("handleSummary has failed: {fault}");
        Failure::hinted(Exit::Io, message, "the run itself is complete: throng show last")
    })?;
    for one in written.iter().flatten() {
        put(args, one, &conducted.directory)?;
    }
    Ok(())
}

/// Writes a file, or prints a text.
fn put(args: &RunArgs, written: &Written, directory: &Path) -> Result<(), Failure> {
    let text = || String::from_utf8_lossy(&written.bytes);
    match written.path.as_str() {
        // The summary as JSON is alone there.
        "stdout" if args.json => print_error(&text()),
        "stdout" if args.quiet => {}
        "stdout" => {
            print_text(&format!("{}\n", text().trim_end_matches('\n')))?;
        }
        "stderr" => print_error(text().trim_end_matches('\n')),
        _ => {
            let path = place(args.k6.allow_write, written, directory)?;
            if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                std::fs::create_dir_all(folder).map_err(|error| cannot_create(folder, &error))?;
            }
            let whole = record::whole::write_with(&path, |out| out.write_all(&written.bytes));
            whole.map_err(|error| Failure::new(Exit::Io, error))?;
        }
    }
    Ok(())
}

/// Where a file is written.
fn place(allow_write: bool, written: &Written, directory: &Path) -> Result<PathBuf, Failure> {
    if allow_write {
        return Ok(PathBuf::from(&written.path));
    }
    match written.inside() {
        Some(name) => Ok(directory.join(FOLDER).join(name)),
        None => Err(Failure::hinted(
            Exit::Io,
            format!(
                "handleSummary writes {:?}, which is outside of the run's directory",
                written.path
            ),
            "allow it by --allow-write, or write a path without / at its start and ..",
        )),
    }
}

/// How the run's thresholds have ended.
pub(super) fn threshold_ends(conducted: &Conducted) -> Vec<ThresholdEnd> {
    let thresholds = conducted.summary.thresholds.iter();
    let ends = thresholds.map(|threshold| ThresholdEnd {
        holds: threshold.passed,
        is_known: threshold.value.is_some(),
    });
    ends.collect()
}

/// What the run has recorded.
fn ended(conducted: &Conducted) -> Result<Ended, RecordError> {
    let run = Run::open(&conducted.directory)?;
    let infos = &run.info().metrics;
    let mut values: Vec<MetricValues> =
        infos.iter().map(|info| MetricValues::new(info.kind)).collect();
    run.metrics(|row| {
        if let Some(of_metric) = values.get_mut(usize::from(row.metric)) {
            of_metric.merge(&row.values);
        }
    })?;
    let metrics = infos.iter().zip(values).map(|(info, values)| MetricRecorded {
        name: info.name.clone(),
        unit: info.unit.clone(),
        values,
    });
    let checks = conducted.summary.over_regions().iter();
    let checks = checks.filter(|measure| measure.kind == "check").map(|measure| CheckCounts {
        name: measure.name.strip_prefix(CHECK).unwrap_or(&measure.name).to_owned(),
        passes: measure.count.saturating_sub(measure.errors),
        fails: measure.errors,
    });
    let is_bare = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Ok(Ended {
        duration_ns: conducted.info.ended_ns,
        metrics: metrics.collect(),
        checks: checks.collect(),
        thresholds: threshold_ends(conducted),
        users: run.series()?.iter().map(|row| row.users_peak).collect(),
        users_max: conducted.summary.users.peak,
        is_terminal: std::io::stdout().is_terminal() && !is_bare,
        is_error_terminal: std::io::stderr().is_terminal() && !is_bare,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stay_in_the_runs_directory_unless_allowed() {
        let of = |path: &str| Written { path: path.to_owned(), bytes: Vec::new() };
        let run = Path::new("runs/x");
        let found = place(false, &of("./summary.json"), run).unwrap();
        assert_eq!(found, Path::new("runs/x/k6/summary.json"));
        let refused = place(false, &of("../summary.json"), run).unwrap_err().to_string();
        assert!(refused.contains("--allow-write"), "{refused}");
        assert!(place(false, &of("/tmp/x"), run).is_err());
        assert_eq!(place(true, &of("../a.json"), run).unwrap(), Path::new("../a.json"));
    }
}
