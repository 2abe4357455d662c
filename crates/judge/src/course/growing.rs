//! The course of a run that still goes on, second by second, in bounded memory.

use std::collections::BTreeMap;

use record::Outcome;
use record::schema::{MeasureInfo, MeasureSummary, RunInfo, SeriesRow, UsersSummary};
use stats::hist::LogHistogram;

use super::errors::Errors;
use super::latency::{Building, most};
use super::probes::ProbeLines;
use super::seconds::Seconds;
use super::{Course, Cut, SECOND_NS, SLOTS_MAX};
use crate::summary::{latency, per_second};

/// What a measure did in one second.
#[derive(Debug, Clone, Copy)]
pub struct SecondOf<'a> {
    /// Its place in the run's list.
    pub measure: usize,
    /// Operations that ended, by the outcome's code.
    pub outcomes: &'a [u64],
    /// Of those that ended well.
    pub response: &'a LogHistogram,
    /// Of the same.
    pub service: &'a LogHistogram,
    /// Of the same.
    pub lag: &'a LogHistogram,
}

/// What a run did so far. Its slots are those of the whole run as planned, so that nothing has to be cut
/// anew while it grows; what a run takes beyond [`SLOTS_MAX`] of them counts to the last one.
#[derive(Debug)]
pub struct Growing {
    cut: Cut,
    seconds: Seconds,
    measures: Vec<Measure>,
    errors: Errors,
    users: UsersSummary,
    ended_ns: u64,
}

#[derive(Debug)]
struct Measure {
    info: MeasureInfo,
    course: Building,
    outcomes: BTreeMap<Outcome, u64>,
    service: LogHistogram,
    lag: LogHistogram,
}

impl Growing {
    /// Of a run of which nothing was told yet.
    pub fn new(info: &RunInfo) -> Growing {
        let planned_ns = info.phases.last().map_or(0, |phase| phase.end_ns);
        let planned = info.phases.iter().map(|phase| phase.users_planned).sum();
        let measures = info.measures.iter().map(|measure| Measure {
            info: measure.clone(),
            course: Building::new(&measure.name, &measure.kind),
            outcomes: BTreeMap::new(),
            service: LogHistogram::new(),
            lag: LogHistogram::new(),
        });
        Growing {
            cut: Cut {
                slots: SLOTS_MAX as usize,
                ..Cut::of(planned_ns)
            },
            seconds: Seconds::default(),
            measures: measures.collect(),
            errors: Errors::default(),
            users: UsersSummary {
                planned,
                ..UsersSummary::default()
            },
            ended_ns: 0,
        }
    }

    /// Adds a second. Seconds come in order.
    pub fn add<'a>(&mut self, row: &SeriesRow, measures: impl Iterator<Item = SecondOf<'a>>) {
        let (cut, slot) = (self.cut, self.cut.slot(row.start_ns));
        self.seconds.add(row, cut);
        for told in measures {
            let Some(measure) = self.measures.get_mut(told.measure) else {
                continue;
            };
            for (&outcome, &count) in Outcome::ALL.iter().zip(told.outcomes) {
                self.errors.add(outcome, count, slot);
                if count > 0 {
                    *measure.outcomes.entry(outcome).or_default() += count;
                }
            }
            measure.course.add(row.start_ns, told.response, cut);
            measure.service.merge(told.service);
            measure.lag.merge(told.lag);
        }
        let users = &mut self.users;
        users.started += row.users_started;
        users.refused += row.users_refused;
        users.connected += row.users_connected;
        users.finished += row.users_finished;
        users.peak = users.peak.max(row.users);
        self.ended_ns = row.end_ns;
    }

    /// Until when it was told, since the run's start.
    pub fn ended_ns(&self) -> u64 {
        self.ended_ns
    }

    /// The crowd so far.
    pub fn users(&self) -> &UsersSummary {
        &self.users
    }

    /// The figures of the measures that measured something.
    pub fn measures(&self) -> Vec<MeasureSummary> {
        let seconds = self.ended_ns as f64 / SECOND_NS as f64;
        let all = self.measures.iter().filter_map(|measure| {
            let errors = measure.outcomes.iter().filter(|(o, _)| o.is_error());
            let errors_by_kind: BTreeMap<String, u64> =
                errors.map(|(o, &n)| (o.name().to_owned(), n)).collect();
            let failed: u64 = errors_by_kind.values().sum();
            let count = measure.course.count() + failed;
            (count > 0).then(|| MeasureSummary {
                name: measure.info.name.clone(),
                kind: measure.info.kind.clone(),
                count,
                rate_per_s: per_second(count, seconds),
                errors: failed,
                errors_by_kind,
                response: latency(&measure.course.response()),
                service: latency(&measure.service),
                lag: latency(&measure.lag),
            })
        });
        all.collect()
    }

    /// Its course, up to the last second.
    pub fn course(&self) -> Course {
        let slot_ns = self.cut.slot_s * SECOND_NS;
        let reached = self.ended_ns.div_ceil(slot_ns).clamp(1, SLOTS_MAX);
        let cut = Cut {
            slots: reached as usize,
            ..self.cut
        };
        let counts = self.measures.iter().map(|measure| measure.course.count());
        let (chosen, measures_left_out) = most(counts.enumerate());
        let chosen = chosen.into_iter().map(|place| &self.measures[place].course);
        Course {
            slot_s: cut.slot_s,
            slots: cut.slots,
            heat_slot_s: cut.heat_slot_s,
            seconds: self.seconds.tracks(cut),
            measures: chosen.map(|course| course.clone().finish(cut)).collect(),
            measures_left_out,
            errors: self.errors.tracks(cut),
            probes: ProbeLines::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// A run of an hour as planned, of which two seconds passed; the second had failures, too.
    fn two_seconds() -> Growing {
        let mut info = sample::info();
        info.phases.truncate(1);
        info.phases[0].end_ns = 3_600 * SECOND_NS;
        let mut growing = Growing::new(&info);
        let mut response = LogHistogram::new();
        (1..=100).for_each(|n| response.record(n * 1_000_000));
        let none = LogHistogram::new();
        let mut outcomes = vec![0; Outcome::ALL.len()];
        outcomes[usize::from(u8::from(Outcome::Ok))] = 100;
        for second in 0..2 {
            if second == 1 {
                outcomes[usize::from(u8::from(Outcome::Timeout))] = 25;
            }
            let row = SeriesRow {
                start_ns: second * SECOND_NS,
                end_ns: (second + 1) * SECOND_NS,
                users: 7 - second,
                users_started: 5,
                done: 100,
                ..SeriesRow::default()
            };
            let told = SecondOf {
                measure: 0,
                outcomes: &outcomes,
                response: &response,
                service: &none,
                lag: &none,
            };
            growing.add(&row, [told].into_iter());
        }
        growing
    }

    #[test]
    fn what_is_there_so_far_is_told_in_the_slots_of_the_whole() {
        let course = two_seconds().course();
        assert_eq!(
            (course.slot_s, course.slots, course.heat_slot_s),
            (6, 1, 24)
        );
        let [measure] = &course.measures[..] else {
            panic!("one measure measured something: {:?}", course.measures);
        };
        assert_eq!(measure.count, 200);
        assert_eq!(measure.p50.len(), 1);
        assert!((measure.p50[0].unwrap().0 / 50e6 - 1.0).abs() < 0.001);
        assert_eq!(course.errors[0].kind, "timeout");
        assert_eq!(course.errors[0].count, 25);
    }

    #[test]
    fn figures_are_of_all_so_far() {
        let growing = two_seconds();
        assert_eq!((growing.users().started, growing.users().peak), (10, 7));
        let [measure] = &growing.measures()[..] else {
            panic!("one measure measured something");
        };
        assert_eq!((measure.count, measure.errors), (225, 25));
        assert!((measure.rate_per_s - 112.5).abs() < 1e-9);
        assert_eq!(measure.response.as_ref().unwrap().count, 200);
        assert!(measure.service.is_none());
    }

    #[test]
    fn a_run_that_does_not_end_stays_within_its_slots() {
        let mut info = sample::info();
        info.phases.truncate(1);
        info.phases[0].end_ns = SECOND_NS;
        let mut growing = Growing::new(&info);
        for second in 0..2 * SLOTS_MAX {
            growing.add(&sample::row(second), std::iter::empty());
        }
        assert_eq!(growing.course().slots as u64, SLOTS_MAX);
    }
}
