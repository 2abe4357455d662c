//! What the system does not give: names, ports, directories, space on the disk, time to run.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::Signal;
use testkit::needs::skip;

use crate::support::{
    Ended, Nobody, Running, Served, Space, pass, plain, read_head, server, throng,
};

#[test]
fn an_unresolvable_host_has_its_own_exit_code() {
    let space = Space::new();
    // A label may have 63 characters (RFC 1035 section 2.3.4), so no server has to be queried.
    let host = "x".repeat(64);
    let ended = Ended::of(&mut space.run(&[&format!("http://{host}/")])).with(68);
    ended.stderr_contains("cannot resolve").stderr_contains("check the name");
    assert!(!space.path("runs").exists());
}

#[test]
fn a_target_that_does_not_start_is_an_error() {
    let space = Space::new();
    let text = "target: { market: { games: 0 } }\nsessions: { a: [ { get: / } ] }\narrivals: [ { \
                hold: 1s } ]\n";
    Ended::of(&mut space.run_text(text, &[]))
        .with(69)
        .stderr_contains("the target \"market\" did not start: it ended at once (exit status: 64)")
        .stderr_contains("games must be 1 to 10,000");
    assert!(!space.path("runs").exists());
}

#[test]
fn a_port_in_use_is_an_error() {
    let taken = Nobody::new();
    let address = taken.address.to_string();
    for system in ["echo", "stall", "market"] {
        let ended = Ended::of(&mut throng(["serve", system, "--listen", &address])).with(69);
        ended.stderr_contains("Address already in use");
        ended.stderr_contains("port 0 for a free one");
    }
    let url = "http://127.0.0.1:1/";
    let run = |flag: &str| {
        let space = Space::new();
        let mut run = throng(["run", url, "--duration", "1s", flag]);
        Ended::of(run.arg("--runs").arg(space.path("runs")))
    };
    let space = Space::new();
    for ended in [
        run(&format!("--prometheus={address}")),
        Ended::of(&mut throng(["probe", "--serve", &address])),
        run(&format!("--ui={address}")),
        Ended::of(throng(["ui", "--listen", &address]).arg(space.path(""))),
    ] {
        let ended = ended.with(71);
        ended.stderr_contains("Address already in use");
        ended.stderr_contains("port 0");
    }
}

#[test]
fn an_unwritable_runs_directory_is_an_error() {
    let space = Space::new();
    let file = space.file("file", "in the way");
    let ended = Ended::of(throng(["run", "http://127.0.0.1:1/", "--runs"]).arg(file));
    ended.with(73).stderr_contains("cannot create");
}

/// The program with a file system of this size in memory at `runs`, seen by nobody else. `None`
/// where the system does not let us.
fn with_disk(space: &Space, size: &str, script: &str) -> Option<Command> {
    let as_root = rustix::process::geteuid().is_root();
    let own: &[&str] = if as_root { &["-m"] } else { &["-Urm"] };
    let runs = space.path("runs");
    std::fs::create_dir(&runs).unwrap();
    let mount = format!("mount -t tmpfs -o size={size} tmpfs \"$1\"");
    let command = |script: &str| {
        let mut command = plain(Command::new("unshare"));
        command.args(own).args(["sh", "-c", script]).arg(env!("CARGO_BIN_EXE_throng")).arg(&runs);
        command
    };
    let possible = command(&mount).output().is_ok_and(|output| output.status.success());
    if !possible {
        skip("no file system can be mounted here, so no disk can be full");
        return None;
    }
    Some(command(&format!("{mount} && {script}")))
}

#[test]
fn a_disk_that_fills_up_during_the_run_ends_it() {
    let space = Space::new();
    let echo = Served::start(&["echo"]);
    let script = "cd \"$1\" && { \"$0\" run \"$2\" --users 4 --duration 2s --runs .; echo \"ended $?\"; \
                  \"$0\" show ./*/; echo \"shown $?\"; }";
    let Some(mut command) = with_disk(&space, "48k", script) else {
        return;
    };
    let ended = Ended::of(command.arg(format!("{}/hello", echo.url)));
    ended.stdout_contains("ended 74");
    ended.stdout_contains("shown 0");
    ended.stdout_contains("requests.parquet is still in segments");
    ended.stdout_contains("the run failed after 2 s of 2 s: cannot write");
    ended.stderr_contains("the disk is full: cannot write");
}

#[test]
fn a_limit_on_the_size_of_files_is_a_clear_error() {
    let space = Space::new();
    let echo = Served::start(&["echo"]);
    let run = space.run(&["--users", "4", "--duration", "2s", &format!("{}/hello", echo.url)]);
    // In blocks of 512 or 1,024 bytes.
    let mut limited = plain(Command::new("sh"));
    limited.args(["-c", "ulimit -f 4 && exec \"$0\" \"$@\""]);
    limited.arg(run.get_program()).args(run.get_args());
    let ended = Ended::of(&mut limited).with(74);
    ended.stderr_contains("a file became too large: cannot write");
    ended.stderr_contains("ulimit -f unlimited");
}

/// A page has more than half a megabyte, which the record of a few requests has not.
#[test]
fn a_report_that_cannot_be_written_decides_the_exit_code() {
    let space = Space::new();
    let echo = Served::start(&["echo"]);
    let url = format!("{}/hello", echo.url);
    let run = space.run(&["--rate", "10/s", "--duration", "1s", &url]);
    let mut limited = plain(Command::new("sh"));
    limited.args(["-c", "ulimit -f 256 && exec \"$0\" \"$@\""]);
    limited.arg(run.get_program()).args(run.get_args());
    let ended = Ended::of(&mut limited).with(74);
    ended.stdout_contains("MEASURED");
    ended.stderr_contains("report.html");
    // So do files that were requested, of a run whose verdict is shown.
    let mut full = space.run(&["--rate", "10/s", "--duration", "1s", "--junit", "/dev/full", &url]);
    let ended = Ended::of(&mut full).with(74);
    ended.stdout_contains("MEASURED");
    ended.stderr_contains("/dev/full");
}

/// In steps from the least limit with which the program starts at all.
#[test]
fn a_target_under_a_limit_of_memory_serves_or_says_why_not() {
    const STEP_KIB: usize = 4_000;
    let limited = |kib: usize, args: &[&str]| {
        let mut limited = plain(Command::new("sh"));
        limited.args(["-c", &format!("ulimit -v {kib} && exec \"$0\" \"$@\"")]);
        let program = throng(args);
        limited.arg(program.get_program()).args(program.get_args());
        limited.stdin(Stdio::piped());
        limited
    };
    let starts = |kib: &usize| Ended::of(&mut limited(*kib, &["--version"])).code == Some(0);
    let least = (20_000..2_000_000).step_by(STEP_KIB).find(starts).unwrap();
    for system in ["hello", "chat", "market"] {
        let mut served = 0;
        for kib in (least..).step_by(STEP_KIB).take(10) {
            // As the target of a run, which reads its input in a thread.
            let until = "--until-stdin-closes";
            let serve = ["serve", system, "--listen", "127.0.0.1:0", until];
            let mut running = Running::start(&mut limited(kib, &serve));
            served += usize::from(running.line_unless_ended().is_some());
            running.release();
            let ended = running.end();
            // An abort is how allocator and threads of the standard library say that nothing is left.
            let is_clear = matches!(ended.code, Some(0 | 69) | None);
            let code = ended.code;
            let err = &ended.err;
            assert!(is_clear, "{system}, {kib} KiB: {code:?}\n{err}");
        }
        assert!(served > 0, "{system}");
    }
}

#[test]
fn a_full_disk_is_a_clear_error() {
    let space = Space::new();
    let echo = Served::start(&["echo"]);
    let script = "cd \"$1\" && { dd if=/dev/zero of=fill bs=4k 2>&-; \"$0\" run \"$2\" --duration 1s \
                  --runs .; echo \"ended $?\"; }";
    let Some(mut command) = with_disk(&space, "64k", script) else {
        return;
    };
    let ended = Ended::of(command.arg(format!("{}/hello", echo.url)));
    ended.stdout_contains("ended 74");
    ended.stderr_contains("the disk is full: cannot write");
}

/// Every answer is there in time; the generator is not.
#[test]
fn a_generator_that_was_stopped_looks_for_answers_before_it_gives_up() {
    const USERS: usize = 300;
    let gate = Arc::new(Mutex::new(()));
    let (of_server, (requests, requested)) = (Arc::clone(&gate), channel());
    let address = server(move |mut stream| {
        read_head(&mut stream)?;
        let _ = requests.send(());
        drop(of_server.lock());
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
    });
    let closed = gate.lock().unwrap();
    let space = Space::new();
    let text = format!(
        "target: http://{address}
options: {{ timeout: 3s, loops: 1 }}
sessions: {{ a: [ {{ get: / }} ] }}
arrivals: [ {{ constant: 1000/s, for: 300ms }}, {{ hold: 20s, until: done }} ]
"
    );
    let running = Running::start(&mut space.run_text(&text, &[]));
    requested.iter().take(USERS).for_each(drop);
    running.signal(Signal::STOP);
    drop(closed);
    pass(Duration::from_secs(4));
    running.signal(Signal::CONT);
    let ended = running.end();
    let summary = space.summary();
    let get = summary.measures.iter().find(|m| m.name == "GET /").unwrap();
    let failed = get.errors_by_kind.clone().into_iter();
    let seen = (get.count, failed.collect::<Vec<_>>());
    assert_eq!(seen, (USERS as u64, Vec::new()), "{}", ended.err);
}
