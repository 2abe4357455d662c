//! The values of a second, and the running sums of counters.

use std::collections::BTreeMap;

use record::ProbeInfo;
use record::schema::{ErrorCount, RunInfo, SeriesRow};

use crate::export::metrics::{self, Kind, Metric};

/// One second of a run.
#[derive(Debug, Clone, Copy)]
pub struct Second<'a> {
    pub info: &'a RunInfo,
    pub row: &'a SeriesRow,
    /// Measures with operations in this second.
    pub measures: &'a [MeasureSecond],
    /// Failures in this second, by what they were.
    pub errors: &'a [ErrorCount],
    /// Metrics of the scenario's own that were recorded in this second.
    pub metrics: &'a [MetricSecond],
    /// The last values of the probes.
    pub probes: &'a [ProbeValue],
}

/// A metric of the scenario's own in one second.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricSecond {
    pub name: String,
    /// Behind its numbers, for people; may be empty.
    pub unit: String,
    /// How often it was recorded.
    pub recorded: u64,
    pub value: MetricValue,
}

/// The numbers of a metric in one second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MetricValue {
    /// The sum of a counter.
    Sum(f64),
    /// The last number of a gauge.
    Last(f64),
    /// How often a share was true.
    Hits(u64),
    /// 50, 95 and 99 % of quantities.
    Quantiles([f64; 3]),
}

/// A measure in one second.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasureSecond {
    pub name: String,
    /// Operations that ended, successful or failed.
    pub count: u64,
    /// Operations among these that the target answered.
    pub completed: u64,
    pub errors: u64,
    /// Response times of all: 50, 95, 99 %.
    pub response: Option<[ResponseTime; 3]>,
}

/// A percentile of response times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseTime {
    pub ns: u64,
    /// True if it is a lower bound, since it falls among operations that were never answered.
    pub is_bound: bool,
}

/// A probe's newest value, in its unit.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeValue {
    pub info: ProbeInfo,
    pub value: f64,
}

/// A metric's value under its labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub metric: &'static Metric,
    /// Values in the order of [`Metric::labels`].
    pub labels: Vec<String>,
    /// For a counter: the sum since the run's start.
    pub value: f64,
    /// For a counter: the increase in this second.
    pub step: f64,
}

/// All values of a second.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Snapshot {
    pub run: String,
    pub scenario: String,
    pub started_unix_ns: u64,
    pub at_unix_ns: u64,
    /// Samples of one metric are adjacent.
    pub samples: Vec<Sample>,
    /// Further labels of the samples of measures that have tags, by name.
    pub tags: BTreeMap<String, BTreeMap<String, String>>,
}

impl Snapshot {
    /// The labels of a sample by name, tags included; without `run` and `scenario`. A name stands once: a tag that is called
    /// like a label of the metric is left out.
    pub fn labels<'s>(&'s self, sample: &'s Sample) -> impl Iterator<Item = (&'s str, &'s str)> {
        let names = sample.metric.labels;
        let own = names.iter().copied().zip(sample.labels.iter().map(String::as_str));
        let measure = own.clone().find(|(label, _)| matches!(*label, "measure" | "step"));
        let tags = measure.and_then(|(_, name)| self.tags.get(name));
        let tags =
            tags.into_iter().flatten().filter(move |(key, _)| !names.contains(&key.as_str()));
        own.chain(tags.map(|(key, value)| (key.as_str(), value.as_str())))
    }
}

/// The running sums of counters.
#[derive(Debug, Default)]
pub struct Totals {
    sums: BTreeMap<(&'static str, Vec<String>), f64>,
}

impl Totals {
    /// The snapshot of a second; `dropped`: seconds that each export has dropped so far.
    pub fn add(&mut self, second: Second<'_>, dropped: &[(&str, u64)]) -> Snapshot {
        let Second { info, row, measures, errors, metrics: own, probes } = second;
        let mut samples = Samples { totals: self, list: Vec::new() };
        samples.of_row(row, info);
        for measure in measures {
            samples.count(&metrics::MEASURE_OPERATIONS, &[&measure.name], measure.count);
            let name = [measure.name.as_str()];
            samples.count(&metrics::MEASURE_COMPLETED, &name, measure.completed);
            samples.count(&metrics::MEASURE_ERRORS, &name, measure.errors);
            let quantiles = measure.response.into_iter().flatten();
            for (found, quantile) in quantiles.zip(["0.5", "0.95", "0.99"]) {
                let labels = [measure.name.as_str(), quantile];
                let time_s = found.ns as f64 / 1e9;
                samples.gauge(&metrics::RESPONSE_SECONDS, &labels, time_s);
                let is_bound = f64::from(u8::from(found.is_bound));
                samples.gauge(&metrics::RESPONSE_BOUND, &labels, is_bound);
            }
        }
        samples.failures(errors, info);
        own.iter().for_each(|metric| samples.own(metric));
        for ProbeValue { info, value } in probes {
            let labels =
                [&*info.role, &info.region, &info.source, &info.via, &info.metric, &info.unit];
            samples.gauge(&metrics::PROBE, &labels, *value);
        }
        for (to, seconds) in dropped {
            samples.total(&metrics::DROPPED, &[to], *seconds as f64);
        }
        let list = samples.finish();
        Snapshot {
            run: info.id.clone(),
            scenario: info.name.clone(),
            started_unix_ns: info.started_unix_ns,
            at_unix_ns: info.started_unix_ns.saturating_add(row.end_ns),
            samples: list,
            tags: tags(info),
        }
    }
}

fn tags(info: &RunInfo) -> BTreeMap<String, BTreeMap<String, String>> {
    let tagged = info.measures.iter().filter(|m| !m.tags.is_empty());
    tagged.map(|m| (m.name.clone(), m.tags.clone())).collect()
}

struct Samples<'t> {
    totals: &'t mut Totals,
    list: Vec<Sample>,
}

impl Samples<'_> {
    fn of_row(&mut self, row: &SeriesRow, info: &RunInfo) {
        self.gauge(&metrics::RUN_SECONDS, &[], row.end_ns as f64 / 1e9);
        if let Some(phase) = info.phases.get(row.phase as usize) {
            self.gauge(&metrics::PHASE, &[&phase.name], 1.0);
        }
        for (metric, value) in [
            (&metrics::USERS, row.users),
            (&metrics::CONNECTIONS, row.connections),
            (&metrics::IN_FLIGHT, row.in_flight),
            (&metrics::GENERATOR_MEMORY, row.rss_bytes),
        ] {
            self.gauge(metric, &[], value as f64);
        }
        for (metric, count) in [
            (&metrics::USERS_DUE, row.users_due),
            (&metrics::USERS_STARTED, row.users_started),
            (&metrics::USERS_UNSTARTED, row.users_unstarted),
            (&metrics::USERS_FINISHED, row.users_finished),
            (&metrics::USERS_FAILED, row.users_failed),
            (&metrics::USERS_STOPPED, row.users_stopped),
            (&metrics::USERS_CUT_OFF, row.users_cut),
            (&metrics::USERS_REFUSED, row.users_refused),
            (&metrics::USERS_CONNECTED, row.users_connected),
            (&metrics::OPERATIONS_STARTED, row.operations_begun),
            (&metrics::OPERATIONS_DONE, row.operations_ended),
            (&metrics::OPERATIONS_COMPLETED, row.operations_completed),
            (&metrics::STEPS_MISSED, row.steps_missed),
            (&metrics::ERRORS, row.errors),
            (&metrics::SENT_BYTES, row.bytes_out),
            (&metrics::RECEIVED_BYTES, row.bytes_in),
            (&metrics::HOST_RETRANSMITS, row.host_retransmits),
            (&metrics::HOST_SYN_RETRANSMITS, row.host_syn_retransmits),
            (&metrics::HOST_LISTEN_DROPS, row.host_listen_drops),
            (&metrics::HOST_PACKET_DROPS, row.host_packet_drops),
        ] {
            self.count(metric, &[], count);
        }
        for (quantile, ns) in
            [("0.5", row.lag_p50_ns), ("0.99", row.lag_p99_ns), ("1", row.lag_max_ns)]
        {
            self.gauge(&metrics::LAG_SECONDS, &[quantile], ns as f64 / 1e9);
        }
        self.gauge(&metrics::LOOP_BUSY, &[], row.loop_busy_max);
        let cpu_s = row.cpu_process_ns as f64 / 1e9;
        self.step(&metrics::GENERATOR_CPU, &[], cpu_s);
    }

    /// Failures by step, kind and detail. Labels come from servers, so there are not more of them than a record tells apart:
    /// the details of what comes later are [`ErrorCount::OTHERS`].
    fn failures(&mut self, errors: &[ErrorCount], info: &RunInfo) {
        let name = metrics::FAILURES.name;
        let mut distinct = self.totals.sums.keys().filter(|(of, _)| *of == name).count();
        let mut counts: BTreeMap<Vec<String>, u64> = BTreeMap::new();
        for error in errors {
            let measure = error.measure.and_then(|place| info.measures.get(usize::from(place)));
            let step = measure.map(|measure| &measure.name).or(error.own_step.as_ref());
            let step = step.cloned().unwrap_or_default();
            let detail = error.detail.clone().unwrap_or_default();
            let mut labels = vec![step, error.kind.clone(), detail];
            let is_known = counts.contains_key(&labels)
                || self.totals.sums.contains_key(&(name, labels.clone()));
            match distinct < ErrorCount::DISTINCT_MAX {
                _ if is_known => {}
                true => distinct += 1,
                false => labels[2] = ErrorCount::OTHERS.to_owned(),
            }
            *counts.entry(labels).or_default() += error.count;
        }
        for (labels, count) in counts {
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            self.count(&metrics::FAILURES, &labels, count);
        }
    }

    /// A metric of the scenario's own. The last number of a gauge stays until there is another.
    fn own(&mut self, metric: &MetricSecond) {
        let name = metric.name.as_str();
        let labels = [name, metric.unit.as_str()];
        self.count(&metrics::METRIC_RECORDED, &[name], metric.recorded);
        match metric.value {
            MetricValue::Sum(sum) => self.step(&metrics::METRIC_SUM, &labels, sum),
            MetricValue::Last(last) => self.total(&metrics::METRIC_LAST, &labels, last),
            MetricValue::Hits(hits) => self.count(&metrics::METRIC_TRUE, &[name], hits),
            MetricValue::Quantiles(found) => {
                for (value, quantile) in found.into_iter().zip(["0.5", "0.95", "0.99"]) {
                    let labels = [name, metric.unit.as_str(), quantile];
                    self.gauge(&metrics::METRIC_QUANTILE, &labels, value);
                }
            }
        }
    }

    fn gauge(&mut self, metric: &'static Metric, labels: &[&str], value: f64) {
        self.push(metric, labels, value, value);
    }

    fn count(&mut self, metric: &'static Metric, labels: &[&str], count: u64) {
        self.step(metric, labels, count as f64);
    }

    /// The increment of a counter.
    fn step(&mut self, metric: &'static Metric, labels: &[&str], step: f64) {
        let labels_owned = labels.iter().map(|&label| label.to_owned()).collect();
        let sum = self.totals.sums.entry((metric.name, labels_owned));
        let sum = sum.or_default();
        *sum += step;
        let value = *sum;
        self.push(metric, labels, value, step);
    }

    /// The sum of a counter.
    fn total(&mut self, metric: &'static Metric, labels: &[&str], value: f64) {
        let labels_owned: Vec<String> = labels.iter().map(|&label| label.to_owned()).collect();
        let before = self.totals.sums.insert((metric.name, labels_owned), value);
        self.push(metric, labels, value, value - before.unwrap_or(0.0));
    }

    fn push(&mut self, metric: &'static Metric, labels: &[&str], value: f64, step: f64) {
        debug_assert_eq!(metric.labels.len(), labels.len(), "{}", metric.name);
        self.list.push(Sample {
            metric,
            labels: labels.iter().map(|&label| label.to_owned()).collect(),
            value,
            step,
        });
    }

    /// All samples. Counters of measures without operations in this second keep their value, so that they do
    /// not disappear between two scrapes.
    fn finish(mut self) -> Vec<Sample> {
        let present: std::collections::BTreeSet<(&str, &[String])> =
            self.list.iter().map(|sample| (sample.metric.name, sample.labels.as_slice())).collect();
        let quiet: Vec<Sample> = self
            .totals
            .sums
            .iter()
            .filter(|((name, labels), _)| !present.contains(&(*name, labels.as_slice())))
            .filter_map(|((name, labels), &value)| {
                let metric = metrics::ALL.iter().find(|metric| metric.name == *name)?;
                Some(Sample { metric, labels: labels.clone(), value, step: 0.0 })
            })
            .collect();
        self.list.extend(quiet);
        let place = |sample: &Sample| {
            let found = metrics::ALL.iter().position(|m| m.name == sample.metric.name);
            found.unwrap_or(usize::MAX)
        };
        self.list.sort_by_key(place);
        self.list
    }
}

impl Sample {
    /// True if it never falls.
    pub fn is_counter(&self) -> bool {
        self.metric.kind == Kind::Counter
    }
}
