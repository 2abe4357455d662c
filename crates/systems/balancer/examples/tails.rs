//! Queues of the power of two choices beside Mitzenmacher's fixed point, in virtual time:
//! `cargo run --release -p balancer --example tails`.
//!
//! Prints a table in Markdown: the share of workers with at least `i` requests, with Student's intervals at 99.9 % over
//! replications.
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use balancer::policy::{Load, TwoChoices};
use balancer::sim::{Simulation, WorkerModel};
use stats::dist::Dist;
use stats::student::mean_interval;

/// The formula is that of infinitely many workers; of this many, shares differ from it by a multiple of 1/5,000.
const WORKERS: usize = 5_000;
const REPLICATIONS: u64 = 10;
const CONFIDENCE: f64 = 0.999;
/// Requests of a replication before anything is counted, and those that are. From empty queues, the shares of load 0.95 are
/// within 0.0002 of the fixed point after 200 service times (its differential equations, integrated).
const REQUESTS: (u64, u64) = (1_200_000, 1_000_000);
/// Smaller shares are not shown.
const SHARE_MIN: f64 = 1e-3;

/// The shares of workers with at least 0, 1, 2, … requests, by replication.
fn tails(load: f64) -> Vec<Vec<f64>> {
    let run = |seed| {
        let simulation = Simulation {
            workers: vec![WorkerModel::default(); WORKERS],
            balancers: 1,
            localities: Vec::new(),
            learn: None,
            users: None,
            policy: || Box::new(TwoChoices::new(2, Load::InFlight)),
            rate: load * WORKERS as f64,
            batch: 1,
            service: Dist::Exponential { mean: 1.0 },
            clients: 1,
            warm_up: REQUESTS.0,
            requests: REQUESTS.1,
            seed,
        };
        simulation.run().tails
    };
    (1..=REPLICATIONS).map(run).collect()
}

fn main() {
    println!("| load | i | fixed point | simulated | interval |");
    println!("|--:|--:|--:|--:|---|");
    for load in [0.5, 0.7, 0.9, 0.95] {
        let tails = tails(load);
        for length in 1..=6_i32 {
            // Mitzenmacher 2001: s_i = λ^((d^i − 1) / (d − 1)), here with d = 2.
            let expected = f64::powi(load, 2_i32.pow(length as u32) - 1);
            if expected < SHARE_MIN {
                break;
            }
            let of = |tails: &Vec<f64>| tails.get(length as usize).copied().unwrap_or(0.0);
            let values: Vec<f64> = tails.iter().map(of).collect();
            let Some((low, high)) = mean_interval(&values, CONFIDENCE) else {
                continue;
            };
            let middle = f64::midpoint(low, high);
            println!("| {load} | {length} | {expected:.5} | {middle:.5} | {low:.5} … {high:.5} |");
        }
    }
}
