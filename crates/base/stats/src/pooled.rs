//! Groups of values of which only summaries are known, put together.
//!
//! Counts, means and deviations of groups determine those of all values. Quantiles do not: what
//! can be said is between which values the quantile of all must lie.

/// A group's summary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Group {
    /// How many values it has.
    pub count: u64,
    /// Their arithmetic mean.
    pub mean: f64,
    /// Their sample standard deviation, with `count − 1` in the denominator.
    pub deviation: f64,
}

/// All groups together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PooledGroups {
    /// How many values there are.
    pub count: u64,
    /// The mean of all values: the groups' means weighted by their counts.
    pub mean: f64,
    /// The pooled standard deviation, √(Σ(nᵢ−1)sᵢ² / Σ(nᵢ−1)): how far values lie from the mean of
    /// their own group. It says nothing of how far the groups lie apart.
    pub within: f64,
    /// The standard deviation of all values, groups' distances included.
    pub total: f64,
}

/// Puts groups together; `None` where there is no value at all. Empty groups count for nothing.
///
/// The split of the sum of squares into what is within and between groups is that of the analysis
/// of variance (Fisher 1925).
pub fn pool(groups: impl IntoIterator<Item = Group>) -> Option<PooledGroups> {
    let groups: Vec<Group> = groups.into_iter().filter(|g| g.count > 0).collect();
    let count: u64 = groups.iter().map(|g| g.count).sum();
    if count == 0 {
        return None;
    }
    let n = count as f64;
    let mean = groups.iter().map(|g| g.count as f64 * g.mean).sum::<f64>() / n;
    let squares: f64 =
        groups.iter().map(|g| (g.count - 1) as f64 * g.deviation * g.deviation).sum();
    let between: f64 =
        groups.iter().map(|g| g.count as f64 * (g.mean - mean) * (g.mean - mean)).sum();
    let root = |squares: f64, free: u64| match free {
        0 => 0.0,
        free => (squares / free as f64).sqrt(),
    };
    Some(PooledGroups {
        count,
        mean,
        within: root(squares, count - groups.len() as u64),
        total: root(squares + between, count - 1),
    })
}

/// Quantiles that are known of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantiles {
    /// How many values the group has.
    pub count: u64,
    /// (share, value): so large a share of the group lies at or below the value. Both ascend; the
    /// group's least value stands at share 0 and its greatest at 1.
    pub points: Vec<(f64, f64)>,
}

impl Quantiles {
    /// The least share of the group that can lie at or below `x`.
    fn share_min(&self, x: f64) -> f64 {
        let below = self.points.partition_point(|point| point.1 <= x);
        below.checked_sub(1).map_or(0.0, |at| self.points[at].0)
    }

    /// The greatest share of the group that can lie at or below `x`.
    fn share_max(&self, x: f64) -> f64 {
        let below = self.points.partition_point(|point| point.1 <= x);
        self.points.get(below).map_or(1.0, |point| point.0)
    }
}

/// The least and the greatest value that the quantile of all groups together can have, for a share
/// in 0..=1. `None` where no group has values and points.
///
/// The share of all values at or below x is the mean of the groups' shares, each of which is known
/// to lie between two steps; the bounds are where these steps come to `share`. They are the best
/// that can be said: groups with these quantiles exist that attain them.
pub fn quantile_bounds(groups: &[Quantiles], share: f64) -> Option<(f64, f64)> {
    let known = || groups.iter().filter(|g| g.count > 0 && !g.points.is_empty());
    let total: f64 = known().map(|g| g.count as f64).sum();
    let mut values: Vec<f64> = known().flat_map(|g| g.points.iter().map(|point| point.1)).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    // Sums of many weights may stop just short of what they stand for.
    let wanted = share.clamp(0.0, 1.0) * total * (1.0 - 1e-12);
    let reaches = |of: fn(&Quantiles, f64) -> f64, x: f64| {
        let sum: f64 = known().map(|g| g.count as f64 * of(g, x)).sum();
        sum >= wanted && sum > 0.0
    };
    let first = |of: fn(&Quantiles, f64) -> f64| {
        let at = values.partition_point(|&x| !reaches(of, x));
        values.get(at).or(values.last()).copied()
    };
    Some((first(Quantiles::share_max)?, first(Quantiles::share_min)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn summary(values: &[f64]) -> Group {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
        Group {
            count: values.len() as u64,
            mean,
            deviation: if n > 1.0 { (squares / (n - 1.0)).sqrt() } else { 0.0 },
        }
    }

    fn quantiles(values: &[f64], shares: &[f64]) -> Quantiles {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let rank = (share * sorted.len() as f64).ceil() as usize;
            (share, sorted[rank.clamp(1, sorted.len()) - 1])
        };
        Quantiles {
            count: values.len() as u64,
            points: shares.iter().map(|&share| at(share)).collect(),
        }
    }

    #[test]
    fn two_groups_by_hand() {
        // 1, 2, 3 and 5, 7: mean 3.6; within √((2·1 + 1·2)/3); all √(23.2/4).
        let pooled = pool([summary(&[1.0, 2.0, 3.0]), summary(&[5.0, 7.0])]).unwrap();
        assert_eq!(pooled.count, 5);
        assert!((pooled.mean - 3.6).abs() < 1e-12);
        assert!((pooled.within - (4.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert!((pooled.total - 5.8f64.sqrt()).abs() < 1e-12);
    }

    /// What NumPy says of all values: `checks/golden/meters.py`.
    #[test]
    fn results_agree_with_scipy() {
        let golden = include_str!("../../../../testdata/golden/meters.json");
        let golden: serde_json::Value = serde_json::from_str(golden).unwrap();
        let number = |value: &serde_json::Value| value.as_f64().unwrap();
        let pairs = |value: &serde_json::Value| -> Vec<(f64, f64)> {
            let list = value.as_array().unwrap().iter();
            list.map(|pair| (number(&pair[0]), number(&pair[1]))).collect()
        };
        let cases = golden["pooled"].as_array().unwrap();
        assert!(!cases.is_empty());
        for case in cases {
            let groups = case["groups"].as_array().unwrap();
            let count = |group: &serde_json::Value| group["count"].as_u64().unwrap();
            let pooled = pool(groups.iter().map(|group| Group {
                count: count(group),
                mean: number(&group["mean"]),
                deviation: number(&group["deviation"]),
            }));
            let pooled = pooled.unwrap();
            for (found, key) in
                [(pooled.mean, "mean"), (pooled.within, "within"), (pooled.total, "total")]
            {
                let expected = number(&case[key]);
                assert!((found - expected).abs() <= 1e-12 * expected, "{key}: {found}, {expected}");
            }
            let expected: Vec<Quantiles> = groups
                .iter()
                .map(|group| Quantiles { count: count(group), points: pairs(&group["points"]) })
                .collect();
            for (share, truth) in pairs(&case["quantiles"]) {
                let (low, high) = quantile_bounds(&expected, share).unwrap();
                assert!(low <= truth && truth <= high, "{share}: {low} {truth} {high}");
            }
        }
    }

    #[test]
    fn nothing_and_single_values() {
        assert_eq!(pool([]), None);
        assert_eq!(pool([Group { count: 0, mean: 4.0, deviation: 1.0 }]), None);
        let one = pool([Group { count: 1, mean: 4.0, deviation: 0.0 }]).unwrap();
        assert_eq!((one.mean, one.within, one.total), (4.0, 0.0, 0.0));
        assert_eq!(quantile_bounds(&[], 0.5), None);
    }

    #[test]
    fn bounds_by_hand() {
        // Ten values from 1 to 10 with median 5, ten from 20 to 30 with median 25. The median of all
        // is the greatest of the first ten: 10 for certain at most, and 5 where all but one of them
        // stop there.
        let low = Quantiles { count: 10, points: vec![(0.0, 1.0), (0.5, 5.0), (1.0, 10.0)] };
        let high = Quantiles { count: 10, points: vec![(0.0, 20.0), (0.5, 25.0), (1.0, 30.0)] };
        let both = [low, high];
        assert_eq!(quantile_bounds(&both, 0.5), Some((5.0, 10.0)));
        assert_eq!(quantile_bounds(&both, 0.75), Some((20.0, 25.0)));
        assert_eq!(quantile_bounds(&both, 0.76), Some((25.0, 30.0)));
        assert_eq!(quantile_bounds(&both, 1.0), Some((25.0, 30.0)));
    }

    proptest! {
        #[test]
        fn pooling_is_as_if_all_values_were_known(
            a in prop::collection::vec(0.0..1e3, 1..40),
            b in prop::collection::vec(0.0..1e3, 1..40),
        ) {
            let pooled = pool([summary(&a), summary(&b)]).unwrap();
            let all = summary(&[a, b].concat());
            prop_assert!((pooled.mean - all.mean).abs() < 1e-9);
            prop_assert!((pooled.total - all.deviation).abs() < 1e-9);
        }

        #[test]
        fn the_quantile_of_all_lies_within_its_bounds(
            groups in prop::collection::vec(prop::collection::vec(0u32..200, 1..60), 1..6),
            share in 0.01..1.0f64,
        ) {
            let shares = [0.0, 0.5, 0.66, 0.75, 0.9, 0.98, 1.0];
            let values: Vec<Vec<f64>> =
                groups.iter().map(|g| g.iter().map(|&v| f64::from(v)).collect()).collect();
            let expected: Vec<Quantiles> = values.iter().map(|v| quantiles(v, &shares)).collect();
            let (low, high) = quantile_bounds(&expected, share).unwrap();
            let truth = quantiles(&values.concat(), &[share]).points[0].1;
            prop_assert!(low <= truth && truth <= high, "{low} {truth} {high}");
        }
    }
}
