//! The packages of a release, with a small program in Throng's place: `make dist` itself takes an hour.

use std::process::Command;

use testkit::needs::skip;

use crate::support::{Ended, plain, root};

/// Exit code of the script if this machine lacks what it needs.
const NOT_RUN: i32 = 77;

#[test]
fn packages_have_the_same_bytes_twice_install_and_run() {
    let mut command = plain(Command::new(root().join("scripts/dist/rehearse.sh")));
    // Cargo lists what the binary is made of.
    for name in ["HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    let ended = Ended::of(&mut command);
    if ended.code == Some(NOT_RUN) {
        return skip(ended.err.trim());
    }
    let ended = ended.with(0);
    ended.stdout_contains("the packages are right");
    let missing: Vec<&str> = ended.out.lines().filter(|line| line.contains("NOT RUN")).collect();
    if !missing.is_empty() {
        skip(&missing.join("; "));
    }
}
