//! The simulator, held against closed forms.
//!
//! Every figure is the mean of independent replications, with Student's interval at 99.9 %: of the dozens here, all
//! hold at once with a probability above 95 %. Seeds are fixed, so a test that passes keeps passing.

use balancer::LearnOptions;
use balancer::fleet::Locality;
use balancer::policy::{Kind, Load, Policy, TwoChoices};
use balancer::sim::{Outcome, Simulation, Users, WorkerModel};
use stats::dist::Dist;
use stats::student::mean_interval;

const REPLICATIONS: u64 = 10;
const CONFIDENCE: f64 = 0.999;

fn simulation(workers: usize, load: f64, policy: fn() -> Box<dyn Policy>) -> Simulation {
    Simulation {
        workers: vec![WorkerModel::default(); workers],
        balancers: 1,
        localities: Vec::new(),
        learn: None,
        users: None,
        policy,
        rate: load * workers as f64,
        batch: 1,
        service: Dist::Exponential { mean: 1.0 },
        clients: 1_000_000,
        warm_up: 20_000,
        requests: 150_000,
        seed: 0,
    }
}

/// The outcome of each replication.
fn replicate(mut simulation: Simulation) -> Vec<Outcome> {
    let run = |seed| {
        simulation.seed = seed;
        simulation.run()
    };
    (1..=REPLICATIONS).map(run).collect()
}

fn figures(outcomes: &[Outcome], figure: impl Fn(&Outcome) -> f64) -> Vec<f64> {
    outcomes.iter().map(figure).collect()
}

fn mean_latency(outcome: &Outcome) -> f64 {
    seconds(outcome.latency.mean())
}

fn p99(outcome: &Outcome) -> f64 {
    seconds(outcome.latency.quantile(0.99) as f64)
}

#[track_caller]
fn holds(what: &str, values: &[f64], expected: f64, slack: f64) {
    let (low, high) = mean_interval(values, CONFIDENCE).unwrap();
    assert!(
        low - slack <= expected && expected <= high + slack,
        "{what}: {expected} is not in {low} to {high}, widened by {slack}"
    );
    // An interval of any width would hold it.
    assert!(high - low < 0.2 * expected, "{what}: {low} to {high} is too wide");
}

fn random() -> Box<dyn Policy> {
    Kind::Random.policy()
}

fn seconds(ns: f64) -> f64 {
    ns / 1e9
}

#[test]
fn random_split_is_m_m_1() {
    // Response times are exponential with rate μ − λ.
    let load = 0.7;
    let outcomes = replicate(simulation(10, load, random));
    let mean = figures(&outcomes, mean_latency);
    holds("mean", &mean, 1.0 / (1.0 - load), 0.0);
    // Bins of the histogram are 2⁻⁷ wide, at most.
    let p99 = figures(&outcomes, p99);
    holds("p99", &p99, 100.0_f64.ln() / (1.0 - load), 0.1);
    for length in 1..=4 {
        let tail = figures(&outcomes, |outcome| outcome.tails[length]);
        holds("tail", &tail, load.powi(length as i32), 0.0);
    }
}

#[test]
fn one_worker_of_several_servers_is_m_m_c() {
    let servers = 4_u32;
    let load = 0.8;
    let mut run = simulation(1, load * f64::from(servers), random);
    run.workers[0].concurrency = servers as usize;
    let mean = figures(&replicate(run), mean_latency);
    // Erlang's C formula.
    let offered = load * f64::from(servers);
    let term = |n: u32| offered.powi(n as i32) / (1..=n).map(f64::from).product::<f64>();
    let last = term(servers) / (1.0 - load);
    let waits = last / ((0..servers).map(term).sum::<f64>() + last);
    holds("mean", &mean, 1.0 + waits / (f64::from(servers) - offered), 0.0);
}

#[test]
fn a_full_queue_refuses_as_in_m_m_1_k() {
    // A request finds all K places taken with probability (1 − ρ)·ρ^K / (1 − ρ^(K+1)).
    let load: f64 = 0.9;
    let mut run = simulation(10, load, random);
    for worker in &mut run.workers {
        worker.queue = 4;
    }
    let refused = (1.0 - load) * load.powi(5) / (1.0 - load.powi(6));
    let values = figures(&replicate(run), |outcome| 1.0 - outcome.share_served());
    holds("refused", &values, refused, 0.0);
}

#[test]
fn users_who_wait_hold_the_law_of_response_times() {
    // N users of a worker that is always busy: T = N / X − Z, with X = 1 a second.
    let count = 20;
    let gap_s = 3.0;
    let mut run = simulation(1, 0.0, random);
    run.users = Some(Users { count, within_s: 20.0, requests: 5_000, gap_s });
    let outcomes = replicate(run);
    let all = |outcome: &Outcome| outcome.served.iter().sum::<u64>() == count * 5_000;
    assert!(outcomes.iter().all(all));
    let mean = figures(&outcomes, mean_latency);
    holds("mean", &mean, count as f64 - gap_s, 0.05);
}

#[test]
fn users_who_are_refused_send_their_next_request() {
    let mut run = simulation(2, 0.0, random);
    for worker in &mut run.workers {
        worker.queue = 1;
    }
    run.users = Some(Users { count: 50, within_s: 1.0, requests: 10, gap_s: 0.01 });
    let outcome = run.run();
    let served: u64 = outcome.served.iter().sum();
    assert_eq!(served + outcome.rejected, 500);
    assert!(outcome.rejected > 250, "{}", outcome.rejected);
}

#[test]
fn two_choices_have_mitzenmachers_tails() {
    // s_i = λ^((d^i − 1) / (d − 1)) in the limit of many queues; n queues are within a few multiples of 1/n.
    const WORKERS: usize = 1000;
    for load in [0.7, 0.9] {
        let mut run = simulation(WORKERS, load, || Box::new(TwoChoices::new(2, Load::InFlight)));
        (run.warm_up, run.requests) = (60_000, 250_000);
        let outcomes = replicate(run);
        for length in 1..=4_u32 {
            let values = figures(&outcomes, |outcome| outcome.tails[length as usize]);
            let expected = f64::powi(load, 2_i32.pow(length) - 1);
            if expected < 0.01 {
                continue;
            }
            let what = format!("load {load}, length {length}");
            holds(&what, &values, expected, 2.0 / WORKERS as f64);
        }
    }
}

#[test]
fn more_knowledge_means_shorter_queues() {
    let interval = |kind: Kind| {
        let mut run = simulation(20, 0.9, kind.make());
        (run.warm_up, run.requests) = (5_000, 15_000);
        let outcomes = replicate(run);
        mean_interval(&figures(&outcomes, p99), CONFIDENCE).unwrap()
    };
    let shortest = interval(Kind::ShortestQueue);
    let two = interval(Kind::TwoChoices);
    let prequal = interval(Kind::Prequal);
    let random = interval(Kind::Random);
    assert!(shortest.1 < two.0, "{shortest:?} {two:?}");
    assert!(two.1 < random.0, "{two:?} {random:?}");
    assert!(prequal.1 < random.0, "{prequal:?} {random:?}");
}

#[test]
fn runs_follow_from_their_seed() {
    let run = |seed| {
        let mut simulation = simulation(5, 0.8, random);
        (simulation.requests, simulation.seed) = (5_000, seed);
        let outcome = simulation.run();
        (outcome.served.clone(), outcome.latency.sum())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn a_worker_that_fails_fast_draws_requests() {
    let share = |policy: fn() -> Box<dyn Policy>| {
        let mut simulation = simulation(5, 0.8, policy);
        simulation.workers[0].error_rate = 1.0;
        simulation.run().share_served()
    };
    // Without health checks, the black hole looks idle.
    let blind = share(random);
    let drawn = share(|| Kind::ShortestQueue.policy());
    assert!((0.79..0.81).contains(&blind), "{blind}");
    assert!(drawn < 0.6, "{drawn}");
}

/// Thirty workers of speeds 1, 2 and 4 that need 10 ms for a request at speed 1, at 60 % of their capacity.
fn of_three_speeds() -> Simulation {
    let mut run = simulation(30, 0.0, || Kind::WeightedRoundRobin.policy());
    for (at, worker) in run.workers.iter_mut().enumerate() {
        worker.speed = f64::from(1 << (at % 3));
    }
    run.service = Dist::Exponential { mean: 0.01 };
    run.rate = 0.6 * 70.0 / 0.01;
    // Half a minute: the queues of the first ten seconds, in which all get the same, are worked off.
    (run.warm_up, run.requests) = (126_000, 200_000);
    run
}

#[test]
fn weights_are_learned_and_shorten_the_tail() {
    let same = of_three_speeds().run();
    let mut run = of_three_speeds();
    run.learn = Some(LearnOptions::default());
    let learned = run.run();
    let mut right = of_three_speeds();
    for worker in &mut right.workers {
        worker.weight = worker.speed;
    }
    let right = right.run();
    let slow: f64 = learned.weights.iter().step_by(3).sum::<f64>() / 10.0;
    for (weight, worker) in learned.weights.iter().zip(&run.workers) {
        let ratio = weight / slow / worker.speed;
        assert!((0.9..1.1).contains(&ratio), "{:?}", learned.weights);
    }
    // The slow ones cannot do a thirtieth of the load each.
    assert!(p99(&learned) < p99(&same) / 10.0, "{} {}", p99(&learned), p99(&same));
    assert!(p99(&learned) < p99(&right) * 1.1, "{} {}", p99(&learned), p99(&right));
}

#[test]
fn a_worker_that_fails_fast_learns_to_be_left_alone() {
    let mut run = of_three_speeds();
    run.workers[2].error_rate = 1.0;
    let listed = run.run();
    run.learn = Some(LearnOptions::default());
    let learned = run.run();
    let failed = |outcome: &Outcome| 1.0 - outcome.share_served();
    assert!((failed(&listed) * 30.0 - 1.0).abs() < 0.01, "{}", failed(&listed));
    assert!(failed(&learned) < 0.001, "{}", failed(&learned));
}

#[test]
fn regions_share_what_one_of_them_cannot_do() {
    let run = |load, spill_at| {
        let mut run = simulation(40, load, || Kind::ShortestQueue.policy());
        for worker in &mut run.workers[..10] {
            worker.region = Some("small");
        }
        for worker in &mut run.workers[10..] {
            worker.region = Some("large");
        }
        run.balancers = 2;
        run.localities = ["small", "large"]
            .map(|region| Locality { region: region.to_owned(), spill_at })
            .into();
        (run.warm_up, run.requests) = (5_000, 50_000);
        let outcome = run.run();
        (outcome.spilled as f64 / 50_000.0, p99(&outcome))
    };
    // Each balancer gets half of the requests, and the small region has a quarter of the workers.
    let (spilled, _) = run(0.2, 3.0);
    assert!(spilled < 0.001, "{spilled}");
    let (spilled, bounded) = run(0.6, 3.0);
    assert!(spilled > 0.05, "{spilled}");
    let (spilled, flooded) = run(0.6, f64::INFINITY);
    assert_eq!(spilled, 0.0);
    assert!(bounded < flooded / 10.0, "{bounded} {flooded}");
}
