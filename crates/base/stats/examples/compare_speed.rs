//! How fast samples are compared, and how much memory it takes: ten samples of a million numbers, or
//! as many as the arguments say. One thread. `make bench-compare` runs it.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a program that measures and prints"
)]

use std::time::Instant;

use rand_distr::{Distribution, LogNormal};
use stats::clique::{Graph, maximal_cliques};
use stats::ensemble::{self, Within};
use stats::hist::LogHistogram;
use stats::modes::{Rules, modes};
use stats::quantile::{Bootstrap, difference};
use stats::rng::{Purpose, Rng};
use stats::sample::{Edge, Sample};
use stats::{anderson, ks, multiple, rank, serial};

const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];
const BOOTSTRAP: Bootstrap = Bootstrap { draws: 10_000, confidence: 0.95 };

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>().unwrap());
    let samples = arguments.next().unwrap_or(10).max(4);
    let count = arguments.next().unwrap_or(1_000_000);
    let mut clock = Clock::new();
    let mut rng = Rng::new(1, 1, Purpose::Value);

    // Times in nanoseconds around 5 ms, half of the samples 0.2 % slower.
    let raw: Vec<Vec<f64>> = (0..samples)
        .map(|i| {
            let times = LogNormal::new(15.4 + 0.002 * (i % 2) as f64, 0.5).unwrap();
            (0..count).map(|_| times.sample(&mut rng).round()).collect()
        })
        .collect();
    clock.lap("drawing (not counted)");

    let spans: Vec<f64> = raw.iter().map(|x| serial::effective(x).unwrap().span).collect();
    clock.lap("effective sample sizes");
    let made = clock.whole();
    let all: Vec<Sample> = raw.into_iter().map(|x| Sample::new(x).unwrap()).collect();
    clock.lap("sorting");
    let pairs: Vec<(usize, usize)> =
        (0..all.len()).flat_map(|i| (0..i).map(move |j| (j, i))).collect();
    let smirnov = pairs.iter().map(|&(i, j)| ks::two_samples(&all[i], &all[j]).p);
    let smirnov: Vec<f64> = smirnov.collect();
    clock.lap("Kolmogorov-Smirnov, all pairs");
    let anderson = pairs.iter().map(|&(i, j)| {
        let found = anderson::two_samples(&all[i], &all[j]).unwrap();
        found.p.unwrap()
    });
    let anderson: Vec<f64> = anderson.collect();
    clock.lap("Anderson-Darling, all pairs");
    let mut cliques = Vec::new();
    for p in [&smirnov, &anderson] {
        let mut graph = Graph::new(all.len());
        let alike = pairs.iter().zip(multiple::holm(p)).filter(|(_, p)| *p > 0.05);
        alike.for_each(|(&(i, j), _)| graph.join(i, j));
        cliques.push(maximal_cliques(&graph, 1000).cliques.len());
    }
    clock.lap("corrections and cliques");
    for &(i, j) in &pairs {
        for q in QUANTILES {
            difference(&all[i], &all[j], q, BOOTSTRAP, &mut rng);
        }
    }
    clock.lap("4 quantile differences, all pairs");
    let (first, second): (Vec<&Sample>, Vec<&Sample>) =
        (all.iter().step_by(2).collect(), all.iter().skip(1).step_by(2).collect());
    for q in QUANTILES {
        ensemble::quantiles(&first, &second, q, Within::Kept, BOOTSTRAP, &mut rng).unwrap();
    }
    clock.lap("4 quantile differences, ensembles");
    println!(
        "{:<40}{:7.2} s, peak memory {} MiB",
        "from sorting to here",
        clock.whole() - made,
        peak_memory_mib()
    );

    for &(i, j) in &pairs {
        rank::mann_whitney(&all[i], &all[j], 0.95);
    }
    clock.lap("Mann-Whitney, all pairs");
    for &(i, j) in &pairs {
        rank::shift(&all[i], &all[j], 0.95);
    }
    clock.lap("Hodges-Lehmann, all pairs");
    let found: Vec<usize> =
        all.iter().map(|x| modes(x, &Rules::default()).unwrap().len()).collect();
    clock.lap("modes");

    // The same from histograms, a hundred times as many numbers.
    let binned: Vec<Sample> = all
        .iter()
        .map(|sample| {
            let mut hist = LogHistogram::new();
            sample.iter().for_each(|(x, n)| hist.record_n(x as u64, 100 * n));
            Sample::of_histogram(&hist, Edge::Middle).unwrap()
        })
        .collect();
    clock.lap("histograms (not counted)");
    for &(i, j) in &pairs {
        ks::two_samples(&binned[i], &binned[j]);
        ks::distance_bounds(&binned[i], &binned[j]);
        anderson::two_samples(&binned[i], &binned[j]).unwrap();
        anderson::statistic_bounds(&binned[i], &binned[j]);
        rank::mann_whitney(&binned[i], &binned[j], 0.95);
        rank::shift(&binned[i], &binned[j], 0.95);
        for q in QUANTILES {
            difference(&binned[i], &binned[j], q, BOOTSTRAP, &mut rng);
        }
    }
    clock.lap("all of it from histograms, 100 times more");
    println!("cliques by both tests {cliques:?}, modes {found:?}, spans {:.2?}", &spans[..2]);
    println!("peak memory {} MiB", peak_memory_mib());
}

struct Clock {
    start: Instant,
    lap: Instant,
}

impl Clock {
    fn new() -> Clock {
        let now = Instant::now();
        Clock { start: now, lap: now }
    }

    fn lap(&mut self, what: &str) {
        println!("{what:<40}{:7.2} s", self.lap.elapsed().as_secs_f64());
        self.lap = Instant::now();
    }

    fn whole(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

/// The most memory this process has had at a time, as the kernel reports it.
fn peak_memory_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse().ok());
    kib.unwrap_or(0_u64) / 1024
}
