//! The README is followed from its beginning in a root directory without Rust. `the_readme_runs_as_written` runs what it
//! shows by itself, `scripts/first-hour.sh` also what installs Throng.

use std::process::Command;

use testkit::needs::skip;

use crate::support::{Ended, plain, root};

/// Exit code of the script if this machine lacks what it needs.
const NOT_RUN: i32 = 77;

#[test]
fn the_readme_is_followed_without_rust() {
    let mut command = plain(Command::new(root().join("scripts/first-hour.sh")));
    command.args(["--program", env!("CARGO_BIN_EXE_throng")]);
    // A new root of the distribution takes a network, and a minute.
    command.env("ROOT", "borrowed");
    let ended = Ended::of(&mut command);
    if ended.code == Some(NOT_RUN) {
        return skip(ended.err.trim());
    }
    ended.with(0).stdout_contains("the README was followed");
}
