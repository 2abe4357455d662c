//! Real servers from the system's packages, started by `scripts/services`.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value};

use super::needs::{root, skip};

/// The variable in which `scripts/test.sh` describes the servers that it started for all tests.
const SHARED: &str = "THRONG_SERVICES";

/// Servers that run as long as this exists, and those that run for all tests.
pub struct Services {
    services: Value,
    /// The script that started them; none for those that all tests share.
    own: Option<Own>,
}

/// Servers that nobody else uses.
struct Own {
    script: Child,
    orders: Mutex<Orders>,
}

/// What the script is to do with its servers, and what it answers.
struct Orders {
    given: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    /// Processes of servers that were started again.
    pids: HashMap<String, u32>,
}

impl Services {
    /// The servers that all tests share, in which each test has a database of its own; where nobody started them, servers
    /// that are started now. A test that stops a server, changes its settings or empties it starts its own.
    pub fn shared(names: &[&str]) -> Option<Self> {
        Self::start_beside(names, &[])
    }

    /// Servers that all tests share, and others of the test's own.
    pub fn start_beside(shared: &[&str], own: &[&str]) -> Option<Self> {
        let Ok(text) = std::env::var(SHARED) else {
            return Self::start(&[shared, own].concat());
        };
        let mut services: Map<String, Value> =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{SHARED}: {error}"));
        services.retain(|name, _| shared.contains(&&**name));
        let missing: Vec<&str> =
            shared.iter().copied().filter(|name| !services.contains_key(*name)).collect();
        let own = [&missing, own].concat();
        if own.is_empty() {
            return Some(Self { services: Value::Object(services), own: None });
        }
        let mut started = Self::start(&own)?;
        if let Value::Object(own) = &mut started.services {
            own.extend(services);
        }
        Some(started)
    }

    /// Starts these. A test is reported as skipped where the script cannot be run.
    pub fn start(names: &[&str]) -> Option<Self> {
        let mut command = Command::new(Self::script());
        command.args(names);
        Self::start_by(&mut command)
    }

    /// Starts these with their files on a disk of this size in memory, which only they see. A test is reported as
    /// skipped where nothing can be mounted.
    pub fn start_on_disk(names: &[&str], size: &str) -> Option<Self> {
        let mount = "mount -t tmpfs -o \"size=$1,mode=755\" tmpfs /mnt && ";
        let unshare = |script: &str| {
            let mut command = Command::new("unshare");
            command.args(["-m", "sh", "-c", &format!("{mount}{script}"), "sh", size]);
            command
        };
        let tried = unshare("true").output();
        if !tried.is_ok_and(|output| output.status.success()) {
            skip("no file system can be mounted here, so no disk can be full");
            return None;
        }
        let mut command = unshare("shift && TMPDIR=/mnt exec \"$@\"");
        command.arg(Self::script()).args(names);
        Self::start_by(&mut command)
    }

    fn script() -> PathBuf {
        root().join("scripts/services")
    }

    fn start_by(command: &mut Command) -> Option<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let Ok(mut script) = command.spawn() else {
            skip("scripts/services needs python3");
            return None;
        };
        let mut line = String::new();
        let mut answers = BufReader::new(script.stdout.take().unwrap());
        answers.read_line(&mut line).unwrap();
        let services =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
        let orders = Orders { given: script.stdin.take(), answers, pids: HashMap::new() };
        let own = Own { script, orders: Mutex::new(orders) };
        Some(Self { services, own: Some(own) })
    }

    /// Where a server is. The test is reported as skipped where it is not installed.
    pub fn url(&self, name: &str) -> Option<&str> {
        let service = &self.services[name];
        let url = service["url"].as_str();
        if url.is_none() {
            skip(&format!("no {name}: {}", service["why"]));
        }
        url
    }

    /// The authority of the servers' certificate. The test is reported as skipped without openssl.
    pub fn ca(&self) -> Option<&str> {
        let servers = self.services.as_object()?.values();
        let ca = servers.filter_map(|server| server["ca"].as_str()).next();
        if ca.is_none() {
            skip("no openssl: the databases have no TLS");
        }
        ca
    }

    /// Where a server speaks TLS alone.
    pub fn tls_url(&self, name: &str) -> Option<&str> {
        self.services[name]["tls_url"].as_str()
    }

    /// Where a server speaks its protocol over WebSockets.
    pub fn ws_url(&self, name: &str) -> Option<&str> {
        self.services[name]["ws_url"].as_str()
    }

    /// The process of a server that there is.
    pub fn pid(&self, name: &str) -> u32 {
        if let Some(own) = &self.own
            && let Some(pid) = own.orders.lock().unwrap().pids.get(name)
        {
            return *pid;
        }
        let pid = self.services[name]["pid"].as_u64();
        pid.and_then(|pid| u32::try_from(pid).ok())
            .unwrap_or_else(|| panic!("no process of {name} in {}", self.services))
    }

    /// The disk of servers that have one of their own, by a path that everybody sees.
    pub fn disk(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root/mnt", self.own().script.id()))
    }

    /// Stops a server in good order.
    pub fn stop(&self, name: &str) {
        self.order("stop", name);
    }

    /// Kills all processes of a server at once.
    pub fn kill(&self, name: &str) {
        self.order("kill", name);
    }

    /// Stops a server's processes where they are, until what is returned is dropped.
    pub fn freeze(&self, name: &str) -> Frozen {
        let pid = self.pid(name);
        // PostgreSQL has a process for each connection.
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let children = children.unwrap_or_default();
        let children = children.split_whitespace().map(|pid| pid.parse().unwrap());
        let all = std::iter::once(pid.cast_signed()).chain(children);
        let all: Vec<Pid> = all.filter_map(Pid::from_raw).collect();
        for pid in &all {
            // A connection may end just now.
            let _ = kill_process(*pid, Signal::STOP);
        }
        Frozen(all)
    }

    /// Starts a server again that was stopped or killed, with its data.
    pub fn start_again(&self, name: &str) {
        self.order("start", name);
    }

    fn own(&self) -> &Own {
        let own = self.own.as_ref();
        own.expect("only a test's own servers can be disturbed")
    }

    fn order(&self, verb: &str, name: &str) {
        let mut orders = self.own().orders.lock().unwrap();
        let given = orders.given.as_mut().unwrap();
        writeln!(given, "{verb} {name}").unwrap();
        let mut line = String::new();
        orders.answers.read_line(&mut line).unwrap();
        let pid = line.trim_end().parse();
        let pid = pid.unwrap_or_else(|_| panic!("{verb} {name}: {line:?}"));
        orders.pids.insert(name.to_owned(), pid);
    }
}

/// A server's processes, stopped until this is dropped.
pub struct Frozen(Vec<Pid>);

impl Drop for Frozen {
    fn drop(&mut self) {
        for pid in &self.0 {
            // It may have ended by itself.
            let _ = kill_process(*pid, Signal::CONT);
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        // The end of its input ends the script, which stops its servers and removes their files.
        let orders = self.orders.get_mut();
        let orders = orders.unwrap_or_else(PoisonError::into_inner);
        drop(orders.given.take());
        drop(self.script.wait());
    }
}
