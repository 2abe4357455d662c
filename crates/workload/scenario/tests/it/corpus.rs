//! The fuzzers' bodies on their kept corpus.

#[path = "../../../../../fuzz/bodies/scenario.rs"]
mod bodies;

use testkit::replay::replay;

#[test]
fn no_document_panics() {
    replay("yaml", 200, bodies::yaml);
}

#[test]
fn no_expression_panics() {
    replay("expressions", 200, bodies::expressions);
}

#[test]
fn no_json_path_panics() {
    replay("json_paths", 200, bodies::json_paths);
}

#[test]
fn no_data_file_panics() {
    replay("data_files", 200, bodies::data_files);
}
