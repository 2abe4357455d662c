//! `--tsung-log FILE`: writes a run's rows as Tsung's log.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use record::{Measurement, Run};
use report::{TsungLog, TsungRequest};

use crate::exit::{Exit, Failure};

/// Writes the log in the order in which requests ended. `requests` describes them if the run came
/// from a Tsung file.
pub(super) fn write(
    path: &Path,
    directory: &Path,
    requests: Option<Vec<TsungRequest>>,
) -> Result<(), Failure> {
    let run = Run::open(directory).map_err(|error| Failure::new(Exit::Io, error))?;
    let log = TsungLog::new(run.info(), requests);
    let mut rows: Vec<Measurement> = Vec::new();
    run.requests(|some| rows.extend(some.iter().filter(|row| log.has(row))))
        .map_err(|error| Failure::new(Exit::Io, error))?;
    rows.sort_by_key(|row| row.done_ns);
    let io = |error: std::io::Error| {
        let message = format!("cannot write {}: {error}", path.display());
        Failure::hinted(
            Exit::Io,
            message,
            "the run itself is complete: see its directory",
        )
    };
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    let temporary = PathBuf::from(temporary);
    let mut out = BufWriter::new(fs::File::create(&temporary).map_err(io)?);
    out.write_all(TsungLog::HEADER.as_bytes()).map_err(io)?;
    for row in &rows {
        out.write_all(log.line(row).as_bytes()).map_err(io)?;
    }
    out.into_inner().map_err(|error| io(error.into_error()))?;
    fs::rename(&temporary, path).map_err(io)
}
