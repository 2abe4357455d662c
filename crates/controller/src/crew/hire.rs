//! Worker processes from their start until they have come to the door.

use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use engine::driver::real::monotonic_ns;

use super::Hiring;
use super::processes::WorkersError;
use crate::process;
use crate::worker::door::{Door, Guest, Knock};

/// How long workers may take to come to the door.
const ARRIVE_NS_MAX: u64 = 30_000_000_000;
/// A process that has ended may just have been turned away: so long its reason is waited for.
const REASON_NS_MAX: u64 = 500_000_000;
/// How long a worker may take to end by itself.
const END_MAX: Duration = Duration::from_secs(5);

/// A worker's process. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Employee {
    child: Child,
}

impl Employee {
    /// Starts `program worker` with a token that opens the door at `address`. The token goes through
    /// standard input, where no other process can read it.
    fn start(program: &Path, address: SocketAddr, token: &str) -> std::io::Result<Employee> {
        let mut command = Command::new(program);
        command.args(["worker", "--connect", &address.to_string()]);
        // A process group of its own: Ctrl-C ends the run in good order.
        command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        let employee = Employee { child };
        if let Some(mut stdin) = stdin {
            // Where it has ended already, its end tells more than this.
            let _ = writeln!(stdin, "{token}");
        }
        Ok(employee)
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it does within `patience`.
    pub(super) fn wait(&mut self, patience: Duration) -> Option<String> {
        process::wait_for_end(&mut self.child, patience).map(|status| status.to_string())
    }

    pub(super) fn kill(&mut self) {
        process::end(&mut self.child, Duration::ZERO);
    }
}

impl Drop for Employee {
    fn drop(&mut self) {
        process::end(&mut self.child, END_MAX);
    }
}

/// Starts workers and waits until all have come in, in their order.
pub(super) fn hire(hiring: Hiring<'_>) -> Result<Vec<(Guest, Employee)>, WorkersError> {
    let of = hiring.workers_count as usize;
    let mut door = Door::open(of, hiring.throng).map_err(WorkersError::Listen)?;
    let address = door.address().map_err(WorkersError::Listen)?;
    let mut employees = Vec::new();
    for index in 0..of {
        match Employee::start(hiring.program, address, &door.token(index)) {
            Ok(employee) => employees.push(employee),
            Err(source) => {
                employees.iter_mut().for_each(Employee::kill);
                let number = index + 1;
                return Err(WorkersError::Start { number, of, source });
            }
        }
    }
    let guests = admit(&mut door, &mut employees).map_err(|(index, why)| {
        // Nobody waits for those who do not come.
        employees.iter_mut().for_each(Employee::kill);
        WorkersError::NotReady {
            number: index + 1,
            of,
            why,
        }
    })?;
    Ok(guests.into_iter().zip(employees).collect())
}

/// Waits until all workers are in. The error names one that does not come, and why.
fn admit(door: &mut Door, employees: &mut [Employee]) -> Result<Vec<Guest>, (usize, String)> {
    let mut guests: Vec<Option<Guest>> = employees.iter().map(|_| None).collect();
    let begun_ns = monotonic_ns();
    let mut ended_ns = vec![None; employees.len()];
    while let Some(missing) = guests.iter().position(Option::is_none) {
        match door.attend() {
            Knock::Worker(guest) => {
                let index = guest.index;
                guests[index] = Some(*guest);
            }
            Knock::Misfit { index, why } => return Err((index, why)),
            Knock::Nobody => {}
        }
        let now_ns = monotonic_ns();
        for index in (0..employees.len()).filter(|&index| guests[index].is_none()) {
            let Some(status) = employees[index].wait(Duration::ZERO) else {
                continue;
            };
            if now_ns - *ended_ns[index].get_or_insert(now_ns) > REASON_NS_MAX {
                return Err((index, format!("its process ended ({status})")));
            }
        }
        if now_ns - begun_ns > ARRIVE_NS_MAX {
            let seconds = ARRIVE_NS_MAX / 1_000_000_000;
            return Err((missing, format!("it did not call within {seconds} s")));
        }
    }
    Ok(guests.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::protocol::{Inputs, ScenarioText};

    /// Why this program makes no workers.
    fn refused(program: &str) -> WorkersError {
        let scenario = ScenarioText {
            name: String::new(),
            text: String::new(),
            overrides: Vec::new(),
            inputs: Inputs::default(),
        };
        let hired = hire(Hiring {
            workers_count: 2,
            program: Path::new(program),
            throng: "1.2.3",
            scenario: &scenario,
        });
        hired.expect_err("it is no worker")
    }

    #[test]
    fn a_program_that_is_not_there_is_told() {
        let error = refused("/nowhere/throng");
        assert!(matches!(
            error,
            WorkersError::Start {
                number: 1,
                of: 2,
                ..
            }
        ));
    }

    #[test]
    fn a_program_that_ends_at_once_is_told_with_how_it_ended() {
        let error = refused("/bin/false").to_string();
        assert!(
            error.starts_with("worker 1 of 2 did not get ready: its process ended (exit"),
            "{error}"
        );
    }
}
