//! The runs of one combination as an ensemble: which of them are alike, how the groups differ.
//!
//! Pairs are tested and cliques found by [`compare`](crate::compare), directly on the operations'
//! times and in the published way; here each clique gets its median and its histogram (O'Dwyer 2016,
//! section 4.3).

use record::Run;
use record::schema::{Finding, Severity};
use serde::Serialize;
use stats::sample::Sample;

use crate::{CompareError, Options, Similarity};
use judge::finding;
use judge::limits::EXPERIMENT_BIN_OF_MEDIAN_MAX;

/// Bins of a histogram.
const BINS: usize = 40;
/// Share of all operations that lies beyond either end of the bins and is counted in the outermost.
const BEYOND: f64 = 0.005;

/// Settings of a comparison of ensembles.
#[derive(Debug, Clone, Copy)]
pub struct EnsembleOptions<'a> {
    /// The measures by name.
    pub measures: &'a [String],
    /// Width of the bins of the published way, in nanoseconds.
    pub bin_ns: u64,
    /// Left out of the beginning of each run.
    pub skip_ns: u64,
    /// The chance of seeing any difference where there is none.
    pub alpha: f64,
    /// Whether runs count that cannot be trusted.
    pub keeps_untrusted: bool,
}

/// The runs of a combination.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ensemble {
    /// The combination, by factor.
    pub levels: Vec<String>,
    /// The runs that were compared.
    pub runs: Vec<EnsembleRun>,
    /// Why they were not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The requested measures that the runs have.
    pub measures: Vec<EnsembleMeasure>,
}

/// A run of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EnsembleRun {
    /// The run's number in the experiment, from 1.
    pub number: usize,
    /// As in `run.json`.
    pub id: String,
}

/// A measure of all runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EnsembleMeasure {
    /// Name of the measure.
    pub name: String,
    /// Operations that succeeded, by run.
    pub counts: Vec<u64>,
    /// Medians by run, nanoseconds.
    pub medians_ns: Vec<f64>,
    /// Groups by each test; tests that find the same groups stand together.
    pub tested: Vec<TestedModes>,
    /// Every pair, tested on all operations; runs by their place.
    pub direct: Option<Similarity>,
    /// Every pair, tested in the published way; `None` if the order of operations is not known.
    pub published: Option<Similarity>,
    /// Lower edges of the histograms' bins and the last upper one, nanoseconds: equally far apart
    /// on a logarithmic scale.
    pub edges_ns: Vec<f64>,
}

/// The groups that a test, or several, find.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TestedModes {
    /// `KS`, `AD`, `KS published`, `AD published`.
    pub tests: Vec<String>,
    /// Maximal cliques.
    pub modes: Vec<Mode>,
}

/// Runs of which each is like each.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct Mode {
    /// Numbers in the experiment.
    pub runs: Vec<usize>,
    /// Number of all operations of these runs.
    pub count: u64,
    /// Median of all their operations together, nanoseconds.
    pub median_ns: f64,
    /// Histogram of all their operations together.
    pub histogram: Histogram,
}

/// Operations by bin; those beyond the bins are in the outermost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ts_rs::TS)]
pub struct Histogram {
    /// Operations by bin.
    pub counts: Vec<u64>,
}

/// Whether bins of this width, in nanoseconds, were too wide for the published way to see anything.
pub fn wide_bins(ensembles: &[Ensemble], bin_ns: u64) -> Option<Finding> {
    let measures = ensembles.iter().flat_map(|ensemble| &ensemble.measures);
    let medians = measures
        .filter(|measure| measure.published.is_some())
        .flat_map(|measure| measure.medians_ns.iter().copied());
    let least_ns = medians.reduce(f64::min)?;
    let bin_ns = bin_ns as f64;
    let most_ns = least_ns * EXPERIMENT_BIN_OF_MEDIAN_MAX;
    let text = format!(
        "bins of {} are too wide for a run with a median of {}: the published method cannot see \
         differences within a bin; set `bin` to {} or less",
        units::duration(bin_ns),
        units::duration(least_ns),
        units::duration(most_ns)
    );
    (bin_ns > most_ns).then(|| {
        finding(Severity::Warning, "bins-wide", text)
            .with("bin_ns", bin_ns)
            .with("least_median_ns", least_ns)
            .done()
    })
}

/// Compares the runs of a combination, each with its number in the experiment.
pub fn ensemble(
    levels: Vec<String>,
    runs: &[(usize, Run)],
    options: &EnsembleOptions<'_>,
) -> Ensemble {
    let listed =
        runs.iter().map(|(number, run)| EnsembleRun { number: *number, id: run.info().id.clone() });
    let mut found = Ensemble { levels, runs: listed.collect(), why: None, measures: Vec::new() };
    if runs.len() < 2 {
        found.why = Some("there are fewer than two runs to compare".to_owned());
        return found;
    }
    match measures(runs, options) {
        Ok(measures) => found.measures = measures,
        Err(error) => found.why = Some(error.to_string()),
    }
    found
}

fn measures(
    runs: &[(usize, Run)],
    options: &EnsembleOptions<'_>,
) -> Result<Vec<EnsembleMeasure>, CompareError> {
    let mut how = Options {
        alpha: options.alpha,
        skip_ns: options.skip_ns,
        force: options.keeps_untrusted,
        only: Some(options.measures.to_vec()),
        ..Options::default()
    };
    how.published.bin_ns = options.bin_ns as f64;
    let (numbers, runs): (Vec<usize>, Vec<Run>) =
        runs.iter().map(|(number, run)| (*number, run.clone())).unzip();
    let samples = crate::samples(&runs, &how)?;
    let comparison = crate::compare(&runs, &[], &how)?;
    let measures = comparison.measures.into_iter().filter_map(|measure| {
        let (_, samples) = samples.iter().find(|(name, _)| *name == measure.name)?;
        let edges_ns = edges(samples)?;
        let modes = |cliques: &[Vec<usize>]| -> Vec<Mode> {
            let modes = cliques.iter();
            modes.filter_map(|clique| mode(clique, &numbers, samples, &edges_ns)).collect()
        };
        let mut tested: Vec<TestedModes> = Vec::new();
        for (similarity, way) in [(&measure.direct, ""), (&measure.published, " published")] {
            let Some(similarity) = similarity else {
                continue;
            };
            let tests = [("KS", &similarity.ks_cliques), ("AD", &similarity.ad_cliques)];
            for (test, cliques) in tests {
                let name = format!("{test}{way}");
                let modes = modes(cliques);
                match tested.iter_mut().find(|known| known.modes == modes) {
                    Some(known) => known.tests.push(name),
                    None => tested.push(TestedModes { tests: vec![name], modes }),
                }
            }
        }
        Some(EnsembleMeasure {
            name: measure.name,
            counts: samples.iter().map(Sample::count).collect(),
            medians_ns: samples.iter().map(|sample| sample.quantile(0.5)).collect(),
            tested,
            direct: measure.direct,
            published: measure.published,
            edges_ns,
        })
    });
    Ok(measures.collect())
}

/// Edges of bins for all runs together.
fn edges(samples: &[Sample]) -> Option<Vec<f64>> {
    let all = pooled(samples.iter())?;
    // A time of 0 has no logarithm, and nothing is measured more finely than this.
    let low = all.quantile(BEYOND).max(1.0);
    let high = all.quantile(1.0 - BEYOND).max(low * 1.01);
    let step = (high / low).ln() / BINS as f64;
    Some((0..=BINS).map(|edge| low * (step * edge as f64).exp()).collect())
}

fn pooled<'a>(samples: impl Iterator<Item = &'a Sample>) -> Option<Sample> {
    Sample::counted(samples.flat_map(Sample::iter).collect()).ok()
}

fn mode(clique: &[usize], numbers: &[usize], samples: &[Sample], edges: &[f64]) -> Option<Mode> {
    let all = pooled(clique.iter().map(|&run| &samples[run]))?;
    let inner = &edges[1..edges.len() - 1];
    let mut counts = vec![0; edges.len() - 1];
    for (value, count) in all.iter() {
        counts[inner.partition_point(|&edge| edge <= value)] += count;
    }
    Some(Mode {
        runs: clique.iter().map(|&run| numbers[run]).collect(),
        count: all.count(),
        median_ns: all.quantile(0.5),
        histogram: Histogram { counts },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values.to_vec()).unwrap()
    }

    #[test]
    fn bins_are_those_of_all_runs_and_hold_every_operation() {
        let values: Vec<f64> = (1..=1000).map(|n| f64::from(n) * 1e3).collect();
        let samples = [sample(&values[..500]), sample(&values[500..])];
        let edges = edges(&samples).unwrap();
        assert_eq!(edges.len(), BINS + 1);
        assert!((edges[0] - 5e3).abs() < 2e3 && (edges[BINS] - 995e3).abs() < 2e3);
        let ratio = edges[1] / edges[0];
        assert!(edges.windows(2).all(|pair| (pair[1] / pair[0] / ratio - 1.0).abs() < 1e-9));
        let low = mode(&[0], &[7, 9], &samples, &edges).unwrap();
        let both = mode(&[0, 1], &[7, 9], &samples, &edges).unwrap();
        assert_eq!((low.runs, low.count, low.median_ns), (vec![7], 500, 250e3));
        assert_eq!((both.runs, both.count), (vec![7, 9], 1000));
        assert_eq!(low.histogram.counts.iter().sum::<u64>(), 500);
        assert_eq!(both.histogram.counts.iter().sum::<u64>(), 1000);
        // What is longer than all of the first run's times is not in its bins.
        let beyond = edges.partition_point(|&edge| edge <= 500e3);
        assert!(low.histogram.counts[beyond..].iter().all(|&count| count == 0));
    }

    #[test]
    fn bins_are_wide_beyond_a_tenth_of_the_least_median() {
        let similarity = Similarity {
            pairs: Vec::new(),
            ks_cliques: Vec::new(),
            ad_cliques: Vec::new(),
            cut_off: false,
        };
        let of_medians = |medians_ns: &[f64]| {
            vec![Ensemble {
                levels: Vec::new(),
                runs: Vec::new(),
                why: None,
                measures: vec![EnsembleMeasure {
                    name: "ad".to_owned(),
                    counts: Vec::new(),
                    medians_ns: medians_ns.to_vec(),
                    tested: Vec::new(),
                    direct: None,
                    published: Some(similarity.clone()),
                    edges_ns: Vec::new(),
                }],
            }]
        };
        let fast = of_medians(&[500e3, 400e3]);
        assert_eq!(wide_bins(&fast, 40_000), None);
        let found = wide_bins(&fast, 1_000_000).unwrap();
        assert_eq!((found.severity, &*found.code), (Severity::Warning, "bins-wide"));
        assert_eq!(
            found.text,
            "bins of 1.00 ms are too wide for a run with a median of 400 µs: the published method \
             cannot see differences within a bin; set `bin` to 40.0 µs or less"
        );
        assert_eq!(wide_bins(&of_medians(&[12e6]), 1_000_000), None);
        assert_eq!(wide_bins(&[], 1_000_000), None);
    }

    #[test]
    fn one_time_alone_has_a_bin() {
        let samples = [sample(&[5.0]), sample(&[5.0])];
        let edges = edges(&samples).unwrap();
        let mode = mode(&[0, 1], &[1, 2], &samples, &edges).unwrap();
        assert_eq!(mode.histogram.counts.iter().sum::<u64>(), 2);
    }
}
