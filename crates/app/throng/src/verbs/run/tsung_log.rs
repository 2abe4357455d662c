//! `--tsung-log FILE`: writes a run's rows as Tsung's log.

use std::path::Path;

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
    let written = record::whole::write_with(path, |out| {
        out.write_all(TsungLog::HEADER.as_bytes())?;
        for row in &rows {
            out.write_all(log.line(row).as_bytes())?;
        }
        Ok(())
    });
    written.map_err(|error| {
        let hint = "the run itself is complete: see its directory";
        Failure::unwritten(Exit::Io, &error, hint)
    })
}
