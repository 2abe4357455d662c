//! What some tests need that is not in the repository: published data, servers, rights.
//!
//! A test that lacks what it needs calls [`skip`]; `scripts/test.sh` then counts it as skipped, not as passed.

use std::io::Write;
use std::path::{Path, PathBuf};

/// The root of the workspace.
pub fn root() -> PathBuf {
    let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let root = above.find(|folder| folder.join("Cargo.lock").exists());
    root.unwrap().to_owned()
}

/// A file or directory of the shared data: below `THRONG_DATA`, else below `../shared/data`.
/// If it is missing, the test is reported as skipped.
#[must_use]
pub fn shared_data(name: &str) -> Option<PathBuf> {
    let beside = root().join("../shared/data");
    let data = std::env::var_os("THRONG_DATA").map_or(beside, PathBuf::from);
    let path = data.join(name);
    if path.exists() {
        return Some(path);
    }
    skip(&format!("{} is missing (THRONG_DATA names the directory)", path.display()));
    None
}

/// Reports that the running test could not check all that it is for: on standard error, which
/// test runners do not capture, and in the file that `THRONG_SKIPPED` names.
pub fn skip(why: &str) {
    // nextest names the test and its program; otherwise a test has a thread that is called after it.
    let test = match (std::env::var("NEXTEST_BINARY_ID"), std::env::var("NEXTEST_TEST_NAME")) {
        (Ok(program), Ok(test)) => format!("{program} {test}"),
        _ => std::thread::current().name().unwrap_or("?").to_owned(),
    };
    let line = format!("SKIPPED: {test}: {why}\n");
    let mut err = std::io::stderr();
    err.write_all(line.as_bytes()).unwrap();
    if let Some(list) = std::env::var_os("THRONG_SKIPPED") {
        let mut list = std::fs::File::options().append(true).open(list).unwrap();
        list.write_all(line.as_bytes()).unwrap();
    }
}
