//! A fleet on this machine: nats-server and some agents.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use driver::real::{kill_group, terminate_group};

use crate::FleetError;

/// How long nats-server may take to listen, in looks.
const LOOKS_MAX: u32 = 100;
const LOOK: Duration = Duration::from_millis(100);
/// How long an agent may take to be known.
const JOIN_TIME_MAX: Duration = Duration::from_secs(60);

/// A fleet to start.
#[derive(Debug)]
pub struct LocalOptions<'a> {
    pub agents: u32,
    /// The directory of NATS' streams; `None`: one that is removed at the end.
    pub directory: Option<&'a Path>,
    /// The program that is started as `PROGRAM agent`.
    pub program: &'a Path,
}

/// A fleet whose processes end when this is dropped.
#[derive(Debug)]
pub struct Local {
    /// Agents first: the server is last to go.
    children: Vec<(String, Child)>,
    /// No process has ended otherwise than it should.
    is_well: bool,
    /// The server has not ended by itself.
    has_server: bool,
    server: Child,
    url: String,
    /// The directory of what agents have not stored yet.
    spool: PathBuf,
    /// The directory of the agents' rows.
    rows: PathBuf,
    /// The directory to remove.
    temporary: Option<PathBuf>,
}

impl Local {
    /// Starts nats-server on a free port, and agents `local-1` and so on, each with its part of the machine.
    pub fn start(options: &LocalOptions<'_>) -> Result<Local, FleetError> {
        let failed = |error: &dyn std::fmt::Display| FleetError::NoServer(error.to_string());
        let (directory, temporary) = match options.directory {
            Some(directory) => (directory.to_owned(), None),
            None => {
                let name = format!("throng-fleet-{}", std::process::id());
                let directory = std::env::temp_dir().join(name);
                (directory.clone(), Some(directory))
            }
        };
        std::fs::create_dir_all(&directory).map_err(|e| failed(&e))?;
        let mut command = Command::new("nats-server");
        command.args(["--addr", "127.0.0.1", "--port", "-1", "--jetstream", "--store_dir"]);
        command.arg(&directory).arg("--ports_file_dir").arg(&directory);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let server = command.process_group(0).spawn().map_err(|e| failed(&e))?;
        let ports = directory.join(format!("nats-server_{}.ports", server.id()));
        let mut local = Local {
            children: Vec::new(),
            is_well: true,
            has_server: true,
            server,
            url: String::new(),
            spool: directory.join("spool"),
            rows: directory.join("rows"),
            temporary,
        };
        local.url = local.await_server(&ports)?;
        for number in 1..=options.agents {
            local.start_agent(options, number)?;
        }
        Ok(local)
    }

    /// The URL of its NATS.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The processes that have ended since the last call, in words.
    pub fn ended(&mut self) -> Vec<String> {
        let mut ended = Vec::new();
        self.children.retain_mut(|(name, child)| match child.try_wait() {
            Ok(Some(status)) => {
                ended.push(format!("agent {name} ended ({status})"));
                self.is_well &= status.success();
                false
            }
            _ => true,
        });
        if let Ok(Some(status)) = self.server.try_wait() {
            ended.push(format!("nats-server ended ({status})"));
            self.is_well = false;
            self.has_server = false;
        }
        ended
    }

    /// Whether it is still a fleet; if not, whether all agents ended by themselves.
    pub fn state(&self) -> Result<(), bool> {
        match self.has_server && !self.children.is_empty() {
            true => Ok(()),
            false => Err(self.is_well),
        }
    }

    /// The URL, once the server has written where it listens.
    fn await_server(&mut self, ports: &Path) -> Result<String, FleetError> {
        for _ in 0..LOOKS_MAX {
            if let Ok(Some(status)) = self.server.try_wait() {
                return Err(FleetError::NoServer(format!("it ended ({status})")));
            }
            let written = std::fs::read(ports).ok();
            let written =
                written.and_then(|text| serde_json::from_slice::<serde_json::Value>(&text).ok());
            if let Some(url) = written.as_ref().and_then(|ports| ports["nats"][0].as_str()) {
                return Ok(url.to_owned());
            }
            pause(LOOK);
        }
        Err(FleetError::NoServer("it does not listen".to_owned()))
    }

    fn start_agent(&mut self, options: &LocalOptions<'_>, number: u32) -> Result<(), FleetError> {
        let name = format!("local-{number}");
        let failed = |source: std::io::Error| FleetError::NoAgent { name: name.clone(), source };
        let mut command = Command::new(options.program);
        command.args(["agent", "--nats", &self.url, "--name", &name]);
        command.args(["--parts", &options.agents.to_string()]);
        command.arg("--spool").arg(&self.spool);
        command.arg("--rows-dir").arg(&self.rows);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(failed)?;
        let out = child.stdout.take();
        self.children.push((name.clone(), child));
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            // Read to the end, so that the agent can go on speaking.
            for line in out.into_iter().flat_map(|out| BufReader::new(out).lines()) {
                let _ = sender.send(line.is_ok());
            }
        });
        match receiver.recv_timeout(JOIN_TIME_MAX) {
            Ok(true) => Ok(()),
            _ => Err(failed(std::io::Error::other("it did not join the fleet"))),
        }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        let agents = self.children.iter_mut().map(|(_, child)| child);
        for child in agents.chain([&mut self.server]) {
            terminate_group(child);
            for _ in 0..LOOKS_MAX {
                if !matches!(child.try_wait(), Ok(None)) {
                    break;
                }
                pause(LOOK);
            }
            kill_group(child);
            let _ = child.wait();
        }
        if let Some(directory) = &self.temporary {
            // What cannot be removed stays in the directory of temporary files.
            let _ = std::fs::remove_dir_all(directory);
        }
    }
}

/// Lets time pass.
fn pause(time: Duration) {
    let (_open, never) = channel::<()>();
    // Nobody sends.
    let _ = never.recv_timeout(time);
}
