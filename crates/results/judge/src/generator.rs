//! The generator during a run: its state, and what kept it from its load.

mod cause;
mod lag;
mod memory;
mod shortfall;
mod starts;

pub(crate) use cause::Cause;
pub(crate) use lag::LagExcess;
pub(crate) use shortfall::{LoadFault, Shortfall};
pub(crate) use starts::{MissedStarts, Shortage, open_files};

use record::schema::{EventKind, HealthSummary, RowsKept};

use crate::figures::Figures;

/// The code of operations that began late.
pub(crate) const LAG: &str = "generator-lag";

/// The generator's state over the whole run.
pub(crate) fn summarise(figures: &Figures) -> HealthSummary {
    let lag = lag::summary(figures);
    let rows = &figures.series;
    HealthSummary {
        lag_p50_ns: lag.p50_ns,
        lag_p99_ns: lag.p99_ns,
        lag_max_ns: lag.max_ns,
        loop_busy_mean: cause::busy_mean(rows.iter()),
        loop_busy_max: cause::busy_max(rows),
        cpu_process_ns: figures.total(|row| row.cpu_process_ns),
        cpu_wait_ns: figures.total(|row| row.cpu_wait_ns),
        rss_peak_bytes: figures.peak(|row| row.rss_bytes),
        rows_kept: rows_kept(figures),
        host_retransmits: figures.total(|row| row.host_retransmits),
        host_listen_drops: figures.total(|row| row.host_listen_drops),
        host_syn_retransmits: figures.total(|row| row.host_syn_retransmits),
        host_packet_drops: figures.total(|row| row.host_packet_drops),
        host_memory_pressures: figures.total(|row| row.host_memory_pressures),
        host_memory_aborts: figures.total(|row| row.host_memory_aborts),
    }
}

/// The share of operations with a row of their own, from the sampling rates in force second by
/// second.
fn rows_kept(figures: &Figures) -> f64 {
    let done = figures.total(|row| row.done);
    if done == 0 {
        return 1.0;
    }
    let mut left = figures.info.workers.iter().filter_map(|w| w.rows.as_ref());
    if left.any(|rows| rows.kept == RowsKept::Nowhere) {
        return 0.0;
    }
    let rate_at = |at_ns| {
        let past = figures.events.iter().take_while(|event| event.at_ns <= at_ns);
        let rates = past.filter_map(|event| match event.what {
            EventKind::Sampling { rate, .. } => Some(rate.max(1)),
            _ => None,
        });
        rates.last().unwrap_or(1)
    };
    let kept = figures.series.iter().map(|row| row.done as f64 / f64::from(rate_at(row.start_ns)));
    kept.sum::<f64>() / done as f64
}
