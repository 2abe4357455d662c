//! Workers inside of a balancer's process, so that one command is a balancer with its backends.

use std::path::Path;
use std::sync::mpsc::sync_channel;

use clap::Parser;
use targets::worker::{self, WorkerOptions};

use super::{failed, read_text};
use crate::args::serve::System;
use crate::args::{Args, Verb};
use crate::exit::{Exit, Failure, message_of};

/// Largest file of workers, in bytes.
const FILE_MAX: usize = 1 << 20;
/// Most workers of one process. Each has three threads.
const WORKERS_MAX: usize = 1_000;
/// Settings of a line that are the balancer's.
const BALANCERS: [&str; 2] = ["weight", "limit"];

/// Starts the workers of a file, which live as long as the process; each as a backend.
pub(super) fn start(path: &Path) -> Result<Vec<String>, Failure> {
    let text = read_text(path, FILE_MAX, "--workers expects a file with a worker per line")?;
    let lines = text.lines().zip(1..).map(|(line, number)| {
        let plain = line.split('#').next().unwrap_or_default().trim();
        (plain, format!("{}:{number}", path.display()))
    });
    let lines: Vec<_> = lines.filter(|(line, _)| !line.is_empty()).collect();
    let wrong = |place: &str, what: &str| {
        Failure::hinted(
            Exit::Data,
            format!("{place}: {what}"),
            "write the flags of throng serve worker, weight and limit: name=US-0; speed=0.9; weight=2",
        )
    };
    if !(1..=WORKERS_MAX).contains(&lines.len()) {
        return Err(wrong(&path.display().to_string(), "needs 1 to 1,000 workers"));
    }
    // All lines are looked at before the first worker starts.
    let parsed: Result<Vec<_>, Failure> =
        lines.iter().map(|(line, place)| parse(line).map_err(|what| wrong(place, &what))).collect();
    let each = parsed?.into_iter();
    each.map(|(options, suffix)| Ok(format!("{}{suffix}", run(options)?))).collect()
}

/// The options of a worker, and what the balancer makes of it.
fn parse(line: &str) -> Result<(WorkerOptions, String), String> {
    let mut suffix = String::new();
    let mut flags = vec!["throng".to_owned(), "serve".to_owned(), "worker".to_owned()];
    for setting in line.split(';').map(str::trim) {
        let (key, value) = setting
            .split_once('=')
            .ok_or_else(|| format!("`{setting}` is not a setting such as speed=2"))?;
        match key.trim() {
            "listen" | "until-stdin-closes" => {
                return Err(format!("`{key}` is up to the balancer: leave it out"));
            }
            key if BALANCERS.contains(&key) => {
                suffix += &format!(" {key}={}", value.trim());
            }
            key => flags.push(format!("--{key}={}", value.trim())),
        }
    }
    flags.push("--listen=127.0.0.1:0".to_owned());
    let args = Args::try_parse_from(flags).map_err(|error| message_of(&error))?;
    match args.verb {
        Verb::Serve(serve) => match serve.system {
            System::Worker(args) => {
                let options = super::worker::options(&args);
                let region = format!(" region={}", options.region);
                Ok((options, suffix + &region))
            }
            _ => Err("is not a worker".to_owned()),
        },
        _ => Err("is not a worker".to_owned()),
    }
}

/// Starts a worker on a thread of its own; its URL.
fn run(options: WorkerOptions) -> Result<String, Failure> {
    let unavailable = |error: std::io::Error| Failure::new(Exit::Unavailable, error);
    let (started, starting) = sync_channel(1);
    let thread = std::thread::Builder::new().name("worker".to_owned());
    thread
        .spawn(move || {
            let up = started.clone();
            let ready = Box::new(move |address| drop(up.send(Ok(address))));
            let ended = worker::run_within_process(options, ready);
            // Nobody waits any more for one that has started.
            drop(started.send(ended.map_err(failed).map(|_| ([0, 0, 0, 0], 0).into())));
        })
        .map_err(unavailable)?;
    let lost = |_| unavailable(std::io::Error::other("a worker crashed at its start"));
    let address: std::net::SocketAddr = starting.recv().map_err(lost)??;
    Ok(format!("http://{address}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_flags_of_a_worker() {
        let line = "name=US-0; service-time=exponential: 20ms; weight=68.42; limit=5; speed=2";
        let (options, suffix) = parse(line).unwrap();
        assert_eq!((options.name.as_str(), options.pace.speed), ("US-0", 2.0));
        assert_eq!(options.service_time, stats::dist::Dist::Exponential { mean: 0.02 });
        assert_eq!(suffix, " weight=68.42 limit=5 region=local");
        for (wrong, said) in [
            ("speed", "`speed` is not a setting"),
            ("sped=2", "sped"),
            ("speed=fast", "fast"),
            ("listen=1", "up to the balancer"),
        ] {
            let error = parse(wrong).unwrap_err();
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }
}
