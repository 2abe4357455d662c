//! Commands before and after a run.

use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::Duration;

use scenario::Experiment;

use super::state::RunRecord;
use crate::process;

/// How long a command may take.
const TIME_MAX: Duration = Duration::from_secs(600);

/// Why a command did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    #[error("cannot start {command:?}: {source}")]
    Start {
        command: String,
        source: std::io::Error,
    },
    #[error("{command:?} ended with {status}")]
    Status {
        command: String,
        status: std::process::ExitStatus,
    },
    #[error("{command:?} took longer than {} s", TIME_MAX.as_secs())]
    Time { command: String },
}

/// Runs a shell command, which finds the levels of the factors in its environment. What it prints
/// goes to standard error: standard output is for the experiment's own.
pub(super) fn run(
    command: &str,
    experiment: &Experiment,
    run: &RunRecord,
) -> Result<(), HookError> {
    let start = |source| HookError::Start {
        command: command.to_owned(),
        source,
    };
    let output = std::io::stderr()
        .as_fd()
        .try_clone_to_owned()
        .map_err(start)?;
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(output)
        .env("THRONG_RUN", run.number.to_string());
    for (factor, level) in experiment.factors.iter().zip(&run.levels) {
        shell.env(variable(&factor.name), level);
    }
    let mut child = shell.spawn().map_err(start)?;
    match process::wait_for_end(&mut child, TIME_MAX) {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(HookError::Status {
            command: command.to_owned(),
            status,
        }),
        None => {
            process::end(&mut child, Duration::ZERO);
            Err(HookError::Time {
                command: command.to_owned(),
            })
        }
    }
}

/// `THRONG_` and the factor's name in capitals, what is neither letter nor digit as `_`.
fn variable(factor: &str) -> String {
    let name = factor.chars().map(|c| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    });
    "THRONG_".chars().chain(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_variables() {
        assert_eq!(variable("message size"), "THRONG_MESSAGE_SIZE");
        assert_eq!(
            variable("target.market.batch"),
            "THRONG_TARGET_MARKET_BATCH"
        );
    }
}
