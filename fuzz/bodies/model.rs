//! Fuzzing the readers of access logs and of models: any bytes become a model or are refused.

use model::{Model, Settings};

pub(crate) use model::fuzzing::log_lines;

/// Whole models of access logs, whose format is found from their first lines. Each takes some tenths of a second of
/// estimates: `log_lines` reads thousands a second.
pub(crate) fn logs(data: &[u8]) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("access.log");
    std::fs::write(&path, data).expect("a file");
    let settings = Settings {
        scratch: directory.path().join("sorting"),
        threads: 1,
        bad_max: 1.0,
        ..Settings::default()
    };
    let _ = model::from_logs(&[path], &settings);
}

/// `model.json`.
pub(crate) fn model_files(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = Model::read(text);
    }
}
