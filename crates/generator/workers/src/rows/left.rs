//! Rows that stay on the machine of an agent.

use std::fs::{DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use record::{RecordError, RequestsWriter};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::LoopRows;
use super::write::{RowLimits, RowsThread, WrittenRows};
use crate::causes::with_causes;

/// Bytes that are read of a file at once to compute its digest.
const DIGEST_BYTES: usize = 1 << 20;

/// The directory in which an agent keeps the rows of one run.
#[derive(Debug, Clone)]
pub struct RowsRoom {
    /// A directory that does not exist yet.
    pub directory: PathBuf,
    pub limits: RowLimits,
}

/// The rows that a worker has left on its machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftRows {
    /// The file, or the directory of its segments.
    pub path: String,
    /// The file's digest (hexadecimal SHA-256), rows and bytes; `None`: its segments were not joined.
    pub part: Option<(String, u64, u64)>,
    /// Rows that were not written.
    pub lost: u64,
    /// The reason for which rows were not written, or segments not joined.
    pub problem: Option<String>,
}

/// The writer of rows in a directory that only this user may read. The error is for people.
pub(crate) fn prepare(room: &RowsRoom, run: &str) -> Result<RequestsWriter, String> {
    let failed = |error: &dyn std::fmt::Display| {
        let directory = room.directory.display();
        format!("no rows can be left in {directory}: {error}")
    };
    let made = DirBuilder::new().mode(0o700).create(&room.directory);
    made.map_err(|error| failed(&error))?;
    RequestsWriter::apart(&room.directory, run).map_err(|error| failed(&with_causes(&error)))
}

/// Writes rows until the last sender is gone.
pub(crate) fn leave(writer: RequestsWriter, rows: LoopRows, limits: RowLimits) -> LeftRows {
    let path = writer.path().to_owned();
    let written = RowsThread::start(writer, rows, limits).finish();
    report(&path, written)
}

fn report(path: &Path, written: WrittenRows) -> LeftRows {
    let WrittenRows { counts, limit, result } = written;
    let digested = result.and_then(|()| {
        digest(path).map_err(|source| RecordError::Io {
            action: "read",
            path: path.to_owned(),
            source,
        })
    });
    let part = digested.as_ref().ok();
    let part = part.map(|(sha256, bytes)| (sha256.clone(), counts.kept, *bytes));
    let problem = limit.or(digested.err()).map(|error| with_causes(&error));
    LeftRows { path: path.display().to_string(), part, lost: counts.lost, problem }
}

/// The hexadecimal SHA-256 of a file, and its length.
fn digest(path: &Path) -> io::Result<(String, u64)> {
    let mut file = File::open(path)?;
    let mut digest = Sha256::new();
    let mut bytes = 0;
    let mut piece = vec![0; DIGEST_BYTES];
    loop {
        let count = file.read(&mut piece)?;
        if count == 0 {
            break;
        }
        digest.update(&piece[..count]);
        bytes += count as u64;
    }
    Ok((units::hex(&digest.finalize()), bytes))
}

#[cfg(test)]
mod tests {
    use record::{Measurement, Outcome};

    use super::*;
    use crate::numbering::Numbering;
    use crate::rows::rows_channel;
    use crate::testing::plan;

    const SCENARIO: &str = "target: http://127.0.0.1:1\nsessions: { one: [ { get: / } ] }\n\
                            arrivals: [ { constant: 1/s, for: 1s } ]\n";

    fn rows(count: u64) -> Vec<Measurement> {
        let row = |user| Measurement {
            due_ns: user,
            sent_ns: user,
            done_ns: user,
            user,
            measure: 1,
            session: 0,
            loop_id: 0,
            outcome: Outcome::Ok,
            status: 200,
            weight: 1,
            bytes_out: 1,
            bytes_in: 1,
        };
        (0..count).map(row).collect()
    }

    fn left_in(directory: &Path) -> LeftRows {
        let room = RowsRoom { directory: directory.join("r1.a1"), limits: RowLimits::NONE };
        let writer = prepare(&room, "r1").unwrap();
        let (sender, receiver) = rows_channel();
        sender.send(rows(300)).unwrap();
        drop(sender);
        let numbering = Numbering::new(&plan(SCENARIO), 1);
        let rows = LoopRows { receiver, numbering };
        leave(writer, rows, room.limits)
    }

    #[test]
    fn rows_are_left_in_one_file_that_is_known_by_its_digest() {
        let space = tempfile::tempdir().unwrap();
        let left = left_in(space.path());
        assert_eq!((left.lost, left.problem), (0, None));
        let (sha256, rows, bytes) = left.part.unwrap();
        let file = std::fs::read(&left.path).unwrap();
        assert_eq!((rows, bytes), (300, file.len() as u64));
        assert_eq!(sha256, units::hex(&Sha256::digest(&file)));
    }

    #[test]
    fn a_directory_that_is_there_is_an_error_that_names_it() {
        let space = tempfile::tempdir().unwrap();
        left_in(space.path());
        let room = RowsRoom { directory: space.path().join("r1.a1"), limits: RowLimits::NONE };
        let error = prepare(&room, "r1").map(drop).unwrap_err();
        assert!(error.contains("r1.a1: "), "{error}");
    }
}
