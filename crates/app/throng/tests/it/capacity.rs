//! The search for capacity, against a server whose limit does not depend on how fast the machine is:
//! it serves a fixed number of connections at once, and refuses the others.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Ended, Running, Space, pass, read_head, server, throng};

/// Connections that are served at once.
const PLACES: usize = 13;

/// The server, and the number of connections that it has open.
fn crowded() -> SocketAddr {
    let open = Arc::new(AtomicUsize::new(0));
    server(move |mut stream: TcpStream| {
        let place = open.fetch_add(1, Ordering::SeqCst);
        let served = answer(&mut stream, place < PLACES);
        open.fetch_sub(1, Ordering::SeqCst);
        served
    })
}

fn answer(stream: &mut (impl Read + Write), has_place: bool) -> std::io::Result<()> {
    let status = if has_place { "200 OK" } else { "503 Service Unavailable" };
    loop {
        read_head(stream)?;
        write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\nok")?;
    }
}

fn scenario(address: SocketAddr) -> String {
    format!(
        "
name: crowded
target: http://{address}/
sessions:
  visitor: [{{ get: /, as: page }}, {{ think: 20ms }}]
arrivals: [{{ users: 4, for: 300ms }}]
thresholds: [errors(page) == 0]
options: {{ lag_max: 5s, drain: 5s }}
"
    )
}

fn search(space: &Space, args: &[&str]) -> Command {
    let mut command = throng(["capacity", "--pause", "100ms", "--within", "0.1%", "--runs"]);
    command.arg(space.path("runs")).args(args);
    command
}

fn state(directory: &Path, file: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(directory.join(file)).unwrap()).unwrap()
}

/// The only search made here.
fn only(space: &Space) -> PathBuf {
    let all = space.directories();
    assert!(all.len() == 1, "not one search: {all:?}");
    all[0].clone()
}

#[test]
fn the_limit_is_found_to_the_last_user() {
    let space = Space::new();
    let file = space.file("crowded.yaml", &scenario(crowded()));
    let file = file.to_str().unwrap();
    let ended = Ended::of(&mut search(&space, &[file])).with(0);
    ended.stdout_contains("CAPACITY 13 TO 14 of arrivals.0.users");
    ended.stdout_contains("but not 14 (0 of 2 runs kept the thresholds)");
    ended.stdout_contains("errors");
    let directory = only(&space);
    let found = state(&directory, "capacity.json");
    assert_eq!((found["holds"].as_f64(), found["breaks"].as_f64()), (Some(13.0), Some(14.0)));
    assert_eq!(found["ending"], "found");
    assert_eq!(found["bend"]["signs"][0][0], "errors");
    // Every trial is a run that can be looked at by itself.
    let trials = state(&directory, "search.json")["trials"].as_array().unwrap().len();
    let runs: Vec<_> = std::fs::read_dir(directory.join("runs")).unwrap().flatten().collect();
    assert_eq!(runs.len(), trials);
    // Each has a crowd of its own.
    let seeds = runs.iter().map(|run| state(&run.path(), "run.json")["seed"].as_u64());
    assert_eq!(seeds.collect::<std::collections::HashSet<_>>().len(), trials);
    Ended::of(throng(["show"]).arg(runs[0].path())).with(0);
    // So it is in a browser, as is the search.
    for of in runs.iter().map(std::fs::DirEntry::path).chain([directory]) {
        assert!(of.join("report.html").exists(), "{}", of.display());
    }
}

#[test]
fn a_killed_search_resumes() {
    let space = Space::new();
    let file = space.file("crowded.yaml", &scenario(crowded()));
    let file = file.to_str().unwrap();
    let mut running = Running::start(&mut search(&space, &[file]));
    // The first line says how long it will take. A trial's line is printed before it is stored: the third one
    // may be lost, the second is not.
    (0..4).for_each(|_| {
        running.line();
    });
    running.kill();
    running.end();
    let directory = only(&space);
    let before = state(&directory, "search.json")["trials"].clone();
    let kept = before.as_array().unwrap().len();
    assert!(kept >= 2, "{before}");

    let resume = |args: &[&str]| {
        let mut command = throng(["capacity", "--resume"]);
        command.arg(&directory).args(args);
        command
    };
    Ended::of(&mut resume(&["-q"])).with(0);
    let after = state(&directory, "search.json")["trials"].clone();
    let after = after.as_array().unwrap();
    assert_eq!(&after[..kept], &before.as_array().unwrap()[..]);
    assert_eq!(state(&directory, "capacity.json")["holds"].as_f64(), Some(13.0));
    // Once more: there is nothing left to run, and the answer is the same.
    let ended = Ended::of(&mut resume(&["--json"])).with(0);
    let again: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(again["holds"].as_f64(), Some(13.0));
    assert_eq!(state(&directory, "search.json")["trials"].as_array().unwrap().len(), after.len());
}

#[test]
fn step_and_time_limits_end_a_search() {
    let space = Space::new();
    let file = space.file("crowded.yaml", &scenario(crowded()));
    let file = file.to_str().unwrap();
    let ended = Ended::of(&mut search(&space, &[file, "--steps", "3"])).with(2);
    ended.stdout_contains("ran out of steps");
    let ended = Ended::of(&mut search(&space, &[file, "--time-limit", "200ms"])).with(2);
    ended.stdout_contains("ran out of time");
    let ended = Ended::of(&mut search(&space, &[file, "--at-most", "9"])).with(0);
    ended.stdout_contains("holds 9, the highest load of the search");
    let ended = Ended::of(&mut search(
        &space,
        &[
            file,
            "--set",
            "thresholds=[errors(page) > 5]",
            "--from",
            "2",
            "--set",
            "sessions.visitor.0.status=200..599",
        ],
    ));
    ended.with(1).stdout_contains("not even 1 holds");
}

#[test]
fn searches_without_a_setting_are_errors() {
    let space = Space::new();
    let text = scenario(SocketAddr::from(([127, 0, 0, 1], 9)));
    let file = space.file("crowded.yaml", &text);
    let file = file.to_str().unwrap();
    let check = |args: &[&str], code: i32, message: &str| {
        Ended::of(&mut search(&space, args)).with(code).stderr_contains(message);
    };
    check(&[file, "--set", "thresholds=[]"], 65, "has no thresholds");
    check(&[file, "--set", "until=p95(page) ± 2%"], 65, "compares runs of one length");
    check(&[file, "--of", "name"], 64, "`name` is `crowded`, not a number");
    check(&[file, "--of", "arrivals.3.users"], 64, "has 1 items");
    check(&[file, "--at-most", "3"], 64, "--at-most 3 is below the first load, 4");
    check(&[file, "--growth", "1"], 64, "from 1.1 to 100");
    check(&["missing.yaml"], 66, "cannot read");
    check(&[], 64, "<FILE>");
    let nothing = space.path("nothing");
    Ended::of(throng(["capacity", "--resume"]).arg(nothing))
        .with(66)
        .stderr_contains("contains no search");
}

/// Users who come and stay, as those who hold a connection: they are more than come in a phase, and their number is what
/// is looked for.
#[test]
fn users_that_stay_are_searched_by_how_many_are_present() {
    let space = Space::new();
    let text = scenario(crowded())
        .replace("think: 20ms", "think: 2s")
        .replace("{ users: 4, for: 300ms }", "{ constant: 20/s, for: 300ms }, { hold: 1s }");
    let file = space.file("staying.yaml", &text);
    let file = file.to_str().unwrap();
    let args = [file, "--within", "100%", "--repeat", "1"];
    let mut command = throng(["capacity", "--pause", "100ms", "--runs"]);
    let refused = Ended::of(command.arg(space.path("runs")).args(args)).with(65);
    refused.stderr_contains("a session takes 2.00 s");
    refused.stderr_contains("--aim present");
    let planned = |aim: &str| {
        let mut command = throng(["capacity", "--plan", "--aim", aim]);
        Ended::of(command.arg("--runs").arg(space.path("planned")).args(args))
    };
    planned("finished").with(65);
    planned("present").with(0).stdout_contains(
        "by arrivals.0.constant: 20/s, 40/s, 80/s, 160/s … until one does not hold",
    );
    assert!(!space.path("planned").exists());

    let space = Space::new();
    let mut command = throng(["capacity", "--pause", "100ms", "--aim", "present", "--runs"]);
    let ended = Ended::of(command.arg(space.path("runs")).args(args)).with(0);
    ended.stdout_contains("CAPACITY 40/s TO 80/s of arrivals.0.constant");
    ended.stdout_contains("at 40/s 12 users were present at once");
    ended.stderr_contains("12 users present");
    assert_eq!(state(&only(&space), "search.json")["aim"], "present");
}

/// A server that does 50 requests a second, one after the other, also those whose client is gone.
#[expect(clippy::disallowed_methods, reason = "the server has a clock of its own")]
fn queue() -> SocketAddr {
    let free = Arc::new(Mutex::new(Instant::now()));
    server(move |mut stream: TcpStream| {
        loop {
            read_head(&mut stream)?;
            let now = Instant::now();
            let done = {
                let mut free = free.lock().unwrap();
                *free = now.max(*free) + Duration::from_millis(20);
                *free
            };
            pass(done - now);
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")?;
        }
    })
}

#[test]
fn a_run_begins_when_the_backlog_of_the_last_is_worked_off() {
    let space = Space::new();
    let text = format!(
        "
name: queue
target: http://{}/
sessions: {{ visitor: [ {{ get: /, as: page }} ] }}
arrivals: [ {{ constant: 30/s, for: 4s }}, {{ hold: 100ms }} ]
thresholds: [ 'p95(page) < 500ms' ]
options: {{ lag_max: 5s, drain: 0s }}
",
        queue()
    );
    let file = space.file("queue.yaml", &text);
    let mut search = throng(["capacity", "--pause", "100ms", "--growth", "3"]);
    search.args(["--within", "40%", "--repeat", "1", "--runs"]);
    let ended = Ended::of(search.arg(space.path("runs")).arg(file)).with(0);
    ended.stderr_contains("until the target can have worked off what it has not answered");
    let found = state(&only(&space), "capacity.json");
    assert_eq!(found["holds"].as_f64(), Some(45.0), "{}", ended.out);
}
