//! How many instances a group should have, and why: alarms, bounds, and rests between changes.
//!
//! As the simple scaling policies of EC2 Auto Scaling (*Step and simple scaling policies*, *Scaling cooldowns*): an alarm
//! that is off acts at each of its evaluations; while a change goes on no alarm acts; the cool-down begins when the last
//! instance of the change has been launched or ended; of several alarms that would act, the one that leaves the most
//! instances does; and nothing goes beyond the minimum and the maximum.

use super::Rules;
use super::alarm::{Alarm, Watch, reason};

/// A group's number of instances.
#[derive(Debug, Clone)]
pub struct Group {
    rules: Rules,
    desired: u32,
    watches: Vec<Watch>,
    /// By alarm, the hold that was reported: each is reported once, as long as the alarm is off.
    held: Vec<Option<Hold>>,
    /// The rest that begins when the change has been made.
    rest_ns: Option<u64>,
    /// Until then no alarm acts.
    cool_until_ns: u64,
}

/// Why an alarm that is off does not act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// The last change goes on.
    Working,
    /// After a change.
    CoolDown,
    /// There are as few as there may be.
    Minimum,
    /// There are as many as there may be.
    Maximum,
}

/// A decision of a group, for its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The number of instances changes.
    Change {
        /// The number before.
        from: u32,
        /// From now on.
        to: u32,
        /// Why.
        reason: String,
    },
    /// An alarm is off and does not act.
    Held {
        /// Why it is off.
        reason: String,
        /// Why it does not act.
        why: Hold,
        /// How many instances there are, and stay.
        count: u32,
    },
}

impl Decision {
    /// The decision in words.
    pub fn describe(&self) -> String {
        let instances = |count: u32| units::counted(u64::from(count), "instance");
        match self {
            Decision::Change { from, to, reason } => {
                format!("{reason}: {from} → {}", instances(*to))
            }
            Decision::Held { reason, why, count } => {
                let why = match why {
                    Hold::Working => "by the last change, which goes on",
                    Hold::CoolDown => "by the cool-down",
                    Hold::Minimum => "by the minimum",
                    Hold::Maximum => "by the maximum",
                };
                format!("{reason}: held back {why}: {}", instances(*count))
            }
        }
    }
}

/// A number of instances that a group may not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it has {minimum} to {maximum} instances, not {count}")]
pub struct OutOfBounds {
    /// Requested number.
    pub count: u32,
    /// The fewest.
    pub minimum: u32,
    /// The most.
    pub maximum: u32,
}

impl Group {
    /// Begins with as many as the rules desire; periods of alarms begin now.
    pub fn new(rules: Rules, now_ns: u64) -> Group {
        let alarms = rules.alarms.len();
        Group {
            desired: rules.desired,
            watches: vec![Watch::new(now_ns); alarms],
            held: vec![None; alarms],
            rest_ns: None,
            cool_until_ns: 0,
            rules,
        }
    }

    /// How many instances there should be.
    pub fn desired(&self) -> u32 {
        self.desired
    }

    /// Rules of the group.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// A value of the metric of an alarm, by number.
    pub fn add(&mut self, alarm: usize, at_ns: u64, value: f64) {
        self.watches[alarm].add(&self.rules.alarms[alarm], at_ns, value);
    }

    /// Decisions by the values so far. `is_working`: instances are being launched or ended. Times do not
    /// decrease.
    pub fn decide(&mut self, now_ns: u64, is_working: bool) -> Vec<Decision> {
        if !is_working && let Some(rest_ns) = self.rest_ns.take() {
            self.cool_until_ns = now_ns.saturating_add(rest_ns);
        }
        let hold = match is_working || self.rest_ns.is_some() {
            true => Some(Hold::Working),
            false => (now_ns < self.cool_until_ns).then_some(Hold::CoolDown),
        };
        let mut evaluated = Vec::new();
        for (number, alarm) in self.rules.alarms.iter().enumerate() {
            let evaluation = self.watches[number].evaluate(alarm, now_ns);
            evaluated.extend(evaluation.map(|evaluation| (number, evaluation)));
        }
        // Also those that are off since before, and would leave it as it is.
        let alarms = self.rules.alarms.iter().zip(&self.watches);
        let off = alarms.filter(|(_, watch)| watch.is_off());
        let most = off.map(|(alarm, _)| self.target(alarm)).max();
        let mut decisions = Vec::new();
        let mut change = None;
        for (number, evaluation) in evaluated {
            let alarm = &self.rules.alarms[number];
            let wanted = alarm.action.apply(self.desired);
            let to = self.target(alarm);
            if !evaluation.is_off || wanted == self.desired || Some(to) != most {
                self.held[number] = None;
                continue;
            }
            let reason = reason(alarm, &evaluation, now_ns);
            let bound = match wanted < self.desired {
                true => Hold::Minimum,
                false => Hold::Maximum,
            };
            // At a bound it would not act without a rest, either.
            match (to == self.desired).then_some(bound).or(hold) {
                Some(why) if self.held[number] == Some(why) => {}
                Some(why) => {
                    self.held[number] = Some(why);
                    let count = self.desired;
                    decisions.push(Decision::Held { reason, why, count });
                }
                None if change.is_none() => change = Some((to, number, reason)),
                None => {}
            }
        }
        if let Some((to, number, reason)) = change {
            let from = std::mem::replace(&mut self.desired, to);
            self.rest_ns = Some(self.rules.alarms[number].cool_down_ns);
            self.held.fill(None);
            decisions.push(Decision::Change { from, to, reason });
        }
        decisions
    }

    /// How many instances an alarm would leave, within the bounds.
    fn target(&self, alarm: &Alarm) -> u32 {
        let wanted = alarm.action.apply(self.desired);
        wanted.clamp(self.rules.minimum, self.rules.maximum)
    }

    /// Sets the number by hand; alarms rest until that change has been made.
    ///
    /// # Errors
    /// It is beyond the bounds.
    pub fn set(&mut self, count: u32) -> Result<Decision, OutOfBounds> {
        let minimum = self.rules.minimum;
        let maximum = self.rules.maximum;
        if !(minimum..=maximum).contains(&count) {
            return Err(OutOfBounds { count, minimum, maximum });
        }
        Ok(Decision::Change {
            from: std::mem::replace(&mut self.desired, count),
            to: count,
            reason: "by hand".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, any, prop, proptest};

    use super::*;
    use crate::scaling::EndRule;
    use crate::scaling::alarm::{Action, MissingPolicy};
    use crate::scaling::sample::alarm;

    const SECOND: u64 = 1_000_000_000;

    fn rules(alarms: Vec<Alarm>) -> Rules {
        Rules {
            minimum: 1,
            desired: 2,
            maximum: 4,
            start_up_ns: 0,
            drain_ns: 0,
            ends: EndRule::AtOnce,
            alarms,
        }
    }

    /// One period of 10 s, known at once, with 30 s of rest.
    fn quick(is_above: bool, limit: f64, action: Action) -> Alarm {
        Alarm {
            is_above,
            limit,
            period_ns: 10 * SECOND,
            periods: 1,
            delay_ns: 0,
            action,
            cool_down_ns: 30 * SECOND,
            ..alarm()
        }
    }

    /// What is decided second by second, by a value for each; a change takes `change_s`.
    fn decided(group: &mut Group, values: &[f64], change_s: usize) -> Vec<(usize, String)> {
        let mut decided = Vec::new();
        let mut busy = 0;
        for (second, value) in values.iter().enumerate() {
            let now_ns = second as u64 * SECOND;
            (0..group.rules().alarms.len()).for_each(|alarm| group.add(alarm, now_ns, *value));
            for decision in group.decide(now_ns, second < busy) {
                if let Decision::Change { .. } = decision {
                    busy = second + change_s;
                }
                decided.push((second, decision.describe()));
            }
        }
        decided
    }

    #[test]
    fn a_change_is_made_then_a_rest_begins_then_the_next_change() {
        let mut group = Group::new(rules(vec![quick(true, 0.5, Action::Add(1))]), 0);
        let decided = decided(&mut group, &[0.9; 121], 15);
        let expected = [
            (10, "2 → 3 instances"),
            (20, "held back by the last change, which goes on: 3 instances"),
            // The change is made at 25 s, and the rest ends at 55 s.
            (30, "held back by the cool-down: 3 instances"),
            (60, "3 → 4 instances"),
            (70, "held back by the maximum: 4 instances"),
        ];
        let reason = "cpu 90 % > 50 % for 1 period of 10 s, as of now";
        let expected = expected.map(|(second, text)| (second, format!("{reason}: {text}")));
        assert_eq!(decided, expected);
        assert_eq!(group.desired(), 4);
    }

    #[test]
    fn of_two_alarms_the_one_that_leaves_more_instances_acts() {
        let alarms = vec![
            quick(true, 0.5, Action::Remove(1)),
            quick(true, 0.5, Action::Set(3)),
            quick(true, 0.5, Action::Add(2)),
        ];
        let mut group = Group::new(rules(alarms), 0);
        let decided = decided(&mut group, &[0.9; 11], 0);
        assert_eq!(decided.len(), 1);
        assert!(decided[0].1.ends_with("2 → 4 instances"), "{decided:?}");
    }

    #[test]
    fn alarms_that_set_a_number_are_steps_up_and_down() {
        let alarms = vec![
            quick(false, 0.2, Action::Set(1)),
            quick(true, 0.2, Action::Set(2)),
            quick(true, 0.4, Action::Set(3)),
            Alarm { cool_down_ns: 0, ..quick(true, 0.6, Action::Set(4)) },
        ];
        let mut group = Group::new(rules(alarms), 0);
        let values: Vec<f64> = [[0.9; 40], [0.5; 40], [0.3; 40], [0.1; 40]].concat();
        let decided = decided(&mut group, &values, 0);
        let changes = decided.iter().filter(|(_, text)| text.contains('→'));
        let changes: Vec<(usize, &str)> =
            changes.map(|(at, text)| (*at, text.rsplit(": ").next().unwrap())).collect();
        let expected = [
            (10, "2 → 4 instances"),
            (50, "4 → 3 instances"),
            (90, "3 → 2 instances"),
            (130, "2 → 1 instance"),
        ];
        assert_eq!(changes, expected);
    }

    #[test]
    fn what_there_are_already_is_not_decided() {
        let mut group = Group::new(rules(vec![quick(true, 0.5, Action::Set(2))]), 0);
        assert_eq!(decided(&mut group, &[0.9; 60], 0), []);
    }

    #[test]
    fn an_alarm_that_was_held_back_is_reported_again_after_it_was_over() {
        let mut group = Group::new(rules(vec![quick(false, 0.5, Action::Remove(1))]), 0);
        group.set(1).unwrap();
        let values: Vec<f64> = [[0.1; 20], [0.9; 20], [0.1; 20]].concat();
        let seconds = decided(&mut group, &values, 0).into_iter().map(|(at, _)| at);
        assert_eq!(seconds.collect::<Vec<_>>(), [10, 50]);
    }

    #[test]
    fn a_number_by_hand_is_within_the_bounds() {
        let mut group = Group::new(rules(Vec::new()), 0);
        let decision = group.set(4).unwrap();
        assert_eq!(decision.describe(), "by hand: 2 → 4 instances");
        let error = group.set(5).unwrap_err();
        assert_eq!(error.to_string(), "it has 1 to 4 instances, not 5");
        assert_eq!(group.desired(), 4);
    }

    fn alarms() -> impl Strategy<Value = Vec<Alarm>> {
        let action = (0..3u8, 0..9u32).prop_map(|(kind, count)| match kind {
            0 => Action::Add(count),
            1 => Action::Remove(count),
            _ => Action::Set(count),
        });
        let missing = prop::sample::select(vec![
            MissingPolicy::Ignore,
            MissingPolicy::Breach,
            MissingPolicy::Ok,
        ]);
        let times = (1..20u64, 1..4u32, 0..30u64, 0..60u64);
        let one = (any::<bool>(), 0.0..1.0, action, missing, times).prop_map(
            |(is_above, limit, action, missing, (period, periods, delay, cool_down))| Alarm {
                is_above,
                limit,
                action,
                missing,
                period_ns: period * SECOND,
                periods,
                delay_ns: delay * SECOND,
                cool_down_ns: cool_down * SECOND,
                ..alarm()
            },
        );
        prop::collection::vec(one, 0..4)
    }

    proptest! {
        /// Whatever alarms and values: never beyond the bounds, no change while one goes on or within the longest rest that
        /// may hold, and each change begins where the last one ended.
        #[test]
        fn a_group_keeps_its_bounds_and_its_rests(
            alarms in alarms(),
            values in prop::collection::vec(prop::option::of(0.0..1.0f64), 0..400),
            change_s in 0..20usize,
        ) {
            let rest_s = alarms.iter().map(|alarm| alarm.cool_down_ns / SECOND).min();
            let mut group = Group::new(rules(alarms), 0);
            let mut count = group.desired();
            let mut last: Option<usize> = None;
            for (second, value) in values.iter().enumerate() {
                let now_ns = second as u64 * SECOND;
                for alarm in 0..group.rules().alarms.len() {
                    value.iter().for_each(|value| group.add(alarm, now_ns, *value));
                }
                let is_working = last.is_some_and(|at| second < at + change_s);
                for decision in group.decide(now_ns, is_working) {
                    let Decision::Change { from, to, .. } = decision else { continue };
                    assert_eq!(from, count);
                    assert_ne!(from, to);
                    assert!((1..=4).contains(&to));
                    if let Some(last) = last {
                        assert!(second >= last + change_s + rest_s.unwrap() as usize);
                    }
                    (count, last) = (to, Some(second));
                }
            }
            assert_eq!(group.desired(), count);
        }
    }
}
