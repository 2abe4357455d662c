//! Rows are safe in time, however fast they come.

use std::path::Path;
use std::sync::mpsc::SyncSender;

use record::schema::{FORMAT_VERSION, MeasureInfo, RunInfo};
use record::{Durability, Outcome, Run, RunDir};
use serde_json::json;
use workers::rows_channel;

use super::*;
use crate::testing;

const SECOND_NS: u64 = 1_000_000_000;
/// Of the five seconds that are promised, loops may keep a row for one.
const SAFE_NS: u64 = 4 * SECOND_NS;
/// What a busy machine may hold the writer up.
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
    let thread = RowsThread::start(dir.requests(&info).unwrap(), (receiver, numbering));
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
    let (counts, written) = thread.finish();
    written.unwrap();
    assert_eq!((counts.kept, counts.lost), (next, 0));
}

#[test]
fn rows_are_safe_in_time_at_every_rate() {
    std::thread::scope(|scope| {
        for rate_per_s in [20, 500, 20_000] {
            scope.spawn(move || holds_at(rate_per_s));
        }
    });
}
