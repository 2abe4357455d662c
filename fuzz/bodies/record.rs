//! Fuzzing the files of run directories, and samples of other tools.

use record::Run;
use record::samples::{Format, Measurements, ReadOptions, Unit, is_results, parse, read_results};

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
    let name = &data[..end];
    let contents = &data[end + 1..];
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

/// Samples: a number a line, or columns, of which the first byte says which.
pub(crate) fn samples(data: &[u8]) {
    let Some((&first, text)) = data.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let names = ["a", "b"].iter().take(usize::from(first & 3)).map(|&name| name.to_owned());
    let start = (first & 4 != 0).then(|| ("t".to_owned(), Unit::S));
    let format = Format {
        columns: names.collect(),
        unit: if first & 8 != 0 { Unit::Ms } else { Unit::Ns },
        start,
        success: (first & 16 != 0).then(|| "s".to_owned()),
    };
    let _ = parse(text, &format);
}

/// Results of other tools, by what they look like.
pub(crate) fn results(data: &[u8]) {
    is_results(data);
    let one_name = ReadOptions { measure: Some("all".to_owned()), unit: Some(Unit::Ms) };
    for options in [ReadOptions::default(), one_name] {
        let Ok(results) = read_results(data, &options) else {
            continue;
        };
        match &results.measured {
            Measurements::Operations(all) => {
                assert!(!all.is_empty(), "results without operations");
                for one in all {
                    let measure = usize::from(one.measure);
                    assert!(measure < results.measures.len(), "a measure that is none");
                    let detail = usize::from(one.detail);
                    assert!(detail <= results.details.len(), "a detail that is none");
                }
            }
            Measurements::Histograms(parts) => {
                assert!(parts.iter().all(|part| !part.times.is_empty()), "an empty histogram");
            }
        }
    }
}
