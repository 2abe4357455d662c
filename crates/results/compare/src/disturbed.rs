//! Was a block disturbed by somebody else on the machine?
//!
//! A block here is what is measured together: a pair of a duet, or a repetition of an experiment. It was disturbed if more time
//! passed in it than in those before in which tasks waited for a core (pressure stall information), or in which a hypervisor
//! withheld the cores (steal). It is known of the block as a whole, by the most disturbed of its runs, and held against other
//! blocks as a whole. So whether a block is left out does not depend on which of its runs had which target: the sign of its
//! difference stays a fair coin, and what looks after each block keeps its level ([`stats::sequential`]). A target that needs
//! more of the processor raises the pressure of all blocks alike.

use record::schema::{Finding, Severity};
use serde::{Deserialize, Serialize};
use stats::order::median;

use crate::verdict::percent;

/// Blocks that must be known before one can be called disturbed.
const REFERENCES_MIN: usize = 3;
/// Distances from the median, in median absolute deviations, that are usual. Of normal numbers it is one in 150 that is farther
/// than 4 of these (Rousseeuw and Croux 1993 on the deviation; the factor to σ is 1.4826).
const DEVIATIONS: f64 = 4.0;
/// A share of time with more pressure than usual that disturbs nothing.
const PRESSURE_MIN: f64 = 0.1;
/// A share of steal above the usual that disturbs nothing.
const STEAL_MIN: f64 = 0.02;
/// Blocks that are repeated at most, whatever their number.
const REPEATED_MIN: u64 = 2;
/// Of this number of blocks that count, one more may be repeated.
const COUNTED_PER_REPEATED: u64 = 4;

/// Shares of the time of a run, or of a block, from 0 to 1; `None`: the kernel does not say.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct MachineShares {
    /// Time in which a task waited for a core.
    pub pressure: Option<f64>,
    /// Time of the cores that a hypervisor gave to others.
    pub steal: Option<f64>,
}

impl MachineShares {
    /// True if the kernel says nothing.
    pub fn is_unknown(&self) -> bool {
        self.pressure.is_none() && self.steal.is_none()
    }

    /// The greatest shares of these runs.
    pub fn greatest(runs: impl IntoIterator<Item = MachineShares>) -> MachineShares {
        let greater = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (one, other) => one.or(other),
        };
        runs.into_iter().fold(MachineShares::default(), |all, run| MachineShares {
            pressure: greater(all.pressure, run.pressure),
            steal: greater(all.steal, run.steal),
        })
    }
}

/// A block that was disturbed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisturbedBlock {
    /// Its number.
    pub block: u64,
    /// By what, in words.
    pub why: String,
    /// True if another one was made in its place; false: it counts, for too many were disturbed.
    pub repeated: bool,
}

/// A share of a block's time that others take.
struct Reading {
    share: fn(&MachineShares) -> Option<f64>,
    /// More than usual by less than this disturbs nothing.
    least: f64,
    /// What happened, before its share of the time.
    words: &'static str,
}

const READINGS: [Reading; 2] = [
    Reading {
        share: |shares| shares.steal,
        least: STEAL_MIN,
        words: "a hypervisor withheld the cores for",
    },
    Reading {
        share: |shares| shares.pressure,
        least: PRESSURE_MIN,
        words: "tasks waited for a core in",
    },
];

/// Why a block was disturbed, in words; `None`: it was not, or too few are known to say. `before`: the shares of blocks before
/// it, disturbed ones included.
pub fn disturbance(before: &[MachineShares], block: MachineShares) -> Option<String> {
    READINGS.iter().find_map(|reading| {
        let share = (reading.share)(&block)?;
        let usual: Vec<f64> = before.iter().filter_map(reading.share).collect();
        let middle = median(&usual).filter(|_| usual.len() >= REFERENCES_MIN)?;
        let distances: Vec<f64> = usual.iter().map(|one| (one - middle).abs()).collect();
        let margin = (DEVIATIONS * median(&distances)?).max(reading.least);
        (share > middle + margin).then(|| {
            format!(
                "{} {} of its time instead of the usual {}",
                reading.words,
                percent(share),
                percent(middle)
            )
        })
    })
}

/// True if one more disturbed block may be repeated, so that a machine that is never quiet ends nothing.
pub fn may_repeat(repeated: u64, counted: u64) -> bool {
    repeated < REPEATED_MIN + counted / COUNTED_PER_REPEATED
}

/// What is said of disturbed blocks, which are called `pair` or `repetition`.
pub fn disturbed_findings(disturbed: &[DisturbedBlock], called: &str) -> Vec<Finding> {
    let of = |repeated: bool| disturbed.iter().filter(move |one| one.repeated == repeated);
    let finding = |repeated: bool, code: &str, what: &str| {
        let count = of(repeated).count() as u64;
        let last = of(repeated).next_back()?;
        let text = format!(
            "{what}: {}; the last, {called} {}: {}",
            units::counted(count, called),
            last.block,
            last.why
        );
        Some(judge::finding(Severity::Warning, code, text).done())
    };
    let repeated = finding(true, "disturbed-repeated", "disturbed and repeated");
    let kept = finding(false, "disturbed", "disturbed, and counted since too many were");
    [repeated, kept].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use stats::rng::{Purpose, Rng};

    use super::*;

    fn shares(pressure: f64, steal: f64) -> MachineShares {
        MachineShares { pressure: Some(pressure), steal: Some(steal) }
    }

    #[test]
    fn a_neighbour_disturbs_by_pressure_or_by_steal() {
        let before: Vec<MachineShares> =
            [0.2, 0.22, 0.18, 0.2].into_iter().map(|pressure| shares(pressure, 0.001)).collect();
        assert_eq!(disturbance(&before, shares(0.25, 0.002)), None);
        let busy = disturbance(&before, shares(0.6, 0.0)).unwrap();
        assert_eq!(busy, "tasks waited for a core in 60 % of its time instead of the usual 20 %");
        let stolen = disturbance(&before, shares(0.2, 0.05)).unwrap();
        assert!(stolen.starts_with("a hypervisor withheld the cores for 5 %"), "{stolen}");
        // Where it is usual, it is none; nor where nothing is known.
        let noisy: Vec<MachineShares> =
            [0.1, 0.7, 0.2, 0.8, 0.4].into_iter().map(|pressure| shares(pressure, 0.0)).collect();
        assert_eq!(disturbance(&noisy, shares(0.9, 0.0)), None);
        assert_eq!(disturbance(&before[..2], shares(0.9, 0.5)), None);
        assert_eq!(disturbance(&before, MachineShares::default()), None);
    }

    #[test]
    fn a_block_is_as_disturbed_as_the_most_disturbed_of_its_runs() {
        let unknown = MachineShares { pressure: None, steal: Some(0.3) };
        let block = MachineShares::greatest([shares(0.4, 0.1), unknown, shares(0.2, 0.2)]);
        assert_eq!(block, shares(0.4, 0.3));
    }

    /// Pressure that scatters by a fifth of itself: a block in fifty at most is called disturbed.
    #[test]
    fn a_machine_without_neighbours_repeats_little() {
        let mut rng = Rng::new(1, 0, Purpose::Value);
        let mut known = Vec::new();
        let mut disturbed = 0;
        for _ in 0..1_000 {
            let own = shares(0.5 * (0.8 + 0.4 * rng.unit()), 0.002 * rng.unit());
            disturbed += u32::from(disturbance(&known, own).is_some());
            known.push(own);
        }
        assert!(disturbed <= 20, "{disturbed}");
    }

    #[test]
    fn what_was_repeated_and_what_counts_is_said() {
        let of = |block: u64, repeated: bool| DisturbedBlock {
            block,
            why: "tasks waited".to_owned(),
            repeated,
        };
        assert_eq!(disturbed_findings(&[], "pair"), []);
        let findings = disturbed_findings(&[of(4, true), of(9, false), of(6, true)], "pair");
        let texts: Vec<&str> = findings.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "disturbed and repeated: 2 pairs; the last, pair 6: tasks waited",
                "disturbed, and counted since too many were: 1 pair; the last, pair 9: tasks waited"
            ]
        );
    }

    /// The difference of a pair in drawn order on a machine with a neighbour, whom one of its blocks may have to bear, and its
    /// shares. The neighbour makes blocks slower by what the pressure shows.
    fn pair(rng: &mut Rng) -> (f64, MachineShares) {
        let mut block = || {
            let neighbour = if rng.below(6) == 0 { 0.5 + 0.5 * rng.unit() } else { 0.0 };
            let pressure = (0.1 + 0.05 * rng.unit() + 0.6 * neighbour).min(1.0);
            (neighbour + 0.05 * (rng.unit() - 0.5), shares(pressure, 0.0))
        };
        let first = block();
        let second = block();
        let sign = if rng.below(2) == 0 { 1.0 } else { -1.0 };
        (sign * (second.0 - first.0), MachineShares::greatest([first.1, second.1]))
    }

    /// Looks after each of 40 pairs that count, of 400 duets of equal targets: 20 are expected to be wrong at a level of 5 %,
    /// and 99.9 % of binomials are below 35.
    #[test]
    fn leaving_disturbed_pairs_out_keeps_the_level() {
        let mut wrong = 0;
        let mut repeated_in_all = 0;
        for seed in 0..400 {
            let mut rng = Rng::new(seed, 7, Purpose::Value);
            let mut differences = stats::sequential::PairedDifferences::new();
            let mut before = Vec::new();
            let mut repeated = 0;
            let mut is_wrong = false;
            while differences.len() < 40 {
                let (difference, own) = pair(&mut rng);
                let is_disturbed = disturbance(&before, own).is_some();
                before.push(own);
                if is_disturbed && may_repeat(repeated, differences.len() as u64) {
                    repeated += 1;
                    continue;
                }
                differences.push(difference);
                is_wrong = is_wrong || differences.p(0.0) <= 0.05;
            }
            wrong += u32::from(is_wrong);
            repeated_in_all += repeated;
        }
        assert!(wrong < 35, "{wrong} of 400");
        assert!(repeated_in_all > 400, "{repeated_in_all}");
    }

    #[test]
    fn repetitions_are_bounded() {
        let mut repeated = 0;
        let mut counted = 0;
        for _ in 0..100 {
            if may_repeat(repeated, counted) {
                repeated += 1;
            } else {
                counted += 1;
            }
        }
        assert!((19..=23).contains(&repeated), "{repeated}");
    }
}
