//! The fuzzers' bodies on their kept corpus.

#[path = "../../../../../fuzz/bodies/model.rs"]
mod bodies;

use testkit::replay::replay;

#[test]
fn no_log_panics() {
    replay("logs", 15, bodies::logs);
}

#[test]
fn no_line_of_a_log_panics() {
    replay("log_lines", 300, bodies::log_lines);
}

#[test]
fn no_model_file_panics() {
    replay("model_files", 100, bodies::model_files);
}
