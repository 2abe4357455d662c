//! Scaling groups: bounds, start-up times, and alarms.

use scenario::document::diagnostic::Diagnostic;
use scenario::document::node::{Entry, Node, Place};
use scenario::document::reader::Map;
use scenario::document::suggest;

use super::read::LabReader;
use super::{Host, LabFile, Package, Program, ScalingGroup, Service};
use crate::scaling::{Action, Alarm, EndRule, Metric, MissingPolicy, Rules, Statistic};

/// The keys of a group; the first three must be there.
pub(super) const KEYS: &[&str] =
    &["minimum", "desired", "maximum", "start_up", "drain", "ends", "alarms"];
/// The keys of an alarm.
pub(super) const ALARM_KEYS: &[&str] = &[
    "metric",
    "prometheus",
    "statistic",
    "above",
    "below",
    "period",
    "periods",
    "missing",
    "delay",
    "add",
    "remove",
    "set",
    "cool_down",
];

/// Most alarms of a group.
const ALARMS_MAX: usize = 20;
/// Most periods of an alarm.
const PERIODS_MAX: u32 = 100;
/// The shortest period: metrics are read a few times a second.
const PERIOD_NS_MIN: u64 = 500_000_000;
/// The longest of any time of a group.
const TIME_NS_MAX: u64 = 86_400_000_000_000;
/// Defaults of CloudWatch and EC2 Auto Scaling.
const PERIOD_NS: u64 = 60_000_000_000;
const COOL_DOWN_NS: u64 = 300_000_000_000;
/// How long an instance may take to end.
const DRAIN_NS: u64 = 10_000_000_000;

/// Metrics as they are written.
#[derive(Clone, Copy)]
enum Word {
    Cpu,
    Memory,
    Users,
    Arrivals,
}

pub(super) const METRICS: [&str; 4] = ["cpu", "memory", "users", "arrivals"];
const METRIC_WORDS: [(&str, Word); 4] = [
    (METRICS[0], Word::Cpu),
    (METRICS[1], Word::Memory),
    (METRICS[2], Word::Users),
    (METRICS[3], Word::Arrivals),
];
const STATISTICS: [(&str, Statistic); 4] = [
    ("mean", Statistic::Mean),
    ("sum", Statistic::Sum),
    ("min", Statistic::Min),
    ("max", Statistic::Max),
];
const ENDS: [(&str, EndRule); 2] =
    [("at-once", EndRule::AtOnce), ("at-billing", EndRule::AtBilling)];
const MISSING: [(&str, MissingPolicy); 3] = [
    ("ignore", MissingPolicy::Ignore),
    ("breach", MissingPolicy::Breach),
    ("ok", MissingPolicy::Ok),
];

/// Reads groups in place of those of a lab that is up: services by name, as `scaling` has them.
///
/// # Errors
/// A diagnostic for each mistake in them.
pub fn scaling(text: &str, file: &LabFile) -> Result<Vec<ScalingGroup>, Vec<Diagnostic>> {
    let (root, mut reader) = LabReader::for_part(text, file);
    let found = root.map(|root| reader.scaling(&root, &file.services, &file.hosts));
    let (groups, diagnostics) = reader.reader.close(found);
    groups.ok_or(diagnostics)
}

impl LabReader<'_> {
    pub(super) fn scaling(
        &mut self,
        node: &Node,
        services: &[Service],
        hosts: &[Host],
    ) -> Vec<ScalingGroup> {
        let entries = self
            .reader
            .entries(node, "groups by the name of their service")
            .unwrap_or_default()
            .iter();
        let groups = entries.filter_map(|entry| self.scaling_of_service(entry, services, hosts));
        groups.flatten().collect()
    }

    /// A group for each region that the service has hosts in.
    fn scaling_of_service(
        &mut self,
        entry: &Entry,
        services: &[Service],
        hosts: &[Host],
    ) -> Option<Vec<ScalingGroup>> {
        let known = services.iter().map(|service| service.name.as_str());
        let Some(number) = known.clone().position(|name| name == entry.key) else {
            let hint = suggest::hint(&entry.key, "the services are", known);
            let message = format!("there is no service `{}`", entry.key);
            self.reader
                .diagnostics
                .error("unknown-service", &entry.key_place, message)
                .hint_some(hint);
            return None;
        };
        self.check_scalable(number, services, hosts, &entry.key_place);
        let service = &services[number];
        let mut regions: Vec<usize> = service.hosts.iter().map(|at| hosts[*at].region).collect();
        regions.dedup();
        let of_region = |region: usize| {
            let of = service.hosts.iter().copied();
            of.filter(|host| hosts[*host].region == region).collect()
        };
        let places: Vec<Vec<usize>> = regions.iter().map(|region| of_region(*region)).collect();
        let fewest = places.iter().map(Vec::len).min().unwrap_or(0);
        let rules = self.rules(&entry.value, service, hosts, fewest)?;
        let is_one = regions.len() == 1;
        let groups = regions.into_iter().zip(places);
        let groups = groups.map(|(region, hosts)| ScalingGroup {
            service: number,
            region: (!is_one).then_some(region),
            hosts,
            rules: rules.clone(),
        });
        Some(groups.collect())
    }

    /// A group's instances come and go with all that they have.
    fn check_scalable(
        &mut self,
        number: usize,
        services: &[Service],
        hosts: &[Host],
        place: &Place,
    ) {
        let service = &services[number];
        if let Program::Package { package, .. } = &service.program
            && *package != Package::Nginx
        {
            let message = format!("`{}` keeps data, so it cannot be scaled", service.name);
            self.reader
                .diagnostics
                .error("bad-scaling", place, message)
                .hint("scale a command or nginx");
        }
        let shares = |other: &Service| other.hosts.iter().any(|at| service.hosts.contains(at));
        let others = services.iter().enumerate();
        let mut others = others.filter(|(other, of)| *other != number && shares(of));
        if let Some((_, other)) = others.next() {
            let shared = other.hosts.iter().find(|at| service.hosts.contains(at));
            let host = shared.map_or("", |at| hosts[*at].name.as_str());
            let message = format!("`{host}` is a host of `{}`, too", other.name);
            self.reader
                .diagnostics
                .error("bad-scaling", place, message)
                .hint("hosts of a scaling group come and go: give the other service its own");
        }
    }

    fn rules(
        &mut self,
        node: &Node,
        service: &Service,
        hosts: &[Host],
        places: usize,
    ) -> Option<Rules> {
        let called = format!("the scaling of `{}`", service.name);
        let map = self.reader.map(node, &called, KEYS, 3)?;
        let mut count = |key: &str| map.get(key).map(|node| self.instances_count(node));
        let minimum = count("minimum");
        let desired = count("desired");
        let maximum = count("maximum");
        let time = |reader: &mut Self, key: &str, default_ns: u64| match map.get(key) {
            Some(node) => reader.bounded_ns(node),
            None => Some(default_ns),
        };
        let start_up_ns = time(self, "start_up", 0);
        let drain_ns = time(self, "drain", DRAIN_NS);
        let ends = match map.get("ends") {
            Some(node) => self.reader.word(node, &ENDS),
            None => Some(EndRule::default()),
        };
        let alarms = match map.get("alarms") {
            Some(node) => self.alarms(node, service, hosts),
            None => Vec::new(),
        };
        let rules = Rules {
            minimum: minimum??,
            desired: desired??,
            maximum: maximum??,
            start_up_ns: start_up_ns?,
            drain_ns: drain_ns?,
            ends: ends?,
            alarms,
        };
        self.check_bounds(&map, &rules, places);
        Some(rules)
    }

    fn check_bounds(&mut self, map: &Map<'_>, rules: &Rules, places: usize) {
        let Rules { minimum, desired, maximum, .. } = *rules;
        let mut wrong = |key: &str, message: String, hint: &str| {
            let place = map.get(key).map_or(map.place, |node| &node.place);
            self.reader.diagnostics.error("bad-scaling", place, message).hint(hint);
        };
        if minimum > maximum {
            let message = format!("the minimum, {minimum}, is above the maximum, {maximum}");
            wrong("minimum", message, "give it a smaller minimum");
        } else if !(minimum..=maximum).contains(&desired) {
            let message = format!("{desired} is not within {minimum} to {maximum}");
            wrong("desired", message, "desire what the bounds allow");
        }
        if maximum as usize > places {
            let message = format!("{maximum} instances need as many hosts; there are {places}");
            let hint = format!("write `count: {maximum}` at the hosts, or a smaller maximum");
            wrong("maximum", message, &hint);
        }
    }

    fn instances_count(&mut self, node: &Node) -> Option<u32> {
        let text = self.reader.text(node, "a number of instances")?;
        let count = text.parse().ok();
        if count.is_none() {
            let message = format!("`{text}` is no number of instances");
            self.error("bad-number", &node.place, &message);
        }
        count
    }

    /// A duration of at most a day.
    fn bounded_ns(&mut self, node: &Node) -> Option<u64> {
        let ns = self.duration_ns(node)?;
        if ns > TIME_NS_MAX {
            self.error("bad-duration", &node.place, "this is longer than a day");
        }
        (ns <= TIME_NS_MAX).then_some(ns)
    }

    fn alarms(&mut self, node: &Node, service: &Service, hosts: &[Host]) -> Vec<Alarm> {
        let items = self.reader.items(node, "alarms");
        if items.len() > ALARMS_MAX {
            let message = format!("a group has at most {ALARMS_MAX} alarms");
            self.error("bad-count", &node.place, &message);
            return Vec::new();
        }
        let alarms = items.iter();
        alarms.filter_map(|item| self.alarm(item, service, hosts)).collect()
    }

    fn alarm(&mut self, node: &Node, service: &Service, hosts: &[Host]) -> Option<Alarm> {
        let map = self.reader.map(node, "an alarm", ALARM_KEYS, 0)?;
        let metric = self.metric(&map, service, hosts);
        let (side, limit) = self.one_of(&map, &["above", "below"], "one limit")?;
        let (verb, count) = self.one_of(&map, &["add", "remove", "set"], "one action")?;
        let count = self.instances_count(count);
        let period_ns = match map.get("period") {
            Some(node) => self.period_ns(node),
            None => Some(PERIOD_NS),
        };
        let periods = match map.get("periods") {
            Some(node) => self.periods(node),
            None => Some(1),
        };
        let missing = match map.get("missing") {
            Some(node) => self.reader.word(node, &MISSING),
            None => Some(MissingPolicy::Ignore),
        };
        let delay_ns = match map.get("delay") {
            Some(node) => self.bounded_ns(node),
            None => Some(0),
        };
        let cool_down_ns = match map.get("cool_down") {
            Some(node) => self.bounded_ns(node),
            None => Some(COOL_DOWN_NS),
        };
        let metric = metric?;
        let statistic = self.statistic(&map, &metric);
        let limit = self.limit(limit, &metric);
        let count = count?;
        Some(Alarm {
            statistic: statistic?,
            is_above: side == "above",
            limit: limit?,
            period_ns: period_ns?,
            periods: periods?,
            missing: missing?,
            delay_ns: delay_ns?,
            action: match verb {
                "add" => Action::Add(count),
                "remove" => Action::Remove(count),
                _ => Action::Set(count),
            },
            cool_down_ns: cool_down_ns?,
            metric,
        })
    }

    /// The one of several keys that is there.
    fn one_of<'n>(
        &mut self,
        map: &Map<'n>,
        keys: &[&'static str],
        called: &str,
    ) -> Option<(&'static str, &'n Node)> {
        let given = keys.iter().filter_map(|key| Some((*key, map.get(key)?))).collect::<Vec<_>>();
        if let [one] = given[..] {
            return Some(one);
        }
        let message = format!("an alarm has exactly {called}");
        self.reader
            .diagnostics
            .error("bad-alarm", map.place, message)
            .hint(format!("write one of {}", keys.join(", ")));
        None
    }

    fn metric(&mut self, map: &Map<'_>, service: &Service, hosts: &[Host]) -> Option<Metric> {
        let (key, node) = self.one_of(map, &["metric", "prometheus"], "one metric")?;
        if key == "prometheus" {
            let name = self.reader.text(node, "the name of a metric")?.to_owned();
            self.can_be(service.port.is_some(), node, "its service has no `port`");
            return Some(Metric::Prometheus(name));
        }
        let has = |is: fn(&Host) -> bool| service.hosts.iter().all(|host| is(&hosts[*host]));
        Some(match self.reader.word(node, &METRIC_WORDS)? {
            Word::Cpu => {
                let has_cpus = has(|host| host.cpus.is_some());
                self.can_be(has_cpus, node, "its hosts have no `cpus` to have a share of");
                Metric::Cpu
            }
            Word::Memory => {
                let has_memory = has(|host| host.memory_bytes.is_some());
                self.can_be(has_memory, node, "its hosts have no `memory` to have a share of");
                Metric::Memory
            }
            Word::Users => Metric::Users,
            Word::Arrivals => Metric::Arrivals,
        })
    }

    fn can_be(&mut self, can_be: bool, node: &Node, why: &str) {
        if !can_be {
            let message = format!("this metric never has a value: {why}");
            self.error("bad-alarm", &node.place, &message);
        }
    }

    fn statistic(&mut self, map: &Map<'_>, metric: &Metric) -> Option<Statistic> {
        let Some(node) = map.get("statistic") else {
            return Some(Statistic::Mean);
        };
        if !metric.is_of_instances() {
            let message = "`statistic` is over instances, and this metric is none of theirs";
            self.error("bad-alarm", &node.place, message);
        }
        self.reader.word(node, &STATISTICS)
    }

    fn limit(&mut self, node: &Node, metric: &Metric) -> Option<f64> {
        match metric {
            Metric::Cpu | Metric::Memory => {
                let parse = units::parse::share;
                self.reader.parsed(node, "a share", "bad-share", parse)
            }
            Metric::Arrivals => {
                let parse = units::parse::rate;
                self.reader.parsed(node, "a rate", "bad-rate", parse)
            }
            Metric::Users | Metric::Prometheus(_) => self.reader.number(node, "a number"),
        }
    }

    fn period_ns(&mut self, node: &Node) -> Option<u64> {
        let ns = self.bounded_ns(node)?;
        if ns < PERIOD_NS_MIN {
            let least = units::span(PERIOD_NS_MIN);
            let message = format!("a period is at least {least} long");
            self.error("bad-duration", &node.place, &message);
            return None;
        }
        Some(ns)
    }

    fn periods(&mut self, node: &Node) -> Option<u32> {
        let text = self.reader.text(node, "a number of periods")?;
        let count = text.parse().ok();
        let count = count.filter(|count| (1..=PERIODS_MAX).contains(count));
        if count.is_none() {
            let message = format!("`{text}` is no number of periods: 1 to {PERIODS_MAX}");
            self.error("bad-number", &node.place, &message);
        }
        count
    }
}
