//! Exports a run's seconds while it is in progress: Prometheus, OpenTelemetry, StatsD.
//!
//! ```text
//! Second ─Totals→ Snapshot ─┬─ replaces the last ─→ Server: one page
//!                           ├─ bounded queue ─────→ a thread that posts OTLP
//!                           └─ bounded queue ─────→ a thread that sends StatsD
//! ```
//! | file | what it does |
//! |---|---|
//! | `metrics` | all metrics: the only place with their names |
//! | `snapshot` | the values of a second |
//! | `exports` | the queues |
//! | `server` | the page |
//! | `prometheus`, `otlp`, `statsd` | render a snapshot: pure |
//!
//! Nothing here makes the run wait: a receiver that is too slow misses seconds, which are counted.

mod exports;
pub mod metrics;
mod otlp;
mod prometheus;
mod server;
mod snapshot;
mod statsd;
#[cfg(test)]
mod tests;

pub use exports::{ExportError, Exports, Targets, check_otlp};
pub use prometheus::page;
pub use server::Server;
pub use snapshot::{
    MeasureSecond, MetricSecond, MetricValue, ProbeValue, ResponseTime, Second, Snapshot, Totals,
};
