//! All policies in several situations, in virtual time: `cargo run --release -p balancer --example policies`.
//!
//! Prints response times in multiples of the mean service time, with Student's intervals at 95 % over replications.
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use balancer::policy::{Kind, Policy};
use balancer::sim::{Outcome, Simulation, WorkerModel};
use stats::dist::Dist;
use stats::student::mean_interval;

const REPLICATIONS: u64 = 5;

type Situation = (&'static str, Vec<WorkerModel>, f64, Dist, usize);

/// Name, workers, load of their capacity, service times of mean 1, balancers.
fn situations() -> Vec<Situation> {
    let equal = || vec![WorkerModel::default(); 100];
    let exponential = || Dist::Exponential { mean: 1.0 };
    let speeds = (0..99).map(|n| WorkerModel {
        speed: f64::from(1 << (n % 3)),
        ..WorkerModel::default()
    });
    let mut erring = equal();
    erring[0].error_rate = 1.0;
    let mut slow = equal();
    slow[0].slow = Some((0.0, 10.0));
    let heavy = Dist::Pareto {
        scale: 1.0 / 3.0,
        shape: 1.5,
    };
    vec![
        ("equal workers, 70 %", equal(), 0.7, exponential(), 1),
        ("equal workers, 95 %", equal(), 0.95, exponential(), 1),
        (
            "speeds 1:2:4, unknown",
            speeds.collect(),
            0.8,
            exponential(),
            1,
        ),
        ("one ten times slower", slow, 0.7, exponential(), 1),
        ("one fails at once", erring, 0.7, exponential(), 1),
        ("heavy tail", equal(), 0.7, heavy, 1),
        ("20 balancers", equal(), 0.9, exponential(), 20),
    ]
}

fn policy_of(kind: Kind) -> fn() -> Box<dyn Policy> {
    match kind {
        Kind::Random => || Kind::Random.policy(),
        Kind::RoundRobin => || Kind::RoundRobin.policy(),
        Kind::LeastConnections => || Kind::LeastConnections.policy(),
        Kind::SourceHash => || Kind::SourceHash.policy(),
        Kind::TwoChoices => || Kind::TwoChoices.policy(),
        Kind::PeakEwma => || Kind::PeakEwma.policy(),
        Kind::RingHash => || Kind::RingHash.policy(),
        Kind::Maglev => || Kind::Maglev.policy(),
        Kind::Prequal => || Kind::Prequal.policy(),
        // Weights are all equal here.
        Kind::WeightedRoundRobin => || Kind::WeightedRoundRobin.policy(),
        _ => || Kind::ShortestQueue.policy(),
    }
}

fn main() {
    println!("situation\tpolicy\tp50\tp99\tp99.9\tshare served\timbalance");
    for (name, workers, load, service, balancers) in situations() {
        let capacity: f64 = workers.iter().map(|worker| worker.speed).sum();
        for kind in Kind::all() {
            let run = |seed| {
                let simulation = Simulation {
                    workers: workers.clone(),
                    balancers,
                    localities: Vec::new(),
                    learn: None,
                    policy: policy_of(kind),
                    rate: load * capacity,
                    batch: 1,
                    service: service.clone(),
                    clients: 10_000,
                    warm_up: 100_000,
                    requests: 400_000,
                    seed,
                };
                simulation.run()
            };
            let outcomes: Vec<Outcome> = (1..=REPLICATIONS).map(run).collect();
            let quantile = |q| {
                let figure = move |outcome: &Outcome| outcome.latency.quantile(q) as f64 / 1e9;
                shown(&outcomes, figure, 2)
            };
            println!(
                "{name}\t{}\t{}\t{}\t{}\t{}\t{}",
                kind.name(),
                quantile(0.5),
                quantile(0.99),
                quantile(0.999),
                shown(&outcomes, |outcome| 100.0 * outcome.share_served(), 1),
                shown(&outcomes, Outcome::imbalance, 2),
            );
        }
    }
}

/// The mean, and half the width of its interval.
fn shown(outcomes: &[Outcome], figure: impl Fn(&Outcome) -> f64, digits: usize) -> String {
    let values: Vec<f64> = outcomes.iter().map(figure).collect();
    match mean_interval(&values, 0.95) {
        Some((low, high)) => {
            let (middle, half) = (f64::midpoint(low, high), (high - low) / 2.0);
            format!("{middle:.digits$} ± {half:.digits$}")
        }
        None => "-".to_owned(),
    }
}
