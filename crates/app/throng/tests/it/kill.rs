//! The generator, its controller, a worker and the built-in target killed at everything that they do to the record
//! or send: what was durable is there, and every verb that reads it works on what there is.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the test's server has a clock of its own; `make kill` shows the table"
)]

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use record::schema::{RunStatus, Verdict};
use record::{Outcome, Run};
use rustix::process::Signal;
use testkit::needs::skip;

use crate::support::{Ended, Running, Space, pass, read_head, server, throng};

/// Processes at once: each has next to nothing to do.
const AT_ONCE: usize = 16;
/// One of this number of events is the end, unless KILL_EVERY says otherwise: `make kill` takes each.
const EVERY: usize = 12;
/// Rows older than this are safe: what is promised, and what a machine on which sixteen runs share the cores may hold
/// their threads up.
const SAFE_AFTER: Duration = PROMISED.saturating_add(SLACK);
const PROMISED: Duration = Duration::from_secs(5);
const SLACK: Duration = Duration::from_secs(1);

/// Workers whose controller is gone are gone, too.
const GONE_AFTER: Duration = Duration::from_secs(10);

/// What a server counts for itself.
#[derive(Default)]
struct Counted {
    /// When it answered.
    answers: Mutex<Vec<Instant>>,
    /// Connections that are open.
    open: AtomicUsize,
}

/// A server that counts for itself.
fn counting() -> (String, Arc<Counted>) {
    let counted = Arc::<Counted>::default();
    let counts = Arc::clone(&counted);
    let address = server(move |mut stream| {
        counts.open.fetch_add(1, Ordering::Relaxed);
        while read_head(&mut stream).is_ok() {
            counts.answers.lock().unwrap().push(Instant::now());
            // Whether the client is still there shows at the next head.
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
        }
        counts.open.fetch_sub(1, Ordering::Relaxed);
        Ok(())
    });
    (format!("http://{address}/"), counted)
}

fn scenario(url: &str) -> String {
    format!(
        "name: killed\ntarget: {url}\nsessions: {{ one: [ {{ get: /, as: page }} ] }}\n\
         arrivals: [ {{ constant: 20/s, for: 9s }} ]\noptions: {{ drain: 1s, loops: 1 }}\n"
    )
}

/// A run with the shim in it. `at` 0: it is not killed.
struct Killed {
    space: Space,
    counted: Arc<Counted>,
    ended: Instant,
}

/// Who is killed.
#[derive(Clone, Copy, PartialEq)]
enum Who {
    /// The process that loads and records.
    Generator,
    /// The process that records what two workers report.
    Controller,
    /// One of two workers.
    Worker,
    /// The target that the run started.
    Target,
}

impl Who {
    /// The argument of the process, if it is killed at what it sends and not at what it does to files.
    fn verb(self) -> Option<&'static str> {
        match self {
            Who::Generator | Who::Controller => None,
            Who::Worker => Some("worker"),
            Who::Target => Some("serve"),
        }
    }
}

fn play(shim: &Path, at: usize, who: Who) -> Killed {
    let (space, (url, counted)) = (Space::new(), counting());
    let mut run = match who {
        Who::Generator => space.run_text(&scenario(&url), &[]),
        Who::Target => space.run_text(&scenario("market").replace("get: /", "get: /v1/games"), &[]),
        // As many loops as workers.
        Who::Controller | Who::Worker => {
            space.run_text(&scenario(&url).replace("loops: 1", "loops: 2"), &["--workers", "2"])
        }
    };
    run.arg("--quiet");
    run.env("LD_PRELOAD", shim);
    run.env("KILL_BELOW", space.path("runs"));
    run.env("KILL_AT", at.to_string());
    run.env("KILL_COUNT", space.path("events"));
    run.env("KILL_TAKEN", space.path("taken"));
    if let Some(verb) = who.verb() {
        run.env("KILL_VERB", verb);
    }
    run.output().unwrap();
    let now = Instant::now();
    let taken = std::fs::metadata(space.path("taken")).and_then(|taken| taken.modified());
    // That the process is gone is noticed later than it was killed.
    let since = taken.ok().and_then(|taken| taken.elapsed().ok());
    Killed { space, counted, ended: since.map_or(now, |since| now - since) }
}

/// The shim, compiled into `space`.
fn shim(space: &Space) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/kill/shim.c");
    let shim = space.path("shim.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&shim);
    let compiled = compiler.arg(source).arg("-ldl").status().unwrap();
    assert!(compiled.success());
    shim
}

impl Killed {
    /// True if it came to the event at which it was to be killed.
    fn is_killed(&self) -> bool {
        self.space.path("taken").exists()
    }

    /// The run directory, if it came to that.
    fn directory(&self) -> Option<PathBuf> {
        let runs = self.space.path("runs");
        let entries = std::fs::read_dir(runs).ok()?;
        let all: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        assert!(all.len() <= 1, "{all:?}");
        all.into_iter().next()
    }

    /// Answers that the server gave at least this long before the end.
    fn answered(&self, before: Duration) -> usize {
        let answers = self.counted.answers.lock().unwrap();
        let early = |at: &&Instant| self.ended.duration_since(**at) >= before;
        answers.iter().filter(early).count()
    }

    /// Holds what is left against what the server counted; says how old the newest row that is missing was.
    fn check(&self, at: usize) -> String {
        let Some(directory) = self.directory().filter(|d| d.join("run.json").exists()) else {
            // Killed before the run began.
            assert_eq!(self.answered(Duration::ZERO), 0, "event {at}");
            return "no run".to_owned();
        };
        self.check_directory(at, &directory)
    }

    fn check_directory(&self, at: usize, directory: &Path) -> String {
        let run = Run::open(directory).unwrap();
        let rows = answered_rows(at, &run);
        let safe = self.answered(SAFE_AFTER);
        let all = self.answered(Duration::ZERO);
        assert!(safe <= rows && rows <= all, "event {at}: {safe} {rows} {all}");
        self.check_verbs(at, &run, all);
        let missing = all - rows;
        let oldest = self.counted.answers.lock().unwrap();
        let age = (missing > 0).then(|| self.ended.duration_since(oldest[rows]).as_secs_f64());
        format!("{:?}, {rows} of {all} rows, {age:.1?}", run.info().status)
    }

    /// Every verb that reads a run reads this one. What `show --json` says.
    fn read_by_all(&self, at: usize, run: &Run) -> serde_json::Value {
        let path = run.path();
        let ended = |command: &mut Command| {
            let ended = Ended::of(command);
            let code = ended.code.unwrap_or(-1);
            assert!(code != 101 && code >= 0, "event {at}: {}", ended.err);
            ended
        };
        let shown = ended(throng(["show"]).arg(path)).with(0);
        let is_over = run.info().status != RunStatus::Running;
        if !is_over {
            shown.stdout_contains("The record is incomplete: the run is in progress or was killed");
        }
        ended(throng(["analyze"]).arg(path));
        ended(throng(["compare"]).args([path, path]));
        let mut export = throng(["export", "--csv"]);
        ended(export.arg(self.space.path("csv")).arg(path)).with(0);
        let json = ended(throng(["show", "--json"]).arg(path)).with(0);
        serde_json::from_str(&json.out).unwrap()
    }

    fn check_verbs(&self, at: usize, run: &Run, answered: usize) {
        let summary = self.read_by_all(at, run);
        let page = summary["measures"].as_array().unwrap().iter();
        let page = page.clone().find(|measure| measure["name"] == "page");
        let count = page.map_or(0, |page| page["count"].as_u64().unwrap());
        assert!(count <= answered as u64, "event {at}: {count} of {answered}");
        // The load is 20 a second: counts and seconds end at the same moment.
        let seconds = run.series().unwrap().last().map_or(0, |row| row.end_ns) as f64 / 1e9;
        let due = 20.0 * seconds.min(9.0);
        let open = due - count as f64;
        assert!(
            open.abs() <= 20.0 || run.tally().unwrap().is_none(),
            "event {at}: {count} in {seconds} s"
        );
    }
}

/// Rows of requests that were answered.
fn answered_rows(at: usize, run: &Run) -> usize {
    let page = run.info().measures.iter().position(|m| m.name == "page");
    let page = page.unwrap() as u16;
    let mut users = BTreeSet::new();
    run.requests(|rows| {
        // A measure of a connection has the same user as the request over it.
        let of_page = rows.iter().filter(|row| row.measure == page);
        users.extend(of_page.filter(|row| row.outcome == Outcome::Ok).map(|row| row.user));
    })
    .unwrap_or_else(|error| panic!("event {at}: {error}"));
    users.len()
}

/// A file system of its own, in a file.
struct Disk {
    mounted: PathBuf,
}

impl Disk {
    /// Mounts `image`; `None`, said aloud, where this process may not.
    fn mount(image: &Path, at: PathBuf) -> Option<Disk> {
        std::fs::create_dir(&at).unwrap();
        let mut mount = Command::new("mount");
        let mounted = mount.args(["-o", "loop"]).args([image, &at]).output();
        if mounted.is_ok_and(|ended| ended.status.success()) {
            return Some(Disk { mounted: at });
        }
        skip("a loop device cannot be mounted");
        None
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.mounted).status();
    }
}

/// The disk's image is copied while the run goes on, which is what a power cut leaves: what the file system had
/// written to its device.
#[test]
fn a_power_cut_keeps_what_a_durable_run_has_synced() {
    let (space, (url, counted)) = (Space::new(), counting());
    let image = space.path("image");
    let cut = space.path("cut");
    std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image).output();
    if !made.is_ok_and(|ended| ended.status.success()) {
        return skip("mkfs.ext4 cannot be run");
    }
    let Some(disk) = Disk::mount(&image, space.path("disk")) else {
        return;
    };
    let text = scenario(&url).replace("9s", "60s");
    let scenario = space.file("scenario.yaml", &text);
    let mut run = throng(["run", "--quiet", "--durable", "--runs"]);
    let mut running = Running::start(run.arg(disk.mounted.join("runs")).arg(scenario));
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(10) {
        assert!(!running.ends_within(Duration::from_millis(100)));
    }
    // What the generator does while the image is copied is not of one moment.
    running.signal(Signal::STOP);
    let ended = Instant::now();
    std::fs::copy(&image, &cut).unwrap();
    running.kill();
    assert_eq!(running.end().code, None);
    drop(disk);
    let disk = Disk::mount(&cut, space.path("after")).unwrap();
    let after = Killed { space: Space::new(), counted, ended };
    let runs = std::fs::read_dir(disk.mounted.join("runs")).unwrap();
    let directory = runs.map(|entry| entry.unwrap().path()).next().unwrap();
    println!("after a power cut: {}", after.check_directory(0, &directory));
}

/// How many events an undisturbed run has, as the shim counted them.
fn events(shim: &Path, who: Who) -> usize {
    let whole = play(shim, 0, who);
    if who != Who::Target {
        whole.check(0);
    }
    let count = std::fs::read_to_string(whole.space.path("events")).unwrap();
    count.trim().parse().unwrap()
}

/// Kills runs at events, and checks and prints what came of each. Returns how many events an undisturbed run has.
fn kill_at_each(who: Who, check: impl Fn(usize, &Killed) -> String + Sync) -> usize {
    let every = std::env::var("KILL_EVERY").map_or(EVERY, |every| every.parse().unwrap());
    let space = Space::new();
    let shim = shim(&space);
    let table = Mutex::new(Vec::new());
    let kill = |at: usize| {
        let killed = play(&shim, at, who);
        if killed.is_killed() {
            let line = check(at, &killed);
            table.lock().unwrap().push((at, line));
        }
    };
    // How many events there are is known once the undisturbed run has ended. The first points do not wait for that: one
    // beyond the end kills nobody.
    let undisturbed = std::iter::once(0);
    let first: Vec<usize> = undisturbed.chain((1..).step_by(every).take(AT_ONCE - 1)).collect();
    let count = AtomicUsize::new(0);
    testkit::at_once(AT_ONCE, &first, |&at| match at {
        0 => count.store(events(&shim, who), Ordering::Relaxed),
        _ => kill(at),
    });
    let count = count.into_inner();
    let further: Vec<usize> = (1..=count).step_by(every).skip(AT_ONCE - 1).collect();
    testkit::at_once(AT_ONCE, &further, |&at| kill(at));
    let mut table = table.into_inner().unwrap();
    // Runs differ by some events.
    assert!(2 * table.len() >= count / every, "{} of {count} / {every}", table.len());
    table.sort();
    for (at, line) in table {
        println!("killed at event {at:3}: {line}");
    }
    count
}

#[test]
fn a_run_killed_at_any_event_keeps_what_was_durable() {
    let count = kill_at_each(Who::Generator, |at, killed| killed.check(at));
    assert!(count > 40, "{count}");
}

/// The workers of a controller that is gone leave, and close their connections.
#[test]
fn a_controller_killed_at_any_event_takes_its_workers_with_it() {
    let count = kill_at_each(Who::Controller, |at, killed| {
        let line = killed.check(at);
        let limit = killed.ended + GONE_AFTER;
        while killed.counted.open.load(Ordering::Relaxed) > 0 {
            assert!(Instant::now() < limit, "event {at}: a worker is still there");
            pass(Duration::from_millis(20));
        }
        line
    });
    assert!(count > 40, "{count}");
}

/// The target that a run started is killed at each message that it sends: what it had sent before is in the record,
/// and the run says what ended it.
#[test]
fn a_target_killed_at_any_message_ends_the_run_with_exact_counts() {
    let count = kill_at_each(Who::Target, |at, killed| {
        let run = killed.space.only();
        assert!(run.is_complete(), "event {at}: {:?}", run.missing());
        let summary = killed.space.summary();
        assert_eq!(summary.verdict, Verdict::Untrusted, "event {at}");
        assert_eq!(summary.findings[0].code, "target-ended", "event {at}");
        let page = summary.measures.iter().find(|m| m.name == "page").unwrap();
        let users = &summary.users;
        let errors = page.errors_by_kind.values().sum::<u64>();
        let answered = page.count - errors;
        // Half of the last message is no answer.
        assert_eq!(answered, at as u64 - 1, "event {at}");
        assert_eq!(answered_rows(at, &run), at - 1, "event {at}");
        let shown = killed.read_by_all(at, &run);
        assert_eq!(shown["verdict"], "untrusted", "event {at}");
        assert_eq!(users.started, users.finished + users.failed, "{users:?}");
        format!("{answered} requests answered, {errors} failed")
    });
    assert_eq!(count, 180);
}

/// One of two workers is killed at each message that it sends: the run goes on, and says what is lost.
#[test]
fn a_worker_killed_at_any_message_is_accounted_for() {
    let count = kill_at_each(Who::Worker, |at, killed| {
        let all = killed.answered(Duration::ZERO);
        let Some(directory) = killed.directory() else {
            // It was killed before the run began.
            assert_eq!(all, 0, "event {at}");
            return "no run".to_owned();
        };
        let run = Run::open(&directory).unwrap();
        assert!(run.is_complete(), "event {at}: {:?}", run.missing());
        let summary = run.summary().unwrap().unwrap();
        let users = &summary.users;
        let page = summary.measures.iter().find(|measure| measure.name == "page");
        let count = page.map_or(0, |page| page.count);
        // The server may have answered what the worker could report no more: its last second.
        assert!(count <= all as u64, "event {at}: {count} of {all}");
        assert!(all as u64 <= count + 40, "event {at}: {count} of {all}");
        let rows = answered_rows(at, &run);
        assert!(rows <= all && all <= rows + 40, "event {at}: {rows} rows of {all}");
        let shown = killed.read_by_all(at, &run);
        assert_eq!(shown["users"]["lost"], users.lost, "event {at}");
        let planned = users.started + users.never_came;
        assert_eq!(planned, 180, "event {at}: {users:?}");
        let mut codes = summary.findings.iter().map(|finding| &finding.code);
        assert!(!codes.any(|code| code == "sums-broken"), "event {at}");
        let lost = run.info().workers.iter().filter(|w| w.lost_at_ns.is_some());
        let is_lost = lost.count() == 1;
        assert_eq!(
            users.lost + users.never_came > 0,
            is_lost && count < 180,
            "event {at}: {users:?}"
        );
        format!("{count} of {all} requests, lost {}, never came {}", users.lost, users.never_came)
    });
    assert!(count > 10, "{count}");
}
