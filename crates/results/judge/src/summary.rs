//! The figures of a run as they stand in `summary.json`.

use std::collections::BTreeMap;

use plan::Basis;
use record::schema::{
    Latency, MeasureSummary, MetricSummary, PercentileInterval, PhaseSummary, RegionSummary,
    TagSummary, TlsHandshakes, TrafficSummary, UsersSummary, WireFigures,
};
use stats::censored::CensoredTimes;
use stats::hist::LogHistogram;
use stats::metrics::{MetricKind, MetricStat};

use crate::figures::{self, Figures, MeasureGroup, Population, SHARES};

/// The crowd over the whole run.
pub(crate) fn users(figures: &Figures) -> UsersSummary {
    let lost = figures.lost_users();
    let connected = figures.total(|row| row.users_connected);
    UsersSummary {
        planned: figures.info.phases.iter().map(|p| p.users_planned).sum(),
        due: due_users(figures),
        paused: figures.users_kept_away(),
        started: figures.users_started(),
        sessions: figures.total(|row| row.users_started),
        refused: figures.total(|row| row.users_refused),
        connected: connected.saturating_sub(lost.present),
        finished: figures.total(|row| row.users_finished),
        failed: figures.total(|row| row.users_failed),
        stopped: figures.total(|row| row.users_stopped),
        cut_off: figures.total(|row| row.users_cut),
        unstarted: figures.total(|row| row.users_unstarted),
        endings: figures.endings.clone(),
        peak: figures.peak(|row| row.users_peak.max(row.users)),
        lost: lost.present,
        never_came: lost.never_came,
        dealt: lost.dealt,
    }
}

/// Users that fell due, each once; `None` where the record does not say so.
fn due_users(figures: &Figures) -> Option<u64> {
    let due = figures.total(|row| row.users_fell_due);
    (due > 0 || !figures.due.is_empty()).then_some(due)
}

/// Segments and bytes of the connections on the wire; `None` where they were not recorded.
pub(crate) fn traffic(figures: &Figures) -> Option<TrafficSummary> {
    let last = figures.series.last()?;
    let connections = last.tcp_connections;
    if connections == 0 {
        return None;
    }
    let figures = |of: f64| WireFigures {
        segments_out: last.tcp_segments_out as f64 / of,
        segments_in: last.tcp_segments_in as f64 / of,
        payload_out: last.tcp_payload_out as f64 / of,
        payload_in: last.tcp_payload_in as f64 / of,
        retransmits: last.tcp_retransmits as f64 / of,
        ip_bytes_out: last.ip_bytes_out as f64 / of,
        ip_bytes_in: last.ip_bytes_in as f64 / of,
    };
    Some(TrafficSummary {
        connections,
        total: figures(1.0),
        per_connection: figures(connections as f64),
    })
}

/// TLS handshakes that came to their end; `None`: there were none.
pub(crate) fn tls_handshakes(figures: &Figures) -> Option<TlsHandshakes> {
    let found = TlsHandshakes {
        full: figures.total(|row| row.tls_handshakes_full),
        resumed: figures.total(|row| row.tls_handshakes_resumed),
    };
    (found != TlsHandshakes::default()).then_some(found)
}

/// The measures of a phase that measured something; of the whole run also all steps of the scenario.
pub fn measures(figures: &Figures, phase: Option<usize>) -> Vec<MeasureSummary> {
    let all = figures.info.measures.iter().enumerate();
    all.filter_map(|(number, info)| {
        let group = MeasureGroup {
            name: info.name.clone(),
            kind: info.kind.clone(),
            measures: vec![number],
        };
        let summary = summarise(figures, phase, group);
        let is_step = phase.is_none() && figures.info.steps.contains(&(number as u16));
        (summary.count > 0 || summary.begun > 0 || is_step).then_some(summary)
    })
    .collect()
}

/// The figures of the measures of a group, taken as one.
fn summarise(figures: &Figures, phase: Option<usize>, group: MeasureGroup) -> MeasureSummary {
    let measures = group.measures.as_slice();
    let cell = figures.merged(phase, measures);
    let timed = figures.timed(measures.to_vec());
    let times = match timed.len() == measures.len() {
        true => cell.clone(),
        false => figures.merged(phase, &timed),
    };
    let count = cell.ended();
    let all = measures.iter();
    let begun = all.clone().map(|&number| figures.begun_of(phase, number));
    let completed = all.clone().map(|&number| figures.completed(phase, number).total()).sum();
    let drained = all.map(|&number| figures.completed_in_drain(phase, number).total());
    let errors = cell.errors().map(|(kind, n)| (kind.to_owned(), n));
    MeasureSummary {
        name: group.name,
        kind: group.kind,
        due: phase.is_none().then(|| figures.due_of(measures)).flatten(),
        never_begun: match phase {
            None => figures.never_begun_of(measures),
            Some(_) => BTreeMap::new(),
        },
        begun: begun.sum(),
        retried: match phase {
            None => figures.retried_of(measures),
            Some(_) => 0,
        },
        count,
        completed,
        drained: drained.sum(),
        offered_per_s: match phase {
            Some(_) => None,
            None => figures.offered_per_s(measures),
        },
        begun_per_s: figures.begun_per_s(phase, measures),
        rate_per_s: per_second(completed, figures.seconds(phase)),
        errors: cell.failed(),
        errors_by_kind: errors.collect(),
        response: censored(&times.all_responses())
            .map(|response| Latency { intervals: intervals(figures, phase, measures), ..response }),
        succeeded: latency(&times.response),
        failed: latency(&cell.failed_response),
        service: latency(&times.service),
        lag: latency(&cell.lag),
    }
}

/// The measures of a phase that measured something, those of several regions as one; none without regions.
pub(crate) fn totals(figures: &Figures, phase: Option<usize>) -> Vec<MeasureSummary> {
    let all = figures.over_regions().into_iter().filter_map(|over| {
        let is_step = |&m: &usize| figures.info.steps.contains(&(m as u16));
        let is_step = phase.is_none() && over.measures.iter().any(is_step);
        let summary = summarise(figures, phase, over);
        (summary.count > 0 || summary.begun > 0 || is_step).then_some(summary)
    });
    all.collect()
}

/// The users of each region.
pub(crate) fn regions(figures: &Figures) -> Vec<RegionSummary> {
    let regions = &figures.info.regions;
    let total: f64 = regions.iter().map(|region| region.share).sum();
    let regions = regions.iter().enumerate().map(|(number, region)| {
        let users = figures.regions.get(number);
        RegionSummary {
            name: region.name.clone(),
            share: region.share / total,
            users: users.copied().unwrap_or_default(),
        }
    });
    regions.collect()
}

/// The figures of all tags over the run.
pub(crate) fn tags(figures: &Figures) -> Vec<TagSummary> {
    let tags = figures.all_tags().into_iter().map(|tag| {
        let names = tag.measures.iter();
        let names = names.map(|&m| figures.info.measures[m].name.clone());
        let group = MeasureGroup {
            name: format!("{}={}", tag.key, tag.value),
            kind: "tag".to_owned(),
            measures: tag.measures.clone(),
        };
        TagSummary {
            measures: names.collect(),
            figures: summarise(figures, None, group),
            key: tag.key,
            value: tag.value,
        }
    });
    tags.collect()
}

/// Intervals of the percentiles of response times, where the record was read for them.
fn intervals(
    figures: &Figures,
    phase: Option<usize>,
    measures: &[usize],
) -> Vec<PercentileInterval> {
    let all = Population { phase, measures: measures.to_vec(), basis: Basis::Response };
    let found = SHARES.map(|share| figures.interval(&all, share));
    found.into_iter().flatten().copied().collect()
}

/// The phases the run reached.
pub(crate) fn phases(figures: &Figures) -> Vec<PhaseSummary> {
    let reached = |start_ns| start_ns < figures.ended_ns();
    let phases = figures.info.phases.iter().enumerate();
    phases
        .filter(|(_, phase)| reached(phase.start_ns))
        .map(|(number, phase)| PhaseSummary {
            name: phase.name.clone(),
            start_ns: phase.start_ns,
            end_ns: phase.end_ns.min(figures.ended_ns()),
            users_started: figures::users_started(figures.rows(number)),
            measures: measures(figures, Some(number)),
            totals: totals(figures, Some(number)),
        })
        .collect()
}

/// The figures of the scenario's own metrics over the run.
pub(crate) fn metrics(figures: &Figures) -> Vec<MetricSummary> {
    let metrics = figures.info.metrics.iter().enumerate();
    let metrics = metrics.map(|(number, info)| {
        let value = |stat| figures.metric_value(None, number, stat);
        let is_counter = info.kind == MetricKind::Counter;
        MetricSummary {
            name: info.name.clone(),
            kind: info.kind,
            unit: info.unit.clone(),
            count: figures.metric(None, number).map_or(0, |values| values.count()),
            sum: value(MetricStat::Sum),
            rate_per_s: value(MetricStat::Rate).filter(|_| is_counter),
            share: value(MetricStat::Share),
            last: value(MetricStat::Last),
            mean: value(MetricStat::Mean),
            min: value(MetricStat::Min),
            p50: value(MetricStat::Quantile(0.5)),
            p95: value(MetricStat::Quantile(0.95)),
            p99: value(MetricStat::Quantile(0.99)),
            max: value(MetricStat::Max),
        }
    });
    metrics.collect()
}

/// A count over a time; 0 over no time.
pub(crate) fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

fn latency(hist: &LogHistogram) -> Option<Latency> {
    censored(&CensoredTimes::new(hist, &LogHistogram::new()))
}

fn censored(times: &CensoredTimes) -> Option<Latency> {
    if times.is_empty() {
        return None;
    }
    let at = |q: f64| times.quantile(q).value();
    let beyond = times.share_beyond();
    Some(Latency {
        count: times.count(),
        unanswered: times.count_censored(),
        bound_above: (beyond > 0.0).then_some(1.0 - beyond),
        mean_ns: times.mean(),
        min_ns: times.min().value(),
        p50_ns: at(0.50),
        p90_ns: at(0.90),
        p95_ns: at(0.95),
        p98_ns: at(0.98),
        p99_ns: at(0.99),
        p999_ns: at(0.999),
        max_ns: times.max().value(),
        intervals: Vec::new(),
    })
}

#[cfg(test)]
mod tests;
