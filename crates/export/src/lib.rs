//! Hands a run's seconds on while it goes: Prometheus, OpenTelemetry, StatsD.
//!
//! ```text
//! Second ─Totals→ Snapshot ─┬─ replaced ──────→ Server: one page, for whoever asks
//!                           ├─ bounded queue ─→ a thread that posts OTLP
//!                           └─ bounded queue ─→ a thread that sends StatsD
//! ```
//! | file | what it does |
//! |---|---|
//! | `metrics` | what there is, by name: the only place where names stand |
//! | `snapshot` | a second's values |
//! | `exports` | the queues |
//! | `server` | the page |
//! | `prometheus`, `otlp`, `statsd` | a snapshot in their form: pure |
//!
//! Nothing here makes the run wait: who takes too long misses seconds, and is told how many.

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
pub use snapshot::{MeasureSecond, ProbeValue, Second, Snapshot, Totals};
