//! Runs the fuzzers' bodies in this process, on inputs that random changes make of the kept corpus: many executions in
//! little time, with stable Rust.
//!
//!     changes SECONDS JOBS SEED [TARGET]...
//!
//! Each target runs for SECONDS, JOBS of them at a time. When one has ended, a line of standard output says its name, its
//! executions, its seconds and what it has found, 0 or 1: a target ends with the first input that it panics at, or that
//! takes longer than [`TIME_MAX`]. That input is written to fuzz/artifacts. Which inputs there are follows from SEED.

#[path = "../bodies/balancer.rs"]
mod balancer_bodies;
#[path = "../bodies/convert.rs"]
mod convert_bodies;
#[path = "../bodies/engine.rs"]
mod engine_bodies;
#[path = "../bodies/fetch.rs"]
mod fetch_bodies;
#[path = "../bodies/fleet.rs"]
mod fleet_bodies;
#[path = "../bodies/grpc.rs"]
mod grpc_bodies;
#[path = "../bodies/html.rs"]
mod html_bodies;
#[path = "../bodies/httpd.rs"]
mod httpd_bodies;
mod input;
#[path = "../bodies/model.rs"]
mod model_bodies;
#[path = "../bodies/mqtt.rs"]
mod mqtt_bodies;
#[path = "../bodies/probe.rs"]
mod probe_bodies;
#[path = "../bodies/proto.rs"]
mod proto_bodies;
#[path = "../bodies/queue.rs"]
mod queue_bodies;
#[path = "../bodies/record.rs"]
mod record_bodies;
#[path = "../bodies/scenario.rs"]
mod scenario_bodies;
#[path = "../bodies/server.rs"]
mod server_bodies;
#[path = "../bodies/thesis.rs"]
mod thesis_bodies;
#[path = "../bodies/workers.rs"]
mod workers_bodies;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use input::Corpus;

/// How long one execution may take. The slowest takes some milliseconds.
const TIME_MAX: Duration = Duration::from_secs(20);
/// Stack of a thread: that of the main thread of a program.
const STACK_BYTES: usize = 8 << 20;
/// No execution is under way.
const IDLE: u64 = u64::MAX;

type Body = fn(&[u8]);

thread_local! {
    /// What the last panic of this thread said. Some are caught by what is tested, and concern nobody.
    static SAID: RefCell<String> = const { RefCell::new(String::new()) };
}

const TARGETS: &[(&str, Body)] = &[
    ("answers", engine_bodies::answers),
    ("bruno", convert_bodies::bruno),
    ("calls", grpc_bodies::calls),
    ("cards", fleet_bodies::cards),
    ("chunks", balancer_bodies::chunks),
    ("client_frames", server_bodies::client_frames),
    ("contents", fetch_bodies::contents),
    ("curl", convert_bodies::curl),
    ("data_files", scenario_bodies::data_files),
    ("expressions", scenario_bodies::expressions),
    ("forwarded_heads", balancer_bodies::forwarded_heads),
    ("frames", proto_bodies::frames),
    ("h2", proto_bodies::h2),
    ("har", convert_bodies::har),
    ("heads", httpd_bodies::heads),
    ("http1", proto_bodies::http1),
    ("insomnia", convert_bodies::insomnia),
    ("jmeter", convert_bodies::jmeter),
    ("json_paths", scenario_bodies::json_paths),
    ("locations", fetch_bodies::locations),
    ("log_lines", model_bodies::log_lines),
    ("logs", model_bodies::logs),
    ("model_files", model_bodies::model_files),
    ("mqtt", mqtt_bodies::packets),
    ("openapi", convert_bodies::openapi),
    ("openings", server_bodies::openings),
    ("pages", probe_bodies::pages),
    ("postman", convert_bodies::postman),
    ("protos", grpc_bodies::protos),
    ("proxies", proto_bodies::proxies),
    ("publications", thesis_bodies::publications),
    ("queue_frames", queue_bodies::queue_frames),
    ("results", record_bodies::results),
    ("run_files", record_bodies::run_files),
    ("samples", record_bodies::samples),
    ("selectors", html_bodies::selectors),
    ("sse", proto_bodies::sse),
    ("tsung", convert_bodies::tsung),
    ("worker_frames", workers_bodies::worker_frames),
    ("ws", proto_bodies::ws),
    ("yaml", scenario_bodies::yaml),
];

/// What a job does now, for the one that looks whether it hangs.
struct Watch {
    /// Index into [`TARGETS`].
    target: AtomicU64,
    /// The seed of the input, and when its execution began, milliseconds since the program did, or [`IDLE`].
    seed: AtomicU64,
    since_ms: AtomicU64,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// Keeps an input that a target failed at.
fn keep(name: &str, data: &[u8], seed: u64) {
    let artifacts = folder().join("artifacts").join(name);
    let path = artifacts.join(format!("changes-{seed:016x}"));
    let kept = std::fs::create_dir_all(&artifacts).and_then(|()| std::fs::write(&path, data));
    match kept {
        Ok(()) => eprintln!("{name}: {}", path.display()),
        Err(error) => eprintln!("{name}: {}: {error}; the seed is {seed}", path.display()),
    }
}

fn report(name: &str, executions: u64, time: Duration, found: u64) {
    // Whoever started this has gone; the rest is of no use to anybody.
    let line = format!("{name} {executions} {} {found}\n", time.as_secs());
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}

/// One target for its time; false if it failed.
fn run(target: usize, time: Duration, seed: u64, zero: Instant, watch: &Watch) -> bool {
    let (name, body) = TARGETS[target];
    let corpus = Corpus::read(&folder().join("corpus").join(name));
    let seeds = input::seeds(seed, name);
    watch.target.store(target as u64, Ordering::Relaxed);
    let begin = Instant::now();
    let mut executions = 0;
    let mut found = 0;
    for seed in seeds {
        let now = Instant::now();
        if now - begin >= time {
            break;
        }
        let data = corpus.input(seed);
        watch.seed.store(seed, Ordering::Relaxed);
        let since_ms = (now - zero).as_millis();
        watch.since_ms.store(u64::try_from(since_ms).unwrap_or(IDLE), Ordering::Release);
        let ended = catch_unwind(AssertUnwindSafe(|| body(&data)));
        executions += 1;
        if ended.is_err() {
            SAID.with_borrow(|said| eprintln!("{name}: {said}"));
            keep(name, &data, seed);
            found = 1;
            break;
        }
    }
    watch.since_ms.store(IDLE, Ordering::Release);
    report(name, executions, begin.elapsed(), found);
    found == 0
}

/// Looks once a second whether an execution hangs, which ends the program: its thread cannot be ended.
fn look(watches: &[Watch], zero: Instant, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Acquire) {
        thread::park_timeout(Duration::from_secs(1));
        let now_ms = u64::try_from(zero.elapsed().as_millis()).unwrap_or(IDLE);
        for watch in watches {
            let since_ms = watch.since_ms.load(Ordering::Acquire);
            let limit_ms = u64::try_from(TIME_MAX.as_millis()).unwrap_or(IDLE);
            if since_ms == IDLE || now_ms.saturating_sub(since_ms) < limit_ms {
                continue;
            }
            let target = watch.target.load(Ordering::Relaxed) as usize;
            let seed = watch.seed.load(Ordering::Relaxed);
            let (name, _) = TARGETS[target];
            eprintln!("{name}: one input takes longer than {} s", TIME_MAX.as_secs());
            let corpus = Corpus::read(&folder().join("corpus").join(name));
            keep(name, &corpus.input(seed), seed);
            report(name, 0, Duration::ZERO, 1);
            std::process::exit(1);
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: changes SECONDS JOBS SEED [TARGET]...");
    ExitCode::from(64)
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [seconds, jobs, seed, names @ ..] = &args[..] else {
        return usage();
    };
    let (Ok(seconds), Ok(jobs), Ok(seed)) = (seconds.parse(), jobs.parse::<usize>(), seed.parse())
    else {
        return usage();
    };
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    let wanted = TARGETS.iter().enumerate().filter(|(_, (name, _))| is_wanted(name));
    let wanted: VecDeque<usize> = wanted.map(|(number, _)| number).collect();
    if wanted.is_empty() || jobs == 0 {
        return usage();
    }
    std::panic::set_hook(Box::new(|panic| SAID.set(panic.to_string())));
    let time = Duration::from_secs(seconds);
    let zero = Instant::now();
    let left = Mutex::new(wanted);
    let is_over = AtomicBool::new(false);
    let all_are_sound = AtomicBool::new(true);
    let watches: Vec<Watch> = (0..jobs)
        .map(|_| Watch {
            target: AtomicU64::new(0),
            seed: AtomicU64::new(0),
            since_ms: AtomicU64::new(IDLE),
        })
        .collect();
    let next = || left.lock().expect("no job panics").pop_front();
    let failed = || all_are_sound.store(false, Ordering::Relaxed);
    let next = &next;
    let failed = &failed;
    thread::scope(|scope| {
        let looking = scope.spawn(|| look(&watches, zero, &is_over));
        let running: Vec<_> = watches
            .iter()
            .map(|watch| {
                let work = move || {
                    while let Some(target) = next() {
                        if !run(target, time, seed, zero, watch) {
                            failed();
                        }
                    }
                };
                let thread = thread::Builder::new().stack_size(STACK_BYTES);
                thread.spawn_scoped(scope, work).expect("a thread can be started")
            })
            .collect();
        for job in running {
            job.join().expect("a job catches what panics");
        }
        is_over.store(true, Ordering::Release);
        looking.thread().unpark();
    });
    match all_are_sound.into_inner() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
