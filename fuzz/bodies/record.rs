//! Fuzzing the files of run directories.

use record::Run;

/// A sound `run.json`, which every run directory must have.
pub(crate) const RUN: &[u8] = include_bytes!("run.json");
/// The files that may be named.
const NAMES: &[&str] = &[
    "run.json",
    "summary.json",
    "tally.json",
    "events.jsonl",
    "latency.hlog",
    "import.json",
    "series.parquet",
    "requests.parquet",
    "probes.parquet",
];

/// The first line names a file, the rest is its contents: all readers of the directory report or
/// read it, and nothing panics.
pub(crate) fn run_files(data: &[u8]) {
    let Some(end) = data.iter().position(|&byte| byte == b'\n') else {
        return;
    };
    let (name, contents) = (&data[..end], &data[end + 1..]);
    let Some(name) = NAMES.iter().find(|known| known.as_bytes() == name) else {
        return;
    };
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("run.json"), RUN).expect("a file");
    std::fs::write(directory.path().join(name), contents).expect("a file");
    let Ok(run) = Run::open(directory.path()) else {
        return;
    };
    run.missing();
    let _ = run.scenario();
    let _ = run.summary();
    let _ = run.import();
    let _ = run.probes();
    let _ = run.tally();
    let _ = run.series();
    let _ = run.events();
    let _ = run.intervals(drop);
    let _ = run.requests(|_| {});
}
