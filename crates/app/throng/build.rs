//! Finds the commit that `throng --version` names.
//!
//! An archive of the sources (`git archive`) has it in `commit.txt`, a checkout in its repository. Only optimised builds
//! name it: a debug build, such as that of the tests, is not linked again for each commit.

use std::process::Command;

/// The file in which `git archive` writes the commit.
const FILE: &str = "commit.txt";
/// Digits that are shown. Twelve distinguish the commits of the largest repositories.
const DIGITS: usize = 12;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={FILE}");
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let found = archived().or_else(checked_out);
    let commit = found.map(|commit| format!(" ({})", &commit[..DIGITS])).unwrap_or_default();
    println!("cargo::rustc-env=THRONG_LONG_VERSION={version}{commit}");
}

/// The commit, if these are sources from an archive.
fn archived() -> Option<String> {
    commit(&std::fs::read_to_string(FILE).ok()?)
}

/// The commit of the checkout that this is built in, if this is a build with optimisations.
fn checked_out() -> Option<String> {
    // The profiles `quick` and `dist` inherit `release`.
    if std::env::var("PROFILE").as_deref() != Ok("release") {
        return None;
    }
    // A repository around the sources, of packages that contain them, is another one.
    if !git(&["ls-files", "--error-unmatch", FILE])?.contains(FILE) {
        return None;
    }
    // A commit adds a line to the log of HEAD, whatever branch it is on.
    let log = git(&["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"])?;
    println!("cargo::rerun-if-changed={}", log.trim());
    commit(&git(&["rev-parse", "HEAD"])?)
}

/// What git prints; nothing if it fails or is not installed.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).ok()).flatten()
}

/// The text, if it is the name of a commit.
fn commit(text: &str) -> Option<String> {
    let text = text.trim();
    let is_name = text.len() >= DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_name.then(|| text.to_owned())
}
