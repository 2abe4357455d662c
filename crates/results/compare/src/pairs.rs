//! All pairs of runs tested on their samples, and the groups that runs fall into: an edge where a
//! test sees no difference, maximal cliques of that graph the modes of behaviour (O'Dwyer 2016,
//! section 3.4.3).

use stats::clique::{Graph, maximal_cliques};
use stats::ks;
use stats::sample::Sample;

use super::decide::quantile_change;
use super::evidence::{adjusted, anderson};
use super::{Options, Pair, PairTest, Similarity};

/// Cliques listed; a graph can have more than anybody reads.
const CLIQUES_MAX: usize = 100;

/// Tests every pair of runs on all their operations (`samples`), and again on so few of them that
/// they are independent (`thinned`; `None` where all are), by which they are judged. Runs that
/// differ by less than the tolerance in every quantile are alike.
pub(crate) fn direct(
    samples: &[&Sample],
    thinned: &[Option<Sample>],
    options: &Options,
) -> Similarity {
    let mut pairs = Vec::new();
    for (a, b) in places(samples.len()) {
        let test = |a: &Sample, b: &Sample| (ks_test(a, b), anderson_test(a, b));
        let (mut ks, mut ad) = test(samples[a], samples[b]);
        if thinned[a].is_some() || thinned[b].is_some() {
            let few = |run: usize| thinned[run].as_ref().unwrap_or(samples[run]);
            let (ks_few, ad_few) = test(few(a), few(b));
            (ks.p_effective, ad.p_effective) = (ks_few.p, ad_few.p);
        }
        pairs.push(Pair { a, b, ks, ad });
    }
    let tolerated = |pair: &Pair| {
        let quantile = |run: usize| move |q: f64| samples[run].quantile(q);
        quantile_change(quantile(pair.a), quantile(pair.b)).abs() <= options.tolerance
    };
    grouped(samples.len(), pairs, tolerated, options)
}

/// Tests every pair of `count` runs that were made ready by the published pipeline.
pub(crate) fn published(ready: &[Sample], options: &Options) -> Similarity {
    let pairs = places(ready.len()).map(|(a, b)| Pair {
        a,
        b,
        ks: ks_test(&ready[a], &ready[b]),
        ad: anderson_test(&ready[a], &ready[b]),
    });
    grouped(ready.len(), pairs.collect(), |_| false, options)
}

/// The Kolmogorov–Smirnov distance of each run from each.
pub(crate) fn distances(similarity: &Similarity) -> Vec<Vec<f64>> {
    let runs = similarity.pairs.iter().map(|pair| pair.b + 1).max();
    let runs = runs.unwrap_or(0);
    let mut all = vec![vec![0.0; runs]; runs];
    for pair in &similarity.pairs {
        all[pair.a][pair.b] = pair.ks.statistic;
        all[pair.b][pair.a] = pair.ks.statistic;
    }
    all
}

/// Every pair of this many runs once.
fn places(runs: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..runs).flat_map(move |a| (a + 1..runs).map(move |b| (a, b)))
}

/// Corrects the p-values of all pairs for each other, and finds the cliques. `tolerated` pairs are
/// alike whatever the tests say.
fn grouped(
    runs: usize,
    mut pairs: Vec<Pair>,
    tolerated: impl Fn(&Pair) -> bool,
    options: &Options,
) -> Similarity {
    let cliques = [ks_of, ad_of].map(|test_of| {
        let p: Vec<f64> = pairs.iter_mut().map(|pair| test_of(pair).p_effective).collect();
        let mut graph = Graph::new(runs);
        for (pair, p_adjusted) in pairs.iter_mut().zip(adjusted(&p, options.correction)) {
            let alike = p_adjusted > options.alpha || tolerated(pair);
            if alike {
                graph.join(pair.a, pair.b);
            }
            let test = test_of(pair);
            (test.p_adjusted, test.alike) = (p_adjusted, alike);
        }
        maximal_cliques(&graph, CLIQUES_MAX)
    });
    let [ks, ad] = cliques;
    Similarity {
        pairs,
        cut_off: !(ks.complete && ad.complete),
        ks_cliques: ks.cliques,
        ad_cliques: ad.cliques,
    }
}

fn ks_of(pair: &mut Pair) -> &mut PairTest {
    &mut pair.ks
}

fn ad_of(pair: &mut Pair) -> &mut PairTest {
    &mut pair.ad
}

fn ks_test(a: &Sample, b: &Sample) -> PairTest {
    let found = ks::two_samples(a, b);
    unjudged(found.distance, found.p)
}

fn anderson_test(a: &Sample, b: &Sample) -> PairTest {
    let found = anderson(a, b);
    unjudged(found.statistic, found.p)
}

fn unjudged(statistic: f64, p: f64) -> PairTest {
    PairTest { statistic, p, p_effective: p, p_adjusted: p, alike: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This many numbers around `middle`, evenly spaced.
    fn sample(middle: f64, count: u32) -> Sample {
        let number = |i| middle + f64::from(i) / f64::from(count);
        Sample::new((0..count).map(number).collect()).unwrap()
    }

    fn found(samples: &[Sample], options: &Options) -> Similarity {
        let all: Vec<&Sample> = samples.iter().collect();
        direct(&all, &vec![None; all.len()], options)
    }

    #[test]
    fn runs_fall_into_groups() {
        let samples = [10.0, 10.01, 10.02, 12.0, 12.01].map(|middle| sample(middle, 200));
        let options = Options::default();
        let groups = found(&samples, &options);
        assert_eq!(groups.pairs.len(), 10);
        assert_eq!(groups.ks_cliques, [vec![0, 1, 2], vec![3, 4]]);
        assert_eq!(groups.ad_cliques, groups.ks_cliques);
        assert_eq!(published(&samples, &options).ks_cliques, groups.ks_cliques);
        assert!(!groups.cut_off);
    }

    #[test]
    fn thinned_samples_decide() {
        let samples = [sample(10.0, 2000), sample(10.2, 2000)];
        let options = Options::default();
        assert!(!found(&samples, &options).pairs[0].ks.alike);
        let thinned = [Some(sample(10.0, 10)), Some(sample(10.2, 10))];
        let all: Vec<&Sample> = samples.iter().collect();
        let pair = direct(&all, &thinned, &options).pairs[0];
        assert!(pair.ks.alike && pair.ad.alike);
        assert!(pair.ks.p < 1e-6 && pair.ks.p_effective > 0.5, "{pair:?}");
    }

    #[test]
    fn what_is_tolerated_is_alike() {
        let samples = [sample(100.0, 5000), sample(100.5, 5000)];
        let mut options = Options::default();
        let pair = found(&samples, &options).pairs[0];
        assert!(pair.ks.alike && pair.ks.p_adjusted < 1e-6, "{pair:?}");
        options.tolerance = 0.0;
        assert!(!found(&samples, &options).pairs[0].ks.alike);
        assert_eq!(published(&samples, &options).ks_cliques.len(), 2);
    }
}
