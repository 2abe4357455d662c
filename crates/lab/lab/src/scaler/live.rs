//! A scaling group at work.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::{InstanceChange, ScalerState};
use crate::file::{LabFile, ScalingGroup};
use crate::instance::died;
use crate::message::GroupStatus;
use crate::scaling::fleet::{Billing, Fleet, State, Step};
use crate::scaling::group::OutOfBounds;
use crate::scaling::usage::Usage;
use crate::scaling::{Decision, EndRule, Group, Metric, Rules};
use crate::site::Site;

/// A group, its instances, and what was read of them.
pub(super) struct Live {
    pub(super) service: usize,
    region: Option<usize>,
    /// Host of each place, by number.
    pub(super) hosts: Vec<usize>,
    pub(super) group: Group,
    fleet: Fleet,
    /// The last value of what only grows, by place and metric, and when it was read.
    pub(super) counters: HashMap<(usize, String), (u64, f64)>,
    /// By place: its host is paid for in units of this length.
    units_ns: Vec<u64>,
}

impl Live {
    /// As many instances as the rules desire run already.
    pub(super) fn new(written: &ScalingGroup, file: &LabFile, now_ns: u64) -> Live {
        let units = written.hosts.iter().map(|host| file.hosts[*host].billing_ns);
        let units_ns = units.collect();
        let mut fleet = Fleet::new(written.hosts.len());
        (0..written.rules.desired as usize).for_each(|place| fleet.adopt(place, now_ns));
        let mut live = Live {
            service: written.service,
            region: written.region,
            hosts: written.hosts.clone(),
            group: Group::new(written.rules.clone(), now_ns),
            fleet,
            counters: HashMap::new(),
            units_ns,
        };
        live.end_by(&written.rules);
        live
    }

    fn end_by(&mut self, rules: &Rules) {
        let billing = Billing { units_ns: self.units_ns.clone(), drain_ns: rules.drain_ns };
        self.fleet.end_by((rules.ends == EndRule::AtBilling).then_some(billing));
    }

    /// Goes by these rules from now on, at what they desire.
    pub(super) fn restart(&mut self, rules: &Rules, now_ns: u64) {
        self.group = Group::new(rules.clone(), now_ns);
        self.end_by(rules);
        self.fleet.hurry();
    }

    /// Alarms begin again, with as many instances as there are.
    pub(super) fn begin(&mut self, zero_ns: u64) {
        let desired = self.group.desired();
        self.fleet.restart_billing(zero_ns);
        self.group = Group::new(self.group.rules().clone(), zero_ns);
        // It was within the bounds before.
        let _ = self.group.set(desired);
    }

    /// Sets the number by hand.
    pub(super) fn set(&mut self, count: u32) -> Result<Decision, OutOfBounds> {
        self.group.set(count)
    }

    pub(super) fn is_working(&self) -> bool {
        self.fleet.is_working(self.group.desired())
    }

    /// Places whose instances run: place and host.
    pub(super) fn running(&self) -> impl Iterator<Item = (usize, usize)> {
        let all = self.hosts.iter().copied().enumerate();
        all.filter(|(place, _)| self.fleet.state(*place) == State::Running)
    }

    /// The service's name, with the region's if there are several groups.
    pub(super) fn name(&self, file: &LabFile) -> String {
        let service = &file.services[self.service].name;
        match self.region {
            Some(region) => format!("{service} in {}", file.regions[region]),
            None => service.clone(),
        }
    }

    pub(super) fn status(&self, file: &LabFile) -> GroupStatus {
        let rules = self.group.rules();
        let count = |is: fn(State) -> bool| self.fleet.count(is);
        GroupStatus {
            service: file.services[self.service].name.clone(),
            region: self.region.map(|region| file.regions[region].clone()),
            minimum: rules.minimum,
            desired: self.group.desired(),
            maximum: rules.maximum,
            running: count(|state| state == State::Running),
            launching: count(|state| matches!(state, State::Booting(_) | State::Starting)),
            ending: count(|state| state == State::Ending),
        }
    }

    /// Values of the crowd for the alarms that look at it.
    pub(super) fn add_crowd(&mut self, now_ns: u64, users: f64, arrivals_per_s: f64) {
        for alarm in 0..self.group.rules().alarms.len() {
            match self.group.rules().alarms[alarm].metric {
                Metric::Users => self.group.add(alarm, now_ns, users),
                Metric::Arrivals => self.group.add(alarm, now_ns, arrivals_per_s),
                Metric::Cpu | Metric::Memory | Metric::Prometheus(_) => {}
            }
        }
    }

    /// Takes the result of starting or ending an instance.
    pub(super) fn take(
        &mut self,
        place: usize,
        news: &InstanceChange,
        now_ns: u64,
        usages: &mut [Usage],
    ) {
        match news {
            InstanceChange::Started => self.fleet.started(place),
            InstanceChange::Failed(_) => {
                self.fleet.failed(place, now_ns);
                usages[self.hosts[place]].end(now_ns);
            }
            InstanceChange::Ended => {
                self.fleet.ended(place);
                usages[self.hosts[place]].end(now_ns);
            }
        }
    }

    /// Gives up instances whose process has ended for good.
    pub(super) fn replace_dead(&mut self, site: &Site, now_ns: u64, usages: &mut [Usage]) {
        let running: Vec<(usize, usize)> = self.running().collect();
        for (place, host) in running {
            let is_dead = {
                let all = site.running();
                let found = all
                    .iter()
                    .find(|running| (running.service, running.host) == (self.service, host));
                found.is_none_or(|running| died(&running.instance))
            };
            if is_dead {
                site.end(self.service, host);
                let name = site.directory.instance(self.service, host);
                site.events.add(format!("{name} has died and is replaced"));
                self.fleet.failed(place, now_ns);
                usages[host].end(now_ns);
            }
        }
    }

    /// Lets alarms decide.
    pub(super) fn decide(&mut self, site: &Site, now_ns: u64) {
        let is_working = self.is_working();
        for decision in self.group.decide(now_ns, is_working) {
            let name = self.name(&site.directory.file);
            site.events.add(format!("{name}: {}", decision.describe()));
        }
    }

    /// Begins what brings the instances to what is desired.
    pub(super) fn act(
        &mut self,
        shared: &Arc<ScalerState>,
        number: usize,
        now_ns: u64,
        usages: &mut [Usage],
    ) {
        let start_up_ns = self.group.rules().start_up_ns;
        let end_max = Duration::from_nanos(self.group.rules().drain_ns);
        let service = self.service;
        for step in self.fleet.steps(self.group.desired(), start_up_ns, now_ns) {
            match step {
                Step::Launch(place) => usages[self.hosts[place]].begin(now_ns),
                Step::Cancel(place) => usages[self.hosts[place]].end(now_ns),
                Step::Start(place) => {
                    let host = self.hosts[place];
                    shared.begin(number, place, move |site| {
                        match site.start(service, host, end_max) {
                            Ok(()) => InstanceChange::Started,
                            Err(error) => InstanceChange::Failed(error.to_string()),
                        }
                    });
                }
                Step::End(place) => {
                    let host = self.hosts[place];
                    // Its values are not those of the next instance there.
                    self.counters.retain(|(at, _), _| *at != place);
                    shared.begin(number, place, move |site| {
                        site.end(service, host);
                        let name = site.directory.instance(service, host);
                        site.events.add(format!("{name} has ended"));
                        InstanceChange::Ended
                    });
                }
            }
        }
    }
}
