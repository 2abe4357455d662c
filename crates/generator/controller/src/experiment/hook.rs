//! Commands before and after a run.

use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use scenario::Experiment;
use scenario::experiment::RUN_VARIABLE;
use workers::children;

use super::state::RunRecord;
use crate::control::Interrupt;

/// The longest time that a command may take.
const TIME_MAX: Duration = Duration::from_secs(600);
/// The time that a command that is stopped, with all that it started, has to clean up.
const END_MAX: Duration = Duration::from_secs(2);

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    #[error("cannot start {command:?}: {source}")]
    Start { command: String, source: std::io::Error },
    #[error("{command:?} ended with {status}")]
    Status { command: String, status: std::process::ExitStatus },
    #[error("{command:?} took longer than {} s", TIME_MAX.as_secs())]
    Time { command: String },
    #[error("{command:?} was stopped with the experiment")]
    Interrupted { command: String },
}

/// Runs a shell command with the levels of the factors in its environment. Its output goes to standard
/// error: standard output belongs to the experiment. If the user requests the end, the command is stopped
/// with all that it started, except a command that begins after the request, to clean up after the last run.
/// Processes that a finished command leaves running, such as a server, continue.
pub(super) fn run(
    command: &str,
    experiment: &Experiment,
    run: &RunRecord,
    interrupt: &Interrupt,
) -> Result<(), HookError> {
    let start = |source| HookError::Start { command: command.to_owned(), source };
    let output = std::io::stderr().as_fd().try_clone_to_owned().map_err(start)?;
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(output).process_group(0);
    for (factor, level) in experiment.factors.iter().zip(&run.levels) {
        shell.env(factor.variable(), level);
    }
    shell.env(RUN_VARIABLE, run.number.to_string());
    let was_requested = interrupt.is_requested();
    let is_requested = || !was_requested && interrupt.is_requested();
    let mut child = shell.spawn().map_err(start)?;
    match children::wait_unless(&mut child, TIME_MAX, &is_requested) {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(HookError::Status { command: command.to_owned(), status }),
        None => {
            children::end_group(&mut child, END_MAX);
            let command = command.to_owned();
            Err(match is_requested() {
                true => HookError::Interrupted { command },
                false => HookError::Time { command },
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::experiment::{ExperimentState, order};

    /// An experiment and its first run.
    fn experiment() -> (Experiment, RunRecord) {
        let text = "scenario: s\nfactors: { size: [1kB, 2kB] }\nresponses: [errors]\n";
        let source = scenario::Source { name: "it.yaml", text };
        let settings =
            scenario::Settings { overrides: &[], env: &|_| None, files: &|_| Err(String::new()) };
        let (experiment, _) = scenario::experiment(source, &settings, false);
        let experiment = experiment.expect("it is right");
        let state = ExperimentState::new(&experiment, &order(&experiment), "it.yaml", "0", &[]);
        let run = state.runs[0].clone();
        (experiment, run)
    }

    #[test]
    fn commands_find_levels_and_number() {
        let (experiment, run) = experiment();
        let command = format!("test $THRONG_RUN-$THRONG_SIZE = 1-{}", run.levels[0]);
        super::run(&command, &experiment, &run, &Interrupt::default()).unwrap();
    }

    #[test]
    fn a_request_stops_the_running_command_but_not_a_later_one() {
        let (experiment, run) = experiment();
        let space = tempfile::tempdir().unwrap();
        let begun = space.path().join("begun");
        let interrupt = Interrupt::default();
        // The shell waits for what it started.
        let command = format!("mkfifo {0}; sleep 60 > {0}; true", begun.display());
        let ended = std::thread::scope(|threads| {
            let command = threads.spawn(|| super::run(&command, &experiment, &run, &interrupt));
            while !begun.exists() && !command.is_finished() {
                std::thread::yield_now();
            }
            // Opened once the other end is, and at its end once no process has that open.
            let mut pipe = std::fs::File::open(&begun).unwrap();
            interrupt.request();
            let ended = command.join().unwrap();
            let (sender, receiver) = std::sync::mpsc::channel();
            std::thread::spawn(move || sender.send(pipe.read_to_end(&mut Vec::new()).is_ok()));
            let is_gone = receiver.recv_timeout(Duration::from_secs(20));
            assert_eq!(is_gone, Ok(true), "what it started lives on");
            ended
        });
        assert!(matches!(ended, Err(HookError::Interrupted { .. })), "{ended:?}");
        super::run("exit 0", &experiment, &run, &interrupt).unwrap();
    }
}
