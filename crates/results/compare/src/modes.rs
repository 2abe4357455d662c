//! The peaks of each side's distribution.

use stats::modes::{Rules, modes};
use stats::sample::Sample;

use super::{ComparedMeasure, Options, Peak, Side, SideModes};

/// Times are taken for at least this much, so that they have logarithms.
const LEAST_NS: f64 = 1.0;

/// Finds the peaks of each side's operations. `effective` is how many independent ones all of them
/// together are worth, where that is known.
pub(crate) fn fill(
    measure: &mut ComparedMeasure,
    sides: &[(Side, Sample)],
    effective: Option<f64>,
    options: &Options,
) {
    let all: u64 = sides.iter().map(|(_, sample)| sample.count()).sum();
    for (side, sample) in sides {
        let share = sample.count() as f64 / all as f64;
        let rules = Rules {
            alpha: options.alpha,
            effective: effective.map(|effective| effective * share),
            ..Rules::default()
        };
        let positive = sample.iter().map(|(ns, count)| (ns.max(LEAST_NS), count));
        let found =
            Sample::counted(positive.collect()).ok().and_then(|sample| modes(&sample, &rules).ok());
        let Some(found) = found else { continue };
        let peaks = found.iter().map(|mode| Peak { at_ns: mode.at, share: mode.share });
        measure.modes.push(SideModes { side: *side, peaks: peaks.collect() });
    }
}
