//! `throng fleet fetch`: brings rows into a run's directory that its agents have kept.

use std::io::Write;
use std::path::{Path, PathBuf};

use fleet::{Admin, KeptRows, UserKey};
use record::schema::{RowsKept, RunStatus, WorkerInfo, WorkerRows};
use record::{Parts, RecordError, Run};

use super::{access, failure, read_key};
use crate::args::fleet::FetchArgs;
use crate::exit::{Exit, Failure, print_error, print_note, print_text, written};

pub(super) fn fetch(args: &FetchArgs) -> Result<Exit, Failure> {
    let run = Run::open(&args.run).map_err(|error| Failure::new(Exit::NoInput, error))?;
    let left = left(&run)?;
    if left.is_empty() {
        let text = "all rows of the run were sent to its controller\n";
        return written(write!(std::io::stdout(), "{text}"));
    }
    let key = read_key(args.key.as_deref())?;
    let access = access(&args.nats.nats, &args.nats.access);
    let admin = Admin::connect(&access).map_err(failure)?;
    let parts = run.parts();
    let absent = parts.absent();
    let mut failed = Vec::new();
    if !absent.is_empty() {
        parts.prepare().map_err(io)?;
    }
    for (worker, rows) in absent {
        let fetched = fetch_part(&admin, &parts, &args.run, worker, rows, key.as_ref());
        match fetched {
            Ok(line) => print_text(&format!("{line}\n")).map(drop)?,
            // The others are fetched all the same.
            Err(error) => failed.push(error),
        }
    }
    let last = failed.pop();
    for error in failed {
        print_error(&error.to_string());
    }
    if let Some(error) = last {
        return Err(error);
    }
    parts.join().map_err(io)?;
    let text = format!("{} has all rows\n", args.run.display());
    written(write!(std::io::stdout(), "{text}"))?;
    if args.remove {
        for (worker, rows) in left {
            let wanted = wanted(worker, rows);
            admin.remove_rows(wanted, key.as_ref()).map_err(failure)?;
            let line = format!("agent {} has removed its rows", wanted.agent);
            print_text(&format!("{line}\n"))?;
        }
    }
    Ok(Exit::Passed)
}

/// The workers that have left rows on their machines.
fn left(run: &Run) -> Result<Vec<(&WorkerInfo, &WorkerRows)>, Failure> {
    let workers = run.info().workers.iter();
    let left = workers.filter_map(|worker| Some((worker, worker.rows.as_ref()?)));
    let left: Vec<_> = left.collect();
    if left.iter().any(|(_, rows)| rows.kept == RowsKept::Nowhere) {
        return Err(Failure::hinted(
            Exit::Data,
            "the run's agents wrote no rows: there is nothing to fetch".to_owned(),
            "`throng run --rows leave` keeps them on the agents' machines",
        ));
    }
    if !left.is_empty() && run.info().status == RunStatus::Running {
        print_note(
            "the record does not say that the run is over: an agent that still takes part in it refuses",
        );
    }
    Ok(left)
}

fn wanted<'a>(worker: &'a WorkerInfo, rows: &'a WorkerRows) -> KeptRows<'a> {
    KeptRows {
        agent: worker.agent.as_deref().unwrap_or_default(),
        run: &rows.run,
        part: rows.part.as_ref().map(|part| (part.sha256.as_str(), part.bytes)),
    }
}

/// Fetches the rows of one agent, checks them, and puts them into the record. Returns a line about them.
fn fetch_part(
    admin: &Admin,
    parts: &Parts<'_>,
    directory: &Path,
    worker: &WorkerInfo,
    rows: &WorkerRows,
    key: Option<&UserKey>,
) -> Result<String, Failure> {
    let wanted = wanted(worker, rows);
    // Where a part goes is an error before anything is fetched.
    let folder = parts.path(wanted.agent).map_err(io)?;
    let folder = folder.parent().unwrap_or(directory);
    let mut bytes = 0;
    let files = admin.fetch_rows(wanted, folder, key, &mut |more| bytes += more);
    let files: Vec<PathBuf> = files.map_err(failure)?;
    let mut count = 0;
    for file in &files {
        count += parts.check(file).map_err(io)?;
    }
    parts.put(wanted.agent, &files).map_err(io)?;
    let proof = match wanted.part {
        Some((sha256, _)) => format!("SHA-256 {sha256}, as reported"),
        None => "its worker was lost before it reported their digest".to_owned(),
    };
    Ok(format!(
        "agent {}: {}, {} ({proof})",
        wanted.agent,
        units::counted(count, "row"),
        units::bytes(bytes)
    ))
}

fn io(error: RecordError) -> Failure {
    let exit = match &error {
        RecordError::Damaged { .. } | RecordError::Format { .. } => Exit::Data,
        _ => Exit::Io,
    };
    Failure::new(exit, error)
}
