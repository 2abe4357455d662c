//! Numbers of somebody's own beside times: counters, gauges, shares and quantities. Each adds up exactly, in any order:
//! what several loops have recorded is merged to what one would have recorded.

use serde::{Deserialize, Serialize};

use crate::decimal::Decimal;
use crate::hist::LogHistogram;

/// The kind of a metric's numbers, and so how they are added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricKind {
    /// Amounts that are added up; none is below 0.
    Counter,
    /// A state, of which the last number counts.
    Gauge,
    /// Whether something was so: how often it was, of all times.
    Share,
    /// Numbers that are distributed.
    Quantity,
}

impl MetricKind {
    /// All of them.
    pub const ALL: [MetricKind; 4] =
        [MetricKind::Counter, MetricKind::Gauge, MetricKind::Share, MetricKind::Quantity];

    /// The word for it in scenarios and files.
    pub fn name(self) -> &'static str {
        match self {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Share => "share",
            MetricKind::Quantity => "quantity",
        }
    }
}

/// A statistic of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum MetricStat {
    /// How often something was recorded.
    Count,
    /// The sum of a counter or of quantities.
    Sum,
    /// The sum of a counter by second.
    Rate,
    /// The last number of a gauge.
    Last,
    /// The least number of a gauge or quantity.
    Min,
    /// The greatest.
    Max,
    /// The mean of quantities.
    Mean,
    /// How often a share was true, of all times.
    Share,
    /// The quantile of quantities, in 0..=1.
    Quantile(f64),
}

/// The recorded numbers of a metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricValues {
    /// The sum of a counter.
    Counter(Counter),
    /// The number of a gauge; `None`: there is none yet.
    Gauge(Option<Gauge>),
    /// The hits of a share.
    Share(Share),
    /// The distribution of a quantity.
    Quantity(Quantities),
}

/// Amounts that were added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counter {
    /// How many there were.
    pub count: u64,
    /// Their sum.
    pub sum: Decimal,
}

/// A state over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gauge {
    /// How often it was recorded.
    pub count: u64,
    /// When it was recorded last.
    pub at_ns: u64,
    /// The number at that time.
    pub last: Decimal,
    /// The least that it was.
    pub min: Decimal,
    /// The greatest that it was.
    pub max: Decimal,
}

/// How often something was so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Share {
    /// How often it was recorded.
    pub count: u64,
    /// How often it was so.
    pub hits: u64,
}

/// The distribution of numbers of either sign, exact in count, sum, least and greatest, and within 0.1 % in quantiles.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Quantities {
    /// Millionths of the numbers below 0, without their sign.
    below: LogHistogram,
    /// Millionths of the others.
    rest: LogHistogram,
}

impl MetricValues {
    /// Nothing yet.
    pub fn new(kind: MetricKind) -> MetricValues {
        match kind {
            MetricKind::Counter => MetricValues::Counter(Counter::default()),
            MetricKind::Gauge => MetricValues::Gauge(None),
            MetricKind::Share => MetricValues::Share(Share::default()),
            MetricKind::Quantity => MetricValues::Quantity(Quantities::default()),
        }
    }

    /// The kind of the metric.
    pub fn kind(&self) -> MetricKind {
        match self {
            MetricValues::Counter(_) => MetricKind::Counter,
            MetricValues::Gauge(_) => MetricKind::Gauge,
            MetricValues::Share(_) => MetricKind::Share,
            MetricValues::Quantity(_) => MetricKind::Quantity,
        }
    }

    /// Records a number at a time; of a share, any but 0 is true. Of a gauge that is recorded twice at one time, the
    /// second counts.
    pub fn record(&mut self, at_ns: u64, value: Decimal) {
        match self {
            MetricValues::Counter(counter) => {
                counter.count += 1;
                counter.sum = counter.sum.plus(value);
            }
            MetricValues::Gauge(gauge) => {
                let now = Gauge { count: 1, at_ns, last: value, min: value, max: value };
                let before = gauge.replace(now);
                if let (Some(before), Some(gauge)) = (before, gauge.as_mut()) {
                    gauge.add_range(&before);
                }
            }
            MetricValues::Share(share) => {
                share.count += 1;
                share.hits += u64::from(value != Decimal::ZERO);
            }
            MetricValues::Quantity(quantities) => quantities.record(value),
        }
    }

    /// Adds what was recorded elsewhere of a metric of the same kind. Of two gauges the later one counts, and the greater
    /// of two at one time.
    pub fn merge(&mut self, other: &MetricValues) {
        match (self, other) {
            (MetricValues::Counter(counter), MetricValues::Counter(other)) => {
                counter.count += other.count;
                counter.sum = counter.sum.plus(other.sum);
            }
            (MetricValues::Gauge(gauge), MetricValues::Gauge(Some(other))) => match gauge {
                Some(gauge) => gauge.merge(other),
                None => *gauge = Some(*other),
            },
            (MetricValues::Gauge(_), MetricValues::Gauge(None)) => {}
            (MetricValues::Share(share), MetricValues::Share(other)) => {
                share.count += other.count;
                share.hits += other.hits;
            }
            (MetricValues::Quantity(quantities), MetricValues::Quantity(other)) => {
                quantities.below.merge(&other.below);
                quantities.rest.merge(&other.rest);
            }
            (own, other) => debug_assert_eq!(own.kind(), other.kind(), "a metric has one kind"),
        }
    }

    /// How often something was recorded.
    pub fn count(&self) -> u64 {
        match self {
            MetricValues::Counter(counter) => counter.count,
            MetricValues::Gauge(gauge) => gauge.map_or(0, |gauge| gauge.count),
            MetricValues::Share(share) => share.count,
            MetricValues::Quantity(quantities) => quantities.count(),
        }
    }

    /// True if nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// A statistic of what was recorded in this number of seconds; `None` if there is nothing to take it from, or if metrics
    /// of this kind have none. That nothing was counted is a result of 0.
    pub fn value(&self, stat: MetricStat, seconds: f64) -> Option<f64> {
        match (self, stat) {
            (_, MetricStat::Count) => Some(self.count() as f64),
            (MetricValues::Counter(counter), MetricStat::Sum) => Some(counter.sum.to_f64()),
            (MetricValues::Counter(counter), MetricStat::Rate) => {
                (seconds > 0.0).then(|| counter.sum.to_f64() / seconds)
            }
            (MetricValues::Gauge(gauge), _) => gauge.as_ref()?.value(stat),
            (MetricValues::Share(share), MetricStat::Share) => {
                (share.count > 0).then(|| share.hits as f64 / share.count as f64)
            }
            (MetricValues::Quantity(quantities), _) => quantities.value(stat),
            _ => None,
        }
    }
}

impl Gauge {
    fn merge(&mut self, other: &Gauge) {
        if (other.at_ns, other.last) > (self.at_ns, self.last) {
            (self.at_ns, self.last) = (other.at_ns, other.last);
        }
        self.add_range(other);
    }

    fn add_range(&mut self, other: &Gauge) {
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    fn value(&self, stat: MetricStat) -> Option<f64> {
        let value = match stat {
            MetricStat::Last => self.last,
            MetricStat::Min => self.min,
            MetricStat::Max => self.max,
            _ => return None,
        };
        Some(value.to_f64())
    }
}

impl Quantities {
    /// Adds a number. Its magnitude is that of a [`Decimal`] from a float.
    pub fn record(&mut self, value: Decimal) {
        let magnitude = value.millionths().unsigned_abs();
        // A decimal from a float has far fewer millionths.
        let magnitude = u64::try_from(magnitude).unwrap_or(u64::MAX);
        match value < Decimal::ZERO {
            true => self.below.record(magnitude),
            false => self.rest.record(magnitude),
        }
    }

    /// How many numbers there are; at the greatest number there is where it would be beyond.
    pub fn count(&self) -> u64 {
        self.below.count().saturating_add(self.rest.count())
    }

    /// Their sum.
    pub fn sum(&self) -> Decimal {
        let part = |hist: &LogHistogram| i128::try_from(hist.sum()).unwrap_or(i128::MAX);
        Decimal::from_millionths(part(&self.rest).saturating_sub(part(&self.below)))
    }

    /// The number of rank ⌈`q` · count⌉ from the least, at least 1; `None` of no numbers.
    pub fn quantile(&self, q: f64) -> Option<Decimal> {
        if self.count() == 0 {
            return None;
        }
        let rank = crate::interval::quantile_rank(self.count(), q);
        // The least of those below 0 has the greatest magnitude.
        let below = self.below.count();
        let millionths = match rank <= below {
            true => -i128::from(self.below.value_at_rank(below - rank + 1)),
            false => i128::from(self.rest.value_at_rank(rank - below)),
        };
        Some(Decimal::from_millionths(millionths))
    }

    /// The least number; `None` if there is none.
    pub fn min(&self) -> Option<Decimal> {
        let millionths = match (self.below.is_empty(), self.rest.is_empty()) {
            (false, _) => -i128::from(self.below.max()),
            (true, false) => i128::from(self.rest.min()),
            (true, true) => return None,
        };
        Some(Decimal::from_millionths(millionths))
    }

    /// The greatest number; `None` if there is none.
    pub fn max(&self) -> Option<Decimal> {
        let millionths = match (self.below.is_empty(), self.rest.is_empty()) {
            (_, false) => i128::from(self.rest.max()),
            (false, true) => -i128::from(self.below.min()),
            (true, true) => return None,
        };
        Some(Decimal::from_millionths(millionths))
    }

    fn value(&self, stat: MetricStat) -> Option<f64> {
        let value = match stat {
            MetricStat::Sum => self.sum(),
            MetricStat::Min => self.min()?,
            MetricStat::Max => self.max()?,
            MetricStat::Quantile(q) => self.quantile(q)?,
            MetricStat::Mean => {
                let count = self.count();
                return (count > 0).then(|| self.sum().to_f64() / count as f64);
            }
            _ => return None,
        };
        Some(value.to_f64())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What one loop records, in its order: time and number of millionths.
    type Records = Vec<(u64, i64)>;

    fn recorded(kind: MetricKind, records: &[(u64, i64)]) -> MetricValues {
        let mut values = MetricValues::new(kind);
        for &(at_ns, millionths) in records {
            values.record(at_ns, Decimal::from_millionths(i128::from(millionths)));
        }
        values
    }

    fn near(found: f64, wanted: f64) -> bool {
        (found - wanted).abs() <= wanted.abs() / 1000.0 + 1e-6
    }

    #[test]
    fn nothing_counted_is_zero_and_nothing_measured_is_none() {
        let value = |kind, stat| MetricValues::new(kind).value(stat, 10.0);
        assert_eq!(value(MetricKind::Counter, MetricStat::Sum), Some(0.0));
        assert_eq!(value(MetricKind::Counter, MetricStat::Rate), Some(0.0));
        assert_eq!(value(MetricKind::Share, MetricStat::Count), Some(0.0));
        assert_eq!(value(MetricKind::Share, MetricStat::Share), None);
        assert_eq!(value(MetricKind::Gauge, MetricStat::Last), None);
        assert_eq!(value(MetricKind::Quantity, MetricStat::Mean), None);
        assert_eq!(value(MetricKind::Quantity, MetricStat::Quantile(0.5)), None);
        assert_eq!(value(MetricKind::Quantity, MetricStat::Max), None);
    }

    #[test]
    fn the_last_of_a_gauge_is_the_latest_of_any_loop() {
        let mut early = recorded(MetricKind::Gauge, &[(10, 7), (20, -3)]);
        let late = recorded(MetricKind::Gauge, &[(15, 9), (30, 2), (30, 1)]);
        early.merge(&late);
        let wanted = Gauge {
            count: 5,
            at_ns: 30,
            last: Decimal::from_millionths(1),
            min: Decimal::from_millionths(-3),
            max: Decimal::from_millionths(9),
        };
        assert_eq!(early, MetricValues::Gauge(Some(wanted)));
    }

    #[test]
    fn quantities_below_zero_are_ordered_as_numbers_are() {
        let records: Records = (-5..=4).map(|n| (0, n * 1_000_000)).collect();
        let values = recorded(MetricKind::Quantity, &records);
        let value = |stat| values.value(stat, 1.0).unwrap();
        assert_eq!(value(MetricStat::Min), -5.0);
        assert_eq!(value(MetricStat::Max), 4.0);
        assert_eq!(value(MetricStat::Sum), -5.0);
        assert_eq!(value(MetricStat::Mean), -0.5);
        for (q, wanted) in [(0.1, -5.0), (0.2, -4.0), (0.5, -1.0), (0.6, 0.0), (1.0, 4.0)] {
            assert!(near(value(MetricStat::Quantile(q)), wanted), "{q}");
        }
        let all_below = recorded(MetricKind::Quantity, &[(0, -2_500_000), (0, -500_000)]);
        assert_eq!(all_below.value(MetricStat::Max, 1.0), Some(-0.5));
        assert_eq!(all_below.value(MetricStat::Min, 1.0), Some(-2.5));
    }

    #[test]
    fn a_share_is_of_all_times() {
        let values = recorded(MetricKind::Share, &[(0, 0), (1, 1_000_000), (2, 5), (3, -1)]);
        assert_eq!(values.value(MetricStat::Share, 1.0), Some(0.75));
        assert_eq!(values.value(MetricStat::Mean, 1.0), None);
    }

    /// What another process says may be anything that a histogram can be.
    #[test]
    fn counts_beyond_all_numbers_are_the_greatest() {
        let mut many = LogHistogram::new();
        many.record_n(1, u64::MAX);
        let both = Quantities { below: many.clone(), rest: many };
        assert_eq!(MetricValues::Quantity(both).count(), u64::MAX);
    }

    proptest! {
        /// The oracle sorts and adds whole numbers.
        #[test]
        fn parts_merge_in_any_order_to_a_plain_recomputation(
            parts in prop::collection::vec(
                prop::collection::vec((0_u64..1000, -2_000_000_000_i64..2_000_000_000), 0..20),
                1..6,
            ),
            rotation in 0_usize..6,
        ) {
            let mut all: Vec<i64> = parts.iter().flatten().map(|&(_, value)| value).collect();
            for kind in MetricKind::ALL {
                let merged = |parts: &mut dyn Iterator<Item = &Records>| {
                    let mut sum = MetricValues::new(kind);
                    parts.for_each(|part| sum.merge(&recorded(kind, part)));
                    sum
                };
                let rotated = || {
                    let skipped = rotation % parts.len();
                    parts.iter().cycle().skip(skipped).take(parts.len())
                };
                let found = merged(&mut parts.iter());
                prop_assert_eq!(&found, &merged(&mut rotated()));
                prop_assert_eq!(found.count(), all.len() as u64);
                let bytes = postcard::to_stdvec(&found).unwrap();
                prop_assert_eq!(&postcard::from_bytes::<MetricValues>(&bytes).unwrap(), &found);
                let json = serde_json::to_string(&found).unwrap();
                prop_assert_eq!(&serde_json::from_str::<MetricValues>(&json).unwrap(), &found);
            }
            let flat: Records = parts.concat();
            all.sort_unstable();
            let sum: i128 = all.iter().map(|&value| i128::from(value)).sum();
            let counter = recorded(MetricKind::Counter, &flat);
            let wanted = sum as f64 / 1e6;
            prop_assert_eq!(counter.value(MetricStat::Sum, 1.0), Some(wanted));
            prop_assert_eq!(counter.value(MetricStat::Rate, 4.0), Some(wanted / 4.0));
            if all.is_empty() {
                return Ok(());
            }
            let quantities = recorded(MetricKind::Quantity, &flat);
            let value = |stat| quantities.value(stat, 1.0).unwrap();
            prop_assert_eq!(value(MetricStat::Sum), wanted);
            prop_assert_eq!(value(MetricStat::Min), all[0] as f64 / 1e6);
            prop_assert_eq!(value(MetricStat::Max), all[all.len() - 1] as f64 / 1e6);
            for q in [0.01, 0.25, 0.5, 0.9, 0.99, 1.0] {
                let rank = ((q * all.len() as f64 * (1.0 - 1e-12)).ceil() as usize).max(1);
                let wanted = all[rank - 1] as f64 / 1e6;
                prop_assert!(near(value(MetricStat::Quantile(q)), wanted), "{} {}", q, wanted);
            }
            let mut in_order = flat.clone();
            in_order.sort_by_key(|&(at_ns, _)| at_ns);
            let gauge = recorded(MetricKind::Gauge, &in_order);
            let MetricValues::Gauge(Some(gauge)) = gauge else { panic!("it was recorded") };
            prop_assert_eq!(gauge.at_ns, in_order[in_order.len() - 1].0);
            prop_assert_eq!(gauge.min, Decimal::from_millionths(i128::from(all[0])));
        }
    }
}
