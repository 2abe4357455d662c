//! Plays a table of cases in one run, and compares each with what is right.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use record::{Measurement, Outcome};

use super::case::Case;
use super::server::Server;
use crate::support::{Running, Space};

/// The most that the generator may hold at once, with every case of a table under way.
const MEMORY_BYTES_MAX: u64 = 96 << 20;
/// Between two looks at how much it holds.
const LOOK: Duration = Duration::from_millis(20);

/// A table that was played.
pub(super) struct Played {
    server: Server,
    /// By session: its rows in their order, and how many connections it made.
    sessions: BTreeMap<String, Rows>,
    memory_bytes: u64,
}

#[derive(Default)]
struct Rows {
    /// Outcome and status.
    ended: Vec<String>,
    connections: u64,
    /// A connection took too long: the server may have seen it or not.
    gave_up: bool,
    /// Requests and handshakes.
    requests: u64,
}

impl Played {
    #[track_caller]
    pub(super) fn new(scheme: &str, cases: &[Case]) -> Played {
        let space = Space::new();
        let server = Server::start(cases);
        let text = scenario(&server, scheme, cases);
        let running = Running::start(&mut space.run_text(&text, &[]));
        let watch = Watch::start(running.pid());
        let ended = running.end();
        let memory_bytes = watch.end();
        // The verdict does not matter, only that there is one: nearly all operations fail.
        assert!(ended.code.is_some(), "{}", ended.err);
        let run = space.only();
        assert!(run.is_complete(), "{:?}\n{}", run.missing(), ended.err);
        let info = run.info();
        let mut all = Vec::new();
        run.requests(|rows| all.extend_from_slice(rows)).unwrap();
        assert!(all.iter().all(|row| row.weight == 1), "{}", ended.err);
        all.sort_by_key(|row| row.done_ns);
        let mut sessions: BTreeMap<String, Rows> = BTreeMap::new();
        for row in &all {
            let session = info.sessions[usize::from(row.session)].clone();
            let measure = &info.measures[usize::from(row.measure)].name;
            sessions.entry(session).or_default().add(row, measure);
        }
        Played { server, sessions, memory_bytes }
    }

    /// Whether a case is right; the error says what was seen instead.
    pub(super) fn check(&self, case: &Case) -> Result<(), String> {
        let nothing = Rows::default();
        let rows = self.sessions.get(case.name).unwrap_or(&nothing);
        let seen = self.server.seen(case.name);
        let found = rows.ended.join(", ");
        let is_right = |way: &str| {
            let mut parts = way.split(';').map(str::trim);
            parts.next() == Some(&*found) && parts.all(|fact| seen.shows(fact))
        };
        if !case.right.split('|').any(is_right) {
            return Err(format!("{found} ({seen:?}), and right is {}", case.right));
        }
        if rows.gave_up {
            return Ok(());
        }
        if rows.connections != seen.connections {
            let ours = rows.connections;
            let theirs = seen.connections;
            return Err(format!("{ours} connections here and {theirs} there"));
        }
        let counts_requests = !case.resets() && !case.right.contains("requests");
        if rows.requests != seen.requests && counts_requests {
            let ours = rows.requests;
            let theirs = seen.requests;
            return Err(format!("{ours} requests here and {theirs} there"));
        }
        Ok(())
    }

    pub(super) fn memory_is_bounded(&self) {
        assert!(
            self.memory_bytes < MEMORY_BYTES_MAX,
            "the generator held {} bytes",
            self.memory_bytes
        );
    }
}

/// What the names of measures begin with whose operations are requests over HTTP.
const REQUESTS: &[&str] = &["GET ", "HEAD ", "poll ", "handshake", "stream", "reconnect"];

impl Rows {
    fn add(&mut self, row: &Measurement, measure: &str) {
        if measure == "connect" {
            self.connections += 1;
            self.gave_up |= row.outcome == Outcome::ConnectTimeout;
            return;
        }
        let is_request = REQUESTS.iter().any(|name| measure.starts_with(name));
        // A step that cannot be done sends nothing.
        self.requests += u64::from(is_request && row.outcome != Outcome::Step);
        // Where a time is limited, a generator that does not run may spend it on the connection.
        let name = match row.outcome {
            Outcome::ConnectTimeout => Outcome::Timeout.name(),
            outcome => outcome.name(),
        };
        self.ended.push(match row.status {
            0 => name.to_owned(),
            status => format!("{name} {status}"),
        });
    }
}

/// One session for each case, and one user for each session, all at the same time.
fn scenario(server: &Server, scheme: &str, cases: &[Case]) -> String {
    let address = server.address;
    let target = if scheme.is_empty() { "tcp" } else { scheme };
    let mut text = format!(
        "
target: {target}://{address}
options: {{ timeout: 20s, drain: 1s, response_max: 64KiB, message_max: 64KiB }}
sessions:
"
    );
    for case in cases {
        let place = server.place(scheme, case);
        let barrier = format!("http://{}/{}", server.barrier, case.name);
        let steps = case.steps.replace("AT", &place).replace("BARRIER", &barrier);
        writeln!(text, "  {}: {steps}", case.name).unwrap();
    }
    text += "arrivals:\n  - { hold: 60s, until: done }\n";
    for case in cases {
        writeln!(text, "  - {{ at: 1ms, session: {} }}", case.name).unwrap();
    }
    text
}

/// Looks at the most memory that a process has held so far.
struct Watch {
    stop: Sender<()>,
    thread: JoinHandle<u64>,
}

impl Watch {
    fn start(pid: u32) -> Watch {
        let (stop, stopped) = channel();
        let thread = thread::spawn(move || {
            let mut most = 0;
            loop {
                most = peak_bytes(pid).unwrap_or(most);
                if stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Disconnected) {
                    return most;
                }
            }
        });
        Watch { stop, thread }
    }

    fn end(self) -> u64 {
        drop(self.stop);
        self.thread.join().unwrap()
    }
}

/// The most resident memory of a process so far (proc_pid_status(5)).
fn peak_bytes(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib << 10)
}
