//! Rows that agents of a fleet have kept.

use std::fs;
use std::path::Path;

use record::schema::{RowsKept, RunInfo, RunStatus, WorkerInfo, WorkerRows};
use record::{Measurement, RecordError, RequestsWriter, Run, RunDir};

use crate::sample::{ID, info, measurement, measurements};

/// A run whose rows these agents have.
fn left(root: &Path, kept: RowsKept, agents: &[&str]) -> Run {
    let worker = |name: &&str| WorkerInfo {
        agent: Some((*name).to_owned()),
        rows: Some(WorkerRows::new(kept, "r1")),
        ..WorkerInfo::default()
    };
    let info = RunInfo { workers: agents.iter().map(worker).collect(), ..info() };
    let dir = RunDir::create(root, &info, "scenario").unwrap();
    let info = RunInfo { status: RunStatus::Complete, ..info };
    dir.update_info(&info).unwrap();
    Run::open(&root.join(ID)).unwrap()
}

/// What an agent has written.
fn part(root: &Path, name: &str, rows: &[Measurement]) -> std::path::PathBuf {
    let directory = root.join(name);
    fs::create_dir(&directory).unwrap();
    let mut writer = RequestsWriter::apart(&directory, "r1").unwrap();
    let (first, second) = rows.split_at(rows.len() / 2);
    for some in [first, second] {
        writer.write(some).unwrap();
        writer.checkpoint().unwrap();
    }
    assert!(writer.bytes() > 0);
    let path = writer.path().to_owned();
    writer.finish().unwrap();
    path
}

fn read(run: &Run) -> Vec<Measurement> {
    let mut rows = Vec::new();
    run.requests(|batch| rows.extend_from_slice(batch)).unwrap();
    rows
}

fn put(run: &Run, agent: &str, file: &Path) {
    let parts = run.parts();
    parts.prepare().unwrap();
    parts.check(file).unwrap();
    parts.put(agent, &[file.to_owned()]).unwrap();
}

#[test]
fn parts_are_read_as_one_once_all_are_there() {
    let space = tempfile::tempdir().unwrap();
    let run = left(space.path(), RowsKept::Agent, &["a1", "a2"]);
    let missing = run.missing().join("; ");
    assert!(missing.contains("agents a1, a2; `throng fleet fetch"), "{missing}");
    assert_eq!(run.parts().absent().len(), 2);
    let one = measurements(0..50);
    let two = measurements(50..120);
    put(&run, "a2", &part(space.path(), "two", &two));
    // Some agents' rows are no sample of the run.
    assert_eq!(read(&run), []);
    let missing = run.missing().join("; ");
    assert!(missing.contains("of agent a1; "), "{missing}");
    run.parts().join().unwrap();
    assert!(!run.path().join("requests.parquet").exists());
    put(&run, "a1", &part(space.path(), "one", &one));
    let both = [one, two].concat();
    assert_eq!(read(&run), both, "agent by agent");
    run.parts().join().unwrap();
    assert_eq!(read(&run), both);
    assert!(run.path().join("requests.parquet").exists());
    assert!(!run.path().join("requests.parquet.parts").exists());
    assert_eq!(run.rows_elsewhere(), None);
    // Once more changes nothing.
    run.parts().join().unwrap();
}

#[test]
fn the_segments_of_a_lost_agent_are_one_part() {
    let space = tempfile::tempdir().unwrap();
    let run = left(space.path(), RowsKept::Agent, &["a1"]);
    let rows = measurements(0..30);
    let one = part(space.path(), "one", &rows[..10]);
    let two = part(space.path(), "two", &rows[10..]);
    let parts = run.parts();
    parts.prepare().unwrap();
    parts.put("a1", &[one.clone(), two]).unwrap();
    assert!(!one.exists());
    assert_eq!(read(&run), rows);
}

#[test]
fn rows_that_nobody_wrote_are_said_to_be_nowhere() {
    let space = tempfile::tempdir().unwrap();
    let run = left(space.path(), RowsKept::Nowhere, &["a1"]);
    let missing = run.missing().join("; ");
    assert!(missing.contains("wrote no rows of single operations"), "{missing}");
    assert_eq!(read(&run), []);
}

#[test]
fn what_is_no_part_of_the_run_is_refused() {
    let space = tempfile::tempdir().unwrap();
    let run = left(space.path(), RowsKept::Agent, &["a1", "../a2"]);
    assert!(matches!(run.parts().path("../a2"), Err(RecordError::Damaged { .. })));
    let mut of_another = measurement(1);
    of_another.measure = 40;
    let bad = part(space.path(), "bad", &[of_another]);
    let error = run.parts().check(&bad).unwrap_err().to_string();
    assert!(error.contains("measure 40 of 2"), "{error}");
    let text = space.path().join("text.parquet");
    fs::write(&text, "PAR1 no table PAR1").unwrap();
    assert!(run.parts().check(&text).is_err());
    // A table of ours that has other columns.
    let dir = RunDir::create(&space.path().join("other"), &info(), "").unwrap();
    let mut series = dir.series(&info());
    series.push(&crate::sample::series_row(0));
    series.finish().unwrap();
    assert!(run.parts().check(&dir.path().join("series.parquet")).is_err());
}
