//! Measures the wide-area network and prints one line of JSON for each measurement. `bench/lab` runs it.
//!
//! ```text
//! cargo run --release -p lab --example measure -- round-trips | hosts | packets | stream | losses | near-and-far | idle
//! ```
//! A number after it is the time of each measurement in seconds, of `near-and-far` the users. It needs root, or a user and network namespace.
#![expect(clippy::print_stdout, reason = "lines of results are what it is for")]

mod hosts;
mod net;
mod packets;
mod paper;
mod round_trips;
mod streams;

use std::process::ExitCode;
use std::time::Duration;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_default();
    let number: Option<u32> = arguments.next().and_then(|text| text.parse().ok());
    let time = |default| Duration::from_secs(u64::from(number.unwrap_or(default)));
    let outcome = match what.as_str() {
        "round-trips" => round_trips::measure(time(3)),
        "idle" => round_trips::idle(time(3)),
        "hosts" => hosts::measure(),
        "packets" => packets::measure(time(3)),
        "stream" => streams::fast(time(3)),
        "losses" => streams::lossy(time(20)),
        "near-and-far" => paper::measure(number.unwrap_or(1000)),
        _ => Err(
            "say what to measure: round-trips, idle, hosts, packets, stream, losses or near-and-far"
                .into(),
        ),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{{\"error\": {:?}}}", error.to_string());
            ExitCode::FAILURE
        }
    }
}
