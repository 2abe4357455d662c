//! Rows are safe in time, however fast they come.

use std::path::Path;
use std::sync::mpsc::SyncSender;

use record::schema::{FORMAT_VERSION, MeasureInfo, RunInfo};
use record::{Durability, Outcome, Run, RunDir};
use serde_json::json;

use super::*;
use crate::rows::rows_channel;
use crate::testing;

const SECOND_NS: u64 = 1_000_000_000;
/// Five seconds are promised, of which loops may keep a row for one.
const SAFE_NS: u64 = 4 * SECOND_NS;
/// The time for which a busy machine may hold the writer up.
const SLACK_NS: u64 = 2 * SECOND_NS;
/// When the run is looked at as if it had been killed.
const LOOKS_NS: [u64; 3] = [7 * SECOND_NS, 9 * SECOND_NS, 11 * SECOND_NS];
const SCENARIO: &str = "
target: http://127.0.0.1:1
sessions: { one: [ { get: /, as: page } ] }
arrivals: [ { constant: 1/s, for: 1s } ]
";

fn info() -> RunInfo {
    let generator =
        json!({ "mode": "precise", "loops": 1, "cores": 1, "files_per_loop": 1, "lag_max_ns": 1 });
    let measures = [("connect", "connect"), ("page", "request")];
    let measures = measures.map(|(name, kind)| MeasureInfo::new(name, kind));
    let info = json!({
        "format": FORMAT_VERSION, "id": "run", "name": "rows", "throng": "test", "status": "running", "seed": 1,
        "scenario_hash": "", "target": "", "started_unix_ns": 0, "clock": "", "generator": generator,
        "host": {}, "measures": measures, "sessions": ["one"], "phases": [],
    });
    serde_json::from_value(info).unwrap()
}

fn row(user: u64, done_ns: u64) -> Measurement {
    Measurement {
        due_ns: done_ns,
        sent_ns: done_ns,
        done_ns,
        user,
        measure: 1,
        session: 0,
        loop_id: 0,
        outcome: Outcome::Ok,
        status: 200,
        weight: 1,
        bytes_out: 1,
        bytes_in: 1,
    }
}

/// Hands over as many rows as have come by `now_ns`, beginning with this one; the next.
fn feed(rows: &SyncSender<Vec<Measurement>>, rate_per_s: u64, next: u64, now_ns: u64) -> u64 {
    let due = now_ns * rate_per_s / SECOND_NS;
    if due > next {
        let new = (next..due).map(|user| row(user, user * SECOND_NS / rate_per_s));
        rows.send(new.collect()).unwrap();
    }
    due.max(next)
}

/// Reads what a kill at this moment would leave.
fn kept(path: &Path) -> u64 {
    let mut kept = 0;
    let run = Run::open(path).unwrap();
    run.requests(|batch| kept += batch.len() as u64).unwrap();
    kept
}

/// Rows come at this rate, all the time.
fn holds_at(rate_per_s: u64) {
    let space = tempfile::tempdir().unwrap();
    let info = info();
    let dir = RunDir::create_durable(space.path(), &info, SCENARIO, Durability::Process).unwrap();
    let numbering = Numbering::new(&testing::plan(SCENARIO), 1);
    let (rows, receiver) = rows_channel();
    let writer = dir.requests(&info).unwrap();
    let thread = RowsThread::start(writer, LoopRows { receiver, numbering }, RowLimits::NONE);
    let zero_ns = monotonic_ns();
    let now_ns = || monotonic_ns() - zero_ns;
    let mut next = 0;
    for look_ns in LOOKS_NS {
        while now_ns() < look_ns {
            next = feed(&rows, rate_per_s, next, now_ns());
            sleep(POLL);
        }
        let safe_ns = now_ns() - SAFE_NS - SLACK_NS;
        let kept = kept(dir.path());
        assert!(
            kept >= safe_ns * rate_per_s / SECOND_NS,
            "at {rate_per_s}/s {kept} of {next} rows are there after {look_ns} ns"
        );
    }
    drop(rows);
    let written = thread.finish();
    written.result.unwrap();
    assert_eq!((written.counts.kept, written.counts.lost), (next, 0));
}

#[test]
fn rows_are_safe_in_time_at_every_rate() {
    std::thread::scope(|scope| {
        for rate_per_s in [20, 500, 20_000] {
            scope.spawn(move || holds_at(rate_per_s));
        }
    });
}

/// The result of writing a second's rows, handed over in these batches, with limits.
fn with_limits(limits: RowLimits, batches: u64) -> WrittenRows {
    let space = tempfile::tempdir().unwrap();
    let writer = RequestsWriter::apart(space.path(), "r1").unwrap();
    let (rows, receiver) = rows_channel();
    let numbering = Numbering::new(&testing::plan(SCENARIO), 1);
    let thread = RowsThread::start(writer, LoopRows { receiver, numbering }, limits);
    for batch in 0..batches {
        let users = batch * 1_000..(batch + 1) * 1_000;
        rows.send(users.map(|user| row(user, user)).collect()).unwrap();
    }
    drop(rows);
    thread.finish()
}

#[test]
fn a_limit_stops_rows_and_counts_those_that_are_not_written() {
    let limits = RowLimits { bytes_max: 1, spare_bytes: 0 };
    // A segment has 131,072 rows.
    let written = with_limits(limits, 200);
    let RowCounts { kept, lost } = written.counts;
    assert_eq!(kept + lost, 200_000);
    assert!(kept > 0 && lost > 0, "{kept}");
    let limit = written.limit.unwrap().to_string();
    assert!(limit.contains("the rows of a run may take 1 B here"), "{limit}");
    written.result.unwrap();
}

#[test]
fn a_disk_keeps_what_others_need() {
    let limits = RowLimits { bytes_max: u64::MAX, spare_bytes: u64::MAX };
    let written = with_limits(limits, 140);
    assert!(written.counts.lost > 0 && written.counts.kept > 0);
    let limit = written.limit.unwrap().to_string();
    assert!(limit.contains("stay free for reports"), "{limit}");
    // There is no room to join them either: segments stay.
    assert!(written.result.is_err());
}
