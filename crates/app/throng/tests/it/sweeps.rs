//! Sweeps over the values of a setting, against a server whose delay depends on the value alone.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::support::{Ended, Running, Space, pass, server, throng};

/// A server that answers `/4` in 5 ms, and other numbers much later, while it is up.
fn curve(up: Arc<AtomicBool>) -> SocketAddr {
    server(move |mut stream: TcpStream| {
        loop {
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") {
                stream.read_exact(&mut byte)?;
                head.push(byte[0]);
            }
            if !up.load(Ordering::SeqCst) {
                return Ok(());
            }
            let head = String::from_utf8_lossy(&head);
            let path = head.split([' ', '/']).nth(2).unwrap_or_default();
            let width: f64 = path.parse().unwrap_or(1.0);
            let off = (width / 4.0).log2().abs() as u64;
            pass(Duration::from_millis(5 + 100 * off));
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")?;
        }
    })
}

fn up() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(true))
}

fn scenario(space: &Space, address: SocketAddr) {
    let text = format!(
        "
name: curve
target: http://{address}/
params: {{ width: 1, users: 4 }}
sessions: {{ visitor: [ forever: [ {{ get: '/${{width}}', as: page }} ] ] }}
arrivals: [{{ users: '${{users}}', for: 800ms }}]
thresholds: [errors(page) == 0]
options: {{ lag_max: 5s, drain: 5s }}
"
    );
    space.file("curve.yaml", &text);
}

fn sweep(space: &Space, args: &[&str]) -> Command {
    let mut command = throng(["capacity", "--pause", "10ms", "--runs"]);
    command.arg(space.path("runs")).arg(space.path("curve.yaml")).args(args);
    command
}

fn resume(directory: &Path, args: &[&str]) -> Command {
    let mut command = throng(["capacity", "--resume"]);
    command.arg(directory).args(args);
    command
}

fn state(directory: &Path, file: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(directory.join(file)).unwrap()).unwrap()
}

fn trials(directory: &Path) -> Vec<Value> {
    let trials = state(directory, "search.json")["trials"].clone();
    trials.as_array().unwrap().clone()
}

/// The only sweep made here.
fn only(space: &Space) -> PathBuf {
    let all = space.directories();
    assert!(all.len() == 1, "not one sweep: {all:?}");
    all[0].clone()
}

#[test]
fn the_value_of_greatest_throughput_is_found() {
    let space = Space::new();
    scenario(&space, curve(up()));
    let args = ["--over", "width=1,2,4,8", "--repeat", "2"];
    let ended = Ended::of(&mut sweep(&space, &args)).with(0);
    ended.stderr_contains("4 values, 2 runs of each: about ");
    ended.stdout_contains("BEST 4");
    ended.stdout_contains("throughput is greatest at 4, ");
    ended.stdout_contains("against 4, 2 loses ");
    ended.stdout_contains("scalability law over ");
    let directory = only(&space);
    let found = state(&directory, "capacity.json");
    assert_eq!(found["best"]["value"].as_f64(), Some(4.0));
    let range = [0, 1].map(|end| found["best"]["range"][end].as_f64().unwrap());
    assert!(range[0] <= 4.0 && 4.0 <= range[1], "{range:?}");
    assert_eq!(found["values"].as_array().unwrap().len(), 4);
    // An untrusted run is repeated.
    let trials = trials(&directory);
    assert!(trials.len() >= 8, "{trials:?}");
    // Each run has its value and a seed of its own.
    let run = directory.join("runs").join(trials[0]["run"].as_str().unwrap());
    let overrides = state(&run, "run.json")["overrides"].to_string();
    let width = format!("width={}", trials[0]["load"].as_f64().unwrap());
    assert!(overrides.contains(&width) && overrides.contains("seed=1"), "{overrides}");
    assert!(directory.join("report.html").exists());
    // Where the curve still rises, the result says so.
    let args = ["--over", "width=1,2,4", "--repeat", "1"];
    let ended = Ended::of(&mut sweep(&space, &args)).with(0);
    ended.stdout_contains("the highest value that was tried: it may rise further");
    ended.stdout_contains("--repeat 3");
    ended.stdout_contains("the scalability law needs at least 4 different loads, and there are 3");
}

#[test]
fn a_killed_sweep_resumes() {
    let space = Space::new();
    scenario(&space, curve(up()));
    let args = ["--over", "width=1,2,4", "--repeat", "2"];
    let mut running = Running::start(&mut sweep(&space, &args));
    // The first line says how long it will take. A run's line is printed before it is stored.
    (0..4).for_each(|_| {
        running.progress();
    });
    running.kill();
    running.end();
    let directory = only(&space);
    let before = trials(&directory);
    assert!(before.len() >= 2, "{before:?}");
    Ended::of(&mut resume(&directory, &["--steps", "9"]))
        .with(64)
        .stderr_contains("--steps is for searches");
    Ended::of(&mut resume(&directory, &["-q"])).with(0);
    let after = trials(&directory);
    assert_eq!(after[..before.len()], before[..]);
    assert!(after.len() >= 6, "{after:?}");
    // Once more: there is nothing left to run, and the answer is the same.
    let ended = Ended::of(&mut resume(&directory, &["--json"])).with(0);
    let again: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(again["best"]["value"].as_f64(), Some(4.0));
    assert_eq!(trials(&directory), after);
}

#[test]
fn an_interrupted_sweep_says_what_counts() {
    let space = Space::new();
    scenario(&space, curve(up()));
    let args = ["--over", "width=1,2,4", "--repeat", "50"];
    let mut running = Running::start(&mut sweep(&space, &args));
    (0..4).for_each(|_| {
        running.progress();
    });
    running.interrupt();
    let ended = running.end().with(2);
    ended.stdout_contains("of 150 runs count: the sweep was interrupted; --resume continues it");
    assert_eq!(state(&only(&space), "capacity.json")["ending"], "interrupted");
}

#[test]
fn a_target_that_is_down_ends_a_sweep_until_it_is_up() {
    let space = Space::new();
    let is_up = up();
    scenario(&space, curve(Arc::clone(&is_up)));
    let args = ["--over", "width=1,2,4", "--repeat", "2"];
    let mut running = Running::start(&mut sweep(&space, &args));
    (0..4).for_each(|_| {
        running.progress();
    });
    is_up.store(false, Ordering::SeqCst);
    let ended = running.end().with(2);
    ended.stdout_contains("the target then answered nothing more");
    let directory = only(&space);
    assert_eq!(state(&directory, "capacity.json")["ending"], "down");
    is_up.store(true, Ordering::SeqCst);
    let ended = Ended::of(&mut resume(&directory, &[])).with(0);
    ended.stdout_contains("BEST 4");
}

#[test]
fn a_value_with_which_the_target_does_not_start_does_not_end_the_sweep() {
    let space = Space::new();
    let text = "
name: curve
target: { queue: { connections: 1 } }
sessions:
  visitor:
    - tcp:
      framing: { length: 4, counts: payload, header: 1 }
    - forever: [ { send: , bytes: [u8: 8, text: hello], reply: { save: { kind: u8@0 }, check: kind == 136, as: echo } } ]
arrivals: [{ users: 2, for: 300ms }]
options: { lag_max: 5s, drain: 5s }
";
    space.file("curve.yaml", text);
    let args = ["--over", "target.queue.connections=1,2,2000", "--repeat", "2"];
    let ended = Ended::of(&mut sweep(&space, &args)).with(0);
    ended.stdout_contains("at 2000: the target \"queue\" did not start");
    let found = state(&only(&space), "capacity.json");
    let last = &found["values"][2];
    assert_eq!((last["breaks"].as_u64(), last["per_s"].as_f64()), (Some(2), None));
}

#[test]
fn sweeps_that_cannot_be_made_are_errors() {
    let space = Space::new();
    scenario(&space, SocketAddr::from(([127, 0, 0, 1], 9)));
    let check = |args: &[&str], code: i32, message: &str| {
        Ended::of(&mut sweep(&space, args)).with(code).stderr_contains(message);
    };
    let over = |list: &str, code: i32, message: &str| check(&["--over", list], code, message);
    over("width", 64, "expected KEY=VALUE");
    over("widht=1,2", 65, "did you mean `width`?");
    over("widht=1,2", 65, "`1` cannot be a value of `widht`");
    over("width=4", 64, "one value has none to be compared with");
    over("width=1,8,4", 64, "4 stands after 8: values must rise");
    over("width=1,1", 64, "1 stands after 1: values must rise");
    over("width=1,two", 64, "`two` in --over is not a number");
    over("width=1,2,", 64, "`` in --over is not a number");
    over("width=1,2ms", 64, "`2ms` in --over has not the unit");
    over("width=0,1", 64, "0 is not above 0");
    over("seed=1,2", 64, "`seed` cannot be varied");
    over("arrivals.0.for=1,2", 65, "`1` cannot be a value of `arrivals.0.for`");
    let long = ["--over", "width=1,2", "--time-limit", "1s", "--repeat", "9"];
    check(&long, 64, "and --time-limit is 1 s");
    check(&["--over", "width=1,2", "--of", "users"], 64, "cannot be used with");
    let open = ["--over", "width=1,2", "--set", "arrivals=[{ constant: 5/s, for: 1s }]"];
    check(&open, 65, "come at a rate of their own");
    assert!(!space.path("runs").exists(), "no sweep was begun");
}
