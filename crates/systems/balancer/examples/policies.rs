//! All policies in several situations, in virtual time, as tables in Markdown:
//! `cargo run --release -p balancer --example policies -- [requests=500000] [workers=1000] [replications=5]
//! [policy=NAME] [situation=TEXT]`.
//!
//! Response times are multiples of the mean service time at speed 1. Figures are means over replications with half the width
//! of Student's interval at 95 %. The best of a column is bold only if its interval ends before that of each other policy
//! begins. How long each cell took is on standard error.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "an example shows what it found, and how fast"
)]

use std::time::{Duration, Instant};

use balancer::LearnOptions;
use balancer::policy::Kind;
use balancer::sim::{Outcome, Simulation, Users, WorkerModel};
use stats::dist::Dist;
use stats::student::mean_interval;

/// Requests before anything is counted, as a share of those that are.
const WARM_UP: f64 = 1.0;
/// One worker of this many has a fault.
const FAULTY_OF: usize = 100;

/// What is balanced: workers at a load of their capacity, service times of mean 1.
struct Situation {
    name: &'static str,
    workers: Vec<WorkerModel>,
    load: f64,
    service: Dist,
    balancers: usize,
    batch: u64,
    learn: bool,
    /// Users instead of a load.
    users: Option<Users>,
}

impl Situation {
    fn new(name: &'static str, load: f64, workers: Vec<WorkerModel>) -> Self {
        Self {
            name,
            workers,
            load,
            service: Dist::Exponential { mean: 1.0 },
            balancers: 1,
            batch: 1,
            learn: false,
            users: None,
        }
    }
}

/// Workers of speeds 1, 2 and 4 in turn; of these weights, or all of weight 1.
fn speeds(count: usize, weighted: bool) -> Vec<WorkerModel> {
    let worker = |at: usize| {
        let speed = f64::from(1 << (at % 3));
        WorkerModel { speed, weight: if weighted { speed } else { 1.0 }, ..WorkerModel::default() }
    };
    (0..count).map(worker).collect()
}

/// Equal workers of which one in a hundred is changed.
fn some(count: usize, change: impl Fn(&mut WorkerModel)) -> Vec<WorkerModel> {
    let mut workers = vec![WorkerModel::default(); count];
    workers.iter_mut().step_by(FAULTY_OF).for_each(change);
    workers
}

/// The five workers of `examples/balancer/s4.workers`, with 250 or 500 users who come within a second and send batches of
/// 10 or 50 requests. A time unit is the 5 ms of a request at speed 1.
fn published() -> impl Iterator<Item = Situation> {
    let worker = |weight: f64| WorkerModel {
        weight,
        speed: weight / 100.0,
        concurrency: 2,
        queue: 80,
        ..WorkerModel::default()
    };
    let workers = [77.16, 68.42, 59.33, 83.81, 90.11].map(worker);
    let shapes = [
        ("S4: 250 users, 10 requests each", 250, 10),
        ("S4: 250 users, 50 requests each", 250, 50),
        ("S4: 500 users, 10 requests each", 500, 10),
        ("S4: 500 users, 50 requests each", 500, 50),
    ];
    shapes.into_iter().map(move |(name, count, requests)| Situation {
        users: Some(Users {
            count,
            within_s: 200.0,
            requests,
            // A millisecond for the network, balancer and user.
            gap_s: 0.2,
        }),
        ..Situation::new(name, 0.0, workers.to_vec())
    })
}

fn situations(count: usize) -> Vec<Situation> {
    let equal = || vec![WorkerModel::default(); count];
    let learned = Situation {
        learn: true,
        ..Situation::new("speeds 1:2:4, weights learned, 80 %", 0.8, speeds(count, false))
    };
    let heavy = Situation {
        service: Dist::Pareto { scale: 1.0 / 3.0, shape: 1.5 },
        ..Situation::new("heavy tail (Pareto, shape 1.5), 80 %", 0.8, equal())
    };
    let many = Situation { balancers: 20, ..Situation::new("20 balancers, 80 %", 0.8, equal()) };
    let batches = Situation { batch: 100, ..Situation::new("batches of 100, 80 %", 0.8, equal()) };
    let mut all = vec![
        Situation::new("speeds 1:2:4 as weights, 50 %", 0.5, speeds(count, true)),
        Situation::new("speeds 1:2:4 as weights, 80 %", 0.8, speeds(count, true)),
        Situation::new("speeds 1:2:4 as weights, 95 %", 0.95, speeds(count, true)),
        Situation::new("speeds 1:2:4, equal weights, 80 %", 0.8, speeds(count, false)),
        learned,
        Situation::new(
            "one in 100 ten times slower, 80 %",
            0.8,
            some(count, |worker| worker.slow = Some((0.0, 10.0))),
        ),
        Situation::new(
            "one in 100 fails at once, 80 %",
            0.8,
            some(count, |worker| worker.error_rate = 1.0),
        ),
        heavy,
        many,
        batches,
    ];
    all.extend(published());
    all
}

/// What the command line says.
struct Args {
    requests: u64,
    workers: usize,
    replications: u64,
    policy: String,
    situation: String,
}

impl Args {
    fn read() -> Result<Args, String> {
        let mut args = Args {
            requests: 500_000,
            workers: 1000,
            replications: 5,
            policy: String::new(),
            situation: String::new(),
        };
        for text in std::env::args().skip(1) {
            let (key, value) = text.split_once('=').unwrap_or((&text, ""));
            let number = || {
                let number = value.parse().ok().filter(|number| *number > 0);
                number.ok_or_else(|| format!("{key} must be a whole number above 0"))
            };
            match key {
                "requests" => args.requests = number()?,
                "workers" => args.workers = number()? as usize,
                "replications" => args.replications = number()?,
                "policy" => value.clone_into(&mut args.policy),
                "situation" => value.clone_into(&mut args.situation),
                _ => {
                    return Err(format!(
                        "`{text}` is unknown; there are requests=N, workers=N, replications=N, policy=NAME and \
                         situation=TEXT"
                    ));
                }
            }
        }
        Ok(args)
    }
}

/// All replications of a policy in a situation.
fn replicate(args: &Args, situation: &Situation, kind: Kind) -> Vec<Outcome> {
    let capacity: f64 = situation.workers.iter().map(|worker| worker.speed).sum();
    // In multiples of a service time, as all times here.
    let mut learn = LearnOptions::default();
    (learn.memory, learn.blackout) = (Duration::from_secs(100), Duration::from_secs(20));
    let run = |seed| {
        let simulation = Simulation {
            workers: situation.workers.clone(),
            balancers: situation.balancers,
            localities: Vec::new(),
            learn: situation.learn.then(|| learn.clone()),
            users: situation.users.clone(),
            policy: kind.make(),
            rate: situation.load * capacity,
            batch: situation.batch,
            service: situation.service.clone(),
            clients: 100 * args.workers as u64,
            warm_up: (args.requests as f64 * WARM_UP) as u64,
            requests: args.requests,
            seed,
        };
        simulation.run()
    };
    (1..=args.replications).map(run).collect()
}

/// Requests for its speed of the worker that got most, over those of all: its utilization over the mean.
fn imbalance(workers: &[WorkerModel], outcome: &Outcome) -> f64 {
    let speed = |worker: &WorkerModel| worker.speed / worker.slow.map_or(1.0, |(_, factor)| factor);
    let each = workers.iter().zip(&outcome.served);
    let loads = each.map(|(worker, served)| *served as f64 / speed(worker));
    let speeds: f64 = workers.iter().map(speed).sum();
    let served: u64 = outcome.served.iter().sum();
    loads.fold(0.0, f64::max) * speeds / served as f64
}

/// A figure of a policy: a mean and half its interval's width.
type Cell = (f64, f64);

/// Figures of a policy, in the order of columns.
fn figures(workers: &[WorkerModel], outcomes: &[Outcome]) -> [Cell; COLUMNS.len()] {
    let quantile = |q| move |outcome: &Outcome| outcome.latency.quantile(q) as f64 / 1e9;
    let of = |figure: &dyn Fn(&Outcome) -> f64| -> Cell {
        let values: Vec<f64> = outcomes.iter().map(figure).collect();
        match mean_interval(&values, 0.95) {
            Some((low, high)) => (f64::midpoint(low, high), (high - low) / 2.0),
            None => (values[0], f64::INFINITY),
        }
    };
    [
        of(&quantile(0.5)),
        of(&quantile(0.99)),
        of(&quantile(0.999)),
        of(&|outcome| 100.0 * outcome.share_served()),
        of(&|outcome| imbalance(workers, outcome)),
    ]
}

/// Heading, digits behind the point, and whether less is better.
const COLUMNS: [(&str, usize, bool); 5] = [
    ("p50", 2, true),
    ("p99", 2, true),
    ("p99.9", 2, true),
    ("served, %", 2, false),
    ("imbalance", 2, true),
];

/// Whether a figure's interval is beyond those of all others.
fn wins(rows: &[(Kind, [Cell; COLUMNS.len()])], row: usize, column: usize) -> bool {
    let (own, half) = rows[row].1[column];
    let others = rows.iter().enumerate().filter(|(other, _)| *other != row);
    rows.len() > 1
        && others.map(|(_, (_, cells))| cells[column]).all(|(other, its)| match COLUMNS[column].2 {
            true => own + half < other - its,
            false => own - half > other + its,
        })
}

fn print_table(name: &str, rows: &[(Kind, [Cell; COLUMNS.len()])]) {
    let headings = COLUMNS.map(|(heading, ..)| heading).join(" | ");
    println!("\n**{name}**\n\n| policy | {headings} |\n|---|{}", "--:|".repeat(COLUMNS.len()));
    for (row, (kind, cells)) in rows.iter().enumerate() {
        let shown = (0..COLUMNS.len()).map(|column| {
            let ((middle, half), digits) = (cells[column], COLUMNS[column].1);
            let text = match half.is_finite() {
                true => format!("{middle:.digits$} ± {half:.digits$}"),
                false => format!("{middle:.digits$}"),
            };
            match wins(rows, row, column) {
                true => format!("**{text}**"),
                false => text,
            }
        });
        println!("| `{}` | {} |", kind.name(), shown.collect::<Vec<_>>().join(" | "));
    }
}

fn main() -> Result<(), String> {
    let args = Args::read()?;
    let all = situations(args.workers);
    for situation in all.iter().filter(|one| one.name.contains(&args.situation)) {
        let mut rows = Vec::new();
        for kind in Kind::all() {
            let is_wanted = args.policy.is_empty() || kind.name() == args.policy;
            if !is_wanted || situation.learn && !kind.can_learn() {
                continue;
            }
            let begin = Instant::now();
            let outcomes = replicate(&args, situation, kind);
            let took = begin.elapsed();
            let each = match &situation.users {
                Some(users) => (users.count * users.requests) as f64,
                None => args.requests as f64 * (1.0 + WARM_UP),
            };
            let requests = args.replications as f64 * each;
            let rate = requests / took.as_secs_f64() / 1e6;
            eprintln!("{}, {}: {took:.1?}, {rate:.2} M requests/s", situation.name, kind.name());
            rows.push((kind, figures(&situation.workers, &outcomes)));
        }
        print_table(situation.name, &rows);
    }
    Ok(())
}
