//! Broken files, files of other programs and later versions, and disks that are full.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use record::{RecordError, RowCounts, Run, RunDir};

use crate::sample;

fn create(root: &Path) -> RunDir {
    RunDir::create(root, &sample::info(), "").unwrap()
}

/// A directory with rows and seconds in it.
fn written(root: &Path) -> PathBuf {
    let dir = create(root);
    let mut writer = dir.requests(&sample::info()).unwrap();
    writer.write(&sample::measurements(0..3000)).unwrap();
    writer.finish().unwrap();
    let mut writer = dir.series(&sample::info());
    (0..20).for_each(|second| writer.push(&sample::series_row(second)));
    writer.finish().unwrap();
    dir.path().to_owned()
}

/// The error of the first reader that has one, and what it says.
fn complaint(path: &Path) -> String {
    let read = Run::open(path).and_then(|run| {
        run.summary()?;
        run.tally()?;
        run.series()?;
        run.events()?;
        run.intervals(|_| {})?;
        run.requests(|_| {})
    });
    read.unwrap_err().to_string()
}

#[test]
fn files_of_another_format_are_refused() {
    for (file, content, expected) in [
        ("run.json", "", "run.json is damaged: EOF while parsing"),
        ("run.json", "[1, 2]", "run.json is damaged: "),
        ("run.json", "{\"format\": 2}", "run.json is damaged: missing field `id`"),
        (
            "run.json",
            "{\"format\": 99, \"id\": 7}",
            "run.json has format 99, but this version of throng reads format 2; use a newer version",
        ),
        (
            "run.json",
            "{\"format\": 1, \"id\": 7}",
            "run.json has format 1, but this version of throng reads format 2; make the run again",
        ),
        ("run.json", "\u{0}", "run.json is damaged: "),
        ("summary.json", "{\"format\": 3}", "summary.json has format 3"),
        ("tally.json", "nonsense", "tally.json is damaged: "),
        ("series.parquet", "", "series.parquet is damaged: "),
        ("series.parquet", "PAR1 rubbish PAR1", "series.parquet is damaged: "),
        ("events.jsonl", "{\"at_ns\": -1}\n", "events.jsonl is damaged: line 1: "),
        ("latency.hlog", "one,two\n", "latency.hlog is damaged: line 1: "),
        ("requests.parquet", "id,latency\n1,2\n", "requests.parquet is damaged: "),
    ] {
        let root = tempfile::tempdir().unwrap();
        let dir = create(root.path());
        fs::write(dir.path().join(file), content).unwrap();
        let complaint = complaint(dir.path());
        assert!(complaint.contains(expected), "{file} {content:?}: {complaint}");
    }
}

#[test]
fn table_of_another_kind_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let path = written(root.path());
    fs::copy(path.join("series.parquet"), path.join("requests.parquet")).unwrap();
    let complaint = complaint(&path);
    assert!(complaint.contains("requests.parquet is damaged: it has no column `due_ns`"));
}

#[test]
fn unknown_measures_are_reported() {
    let root = tempfile::tempdir().unwrap();
    let dir = create(root.path());
    let mut writer = dir.requests(&sample::info()).unwrap();
    writer.write(&[record::Measurement { measure: 2, ..sample::measurement(0) }]).unwrap();
    writer.finish().unwrap();
    let complaint = complaint(dir.path());
    assert!(complaint.ends_with("is damaged: measure 2 of 2 in run.json"), "{complaint}");
}

#[test]
fn a_folder_without_a_run_is_refused() {
    let root = tempfile::tempdir().unwrap();
    for path in [root.path().to_owned(), root.path().join("nowhere")] {
        assert!(matches!(Run::open(&path), Err(RecordError::NotARun { .. })));
    }
}

/// `/dev/full` answers each write as a full disk does.
#[cfg(target_os = "linux")]
mod disk_full {
    use std::os::unix::fs::symlink;

    use super::*;

    fn assert_full<T>(result: Result<T, RecordError>) {
        let error = result.map(|_| ()).unwrap_err();
        assert!(error.is_disk_full(), "{error:?}");
        assert!(error.to_string().starts_with("cannot write /"), "{error}");
    }

    #[test]
    fn every_writer_says_so() {
        let root = tempfile::tempdir().unwrap();
        let dir = create(root.path());
        for name in ["events.jsonl", "latency.hlog", "series.parquet.tmp", "summary.json"] {
            symlink("/dev/full", dir.path().join(name)).unwrap();
        }
        assert_full(dir.events().unwrap().write(&sample::event()));
        assert_full(dir.latency(&sample::info()));
        assert_full(dir.series(&sample::info()).finish());
        assert_full(dir.write_summary(&sample::summary()));
    }

    /// The rows that found no place are counted, and the writer goes on when there is room.
    #[test]
    fn requests_go_on_when_there_is_room() {
        let root = tempfile::tempdir().unwrap();
        let dir = create(root.path());
        let mut writer = dir.requests(&sample::info()).unwrap();
        let parts = dir.path().join("requests.parquet.parts");
        symlink("/dev/full", parts.join("000002.parquet.tmp")).unwrap();
        let rows = sample::measurements(0..300);

        writer.write(&rows[..100]).unwrap();
        writer.checkpoint().unwrap();
        writer.write(&rows[100..200]).unwrap();
        assert_full(writer.checkpoint());
        assert_eq!(writer.counts(), RowCounts { kept: 100, lost: 100 });
        writer.write(&rows[200..]).unwrap();
        writer.finish().unwrap();

        let mut found = Vec::new();
        let run = Run::open(dir.path()).unwrap();
        run.requests(|batch| found.extend_from_slice(batch)).unwrap();
        assert_eq!(found, [&rows[..100], &rows[200..]].concat());
    }

    /// The disk fills up while the segments are joined: they are still there to be read.
    #[test]
    fn segments_stay_when_they_cannot_be_joined() {
        let root = tempfile::tempdir().unwrap();
        let dir = create(root.path());
        let mut writer = dir.requests(&sample::info()).unwrap();
        let rows = sample::measurements(0..200);
        for half in rows.chunks(100) {
            writer.write(half).unwrap();
            writer.checkpoint().unwrap();
        }
        symlink("/dev/full", dir.path().join("requests.parquet.tmp")).unwrap();
        assert_full(writer.finish());

        let mut found = Vec::new();
        let run = Run::open(dir.path()).unwrap();
        run.requests(|batch| found.extend_from_slice(batch)).unwrap();
        assert_eq!(found, rows);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    /// A flipped byte or a cut may go unnoticed or be reported, but nothing else.
    #[test]
    fn damaged_tables_never_panic(
        place in any::<proptest::sample::Index>(), flip in 1_u8.., cut: bool, from_end: bool,
    ) {
        let root = tempfile::tempdir().unwrap();
        let path = written(root.path());
        for name in ["requests.parquet", "series.parquet"] {
            let mut bytes = fs::read(path.join(name)).unwrap();
            // The footer is where most of the structure stands.
            let place = if from_end {
                bytes.len() - 1 - place.index(bytes.len().min(1500))
            } else {
                place.index(bytes.len())
            };
            if cut {
                bytes.truncate(place);
            } else {
                bytes[place] ^= flip;
            }
            fs::write(path.join(name), bytes).unwrap();
        }
        let run = Run::open(&path).unwrap();
        let _ = run.series();
        let _ = run.requests(|_| {});
    }
}
