//! Alarms: a metric beyond a limit for a number of periods.
//!
//! A period's value is the mean of the values that were seen in it. As in CloudWatch, periods lie end to end from the start
//! on, an alarm goes off when the newest `periods` of them are all beyond the limit, and what to do about a period without
//! a value is a setting (*Configuring how CloudWatch alarms treat missing data*). Known `delay` after a period's end, as
//! metrics take time to be collected: CloudWatch does not promise when. Here it is exact.
//!
//! It differs in that a statistic is one over the instances at a moment, not over all values of a period.

use std::collections::{BTreeMap, VecDeque};

/// A condition on a metric, and what follows from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Alarm {
    /// The metric that the alarm watches.
    pub metric: Metric,
    /// How the values of several instances become one.
    pub statistic: Statistic,
    /// Whether the alarm goes off above its limit, or below it.
    pub is_above: bool,
    /// In the metric's unit: a share, a number, or per second.
    pub limit: f64,
    /// The length of a period, in nanoseconds; above 0.
    pub period_ns: u64,
    /// How many periods in a row are beyond the limit; above 0.
    pub periods: u32,
    /// Treatment of a period without a value.
    pub missing: MissingPolicy,
    /// After the end of a period: until its value is known.
    pub delay_ns: u64,
    /// Change that the alarm makes.
    pub action: Action,
    /// After a change by this alarm: until the next change by any.
    pub cool_down_ns: u64,
}

/// A metric that an alarm watches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Metric {
    /// The share of their cores that the group's hosts use.
    Cpu,
    /// The share of their memory that the group's hosts use.
    Memory,
    /// Users of the run that are there.
    Users,
    /// Users of the run that arrive per second.
    Arrivals,
    /// A metric of the instances' page of metrics; a counter as its rate per second.
    Prometheus(String),
}

impl Metric {
    /// Whether each instance has its own value.
    pub fn is_of_instances(&self) -> bool {
        !matches!(self, Metric::Users | Metric::Arrivals)
    }

    /// Name of the metric.
    pub fn name(&self) -> &str {
        match self {
            Metric::Cpu => "cpu",
            Metric::Memory => "memory",
            Metric::Users => "users",
            Metric::Arrivals => "arrivals",
            Metric::Prometheus(name) => name,
        }
    }

    /// A value in words.
    pub fn shown(&self, value: f64) -> String {
        match self {
            Metric::Cpu | Metric::Memory => units::share(value),
            Metric::Arrivals => units::rate(value),
            Metric::Users | Metric::Prometheus(_) => units::significant(value, 3),
        }
    }
}

/// How the values of several instances at a moment become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// The mean of the values.
    Mean,
    /// The sum of the values.
    Sum,
    /// The smallest value.
    Min,
    /// The greatest value.
    Max,
}

impl Statistic {
    /// `None` without values.
    pub fn apply(self, values: &[f64]) -> Option<f64> {
        if values.is_empty() {
            return None;
        }
        let sum: f64 = values.iter().sum();
        Some(match self {
            Statistic::Mean => sum / values.len() as f64,
            Statistic::Sum => sum,
            Statistic::Min => values.iter().copied().fold(f64::INFINITY, f64::min),
            Statistic::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

/// Treatment of a period without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingPolicy {
    /// The alarm stays as it is.
    Ignore,
    /// Beyond the limit.
    Breach,
    /// Within the limit.
    Ok,
}

/// A change of the number of instances by an alarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// This number of instances more.
    Add(u32),
    /// This number fewer.
    Remove(u32),
    /// This number.
    Set(u32),
}

impl Action {
    /// How many there should be instead of `count`, before bounds.
    pub fn apply(self, count: u32) -> u32 {
        match self {
            Action::Add(more) => count.saturating_add(more),
            Action::Remove(fewer) => count.saturating_sub(fewer),
            Action::Set(count) => count,
        }
    }
}

/// The values of an alarm's metric so far.
#[derive(Debug, Clone)]
pub struct Watch {
    zero_ns: u64,
    /// Sums and numbers of the values of periods that are not evaluated yet.
    open: BTreeMap<u64, (f64, u32)>,
    /// The period that is evaluated next.
    next: u64,
    /// Values of the newest periods that were evaluated, the newest last.
    recent: VecDeque<Option<f64>>,
    is_off: bool,
}

/// Result of evaluating the newest periods.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evaluation {
    /// Whether the alarm has gone off.
    pub is_off: bool,
    /// The newest period's value; `None`: there was none.
    pub value: Option<f64>,
    /// When that period ended.
    pub ended_ns: u64,
}

impl Watch {
    /// Periods begin at `zero_ns`.
    pub fn new(zero_ns: u64) -> Watch {
        Watch { zero_ns, open: BTreeMap::new(), next: 0, recent: VecDeque::new(), is_off: false }
    }

    /// Whether the alarm has gone off, by the periods that were evaluated.
    pub fn is_off(&self) -> bool {
        self.is_off
    }

    /// A value of the metric. One that is no number, or of a period that was evaluated already, does not count.
    pub fn add(&mut self, alarm: &Alarm, at_ns: u64, value: f64) {
        let Some(since_ns) = at_ns.checked_sub(self.zero_ns) else {
            return;
        };
        let period = since_ns / alarm.period_ns;
        if period >= self.next && value.is_finite() {
            let (sum, count) = self.open.entry(period).or_default();
            *sum += value;
            *count += 1;
        }
    }

    /// Evaluates the periods whose values are known by now; `None`: no further one is.
    pub fn evaluate(&mut self, alarm: &Alarm, now_ns: u64) -> Option<Evaluation> {
        let known_ns = now_ns.checked_sub(self.zero_ns.saturating_add(alarm.delay_ns))?;
        let ended = known_ns / alarm.period_ns;
        if ended <= self.next {
            return None;
        }
        // Of a long silence only the end matters.
        let first = self.next.max(ended.saturating_sub(u64::from(alarm.periods)));
        for period in first..ended {
            let value = self.open.remove(&period);
            self.recent.push_back(value.map(|(sum, count)| sum / f64::from(count)));
            while self.recent.len() > alarm.periods as usize {
                self.recent.pop_front();
            }
            self.turn(alarm);
        }
        self.open.retain(|period, _| *period >= ended);
        self.next = ended;
        Some(Evaluation {
            is_off: self.is_off,
            value: self.recent.back().copied().flatten(),
            ended_ns: self.zero_ns + ended * alarm.period_ns,
        })
    }

    fn turn(&mut self, alarm: &Alarm) {
        if self.recent.len() < alarm.periods as usize {
            return;
        }
        let is_beyond = |value: f64| match alarm.is_above {
            true => value > alarm.limit,
            false => value < alarm.limit,
        };
        let seen = self.recent.iter();
        let judged = seen.map(|value| match (value, alarm.missing) {
            (Some(value), _) => Some(is_beyond(*value)),
            (None, MissingPolicy::Breach) => Some(true),
            (None, MissingPolicy::Ok) => Some(false),
            (None, MissingPolicy::Ignore) => None,
        });
        let judged: Vec<Option<bool>> = judged.collect();
        if judged.contains(&Some(false)) {
            self.is_off = false;
        } else if !judged.contains(&None) {
            self.is_off = true;
        }
    }
}

/// Why an alarm has gone off, in words.
pub fn reason(alarm: &Alarm, evaluation: &Evaluation, now_ns: u64) -> String {
    let metric = &alarm.metric;
    let value = match evaluation.value {
        Some(value) => metric.shown(value),
        None => "missing".to_owned(),
    };
    let sign = if alarm.is_above { '>' } else { '<' };
    let period = units::span(alarm.period_ns);
    let periods = match alarm.periods {
        1 => format!("1 period of {period}"),
        count => format!("{count} periods of {period}"),
    };
    let ago = match now_ns.saturating_sub(evaluation.ended_ns) / NS_PER_S * NS_PER_S {
        0 => "as of now".to_owned(),
        ns => format!("as of {} ago", units::span(ns)),
    };
    format!("{} {value} {sign} {} for {periods}, {ago}", metric.name(), metric.shown(alarm.limit),)
}

const NS_PER_S: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scaling::sample::alarm;

    /// When the alarm is off, looking each ten seconds for `seconds`, by a value for each period.
    fn off(alarm: &Alarm, values: &[Option<f64>], seconds: u64) -> Vec<u64> {
        let mut watch = Watch::new(0);
        let mut found = Vec::new();
        for second in (0..=seconds).step_by(10) {
            let period = (second * NS_PER_S / alarm.period_ns) as usize;
            if let Some(Some(value)) = values.get(period) {
                watch.add(alarm, second * NS_PER_S, *value);
            }
            let now = watch.evaluate(alarm, second * NS_PER_S);
            if now.is_some_and(|now| now.is_off) {
                found.push(second);
            }
        }
        found
    }

    #[test]
    fn an_alarm_goes_off_after_its_periods_and_their_delay() {
        let of = |values: &[f64]| {
            let values: Vec<Option<f64>> = values.iter().map(|v| Some(*v)).collect();
            off(&alarm(), &values, 600)
        };
        // Two periods end at 120 s, known at 240 s; evaluated again with each period.
        assert_eq!(of(&[0.9, 0.9, 0.9, 0.1]), [240, 300]);
        assert_eq!(of(&[0.9, 0.1, 0.9, 0.1]), [] as [u64; 0]);
        // The limit itself is not beyond it.
        let alarm = Alarm { limit: 0.75, ..alarm() };
        assert_eq!(off(&alarm, &[Some(0.75); 9], 600), [] as [u64; 0]);
        assert_eq!(of(&[0.1, 0.9, 0.71, 0.1]), [300]);
    }

    #[test]
    fn missing_values_are_what_the_alarm_says() {
        let of = |missing| {
            let values = [Some(0.9), Some(0.9), None, None, Some(0.1), Some(0.1)];
            let alarm = Alarm { missing, delay_ns: 0, ..alarm() };
            off(&alarm, &values, 360)
        };
        assert_eq!(of(MissingPolicy::Ignore), [120, 180, 240]);
        assert_eq!(of(MissingPolicy::Breach), [120, 180, 240]);
        assert_eq!(of(MissingPolicy::Ok), [120]);
        let silent = |missing| {
            let alarm = Alarm { missing, delay_ns: 0, ..alarm() };
            off(&alarm, &[], 180)
        };
        assert_eq!(silent(MissingPolicy::Ignore), [] as [u64; 0]);
        assert_eq!(silent(MissingPolicy::Breach), [120, 180]);
        assert_eq!(silent(MissingPolicy::Ok), [] as [u64; 0]);
    }

    #[test]
    fn below_is_the_other_side_and_a_periods_value_is_a_mean() {
        let alarm = Alarm { is_above: false, limit: 0.3, periods: 1, delay_ns: 0, ..alarm() };
        let mut watch = Watch::new(10 * NS_PER_S);
        watch.add(&alarm, 11 * NS_PER_S, 0.5);
        watch.add(&alarm, 69 * NS_PER_S, 0.0);
        // Before the start, or no number.
        watch.add(&alarm, 9 * NS_PER_S, 100.0);
        watch.add(&alarm, 20 * NS_PER_S, f64::NAN);
        assert_eq!(watch.evaluate(&alarm, 69 * NS_PER_S), None);
        let found = watch.evaluate(&alarm, 70 * NS_PER_S).unwrap();
        assert_eq!(found.value, Some(0.25));
        assert!(found.is_off);
        // Too late for its period.
        watch.add(&alarm, 69 * NS_PER_S, 9.0);
        assert_eq!(watch.evaluate(&alarm, 129 * NS_PER_S), None);
        let found = watch.evaluate(&alarm, 1_000 * NS_PER_S).unwrap();
        assert_eq!((found.value, found.ended_ns), (None, 970 * NS_PER_S));
    }

    #[test]
    fn a_statistic_is_over_instances() {
        let values = [1.0, 2.0, 6.0];
        let of = |statistic: Statistic| statistic.apply(&values);
        assert_eq!(of(Statistic::Mean), Some(3.0));
        assert_eq!(of(Statistic::Sum), Some(9.0));
        assert_eq!(of(Statistic::Min), Some(1.0));
        assert_eq!(of(Statistic::Max), Some(6.0));
        assert_eq!(Statistic::Sum.apply(&[]), None);
    }

    #[test]
    fn the_reason_has_value_limit_periods_and_age() {
        let evaluation = Evaluation { is_off: true, value: Some(0.83), ended_ns: 120 * NS_PER_S };
        assert_eq!(
            reason(&alarm(), &evaluation, 240 * NS_PER_S),
            "cpu 83 % > 70 % for 2 periods of 1 min, as of 2 min ago"
        );
        let arrivals =
            Alarm { metric: Metric::Arrivals, is_above: false, limit: 20.0, periods: 1, ..alarm() };
        let missing = Evaluation { value: None, ..evaluation };
        assert_eq!(
            reason(&arrivals, &missing, 120 * NS_PER_S),
            "arrivals missing < 20.0/s for 1 period of 1 min, as of now"
        );
    }
}
